import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProcess } from './processes.ts'

/**
 * Which processes use a home's PostgreSQL: one empty file each, named after the process. Two servers may share one
 * data folder (a second `npm start`, say, that then finds its port taken), and only the last to leave may stop the
 * database under them. Synchronous, so that nothing of this process comes between looking and acting.
 */
export interface Lease {
  /** Whether another living process, or another start in this one, holds a lease too. Forgets the dead. */
  shared(): boolean
  release(): void
}

export function takeLease(home: string): Lease {
  const folder = join(home, 'in-use')
  const mine = `${process.pid}-${findProcess(process.pid)?.started}-${randomBytes(4).toString('hex')}`
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, mine), '')
  return {
    shared() {
      const others = readdirSync(folder).filter((name) => name !== mine)
      const dead = others.filter((name) => !holderLives(name))
      for (const name of dead) rmSync(join(folder, name), { force: true })
      return others.length > dead.length
    },
    release: () => rmSync(join(folder, mine), { force: true }),
  }
}

function holderLives(name: string): boolean {
  const [pid, started] = name.split('-')
  return findProcess(Number(pid))?.started === started
}

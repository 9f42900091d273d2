import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProcess } from './processes.ts'

/**
 * Which processes use a home's PostgreSQL: one file each, named after the process. Two servers may share one
 * data folder (a second `npm start`, say, that then finds its port taken), and only the last to leave may stop the
 * database under them. Synchronous, so that nothing of this process comes between looking and acting.
 */
export interface Lease {
  /** Notes the server that was found or started. */
  use(postmaster: number): void
  /**
   * Whether another living process holds a lease too, or another start in this one, unless that start was for another
   * postmaster than this (it crashed, and this process started a new one). Forgets the dead.
   */
  shared(postmaster: number): boolean
  release(): void
}

export function takeLease(home: string): Lease {
  const folder = join(home, 'in-use')
  const mine = `${process.pid}-${findProcess(process.pid)?.started}-${randomBytes(4).toString('hex')}`
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, mine), '')
  const ofThisProcess = mine.slice(0, mine.lastIndexOf('-'))
  const isLive = (name: string, postmaster: number) => {
    if (!name.startsWith(ofThisProcess)) return holderIsAlive(name)
    return ['', String(postmaster)].includes(readIfAny(join(folder, name)))
  }
  return {
    use: (postmaster) => writeFileSync(join(folder, mine), String(postmaster)),
    shared(postmaster) {
      const others = readdirSync(folder).filter((name) => name !== mine)
      const dead = others.filter((name) => !isLive(name, postmaster))
      for (const name of dead) rmSync(join(folder, name), { force: true })
      return others.length > dead.length
    },
    release: () => rmSync(join(folder, mine), { force: true }),
  }
}

function readIfAny(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function holderIsAlive(name: string): boolean {
  const [pid, started] = name.split('-')
  return findProcess(Number(pid))?.started === started
}

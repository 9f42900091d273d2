import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProcess } from './processes.ts'

/**
 * Records which processes use the PostgreSQL of a home: one file per process, named after it. Two servers may share a
 * data folder (for example a second `npm start`, which then finds its port taken), and only the last one to leave may
 * stop the database. Synchronous, so that no other code of this process runs between a check and the action.
 */
export interface Lease {
  /** Records the server that was found or started. */
  use(postmaster: number): void
  /**
   * Whether another live process holds a lease, or another start in this process does. Such a start does not count if
   * it used another postmaster, one that crashed before this process started a new one. Removes the leases of dead
   * processes.
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

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { COMMAND } from '../kit/command.ts'

export interface Cli {
  process: ChildProcess
  /** All output so far: `out` from stdout, `err` from the log on stderr. */
  said: { out: string; err: string }
  /** Its address, once it is printed; rejects if it ends earlier. */
  address(): Promise<string>
  /** How it ended. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; out: string; err: string }>
  kill(signal: NodeJS.Signals): void
}

/** Runs the real command line in a process of its own, with no SVC_ setting but those given. */
export function runCli(args: string[], settings: Record<string, string>): Cli {
  const clean = Object.entries(process.env).filter(([name]) => !/^(SVC_|DATABASE_URL$)/.test(name))
  const child = spawn(process.execPath, [...COMMAND, ...args], {
    env: { ...Object.fromEntries(clean), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => {
    said.out += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    said.err += chunk
  })
  return {
    process: child,
    said,
    async address() {
      for (;;) {
        const found = /Address +(http:\S+)/.exec(said.out)?.[1]
        if (found !== undefined) return found
        if (child.exitCode !== null)
          throw new Error(`it ended with ${child.exitCode}\n${said.out}${said.err}`)
        await sleep(20)
      }
    },
    ended: once(child, 'close').then(([code, signal]) => ({ code, signal, ...said })),
    kill: (signal) => void child.kill(signal),
  }
}

/** The process id of the PostgreSQL of a data folder, while it has one. */
export function postmasterOf(home: string): number | undefined {
  const file = join(home, 'data/postmaster.pid')
  if (!existsSync(file)) return undefined
  const pid = Number(readFileSync(file, 'utf8').split('\n', 1)[0])
  return Number.isInteger(pid) && pid > 0 ? pid : undefined
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

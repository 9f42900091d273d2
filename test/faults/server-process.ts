import { spawn } from 'node:child_process'
import { chmodSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { memoryFolder } from '../../scripts/memory.mjs'
import { inspectPostmaster, killOrphans, stopPostmaster } from '../../src/db/embedded/postmaster.ts'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { KEEPING, PASSWORD } from '../kit/app.ts'
import { COMMAND } from '../kit/command.ts'
import { createClient } from '../kit/http.ts'

/** A real server in a process of its own, as `npm start` runs it. */
export interface ServerProcess {
  pid: number
  address: string
  /** Where its data is, as it says itself. */
  data: string
  /** How it ended, once it has. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null; atMs: number }>
  kill(signal: NodeJS.Signals): void
  /** Everything it printed. */
  said(): string
}

/**
 * Starts a server and waits until it answers. `settings` are SVC_* variables; nothing else of ours reaches it.
 * @param command what Node is given, if it is not this project's own command line
 */
export async function startServer(
  settings: Record<string, string>,
  command = COMMAND,
): Promise<ServerProcess> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(SVC_|DATABASE_URL|VITEST|NODE_OPTIONS)/.test(name),
  )
  const child = spawn(process.execPath, [...command, 'start'], {
    env: { ...Object.fromEntries(inherited), SVC_PORT: '0', SVC_LOG_LEVEL: 'warn', ...KEEPING, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a group of its own: what we send to it reaches no other process
  })
  let said = ''
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null; atMs: number }>(
    (resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal, atMs: performance.now() }))
    },
  )
  const begun = new Promise<void>((resolve) => {
    const listen = (chunk: Buffer): void => {
      said += chunk
      if (/Stop with Ctrl-C/.test(said)) resolve()
    }
    child.stdout.on('data', listen)
    child.stderr.on('data', listen)
  })
  const early = await Promise.race([begun, ended])
  if (early !== undefined) throw new Error(`the server ended before it answered (${early.code}):\n${said}`)
  return {
    pid: child.pid as number,
    address: /Address\s+(\S+)/.exec(said)?.[1] as string,
    data: /Data\s+(.+)/.exec(said)?.[1] as string,
    ended,
    kill: (signal) => child.kill(signal),
    said: () => said,
  }
}

/** A data folder of a test's own, which the account that runs PostgreSQL can reach. */
export function newHome(): { home: string; remove(): Promise<void> } {
  const root = memoryFolder('svc-faults-').path
  chmodSync(root, 0o755)
  const home = join(root, 'home')
  return {
    home,
    async remove() {
      await stopPostmaster(join(home, 'data'), 5_000)
      killOrphans(join(home, 'data'))
      rmSync(root, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** kill -9 of the postmaster alone: its sessions have to find out for themselves. */
export function killPostmaster(home: string): void {
  const seen = inspectPostmaster(join(home, 'data'))
  if (seen.state === 'running') process.kill(seen.pid, 'SIGKILL')
}

/** A connection of the test's own to the database under `home`, which must be running. */
export function openDatabase(home: string): Sql {
  const seen = inspectPostmaster(join(home, 'data'))
  if (seen.state !== 'running') throw new Error(`PostgreSQL does not run under ${home}`)
  const password = readFileSync(join(home, 'data', 'svc.password'), 'utf8').trim()
  return openSql(`postgresql://postgres:${password}@127.0.0.1:${seen.port}/postgres`, {
    name: 'test',
    max: 1,
  })
}

/** Registers the first user of a server and makes a reporter token. */
export async function firstToken(address: string): Promise<string> {
  const client = createClient(address)
  try {
    const body = { email: 'person@example.org', password: PASSWORD }
    const { body: session } = await client.call('POST', '/api/auth/register', { body })
    const token = await client.call('POST', '/api/tokens', {
      token: session.token,
      body: { name: 'faults', scope: 'reporter' },
    })
    if (token.status !== 201) throw new Error(`no token: ${token.status} ${JSON.stringify(token.body)}`)
    return token.body.token
  } finally {
    client.close()
  }
}

/** Resident memory of a process, in MiB; Linux only, elsewhere undefined. */
export function residentMiB(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
  } catch {
    return undefined
  }
}

export async function until(condition: () => boolean | Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const begun = performance.now()
  while (!(await condition())) {
    if (performance.now() - begun > patienceMs) throw new Error('what was waited for did not happen')
    await sleep(20)
  }
}

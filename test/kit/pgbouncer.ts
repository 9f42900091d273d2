import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { inject } from 'vitest'
import { addressOf } from '../../src/db/address.ts'
import { freePort } from './free-port.ts'

const PATHS = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`

/** Whether PgBouncer is installed (Debian: apt-get install pgbouncer). */
export const hasPgbouncer =
  spawnSync('pgbouncer', ['--version'], { env: { ...process.env, PATH: PATHS } }).status === 0

if (!hasPgbouncer) console.log('PgBouncer is not installed: its tests are skipped')

export interface Pgbouncer {
  url(database: string): string
  stop(): Promise<void>
}

/** Starts PgBouncer in front of the server that all tests share. Apart from the mode it has its own defaults. */
export async function startPgbouncer(mode: 'session' | 'transaction' | 'statement'): Promise<Pgbouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pgbouncer-'))
  chmodSync(folder, 0o755)
  const { hosts, user, password } = addressOf(inject('databaseUrl'))
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=${hosts[0]?.name} port=${hosts[0]?.port} user=${user} password=${password ?? ''}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
`,
  )
  // It refuses to run as root.
  const account = process.getuid?.() === 0 ? ['-u', 'daemon'] : []
  const child: ChildProcess = spawn('pgbouncer', ['-q', ...account, file], {
    env: { ...process.env, PATH: PATHS },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  for (let waited = 0; !(await answers(port)); waited++) {
    if (waited > 200 || child.exitCode !== null) throw new Error('PgBouncer did not start')
    await sleep(50)
  }
  return {
    url: (database) => `postgresql://${user}@127.0.0.1:${port}/${database}`,
    async stop() {
      child.kill('SIGINT')
      if (!(await Promise.race([ended.then(() => true), sleep(5_000, false)]))) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => done(true)).once('error', () => done(false))
    socket.once('connect', () => socket.destroy())
  })
}

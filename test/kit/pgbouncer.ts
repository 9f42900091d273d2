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
import { installed } from './proxy.ts'

const PATHS = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`

/** Whether PgBouncer is installed (Debian: apt-get install pgbouncer). */
export const hasPgbouncer =
  spawnSync('pgbouncer', ['--version'], { env: { ...process.env, PATH: PATHS } }).status === 0

/** Whether Pgpool-II is installed (Debian: apt-get install pgpool2). */
export const hasPgpool = installed('pgpool') !== undefined

if (!hasPgpool) console.log('Pgpool-II is not installed: its test is skipped')
if (!hasPgbouncer) console.log('PgBouncer is not installed: its tests are skipped')

export interface Pgbouncer {
  url(database: string): string
  stop(): Promise<void>
}

/** Starts PgBouncer in front of the server that all tests share. Apart from the mode it has its own defaults. */
export function startPgbouncer(mode: 'session' | 'transaction' | 'statement'): Promise<Pgbouncer> {
  const { hosts, user, password } = addressOf(inject('databaseUrl'))
  return startPooler('pgbouncer', (port) => ({
    file: 'pgbouncer.ini',
    text: `[databases]
* = host=${hosts[0]?.name} port=${hosts[0]?.port} user=${user} password=${password ?? ''}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
`,
    args: (file) => ['-q', ...notRoot, file],
    url: (database) => `postgresql://${user}@127.0.0.1:${port}/${database}`,
  }))
}

/** PgBouncer refuses to run as root. */
const notRoot = process.getuid?.() === 0 ? ['-u', 'daemon'] : []

/** Starts Pgpool-II in raw mode in front of the same server. */
export function startPgpool(): Promise<Pgbouncer> {
  const { hosts, user, password } = addressOf(inject('databaseUrl'))
  return startPooler('pgpool', (port, folder) => ({
    file: 'pgpool.conf',
    text: `backend_clustering_mode = 'raw'
listen_addresses = '127.0.0.1'
port = ${port}
socket_dir = '${folder}'
pcp_socket_dir = '${folder}'
pcp_port = ${port + 1}
pid_file_name = '${folder}/pid'
logdir = '${folder}'
work_dir = '${folder}'
allow_clear_text_frontend_auth = on
backend_hostname0 = '${hosts[0]?.name}'
backend_port0 = ${hosts[0]?.port}
`,
    args: (file) => ['-n', '-f', file],
    url: (database) => `postgresql://${user}:${password ?? ''}@127.0.0.1:${port}/${database}`,
  }))
}

interface Wish {
  file: string
  text: string
  args: (file: string) => string[]
  url: (database: string) => string
}

async function startPooler(
  program: string,
  wishFor: (port: number, folder: string) => Wish,
): Promise<Pgbouncer> {
  const folder = mkdtempSync(join(tmpdir(), `svc-${program}-`))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const wish = wishFor(port, folder)
  const file = join(folder, wish.file)
  writeFileSync(file, wish.text)
  const child: ChildProcess = spawn(program, wish.args(file), {
    env: { ...process.env, PATH: PATHS },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  for (let waited = 0; !(await answers(port)); waited++) {
    if (waited > 200 || child.exitCode !== null) throw new Error(`${program} did not start`)
    await sleep(50)
  }
  return {
    url: wish.url,
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

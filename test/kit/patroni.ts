import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { postgresPrograms } from '../../scripts/ha-programs.mjs'
import { memoryFolder } from '../../scripts/memory.mjs'
import { type Account, isRoot, runAs, unprivilegedAccount } from '../../src/db/embedded/account.ts'
import { until } from '../faults/server-process.ts'
import { freePort } from './free-port.ts'

const NAMES = ['db1', 'db2'] as const
type Name = (typeof NAMES)[number]

/** The parts of a `patroni.yml` that a test fills in: names, addresses, folders and passwords. */
export interface PatroniConfig {
  name: string
  etcd3: { hosts: string[] }
  restapi: { listen: string; connect_address: string }
  bootstrap: { pg_hba: string[] }
  postgresql: {
    listen: string
    connect_address: string
    data_dir: string
    bin_dir: string
    parameters?: Record<string, string>
    authentication: Record<'superuser' | 'replication', { username: string; password: string }>
  }
}

export interface PatroniPair {
  /** The database on both machines, for its owner; and on one of them, for the superuser. */
  url: string
  adminUrl(name: Name, database?: string): string
  /** The member that leads now; undefined while there is none. */
  leader(): Promise<Name | undefined>
  /** Whether the other member is the synchronous standby of this leader. */
  isPaired(): Promise<boolean>
  /** kill -9 of Patroni and its PostgreSQL: the machine is gone. */
  kill(name: Name): Promise<void>
  start(name: Name): void
  switchOver(to: Name): Promise<void>
  /** What Patroni and PostgreSQL said. */
  logs(): string
  stop(): Promise<void>
}

export const otherThan = (name: Name): Name => (name === 'db1' ? 'db2' : 'db1')

/** Two machines with Patroni and one etcd, on loopback ports, each with this configuration but for what a machine has of its own. */
export async function startPatroni(config: PatroniConfig): Promise<PatroniPair> {
  const bin = postgresPrograms()
  if (bin === undefined) throw new Error('there is no installed PostgreSQL server')
  const account = isRoot() ? await unprivilegedAccount() : null
  const root = memoryFolder('svc-patroni-').path
  chmodSync(root, 0o755)
  if (account !== null) chownSync(root, account.uid, account.gid)
  const etcdPorts = [await freePort(), await freePort()] as const
  const ports = { db1: await freePort(), db2: await freePort() }
  const restPorts = { db1: await freePort(), db2: await freePort() }
  const file = (name: Name) => join(root, `${name}.yml`)
  for (const name of NAMES) {
    const own = ofMachine(config, {
      name,
      root,
      bin,
      etcd: etcdPorts[0],
      port: ports[name],
      rest: restPorts[name],
    })
    // JSON is YAML.
    writeFileSync(file(name), JSON.stringify(own), { mode: 0o644 })
  }
  const launch = launcher(root, account, bin)
  const etcd = launch('etcd', 'etcd', etcdArguments(root, etcdPorts))
  const patroni: Partial<Record<Name, ChildProcess>> = {}
  const start = (name: Name): void => {
    patroni[name] = launch(name, 'patroni', [file(name)])
  }
  const kill = async (name: Name): Promise<void> => {
    await end(patroni[name])
    const pidFile = join(root, name, 'postmaster.pid')
    if (existsSync(pidFile)) process.kill(Number(readFileSync(pidFile, 'utf8').split('\n')[0]), 'SIGKILL')
  }
  const members = () => readMembers(Object.values(restPorts))
  const { superuser } = config.postgresql.authentication
  const pair: PatroniPair = {
    url: `postgresql://svc:secret@127.0.0.1:${ports.db1},127.0.0.1:${ports.db2}/svc`,
    adminUrl: (name, database = 'postgres') =>
      `postgresql://${superuser.username}:${superuser.password}@127.0.0.1:${ports[name]}/${database}`,
    leader: async () => (await members()).find(({ role }) => role === 'leader')?.name,
    async isPaired() {
      const seen = await members()
      return seen.some(({ role, state }) => role === 'sync_standby' && /running|streaming/.test(state))
    },
    kill,
    start,
    switchOver: async (to) => {
      const where = ['-c', file(to), 'switchover', '--force']
      await runAs(account, 'patronictl', [...where, '--master', otherThan(to), '--candidate', to, 'svc'])
    },
    logs: () =>
      [...NAMES, 'etcd']
        .map((name) => `== ${name}\n${readFileSync(join(root, `${name}.log`), 'utf8')}`)
        .join('\n'),
    async stop() {
      for (const name of NAMES) await kill(name).catch(() => {})
      await end(etcd)
      rmSync(root, { recursive: true, force: true, maxRetries: 10 })
    },
  }
  try {
    for (const name of NAMES) start(name)
    await until(() => pair.isPaired(), 90_000)
    return pair
  } catch (error) {
    const said = pair.logs()
    await pair.stop()
    throw new Error(`${(error as Error).message}\n${said}`)
  }
}

interface Machine {
  name: Name
  root: string
  bin: string
  etcd: number
  port: number
  rest: number
}

function ofMachine(config: PatroniConfig, { name, root, bin, etcd, port, rest }: Machine): PatroniConfig {
  const here = (at: number) => `127.0.0.1:${at}`
  return {
    ...config,
    name,
    etcd3: { hosts: [here(etcd)] },
    restapi: { listen: here(rest), connect_address: here(rest) },
    bootstrap: {
      ...config.bootstrap,
      pg_hba: config.bootstrap.pg_hba.map((line) => line.replace(/10\.0\.0\.0\/24/, '127.0.0.1/32')),
    },
    postgresql: {
      ...config.postgresql,
      listen: here(port),
      connect_address: here(port),
      data_dir: join(root, name),
      bin_dir: bin,
      parameters: { ...config.postgresql.parameters, unix_socket_directories: root },
    },
  }
}

const etcdArguments = (root: string, [client, peer]: readonly [number, number]): string[] => [
  ...['--name', 'one', '--data-dir', join(root, 'etcd-data')],
  ...[
    '--listen-client-urls',
    `http://127.0.0.1:${client}`,
    '--advertise-client-urls',
    `http://127.0.0.1:${client}`,
  ],
  ...[
    '--listen-peer-urls',
    `http://127.0.0.1:${peer}`,
    '--initial-advertise-peer-urls',
    `http://127.0.0.1:${peer}`,
  ],
  ...['--initial-cluster', `one=http://127.0.0.1:${peer}`],
]

/** Starts programs as the account; what they say is in a file of their name. */
function launcher(root: string, account: Account, bin: string) {
  return (name: string, program: string, args: string[]): ChildProcess => {
    const log = openSync(join(root, `${name}.log`), 'a')
    // Nothing of ours, such as PGPORT, reaches them.
    const env = { LC_ALL: 'C', HOME: root, PATH: `${bin}${delimiter}${process.env.PATH}` }
    const child = spawn(program, args, {
      ...account,
      cwd: root,
      env,
      stdio: ['ignore', log, log],
      detached: true,
    })
    closeSync(log)
    return child
  }
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

interface Member {
  name: Name
  role: string
  state: string
}

/** The members, as the first of the machines that answers knows them. */
async function readMembers(ports: number[]): Promise<Member[]> {
  for (const port of ports) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/cluster`, { signal: AbortSignal.timeout(5_000) })
      return ((await answer.json()) as { members?: Member[] }).members ?? []
    } catch {
      // that machine is away
    }
  }
  return []
}

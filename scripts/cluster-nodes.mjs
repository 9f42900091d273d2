// A Citus cluster on this machine: a coordinator and workers, each a PostgreSQL of its own on a loopback port.
import { execFile, execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** Where Debian and Ubuntu install the versions of PostgreSQL, and their extensions. */
const PROGRAMS = '/usr/lib/postgresql'
const EXTENSIONS = '/usr/share/postgresql'

/** The programs of the newest PostgreSQL here that has the extension; undefined if none has. */
export function installedCitus() {
  if (!existsSync(PROGRAMS)) return undefined
  const versions = readdirSync(PROGRAMS).sort((a, b) => Number(b) - Number(a))
  const version = versions.find(
    (one) =>
      existsSync(join(PROGRAMS, one, 'bin/initdb')) &&
      existsSync(join(EXTENSIONS, one, 'extension/citus.control')),
  )
  return version && join(PROGRAMS, version, 'bin')
}

/** Of a node that was killed: its sessions end a moment after it, and it does not start before. */
const START_PATIENCE_MS = 60_000

const SETTINGS = `shared_preload_libraries = 'citus'
listen_addresses = '127.0.0.1'
wal_level = logical
max_connections = 300
max_prepared_transactions = 300
max_worker_processes = 64
citus.recover_2pc_interval = '5s'
`
const execute = promisify(execFile)

/** So many ports that are free now. */
async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer()
      return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)))
    }),
  )
  const ports = servers.map((server) => server.address().port)
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))
  return ports
}

/** Starts a coordinator and `workers`, of which the last `spare` are not added to the cluster. */
export async function startCluster({ workers = 2, spare = 0 } = {}) {
  const programs = installedCitus()
  if (programs === undefined) throw new Error('no PostgreSQL here has the extension Citus')
  // PostgreSQL refuses root, for whom it runs as `postgres`.
  const root = process.getuid?.() === 0
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  const account = root ? { uid: id('-u'), gid: id('-g') } : {}
  const scratch = mkdtempSync(join(tmpdir(), 'svc-cluster-'))
  chmodSync(scratch, 0o755)
  if (root) chownSync(scratch, account.uid, account.gid)
  // Of root's home, PostgreSQL as `postgres` may not even look for certificates.
  const env = { ...process.env, HOME: scratch }
  const run = (command, args) => execute(join(programs, command), args, { ...account, cwd: scratch, env })
  const ports = await freePorts(workers + 1)
  const nodes = ports.map((port) => createNode({ port, scratch, run }))
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()))
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10 })
  }
  try {
    await Promise.all(nodes.map((node) => node.create()))
    const [coordinator, ...others] = nodes
    await coordinator.sql(
      'svc',
      `select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`,
      ...others.slice(0, workers - spare).map(({ port }) => `select citus_add_node('127.0.0.1', ${port})`),
    )
    return { url: coordinator.url, nodes, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function createNode({ port, scratch, run }) {
  const folder = join(scratch, `node-${port}`)
  const pgCtl = (...args) => run('pg_ctl', ['-D', folder, '-w', ...args])
  const start = () => pgCtl('-l', `${folder}.log`, 'start')
  const sql = (database, ...statements) => {
    const address = ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'postgres', '-d', database]
    const commands = statements.flatMap((statement) => ['-c', statement])
    return run('psql', ['-qX', '-v', 'ON_ERROR_STOP=1', ...address, ...commands])
  }
  let running = false
  return {
    port,
    url: `postgresql://postgres@127.0.0.1:${port}/svc`,
    log: `${folder}.log`,
    sql,
    async create() {
      const how = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync']
      await run('initdb', ['-D', folder, ...how])
      const own = `port = ${port}\nunix_socket_directories = '${scratch}'\n`
      appendFileSync(join(folder, 'postgresql.conf'), SETTINGS + own)
      running = true
      await start()
      await sql('postgres', 'create database svc')
      await sql('svc', 'create extension citus')
    },
    /** kill -9 of the postmaster alone: its sessions have to find out for themselves. */
    kill() {
      process.kill(Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n', 1)[0]), 'SIGKILL')
    },
    /** Starts it again. */
    async start() {
      for (const begun = performance.now(); ; await sleep(200)) {
        try {
          await start()
          return
        } catch (error) {
          if (performance.now() - begun > START_PATIENCE_MS) throw error
        }
      }
    },
    async stop() {
      if (!running) return
      running = false
      await pgCtl('-m', 'immediate', 'stop').catch(() => {})
    },
  }
}

import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldOf, messageOf } from '../thrown.ts'
import { type Account, runAs } from './embedded/account.ts'
import { type Binaries, prepareBinaries } from './embedded/binaries.ts'
import { ensureCluster } from './embedded/cluster.ts'
import { chooseHome, dataFolder, FALLBACK_ROOT } from './embedded/home.ts'
import { type Lease, takeLease } from './embedded/leases.ts'
import { inspectPostmaster, killOrphans, removeStale, stopPostmaster } from './embedded/postmaster.ts'
import { checkServer } from './embedded/server-check.ts'
import { choosePort, commandLine, isFree } from './embedded/settings.ts'

export interface EmbeddedOptions {
  /** The folder for data and programs; created if it does not exist. */
  home: string
  log: (message: string) => void
  /** PostgreSQL settings that override ours, such as `{ shared_buffers: '1GB' }`. */
  settings?: Record<string, string>
  /** The programs of another PostgreSQL than the one of this release. */
  programs?: Binaries
  /** Where the data goes if the account that runs PostgreSQL cannot reach `home`. */
  fallbackRoot?: string
  /** How long a running server may not answer before it is restarted; 15,000 ms by default. */
  silenceMs?: number
  /**
   * Whether to restart the server when it ends unexpectedly, for example when the system kills it for lack of memory.
   */
  keepRunning?: boolean
}

export interface EmbeddedPostgres {
  /** The URL of a database of this server. It contains the password, so do not log it. */
  url(database: string): string
  pid: number
  /** Whether the server was already running: left by a process that was killed, or shared with a live one. */
  adopted: boolean
  /** Where the data is; differs from the requested home if that could not be used. */
  home: string
  /** Stops the server and waits for it. If another process uses it too, that process stops it later. */
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL that came with npm under `home`, or adopts the one that already runs there. Resolves once it
 * has answered a query and its settings are known to be durable; rejects with one sentence for the operator. Two
 * processes may call this at once: both get the same server. It listens on 127.0.0.1 only. It survives the death of
 * this process, and the next process to start adopts it. See docs/decisions/0001-embedded-postgresql.md.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, settings = {}, silenceMs = 15_000 } = options
  const home = await chooseHome(options.home, options.fallbackRoot ?? FALLBACK_ROOT, log)
  const lease = takeLease(home.path) // taken first, so that no other process stops the server after we found it
  try {
    const binaries = options.programs ?? (await prepareBinaries(home.path, home.account))
    const password = await ensureCluster(home, binaries, log)
    const data = dataFolder(home.path)
    const place = { home: home.path, data, account: home.account, binaries, password, settings, silenceMs }
    const server = await startServer(place, lease, log)
    lease.use(server.pid)
    const endWatch = options.keepRunning === true ? watchServer(place, lease, log, server.port) : undefined
    let stopping: Promise<void> | undefined
    return {
      url: (database) => addressOf(server.port, password, database),
      pid: server.pid,
      adopted: server.adopted,
      home: home.path,
      stop: () => {
        stopping ??= Promise.resolve(endWatch?.()).then(() => stopUnlessShared(data, lease, log))
        return stopping
      },
    }
  } catch (error) {
    lease.release()
    throw error
  }
}

interface Place {
  home: string
  data: string
  account: Account
  binaries: Binaries
  password: string
  settings: Record<string, string>
  silenceMs: number
}

const addressOf = (port: number, password: string, database: string) =>
  `postgresql://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}?sslmode=disable`

/** How long starts may fail before the last reason is reported. */
const START_TIMEOUT_MS = 30_000
/** How long the backends of a dead postmaster get to end by themselves. */
const ORPHAN_TIMEOUT_MS = 2_000
/** How often to check that the server still runs. */
const WATCH_MS = 1_000
/** The pause after a failed start. */
const FAILED_START_PAUSE_MS = 10_000
/** A fast shutdown writes a checkpoint, which takes a while with max_wal_size 2GB and a slow disk. */
const STOP_TIMEOUT_MS = 60_000

/** Finds or starts a server and checks it, until one is ready or the time is up. */
async function startServer(place: Place, lease: Lease, log: (message: string) => void) {
  const { data, password, silenceMs } = place
  const begun = performance.now()
  let startedByUs = false
  for (;;) {
    const sighting = inspectPostmaster(data)
    if (sighting.state === 'unclear') {
      await sleep(50)
      continue
    }
    if (sighting.state === 'stale') removeStale(data, sighting.text)
    if (sighting.state !== 'running') {
      const failure = await launch(place)
      startedByUs = failure === null
      if (failure === null) continue
      const waited = performance.now() - begun
      if (waited > START_TIMEOUT_MS || !failure.transient) throw new Error(failure.message)
      // After a kill -9 the old shared memory stays attached until the last backend has noticed.
      if (waited > ORPHAN_TIMEOUT_MS) killOrphans(data)
      await sleep(100)
      continue
    }
    const { pid, port } = sighting
    const server = { pid, url: addressOf(port, password, 'postgres') }
    const readiness = await waitUntilReady(place, server, log).catch(async (error: unknown) => {
      if (startedByUs && !lease.shared(pid))
        await stopPostmaster(data, STOP_TIMEOUT_MS).catch((second) => log(messageOf(second)))
      throw error
    })
    if (readiness.state === 'gone') continue
    if (readiness.state === 'silent') {
      log(`PostgreSQL (pid ${pid}) does not answer (${readiness.reason}); restarting it`)
      await stopPostmaster(data, Math.min(5_000, silenceMs))
      continue
    }
    if (readiness.unsafe.length === 0) {
      if (!startedByUs) log(`using the PostgreSQL that is already running (pid ${pid})`)
      return { pid, port, adopted: !startedByUs }
    }
    const alone = !lease.shared(pid)
    if (alone) await stopPostmaster(data, STOP_TIMEOUT_MS)
    if (alone && !startedByUs) continue // it may have been started with other settings
    throw new Error(
      `PostgreSQL runs with ${readiness.unsafe.join(', ')} not on and could lose acknowledged events: correct that in ` +
        `${join(data, 'postgresql.conf')} or postgresql.auto.conf`,
    )
  }
}

/**
 * Checks regularly whether the server runs, and restarts it if not.
 * @param port the port it must use again, because connections are made to the address that was given out
 * @returns a function that ends this and waits for a start in progress
 */
function watchServer(
  place: Place,
  lease: Lease,
  log: (message: string) => void,
  port: number,
): () => Promise<void> {
  const ending = new AbortController()
  const watching = (async () => {
    let pause = WATCH_MS
    for (;;) {
      await sleep(pause, undefined, { signal: ending.signal, ref: false }).catch(() => {})
      if (ending.signal.aborted) return
      pause = WATCH_MS
      try {
        const { state } = inspectPostmaster(place.data)
        if (state === 'running' || state === 'unclear') continue
        log('PostgreSQL has ended by itself; starting it again')
        const server = await startServer(place, lease, log)
        lease.use(server.pid)
        if (server.port === port) log(`PostgreSQL runs again (pid ${server.pid})`)
        else log(`PostgreSQL runs again, but its port ${port} was taken meanwhile: restart the service`)
      } catch (error) {
        log(messageOf(error))
        // The cause, such as a full disk, lasts longer, and must not fill the log with a line per second.
        pause = FAILED_START_PAUSE_MS
      }
    }
  })()
  return () => {
    ending.abort()
    return watching
  }
}

type Readiness =
  | { state: 'ready'; unsafe: string[] }
  | { state: 'gone' }
  | { state: 'silent'; reason: string }

/** Waits until the server answers a query. There is no limit while it reports that it is starting, only for silence. */
async function waitUntilReady(
  { data, silenceMs }: Place,
  { pid, url }: { pid: number; url: string },
  log: (message: string) => void,
): Promise<Readiness> {
  let lastSign = performance.now()
  const slowNotice = setTimeout(() => log('waiting for PostgreSQL: it is recovering from a hard stop'), 5_000)
  try {
    for (;;) {
      const before = inspectPostmaster(data)
      const answer = await checkServer(url, data)
      if (answer.state === 'ready') return answer
      const now = inspectPostmaster(data)
      if (now.state !== 'running' || now.pid !== pid) return { state: 'gone' }
      // Until ours has its port, another program's server may be the one that answers there. Ours then ends.
      const listened = before.state === 'running' && before.listens
      if (answer.state === 'foreign' && listened) throw new Error(answer.reason)
      if (answer.state === 'starting') lastSign = performance.now()
      else if (performance.now() - lastSign > silenceMs) return { state: 'silent', reason: answer.reason }
      await sleep(50)
    }
  } finally {
    clearTimeout(slowNotice)
  }
}

/**
 * Runs `pg_ctl start` once. pg_ctl puts the server into its own session, so Ctrl-C in our terminal does not reach it
 * and we can drain first.
 * @returns null when the server was started; otherwise the reason, and whether it may pass: another start won the race,
 * a dead server's shared memory is still attached, or the port was taken between the check and the bind
 */
async function launch(place: Place): Promise<{ message: string; transient: boolean } | null> {
  const { home, data, account, binaries } = place
  const port = await choosePort(home)
  const options = `-p ${port} ${await commandLine(binaries, account, data, place.settings)}`
  const before = Date.now()
  rmSync(join(data, 'start.log'), { force: true })
  try {
    // PGDATA and a relative log path, because pg_ctl would pass both paths unquoted to a shell.
    const args = ['start', '-w', '-t', '5', '-s', '-l', 'start.log', '-o', options]
    await runAs(account, binaries.pgCtl, args, { cwd: data, env: { PGDATA: data } })
    return null
  } catch (error) {
    const said = serverOutput(data, before)
    const stderr = String(fieldOf(error, 'stderr') ?? '')
    if (stderr.includes('did not start in time')) return null // it is recovering; waitUntilReady waits for that
    const lost = /lock file "?postmaster\.pid"? already exists|shared memory block .* still in use/.test(said)
    const transient = lost || inspectPostmaster(data).state === 'running' || !(await isFree(port))
    return { message: `PostgreSQL did not start: ${(said || stderr || messageOf(error)).trim()}`, transient }
  }
}

/** The last lines that the server wrote since then: start.log first, and log/ once the logging collector runs. */
function serverOutput(data: string, since: number): string {
  const files = ['start.log', ...listOrEmpty(join(data, 'log')).map((name) => join('log', name))]
  return files
    .map((name) => join(data, name))
    .filter((file) => (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= since - 1000)
    .map((file) => readFileSync(file, 'utf8').trim().split('\n').slice(-8).join('\n'))
    .join('\n')
}

function listOrEmpty(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

async function stopUnlessShared(data: string, lease: Lease, log: (message: string) => void): Promise<void> {
  lease.release()
  const sighting = inspectPostmaster(data)
  if (sighting.state !== 'running') return
  if (lease.shared(sighting.pid)) log('leaving PostgreSQL running: another process uses it')
  else await stopPostmaster(data, STOP_TIMEOUT_MS)
}

import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldOf, messageOf } from '../thrown.ts'
import { type Account, runAs } from './embedded/account.ts'
import { type Binaries, prepareBinaries } from './embedded/binaries.ts'
import { ensureCluster } from './embedded/cluster.ts'
import { chooseHome, dataFolder } from './embedded/home.ts'
import { type Lease, takeLease } from './embedded/leases.ts'
import { inspectPostmaster, killOrphans, removeStale, stopPostmaster } from './embedded/postmaster.ts'
import { askServer } from './embedded/server-check.ts'
import { choosePort, commandLine, isFree } from './embedded/settings.ts'

export interface EmbeddedOptions {
  /** The folder for everything; created when absent. */
  home: string
  log: (message: string) => void
  /** PostgreSQL settings above our own, such as `{ shared_buffers: '1GB' }`. */
  settings?: Record<string, string>
  /** Programs of another PostgreSQL than the one of this release. */
  programs?: Binaries
  /** Where the data goes when the home cannot be reached by the account that runs PostgreSQL. */
  fallbackRoot?: string
  /** How long a server that runs may be silent before it is restarted; 15,000 ms. */
  silenceMs?: number
  /** Whether to start the server again when it ends by itself, as when the system kills it for lack of memory. */
  keepRunning?: boolean
}

export interface EmbeddedPostgres {
  /** The address of a database of this server, password included: not for logs. */
  url(database: string): string
  pid: number
  /** Whether the server was already running: left by a process that was killed, or shared with one that lives. */
  adopted: boolean
  /** Where the data really is; differs from the wanted home when that could not be used. */
  home: string
  /** Stops the server and waits for it, unless another process uses it too: then the last one stops it. */
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL that came with npm under `home`, or adopts the one that already runs there. Returns when it
 * answered a query and is known to be durable; rejects with one sentence for the operator. Safe to call from two
 * processes at once: both end with the same server. Listens on 127.0.0.1 only; survives our own death, so that
 * the next process to start adopts it. See docs/decisions/0001-embedded-postgresql.md.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, settings = {}, silenceMs = 15_000 } = options
  const home = await chooseHome(options.home, options.fallbackRoot ?? '/var/lib/svc', log)
  const lease = takeLease(home.path) // before looking for a server, so that no one stops it after we looked
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
        stopping ??= Promise.resolve(endWatch?.()).then(() => leave(data, lease, log))
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
  `postgresql://postgres:${password}@127.0.0.1:${port}/${encodeURIComponent(database)}`

/** How long a start may go on failing before its last reason is reported. */
const START_TIMEOUT_MS = 30_000
/** When backends of a dead postmaster have had time enough to leave by themselves. */
const ORPHAN_TIMEOUT_MS = 2_000
/** How often a server that is to be kept running is looked for. */
const WATCH_MS = 1_000
/** The same after a start that failed. */
const FAILED_START_PAUSE_MS = 10_000
/** Fast shutdown writes a checkpoint; with max_wal_size 2GB and a slow disk that takes a while. */
const STOP_TIMEOUT_MS = 60_000

/** Look, start what is not there, prove it; again until a server is proven or the patience is over. */
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
      if (waited > START_TIMEOUT_MS || !failure.passing) throw new Error(failure.message)
      // Just after a kill -9 the old shared memory is held until the last backend has noticed.
      if (waited > ORPHAN_TIMEOUT_MS) killOrphans(data)
      await sleep(100)
      continue
    }
    const { pid, port } = sighting
    const proof = await prove(place, { pid, url: addressOf(port, password, 'postgres') }, log)
    if (proof.state === 'gone') continue
    if (proof.state === 'silent') {
      log(`PostgreSQL (pid ${pid}) does not answer (${proof.reason}); restarting it`)
      await stopPostmaster(data, Math.min(5_000, silenceMs))
      continue
    }
    if (proof.unsafe.length === 0) {
      if (!startedByUs) log(`using the PostgreSQL that is already running (pid ${pid})`)
      return { pid, port, adopted: !startedByUs }
    }
    const alone = !lease.shared(pid)
    if (alone) await stopPostmaster(data, STOP_TIMEOUT_MS)
    if (alone && !startedByUs) continue // it may have been started with other settings than ours
    throw new Error(
      `PostgreSQL runs with ${proof.unsafe.join(', ')} not on and could lose acknowledged events: correct that in ` +
        `${join(data, 'postgresql.conf')} or postgresql.auto.conf`,
    )
  }
}

/**
 * Looks whether the server still runs, and starts it again where it does not.
 * @param port where it has to be found again: connections are made to the address that was given out
 * @returns ends that, and waits for a start under way
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
        // What keeps it from starting, such as a full disk, takes its time, and needs no line a second.
        pause = FAILED_START_PAUSE_MS
      }
    }
  })()
  return () => {
    ending.abort()
    return watching
  }
}

type Proof = { state: 'ready'; unsafe: string[] } | { state: 'gone' } | { state: 'silent'; reason: string }

/** Waits for the server's answer: as long as it takes while it says that it is starting, not so long in silence. */
async function prove(
  { data, silenceMs }: Place,
  { pid, url }: { pid: number; url: string },
  log: (message: string) => void,
): Promise<Proof> {
  let lastSign = performance.now()
  const patience = setTimeout(() => log('waiting for PostgreSQL: it is recovering from a hard stop'), 5_000)
  try {
    for (;;) {
      const answer = await askServer(url, data)
      if (answer.state === 'ready') return answer
      const now = inspectPostmaster(data)
      if (now.state !== 'running' || now.pid !== pid) return { state: 'gone' }
      if (answer.state === 'starting') lastSign = performance.now()
      else if (performance.now() - lastSign > silenceMs) return { state: 'silent', reason: answer.reason }
      await sleep(50)
    }
  } finally {
    clearTimeout(patience)
  }
}

/**
 * Runs `pg_ctl start` once. Null when the server is up; else why not, and whether that can pass: another start won
 * the race, a dead server's memory is still held, or the port was taken between our look and its bind.
 * pg_ctl puts the server into a session of its own, so Ctrl-C in our terminal does not reach it, and we can drain first.
 */
async function launch(place: Place): Promise<{ message: string; passing: boolean } | null> {
  const { home, data, account, binaries } = place
  const port = await choosePort(home)
  const options = `-p ${port} ${await commandLine(binaries, account, data, place.settings)}`
  const before = Date.now()
  rmSync(join(data, 'start.log'), { force: true })
  try {
    // The folder goes by PGDATA and the log by a relative path: pg_ctl would put both, unquoted, before a shell.
    const args = ['start', '-w', '-t', '5', '-s', '-l', 'start.log', '-o', options]
    await runAs(account, binaries.pgCtl, args, { cwd: data, env: { PGDATA: data } })
    return null
  } catch (error) {
    const said = serverOutput(data, before)
    const stderr = String(fieldOf(error, 'stderr') ?? '')
    if (stderr.includes('did not start in time')) return null // it is recovering; the proof waits for that
    const lost = /lock file "?postmaster\.pid"? already exists|shared memory block .* still in use/.test(said)
    const passing = lost || inspectPostmaster(data).state === 'running' || !(await isFree(port))
    return { message: `PostgreSQL did not start: ${(said || stderr || messageOf(error)).trim()}`, passing }
  }
}

/** The end of what the server wrote since: start.log first, and log/ once its collector runs. */
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

async function leave(data: string, lease: Lease, log: (message: string) => void): Promise<void> {
  lease.release()
  const sighting = inspectPostmaster(data)
  if (sighting.state !== 'running') return
  if (lease.shared(sighting.pid)) log('leaving PostgreSQL running: another process uses it')
  else await stopPostmaster(data, STOP_TIMEOUT_MS)
}

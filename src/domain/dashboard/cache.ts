import type { Db } from '../../db/sql.ts'
import { logBounds, newestCompleteChange } from '../../stream/log.ts'
import { type GpuSeconds, sumSnapshots } from './gpu-seconds.ts'
import type { Summary } from './summary-fields.ts'

/**
 * The counts of the dashboard for each batch, kept in memory while the process runs. A read updates only the batches that
 * the change log names since the last read, on any server, so its cost depends on what changed and not on what is stored.
 * A batch takes about 200 bytes.
 */
export interface DashboardCache {
  /** Over all batches of these projects (all projects: null) that are not deleted. */
  of(db: Db, projectKeys: number[] | null, now: Date): Promise<Totals>
}

/** What changes with the change log alone. */
type Totals = GpuSeconds & Omit<Summary, 'stalled' | 'idle' | 'gpu_hours' | 'idle_gpu_hours'>

interface Known extends GpuSeconds {
  projectKey: number
  status: 'running' | 'completed' | 'failed' | 'stopped' | 'lost'
  endedAt: number
  runningJobs: number
  /** When jobs of it failed, in ms, at the time of the read within the last day. */
  jobFailures: readonly number[]
}

const DAY_MS = 86_400_000
const BATCHES_AT_ONCE = 200
/** After summing the snapshots of a running batch, it is not summed again for this many times the time that it took. */
const REST_PER_WORK = 20

interface State {
  batches: Map<number, Known>
  /** Batches whose snapshots have to be summed again, with the earliest time for that. */
  unsummed: Map<number, number>
  /** For running batches, the earliest time to sum their snapshots again. */
  notBefore: Map<number, number>
  /** The change up to which `batches` is current. */
  seq: number | undefined
}

export function createDashboardCache(): DashboardCache {
  const state: State = { batches: new Map(), unsummed: new Map(), notBefore: new Map(), seq: undefined }
  const refreshed = shared((db: Db, now: Date) => refresh(state, db, now))
  return {
    async of(db, projectKeys, now) {
      await refreshed(db, now)
      return totalsOf(state.batches.values(), projectKeys, now)
    },
  }
}

/** Runs one call of `work` at a time. Callers that arrive during a run share the next one, which begins after it. */
function shared<Args extends unknown[]>(
  work: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null
  return (...args) => {
    const begin = (): Promise<void> => {
      running = work(...args).finally(() => {
        running = null
      })
      return running
    }
    if (running === null) return begin()
    next ??= running
      .catch(() => {})
      .then(() => {
        next = null
        return begin()
      })
    return next
  }
}

async function refresh(state: State, db: Db, now: Date): Promise<void> {
  // Read before the batches: what commits meanwhile is later in the log, and is read the next time.
  const newest = await newestCompleteChange(db)
  const bounds = await logBounds(db)
  const logHasAllSince = (seq: number) =>
    bounds === null ? seq === 0 : bounds.first <= seq + 1 && seq <= bounds.last
  if (state.seq === undefined || !logHasAllSince(state.seq)) {
    state.batches.clear()
    await read(state, db, null, now)
    state.seq = newest
  } else if (newest > state.seq) {
    await read(state, db, await changedBatches(db, state.seq, newest), now)
    state.seq = newest
  }
  await sum(state, db, now)
}

/** @param keys the batches to read; null: all */
async function read(
  { batches, unsummed, notBefore }: State,
  db: Db,
  keys: number[] | null,
  now: Date,
): Promise<void> {
  if (keys?.length === 0) return
  const failures = await jobFailures(db, keys, now)
  const rows = await db<
    {
      key: number
      project_key: number
      status: Known['status']
      ended_at: string | null
      n_running: number
    }[]
  >`/* dashboard.batches */
    select b.key, b.project_key, b.status, b.ended_at, p.n_running
    from batches b join batch_progress p on p.batch_key = b.key
    where b.deleted_at is null and (${keys}::bigint[] is null or b.key = any (${keys}::bigint[]))`
  const found = new Set<number>()
  for (const row of rows) {
    found.add(row.key)
    const before = batches.get(row.key)
    batches.set(row.key, {
      projectKey: row.project_key,
      status: row.status,
      endedAt: row.ended_at === null ? Number.NaN : Date.parse(row.ended_at),
      runningJobs: row.n_running,
      jobFailures: failures.get(row.key) ?? [],
      used: before?.used ?? 0,
      idle: before?.idle ?? 0,
    })
    unsummed.set(row.key, notBefore.get(row.key) ?? 0)
  }
  // A batch that was not found was deleted.
  for (const key of keys ?? [...notBefore.keys()]) {
    if (found.has(key)) continue
    batches.delete(key)
    notBefore.delete(key)
  }
}

/** When jobs failed within the last day, by batch. Only batches that were alive within it are searched. */
async function jobFailures(db: Db, keys: number[] | null, now: Date): Promise<Map<number, number[]>> {
  const since = new Date(now.getTime() - DAY_MS).toISOString()
  const rows = await db<{ batch_key: number; at: number[] }[]>`/* dashboard.job_failures */
    select j.batch_key, array_agg(extract(epoch from j.ended_at)::float8 * 1000) at
    from batch_progress p join jobs j on j.batch_key = p.batch_key
    where p.n_failed > 0 and p.last_seen_at >= ${since}::timestamptz and j.status = 'failed'
      and j.ended_at >= ${since}::timestamptz and (${keys}::bigint[] is null or p.batch_key = any (${keys}::bigint[]))
    group by j.batch_key`
  return new Map(rows.map(({ batch_key, at }) => [batch_key, at]))
}

async function sum({ batches, unsummed, notBefore }: State, db: Db, now: Date): Promise<void> {
  const clock = performance.now()
  const due = [...unsummed].flatMap(([key, from]) => (from <= clock ? key : []))
  for (let i = 0; i < due.length; i += BATCHES_AT_ONCE) {
    const some = due.slice(i, i + BATCHES_AT_ONCE)
    const begun = performance.now()
    const unavailable = new Set<number>()
    const sums = await sumSnapshots(db, some, now, (keys) => {
      for (const key of keys) unavailable.add(key)
    })
    const rest = performance.now() + REST_PER_WORK * (performance.now() - begun)
    for (const key of some) {
      unsummed.delete(key)
      const batch = batches.get(key)
      if (batch === undefined) continue
      if (unavailable.has(key)) {
        // The last sums are kept until the worker that has the batch is back.
        unsummed.set(key, rest)
        continue
      }
      Object.assign(batch, sums.get(key) ?? { used: 0, idle: 0 })
      if (batch.status === 'running') notBefore.set(key, rest)
      else notBefore.delete(key)
    }
  }
}

function totalsOf(batches: Iterable<Known>, projectKeys: number[] | null, now: Date): Totals {
  const wanted = projectKeys === null ? null : new Set(projectKeys)
  const totals: Totals = {
    running: 0,
    completed: 0,
    failed: 0,
    stopped: 0,
    lost: 0,
    running_jobs: 0,
    finished_24h: 0,
    failed_24h: 0,
    failed_jobs_24h: 0,
    used: 0,
    idle: 0,
  }
  const since = now.getTime() - DAY_MS
  for (const batch of batches) {
    if (wanted !== null && !wanted.has(batch.projectKey)) continue
    totals[batch.status]++
    totals.running_jobs += batch.runningJobs
    totals.used += batch.used
    totals.idle += batch.idle
    if (batch.endedAt >= since && batch.status === 'completed') totals.finished_24h++
    if (batch.endedAt >= since && batch.status === 'failed') totals.failed_24h++
    for (const at of batch.jobFailures) if (at >= since) totals.failed_jobs_24h++
  }
  return totals
}

async function changedBatches(db: Db, after: number, upTo: number): Promise<number[]> {
  const rows = await db<{ key: number }[]>`/* dashboard.changed */
    select distinct key from (
      select unnest(keys) as key from changes where seq > ${after} and seq <= ${upTo} and type = 'batches'
      union all
      select batch_key from changes where seq > ${after} and seq <= ${upTo} and batch_key is not null) c`
  return rows.map(({ key }) => key)
}

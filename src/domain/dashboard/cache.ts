import type { Db } from '../../db/sql.ts'
import { logBounds, newestCompleteChange } from '../../stream/log.ts'
import { type GpuSeconds, sumSnapshots } from './gpu-seconds.ts'

/**
 * What the dashboard counts, batch by batch, kept in memory for as long as the process lives. The change log names
 * the batches that changed since it was last asked, whichever server changed them, so that a
 * reading costs what happened meanwhile and not all that was ever stored. A batch costs about 200 bytes.
 */
export interface DashboardCache {
  /** Over all batches of these projects (all projects: null) that are not deleted. */
  of(db: Db, projectKeys: number[] | null, now: Date): Promise<Totals>
}

export interface Totals extends GpuSeconds {
  running: number
  completed: number
  failed: number
  stopped: number
  lost: number
  runningJobs: number
  finished24h: number
  failed24h: number
}

interface Known extends GpuSeconds {
  projectKey: number
  status: 'running' | 'completed' | 'failed' | 'stopped' | 'lost'
  endedAt: number
  runningJobs: number
}

const DAY_MS = 86_400_000
const BATCHES_AT_ONCE = 200
/** The sums over a batch's snapshots are recomputed when it changed; the longer that takes, the longer the pause. */
const REST_PER_WORK = 20

export function createDashboardCache(): DashboardCache {
  const known = new Map<number, Known>()
  /** Batches whose snapshots have to be summed again, with the earliest time for that. */
  const unsummed = new Map<number, number>()
  const notBefore = new Map<number, number>()
  let seq: number | undefined
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null

  async function refresh(db: Db, now: Date): Promise<void> {
    // Read first: what commits after it is in the log after it, and is read again the next time.
    const newest = await newestCompleteChange(db)
    const bounds = await logBounds(db)
    const isWhole = (seq: number) =>
      bounds === null ? seq === 0 : bounds.first <= seq + 1 && seq <= bounds.last
    if (seq === undefined || !isWhole(seq)) {
      known.clear()
      await read(db, null)
      seq = newest
    } else if (newest > seq) {
      await read(db, await changedBatches(db, seq, newest))
      seq = newest
    }
    await sum(db, now)
  }

  async function read(db: Db, keys: number[] | null): Promise<void> {
    if (keys?.length === 0) return
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
      const before = known.get(row.key)
      known.set(row.key, {
        projectKey: row.project_key,
        status: row.status,
        endedAt: row.ended_at === null ? Number.NaN : Date.parse(row.ended_at),
        runningJobs: row.n_running,
        used: before?.used ?? 0,
        idle: before?.idle ?? 0,
      })
      unsummed.set(row.key, notBefore.get(row.key) ?? 0)
    }
    // What was asked for and is not there was deleted.
    for (const key of keys ?? []) if (!found.has(key)) known.delete(key)
  }

  async function sum(db: Db, now: Date): Promise<void> {
    const clock = performance.now()
    const due = [...unsummed].flatMap(([key, from]) => (from <= clock ? key : []))
    for (let i = 0; i < due.length; i += BATCHES_AT_ONCE) {
      const some = due.slice(i, i + BATCHES_AT_ONCE)
      const begun = performance.now()
      const away = new Set<number>()
      const sums = await sumSnapshots(db, some, now, (keys) => {
        for (const key of keys) away.add(key)
      })
      const rest = performance.now() + REST_PER_WORK * (performance.now() - begun)
      for (const key of some) {
        unsummed.delete(key)
        const batch = known.get(key)
        if (batch === undefined) continue
        if (away.has(key)) {
          // What is known of it stays, until its worker is back.
          unsummed.set(key, rest)
          continue
        }
        Object.assign(batch, sums.get(key) ?? { used: 0, idle: 0 })
        if (batch.status === 'running') notBefore.set(key, rest)
        else notBefore.delete(key)
      }
    }
  }

  /** Callers that arrive during a refresh share the next one, which begins after it. */
  function refreshed(db: Db, now: Date): Promise<void> {
    const begin = (): Promise<void> => {
      running = refresh(db, now).finally(() => {
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

  return {
    async of(db, projectKeys, now) {
      await refreshed(db, now)
      const wanted = projectKeys === null ? null : new Set(projectKeys)
      const totals: Totals = {
        running: 0,
        completed: 0,
        failed: 0,
        stopped: 0,
        lost: 0,
        runningJobs: 0,
        finished24h: 0,
        failed24h: 0,
        used: 0,
        idle: 0,
      }
      const since = now.getTime() - DAY_MS
      for (const batch of known.values()) {
        if (wanted !== null && !wanted.has(batch.projectKey)) continue
        totals[batch.status]++
        totals.runningJobs += batch.runningJobs
        totals.used += batch.used
        totals.idle += batch.idle
        if (batch.endedAt >= since && batch.status === 'completed') totals.finished24h++
        if (batch.endedAt >= since && batch.status === 'failed') totals.failed24h++
      }
      return totals
    },
  }
}

async function changedBatches(db: Db, after: number, upTo: number): Promise<number[]> {
  const rows = await db<{ key: number }[]>`/* dashboard.changed */
    select distinct key from (
      select unnest(keys) as key from changes where seq > ${after} and seq <= ${upTo} and type = 'batches'
      union all
      select batch_key from changes where seq > ${after} and seq <= ${upTo} and batch_key is not null) c`
  return rows.map(({ key }) => key)
}

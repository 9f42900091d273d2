import { itemAt } from '../../checked.ts'
import { byBatch, sameBatch } from '../../db/by-batch.ts'
import type { Db, Fragment } from '../../db/sql.ts'
import type { LoggedChange } from '../../stream/log.ts'
import type { ChangePayloads } from '../../stream/payloads.ts'
import { eventTypeCode, payloadEpoch, withTemplate, writeNumber } from '../events/index.ts'
import type { LogLine } from '../logs/index.ts'
import { hidingOf } from '../shares/index.ts'
import type { Telemetry } from '../telemetry.ts'
import type { Viewer } from './follow.ts'

/** What the stream says of points, log lines and snapshots: those that the events of the change brought. */

/** A number as JSON writes it, or "NaN", "Infinity", "-Infinity". */
export type PayloadNumber = number | string

/** An epoch with all its series, merged from all events that were about it (contract §1). */
export interface PayloadPoint {
  job_id: string
  job_key: string
  epoch: number
  timestamp: string
  values: Record<string, PayloadNumber>
}

export interface PayloadSnapshot {
  db_id: number
  timestamp: string
  /** Null for one of the whole batch. */
  job_id: string | null
  values: Record<string, PayloadNumber>
  /** As it was sent. */
  gpus: unknown
}

interface WantedRows {
  /** The position of the change. */
  n: number
  batchKey: number
  first: number
  last: number
}

const wantedBy = (changes: readonly LoggedChange[]): WantedRows[] =>
  changes.map((c, n) => ({ n, batchKey: c.batchKey ?? 0, first: c.firstId ?? 0, last: c.lastId ?? -1 }))

/** What is wanted as rows `u` to join with. */
const unnested = (db: Db, wanted: readonly WantedRows[]) => db`
  unnest(${wanted.map((w) => w.n)}::int[], ${wanted.map((w) => w.batchKey)}::bigint[],
    ${wanted.map((w) => w.first)}::bigint[], ${wanted.map((w) => w.last)}::bigint[])
  as u (n, batch_key, first_id, last_id)`

/**
 * The rows of changes. A stream that continues after some hours may ask for events of a batch that was archived
 * meanwhile: it is restored, and read once more.
 */
async function readRestored<Row extends { n: number }>(
  db: Telemetry,
  changes: readonly LoggedChange[],
  work: (own: readonly WantedRows[], batch: Fragment) => PromiseLike<readonly Row[]>,
): Promise<Row[]> {
  const wanted = wantedBy(changes)
  const rows = await byBatch(db, wanted, work)
  const found = new Set(rows.map(({ n }) => n))
  const batches = changes.flatMap(({ batchKey }, n) => (found.has(n) || batchKey === null ? [] : [batchKey]))
  if (batches.length === 0) return rows
  // The failure is logged where it happened; the stream goes on without these rows.
  const restored = await db.restore({ batches: [...new Set(batches)] }).catch(() => false)
  return restored ? byBatch(db, wanted, work) : rows
}

interface NamedJob {
  id: string
  series: string[]
  /** Who ran it and where: what an anonymous share hides. */
  whereabouts: string[]
}

/** The jobs that these rows name, by key: read after the rows, so that every series of a row is among the job's. */
async function jobsOf(
  db: Db,
  rows: readonly { job_key: number | null }[],
  withSeries: boolean,
): Promise<Map<number, NamedJob>> {
  const keys = [...new Set(rows.flatMap((row) => row.job_key ?? []))]
  if (keys.length === 0) return new Map()
  const jobs = await db<(NamedJob & { key: number })[]>`/* live.jobs */
    select j.key, j.id, ${withSeries ? db`(select series from job_progress p where p.job_key = j.key)` : db`'{}'::text[]`} series,
      array_remove(array[b.username, b.host, b.env_snapshot ->> 'hostname', u.name], null) whereabouts
    from jobs j
    join batches b on b.key = j.batch_key
    join users u on u.id = b.owner_id
    where j.key = any (${keys}::bigint[])`
  return new Map(jobs.map((job) => [job.key, job]))
}

/** In the order in which they arrived. */
const byArrival = (a: { n: number; db_id: number }, b: { n: number; db_id: number }): number =>
  a.n - b.n || a.db_id - b.db_id

/** A message per change, with the rows that are its own; none where there are none (any more). */
function payloadsOfRows<Row extends { n: number }, Item>(
  changes: readonly LoggedChange[],
  rows: readonly Row[],
  name: string,
  itemOf: (row: Row) => Item,
  anonymous: (item: Item) => Item = (item) => item,
): (ChangePayloads<Viewer> | null)[] {
  const items: Item[][] = changes.map(() => [])
  for (const row of rows) items[row.n]?.push(itemOf(row))
  return items.map((list) => {
    if (list.length === 0) return null
    const payload = JSON.stringify({ [name]: list })
    const open = { key: '', text: () => payload }
    const hidden = { key: 'anonymous', text: () => JSON.stringify({ [name]: list.map(anonymous) }) }
    return { payloadFor: (viewer) => (viewer.anonymous ? hidden : open) }
  })
}

/**
 * `{points}`. The events say which epochs they were about, the epochs say what holds: where several events were about
 * one, it is the merged values that are told.
 */
export async function loadEpochs(
  db: Telemetry,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const rows = await readRestored(
    db,
    changes,
    (own, batch) => db<
      {
        n: number
        db_id: number
        job_key: number
        epoch: number
        timestamp: string
        vals: (number | null)[]
      }[]
    >`/* live.epochs */
      select u.n, s.db_id, e.job_key, s.epoch, e.ts timestamp, e.vals
      from ${unnested(db, own)}
      cross join lateral (
        select e.job_key, ${payloadEpoch(db)} epoch, min(e.db_id) db_id
        from events e ${withTemplate(db)}
        where e.db_id between u.first_id and u.last_id and ${sameBatch(db, db`e.batch_key`, batch)}
          and e.type = ${eventTypeCode('job_epoch')} and (e.payload is not null or e.packed is not null)
        group by 1, 2) s
      cross join lateral (
        select * from epochs e where e.batch_key = ${batch} and e.job_key = s.job_key
          and e.epoch_high = (s.epoch + 2147483648) >> 32 and e.epoch = s.epoch - (((s.epoch + 2147483648) >> 32) << 32)
        limit 1) e`,
  )
  const jobs = await jobsOf(db, rows, true)
  const known = rows.filter((row) => jobs.has(row.job_key)).sort(byArrival)
  const point = (row: (typeof known)[number]): PayloadPoint => {
    const { id, series } = jobs.get(row.job_key) as NamedJob
    // Without a prototype, so that `__proto__` is a series like any other.
    const values: PayloadPoint['values'] = Object.create(null)
    for (const [i, value] of row.vals.entries()) {
      if (value !== null) values[itemAt(series, i)] = writeNumber(value)
    }
    const { job_key, epoch, timestamp } = row
    return { job_id: id, job_key: String(job_key), epoch, timestamp, values }
  }
  // An anonymous share shows the names of series without user and host.
  const anonymous = (shown: PayloadPoint): PayloadPoint => {
    const { text } = hidingOf(jobs.get(Number(shown.job_key))?.whereabouts ?? [])
    return { ...shown, values: text(shown.values) }
  }
  return payloadsOfRows(changes, known, 'points', point, anonymous)
}

/** `{lines}`, in the order in which they arrived. */
export async function loadLines(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const rows = await byBatch(
    db,
    wantedBy(changes),
    (own, batch) => db<({ n: number; job_key: number } & Omit<LogLine, 'job_id'>)[]>`/* live.lines */
      select u.n, l.db_id, l.ts timestamp, l.job_key, l.level, l.stream, l.line
      from ${unnested(db, own)}
      join log_lines l on l.batch_key = ${batch} and l.db_id between u.first_id and u.last_id`,
  )
  const jobs = await jobsOf(db, rows, false)
  const known = rows.filter((row) => jobs.has(row.job_key)).sort(byArrival)
  return payloadsOfRows(changes, known, 'lines', (row): LogLine => {
    const { db_id, timestamp, level, stream, line } = row
    return { db_id, timestamp, job_id: (jobs.get(row.job_key) as NamedJob).id, level, stream, line }
  })
}

const COLUMNS = ['gpu_util_pct', 'gpu_mem_mb', 'cpu_util_pct', 'ram_mb', 'disk_free_mb'] as const

/** `{snapshots}`. They are kept by time, so the events say where to look. */
export async function loadSnapshots(
  db: Telemetry,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const rows = await readRestored(
    db,
    changes,
    (own, batch) => db<
      ({
        n: number
        db_id: number
        timestamp: string
        job_key: number | null
        gpus: unknown
        extra: Record<string, string> | null
      } & Record<(typeof COLUMNS)[number], number | null>)[]
    >`/* live.snapshots */
      select u.n, r.db_id, r.ts timestamp, r.job_key, r.gpu_util_pct, r.gpu_mem_mb, r.cpu_util_pct, r.ram_mb,
        r.disk_free_mb, r.gpus, r.extra
      from ${unnested(db, own)}
      join events v on v.db_id between u.first_id and u.last_id and ${sameBatch(db, db`v.batch_key`, batch)}
        and v.type = ${eventTypeCode('resource_snapshot')}
      cross join lateral (
        select * from resource_snapshots r where r.batch_key = ${batch} and r.ts = v.ts and r.db_id = v.db_id limit 1) r`,
  )
  const jobs = await jobsOf(db, rows, false)
  return payloadsOfRows(changes, rows.sort(byArrival), 'snapshots', (row): PayloadSnapshot => {
    const values: PayloadSnapshot['values'] = Object.create(null)
    for (const name of COLUMNS) if (row[name] !== null) values[name] = writeNumber(row[name])
    for (const [name, value] of Object.entries(row.extra ?? {})) values[name] = writeNumber(Number(value))
    const { db_id, timestamp, job_key, gpus } = row
    const job_id = job_key === null ? null : (jobs.get(job_key)?.id ?? null)
    return { db_id, timestamp, job_id, values, gpus }
  })
}

import { entryOf } from '../../checked.ts'
import { canonicalInstant } from '../../db/instant.ts'
import type { Db, Fragment } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { payloadText, seriesOf, typeCodes, withTemplate } from '../events/index.ts'
import type { Series } from '../metrics/index.ts'
import { readByBatch, type Telemetry } from '../telemetry.ts'
import type { AttemptedJob } from './latest.ts'
import type { Span } from './reads.ts'

export interface AttemptPoints {
  /** By name; each with its epochs increasing. */
  series: Series[]
  /** False if retention purged points that are stored nowhere else. */
  complete: boolean
}

/** The most values in memory at once. */
const MAX_VALUES = 4_000_000
/** How many events are read at a time. */
const PAGE_SIZE = 1_000

/** An attempt of a job whose points are asked for. */
export interface AskedAttempt {
  job: AttemptedJob
  span: Span
}

/**
 * The points that attempts reported, from the payloads of their events: as they were before a later attempt reported the
 * same epochs. Within an attempt the later event wins per series, as everywhere.
 * @param asked one attempt of each job
 * @param keys names of series; undefined: all
 * @returns those of each job, by key
 * @throws Problem too_many_points if they do not fit into memory
 */
export async function pointsOf(
  db: Telemetry,
  asked: readonly AskedAttempt[],
  keys: readonly string[] | undefined,
): Promise<Map<number, AttemptPoints>> {
  const found = new Map(asked.map(({ job }) => [job.key, newColumns(job, keys)]))
  const budget = { held: 0 }
  await eachPage<EventRow>(db, asked, eventsOf, ({ job_key, db_id, payload }) => {
    const of = entryOf(found, job_key)
    if (payload === null) {
      of.purged.push(db_id)
      return
    }
    const { data } = JSON.parse(payload) as { data: Record<string, unknown> & { epoch: number } }
    const { series } = seriesOf(data)
    for (const [i, name] of series.names.entries())
      put(of, budget, name, data.epoch, series.values[i] ?? Number.NaN)
  })
  const lacking = asked.filter(({ job }) => entryOf(found, job.key).purged.length > 0)
  const whole = lacking.length === 0 ? new Set() : await addCurrentValues(db, lacking, found, budget)
  return new Map(
    asked.map(({ job }) => {
      const { columns, purged } = entryOf(found, job.key)
      const series = [...columns].map(([key, column]) => seriesFrom(job.id, key, column)).sort(byKey)
      return [job.key, { series, complete: purged.every((dbId) => whole.has(dbId)) }]
    }),
  )
}

/** What was found of one attempt. */
interface Columns {
  /** The names that are wanted: of series that are stored, not those beyond the limit of series. */
  wanted: ReadonlySet<string>
  /** By name: value by epoch. */
  columns: Map<string, Map<number, number>>
  /** The db_ids of events whose payload was purged. */
  purged: number[]
}

function newColumns(job: AttemptedJob, keys: readonly string[] | undefined): Columns {
  const named = keys && new Set(keys)
  const wanted = new Set(job.series.filter((name) => named?.has(name) !== false))
  return { wanted, columns: new Map(), purged: [] }
}

/** @throws Problem too_many_points */
function put(
  { wanted, columns }: Columns,
  budget: { held: number },
  name: string,
  epoch: number,
  value: number,
): void {
  if (!wanted.has(name)) return
  let column = columns.get(name)
  if (column === undefined) {
    column = new Map()
    columns.set(name, column)
  }
  if (!column.has(epoch) && ++budget.held > MAX_VALUES) {
    throw new Problem('too_many_points', {
      detail: `The attempts have more than ${MAX_VALUES.toLocaleString('en')} values: ask for fewer series`,
    })
  }
  column.set(epoch, value)
}

type Place = AskedAttempt & { batchKey: number }

/** Calls `each` with every row that a statement finds for these attempts, a page of rows in memory at a time. */
async function eachPage<Row extends object>(
  db: Telemetry,
  asked: readonly AskedAttempt[],
  rowsOf: (db: Db, own: readonly Place[], batch: Fragment) => { cursor(size: number): AsyncIterable<Row[]> },
  each: (row: Row) => void,
): Promise<void> {
  const places = asked.map((one): Place => ({ ...one, batchKey: one.job.batch_key }))
  await readByBatch(db, places, undefined, async (own, batch) => {
    for await (const page of rowsOf(db, own, batch).cursor(PAGE_SIZE)) for (const row of page) each(row)
    return []
  })
}

interface EventRow {
  job_key: number
  db_id: number
  payload: string | null
}

const eventsOf = (db: Db, own: readonly Place[], batch: Fragment) =>
  db<EventRow[]>`/* attempts.points */
    select u.job_key, e.db_id, e.payload
    from unnest(${own.map(({ job }) => job.batch_key)}::bigint[], ${own.map(({ job }) => job.key)}::bigint[],
      ${own.map(({ span }) => span.from)}::text[]::timestamptz[], ${own.map(({ span }) => span.before)}::text[]::timestamptz[],
      ${own.map(({ job }) => job.last_seen_at)}::text[]::timestamptz[]) as u (batch_key, job_key, since, before, last_seen_at)
    cross join lateral (
      select e.db_id, e.ts, e.event_id, ${payloadText(db)} payload from events e ${withTemplate(db)}
      where e.batch_key = ${batch} and e.job_key = u.job_key and e.type in (${typeCodes(db, 'job_epoch')})
        and e.ts >= u.since and e.ts <= coalesce(u.before, u.last_seen_at) and (u.before is null or e.ts < u.before)) e
    order by u.job_key, e.ts, e.event_id`

const byKey = (a: Series, b: Series): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)

function seriesFrom(jobId: string, key: string, column: ReadonlyMap<number, number>): Series {
  const steps = Float64Array.from(column.keys()).sort()
  return { jobId, key, steps, values: Float64Array.from(steps, (step) => entryOf(column, step)) }
}

interface StandingRow {
  job_key: number
  epoch: number
  ts: string
  db_id: number
  vals: (number | null)[]
  stamps: [string, string][] | null
}

const standing = (db: Db, own: readonly Place[], batch: Fragment) =>
  db<StandingRow[]>`/* attempts.standing */
    select u.job_key, e.epoch_high * 4294967296 + e.epoch epoch, e.ts, e.db_id, e.vals, e.stamps
    from unnest(${own.map(({ job }) => job.batch_key)}::bigint[], ${own.map(({ job }) => job.key)}::bigint[]) as u (batch_key, job_key)
    join epochs e on e.batch_key = ${batch} and e.job_key = u.job_key
    order by u.job_key, e.epoch_high, e.epoch`

/**
 * Adds the current values that the attempts reported. They remain when raw events are purged.
 * @returns the db_ids of the events whose values are all stored
 */
async function addCurrentValues(
  db: Telemetry,
  asked: readonly AskedAttempt[],
  found: ReadonlyMap<number, Columns>,
  budget: { held: number },
): Promise<Set<number>> {
  const bounds = new Map(
    asked.map(({ job, span: { from, before } }) => {
      const least = canonicalInstant(from)
      const most = before === null ? null : canonicalInstant(before)
      const mine = (at: string): boolean => at >= least && (most === null || at < most)
      return [job.key, { job, mine }]
    }),
  )
  const whole = new Set<number>()
  await eachPage<StandingRow>(db, asked, standing, ({ job_key, epoch, ts, db_id, vals, stamps }) => {
    const { job, mine } = entryOf(bounds, job_key)
    if (stamps === null) whole.add(db_id)
    const stampOf = stamps === null ? undefined : new Map(stamps)
    const at = canonicalInstant(ts)
    for (const [n, value] of vals.entries()) {
      const name = job.series[n]
      if (value === null || name === undefined) continue
      if (mine(stampOf?.get(name)?.slice(0, 27) ?? at))
        put(entryOf(found, job_key), budget, name, epoch, value)
    }
  })
  return whole
}

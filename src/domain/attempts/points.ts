import { entryOf } from '../../checked.ts'
import { canonicalInstant } from '../../db/instant.ts'
import type { Db } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { payloadText, seriesOf, typeCodes, withTemplate } from '../events/index.ts'
import type { Series } from '../metrics/index.ts'
import { warm } from '../warm.ts'
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

/**
 * The points that one attempt of a job reported, from the payloads of its events: as they were before a later attempt
 * reported the same epochs. Within the attempt the later event wins per series, as everywhere.
 * @param keys names of series; undefined: all
 * @throws Problem too_many_points if they do not fit into memory
 */
export async function pointsOf(
  db: Db,
  job: AttemptedJob,
  { from, before }: Span,
  keys: readonly string[] | undefined,
): Promise<AttemptPoints> {
  const wanted = keys === undefined ? undefined : new Set(keys)
  const columns = new Map<string, Map<number, number>>()
  let held = 0
  const put = (name: string, epoch: number, value: number): void => {
    if (wanted?.has(name) === false) return
    let column = columns.get(name)
    if (column === undefined) {
      column = new Map()
      columns.set(name, column)
    }
    if (!column.has(epoch) && ++held > MAX_VALUES) {
      throw new Problem('too_many_points', {
        detail: `The attempt has more than ${MAX_VALUES.toLocaleString('en')} values: ask for fewer series`,
      })
    }
    column.set(epoch, value)
  }
  const kept = await seriesNames(db, job)
  const purged: number[] = []
  await warm(db, { batches: [job.batch_key] })
  const rows = db<{ db_id: number; payload: string | null }[]>`/* attempts.points */
    select e.db_id, ${payloadText(db)} payload from events e ${withTemplate(db)}
    where e.batch_key = ${job.batch_key} and e.job_key = ${job.key} and e.type in (${typeCodes(db, 'job_epoch')}) and e.ts >= ${from}::timestamptz
      and ${before === null ? db`e.ts <= ${job.last_seen_at}::timestamptz` : db`e.ts < ${before}::timestamptz`}
    order by e.ts, e.event_id`
  for await (const page of rows.cursor(PAGE_SIZE)) {
    for (const { db_id, payload } of page) {
      if (payload === null) {
        purged.push(db_id)
        continue
      }
      const { data } = JSON.parse(payload) as { data: Record<string, unknown> & { epoch: number } }
      const { series } = seriesOf(data)
      for (const [i, name] of series.names.entries())
        if (kept.has(name)) put(name, data.epoch, series.values[i] ?? Number.NaN)
    }
  }
  let complete = true
  if (purged.length > 0) {
    const whole = await currentValues(db, job, { from, before }, put)
    complete = purged.every((dbId) => whole.has(dbId))
  }
  return {
    series: [...columns].map(([key, column]) => seriesFrom(job.id, key, column)).sort(byKey),
    complete,
  }
}

/** The job's series. Values beyond the limit of series were not stored. */
async function seriesNames(db: Db, job: AttemptedJob): Promise<Set<string>> {
  const [row] = await db<{ series: string[] }[]>`/* attempts.series_names */
    select series from job_progress where job_key = ${job.key}`
  return new Set(row?.series)
}

const byKey = (a: Series, b: Series): number => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)

function seriesFrom(jobId: string, key: string, column: ReadonlyMap<number, number>): Series {
  const steps = Float64Array.from(column.keys()).sort()
  return { jobId, key, steps, values: Float64Array.from(steps, (step) => entryOf(column, step)) }
}

/**
 * The current values that this attempt reported. They remain when raw events are purged.
 * @returns the db_ids of the events whose values are all stored
 */
async function currentValues(
  db: Db,
  job: AttemptedJob,
  { from, before }: Span,
  put: (name: string, epoch: number, value: number) => void,
): Promise<Set<number>> {
  const [least, most] = [canonicalInstant(from), before === null ? null : canonicalInstant(before)]
  const mine = (at: string): boolean => at >= least && (most === null || at < most)
  await warm(db, { batches: [job.batch_key] })
  const rows = db<
    { epoch: number; ts: string; db_id: number; vals: (number | null)[]; stamps: [string, string][] | null }[]
  >`/* attempts.standing */
    select epoch_high * 4294967296 + epoch epoch, ts, db_id, vals, stamps from epochs
    where batch_key = ${job.batch_key} and job_key = ${job.key} order by epoch_high, epoch`
  const whole = new Set<number>()
  for await (const page of rows.cursor(PAGE_SIZE)) {
    for (const { epoch, ts, db_id, vals, stamps } of page) {
      if (stamps === null) whole.add(db_id)
      const stampOf = stamps === null ? undefined : new Map(stamps)
      const at = canonicalInstant(ts)
      for (const [n, value] of vals.entries()) {
        const name = job.series[n]
        if (value === null || name === undefined) continue
        if (mine(stampOf?.get(name)?.slice(0, 27) ?? at)) put(name, epoch, value)
      }
    }
  }
  return whole
}

import { byBatch } from '../../db/by-batch.ts'
import type { Db, Fragment } from '../../db/sql.ts'
import { isStorable } from '../storable-text.ts'
import { warm } from '../warm.ts'
import type { EpochRange } from './chunks.ts'

/** The series that a query selects, with their metadata but without points. */

export interface SeriesQuery extends EpochRange {
  /** Names of series; undefined: all. Unknown names match nothing. */
  keys?: readonly string[] | undefined
  /** Ids of jobs; undefined: all. */
  jobs?: readonly string[] | undefined
}

/** The key of a batch, or the keys of jobs of any batches. The permissions were checked before. */
export type Scope = number | readonly number[]

/** Names that the database can store; null: all. */
export const storable = (names: readonly string[] | undefined): string[] | null =>
  names?.filter(isStorable) ?? null

/** Over a row `j` of jobs. */
export const within = (db: Db, scope: Scope): Fragment =>
  typeof scope === 'number' ? db`j.batch_key = ${scope}` : db`j.key = any (${[...scope]}::bigint[])`

/** The first and last epoch of those of these jobs that have one of the series; undefined when they have none. */
export async function epochBounds(
  db: Db,
  scope: Scope,
  query: SeriesQuery,
): Promise<{ first: number; last: number } | undefined> {
  const keys = storable(query.keys)
  const jobs = storable(query.jobs)
  await warm(db, typeof scope === 'number' ? { batches: [scope] } : { jobs: scope })
  const lasts = await db<{ batchKey: number; jobKey: number; last: number }[]>`/* series.lasts */
    select j.batch_key "batchKey", j.key "jobKey", coalesce(p.max_step, p.max_epoch) last
    from jobs j join job_progress p on p.job_key = j.key
    where ${within(db, scope)} and (${jobs}::text[] is null or j.id = any (${jobs}::text[])) and coalesce(p.max_step, p.max_epoch) is not null
      and (${keys}::text[] is null or p.series && ${keys}::text[])`
  const firsts = await byBatch(
    db,
    lasts,
    (own, batch) => db<{ first: number | null }[]>`/* series.firsts */
      select min(e.step) first
      from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[]) as u (batch_key, job_key)
      cross join lateral (
        select epoch_high * 4294967296 + epoch step from epochs where batch_key = ${batch} and job_key = u.job_key
        order by epoch_high, epoch limit 1) e`,
  )
  const known = firsts.flatMap(({ first }) => first ?? [])
  if (known.length === 0) return undefined
  const greatest = (a: number, b: number): number => Math.max(a, b)
  return {
    first: -known.map((n) => -n).reduce(greatest),
    last: lasts.map(({ last }) => last).reduce(greatest),
  }
}

/** The ids of the jobs and the names of the series that a query selects, without points. */
export async function namesOfSeries(
  db: Db,
  batchKey: number,
  query: SeriesQuery,
): Promise<{ jobs: string[]; keys: string[] }> {
  const keys = storable(query.keys)
  const jobs = storable(query.jobs)
  const [names] = await db<{ jobs: string[]; keys: string[] }[]>`/* series.names */
    with found as (
      select j.key, j.id, p.series from jobs j join job_progress p on p.job_key = j.key
      where j.batch_key = ${batchKey} and p.series <> '{}' and (${jobs}::text[] is null or j.id = any (${jobs}::text[])))
    select array(select id from found order by id) jobs,
      array(select distinct name collate "C" from found, unnest(series) name
        where ${keys}::text[] is null or name = any (${keys}::text[]) order by 1) keys`
  return names ?? { jobs: [], keys: [] }
}

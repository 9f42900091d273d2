import { byBatch } from '../../db/by-batch.ts'
import type { Db, Fragment } from '../../db/sql.ts'
import { isStorable } from '../storable-text.ts'
import type { Telemetry } from '../telemetry.ts'
import { type EpochRange, firstStepOf } from './chunks.ts'

/** The series that a query selects, with their metadata but without points. */

export interface SeriesQuery extends EpochRange {
  /** Names of series; undefined: all. Unknown names match nothing. */
  keys?: readonly string[] | undefined
  /** Ids of jobs; undefined: all. */
  jobs?: readonly string[] | undefined
}

/** The key of a batch, the keys of several, or the keys of jobs of any batches. The permissions were checked before. */
export type Scope = number | { batches: readonly number[] } | readonly number[]

export const isSeveral = (scope: Scope): scope is { batches: readonly number[] } =>
  typeof scope === 'object' && 'batches' in scope

/** Names that the database can store; null: all. */
export const storable = (names: readonly string[] | undefined): string[] | null =>
  names?.filter(isStorable) ?? null

/** Over a row `j` of jobs. */
export function within(db: Db, scope: Scope): Fragment {
  if (typeof scope === 'number') return db`j.batch_key = ${scope}`
  if (isSeveral(scope)) return db`j.batch_key = any (${[...scope.batches]}::bigint[])`
  return db`j.key = any (${[...scope]}::bigint[])`
}

/** The first and last epoch of each batch, over those of these jobs that have one of the series. */
export async function epochBounds(
  db: Telemetry,
  scope: Scope,
  query: SeriesQuery,
): Promise<Map<number, { first: number; last: number }>> {
  const keys = storable(query.keys)
  const jobs = storable(query.jobs)
  if (typeof scope === 'number') await db.restore({ batches: [scope] }, 'kept')
  else await db.restore(isSeveral(scope) ? { batches: scope.batches } : { jobs: scope }, 'kept')
  const lasts = await db<{ batchKey: number; jobKey: number; last: number }[]>`/* series.lasts */
    select j.batch_key "batchKey", j.key "jobKey", coalesce(p.max_step, p.max_epoch) last
    from jobs j join job_progress p on p.job_key = j.key
    where ${within(db, scope)} and (${jobs}::text[] is null or j.id = any (${jobs}::text[])) and coalesce(p.max_step, p.max_epoch) is not null
      and (${keys}::text[] is null or p.series && ${keys}::text[])`
  const firsts = await byBatch(
    db,
    lasts,
    (own, batch) => db<{ batchKey: number; first: number }[]>`/* series.firsts */
      select u.batch_key "batchKey", min(e.step) first
      from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[]) as u (batch_key, job_key)
      cross join lateral (${firstStepOf(db, batch)}) e
      group by u.batch_key`,
  )
  const bounds = new Map(
    firsts.map(({ batchKey, first }) => [batchKey, { first, last: Number.NEGATIVE_INFINITY }]),
  )
  for (const { batchKey, last } of lasts) {
    const found = bounds.get(batchKey)
    if (found !== undefined) found.last = Math.max(found.last, last)
  }
  return bounds
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

import type { Db } from '../../db/sql.ts'
import { columnName, type EpochRange, readColumns, TIMES, type Wanted } from './chunks.ts'
import { type Series, timesAt } from './read-series.ts'

/** A job whose series are wanted, with its dictionary as it was read (`JobRow.series`). */
export interface SeriesSource {
  key: number
  id: string
  epochs: number
  series: readonly string[]
  started_at: string
}

/** Points that are in memory at once, give or take one series. */
const MOST_POINTS = 1_000_000

/**
 * The series of jobs of any batches, by the job's key, in one packed read for a million points; `each` takes a series
 * before the next slice is read, so it decides what stays in memory.
 */
export async function eachSeriesOf(
  db: Db,
  jobs: readonly SeriesSource[],
  query: EpochRange & { keys?: readonly string[] | undefined; timed?: boolean },
  each: (jobKey: number, series: Series & { times?: Float64Array; startedAt: number }) => void,
): Promise<void> {
  const keys = query.keys === undefined ? undefined : new Set(query.keys)
  let slice: { job: SeriesSource; name: string; no: number }[] = []
  let points = 0
  const read = async (): Promise<void> => {
    const wanted: Wanted[] = slice.map(({ job, no }) => ({ jobKey: job.key, no }))
    if (query.timed)
      for (const jobKey of new Set(slice.map(({ job }) => job.key))) wanted.push({ jobKey, no: TIMES })
    const columns = await readColumns(db, wanted, query)
    for (const { job, name, no } of slice) {
      const column = columns.get(columnName(job.key, no))
      if (column === undefined) continue
      const times = query.timed ? columns.get(columnName(job.key, TIMES)) : undefined
      each(job.key, {
        jobId: job.id,
        key: name,
        startedAt: Date.parse(job.started_at),
        ...column,
        ...(times && { times: timesAt(column.steps, times) }),
      })
    }
    slice = []
    points = 0
  }
  for (const job of jobs) {
    const names = job.series.map((name, no) => ({ name, no })).filter(({ name }) => keys?.has(name) ?? true)
    names.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    for (const { name, no } of names) {
      if (slice.length > 0 && points + job.epochs > MOST_POINTS) await read()
      slice.push({ job, name, no })
      points += job.epochs
    }
  }
  if (slice.length > 0) await read()
}

/** The jobs of these batches as sources of series, in the order of their ids. */
export function seriesSources(
  db: Db,
  batchKeys: readonly number[],
  jobs: readonly string[] | undefined,
): Promise<readonly (SeriesSource & { batchKey: number })[]> {
  const ids = jobs?.filter((id) => !id.includes('\u0000') && id.isWellFormed()) ?? null
  return db<(SeriesSource & { batchKey: number })[]>`/* series.sources */
    select j.key, j.batch_key "batchKey", j.id, j.started_at, p.epochs, p.series
    from jobs j join job_progress p on p.job_key = j.key
    where j.batch_key = any (${[...batchKeys]}::bigint[]) and (${ids}::text[] is null or j.id = any (${ids}::text[]))
    order by j.id, j.key`
}

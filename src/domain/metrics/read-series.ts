import type { Db } from '../../db/sql.ts'
import { type Column, columnName, type EpochRange, readColumns, TIMES, type Wanted } from './chunks.ts'

export interface SeriesQuery extends EpochRange {
  /** Names of series; every one when undefined. Names that no job has match nothing. */
  keys?: readonly string[] | undefined
  /** Ids of jobs, likewise. */
  jobs?: readonly string[] | undefined
}

export interface Series {
  jobId: string
  key: string
  /** Epochs, increasing. */
  steps: Int32Array
  values: Float64Array
}

export interface TimedSeries extends Series {
  /** Unix milliseconds of each point. */
  times: Float64Array
}

/** Points that are in memory at once, give or take one series: 12 bytes each, twice while they are joined. */
const MOST_POINTS = 250_000
/** Jobs whose dictionaries are in memory at once. */
const JOBS_A_PAGE = 250

/**
 * The series of a batch, job by job in the order of their creation, by name within a job; only those with a point in
 * the range. Each job is read from one snapshot. Memory stays flat whatever the size of the batch.
 * @throws what the database throws
 */
export async function* readSeries(db: Db, batchKey: number, query: SeriesQuery): AsyncGenerator<Series> {
  for await (const { jobs, columns } of readSlices(db, batchKey, query, false)) {
    for (const { job, name, no } of jobs) {
      const column = columns.get(columnName(job.key, no))
      if (column !== undefined) yield { jobId: job.id, key: name, ...column }
    }
  }
}

/** As `readSeries`, with the time of every point. */
export async function* readTimedSeries(
  db: Db,
  batchKey: number,
  query: SeriesQuery,
): AsyncGenerator<TimedSeries> {
  for await (const { jobs, columns } of readSlices(db, batchKey, query, true)) {
    for (const { job, name, no } of jobs) {
      const column = columns.get(columnName(job.key, no))
      const times = columns.get(columnName(job.key, TIMES))
      if (column === undefined || times === undefined) continue
      yield { jobId: job.id, key: name, ...column, times: timesAt(column.steps, times) }
    }
  }
}

interface PlannedJob {
  key: number
  id: string
  epochs: number
  names: string[]
  numbers: number[]
}

interface Slice {
  jobs: { job: PlannedJob; name: string; no: number }[]
  columns: Map<string, Column>
}

async function* readSlices(
  db: Db,
  batchKey: number,
  query: SeriesQuery,
  timed: boolean,
): AsyncGenerator<Slice> {
  let wanted: Slice['jobs'] = []
  let points = 0
  const read = async (): Promise<Slice> => {
    const jobs = wanted
    wanted = []
    points = 0
    const columns: Wanted[] = jobs.map(({ job, no }) => ({ jobKey: job.key, no }))
    if (timed)
      for (const jobKey of new Set(jobs.map(({ job }) => job.key))) columns.push({ jobKey, no: TIMES })
    return { jobs, columns: await readColumns(db, columns, query) }
  }
  let after = 0
  for (;;) {
    const page = await planJobs(db, batchKey, query, after)
    for (const job of page) {
      for (const [i, name] of job.names.entries()) {
        if (wanted.length > 0 && points + job.epochs > MOST_POINTS) yield await read()
        wanted.push({ job, name, no: job.numbers[i] as number })
        points += job.epochs
      }
    }
    const last = page.at(-1)
    if (page.length < JOBS_A_PAGE || last === undefined) break
    after = last.key
  }
  if (wanted.length > 0) yield await read()
}

const storable = (names: readonly string[] | undefined): string[] | null =>
  names?.filter((name) => !name.includes('\u0000') && name.isWellFormed()) ?? null

function planJobs(
  db: Db,
  batchKey: number,
  query: SeriesQuery,
  after: number,
): Promise<readonly PlannedJob[]> {
  const keys = storable(query.keys)
  const jobs = storable(query.jobs)
  return db<PlannedJob[]>`/* series.plan */
    select j.key, j.id, p.epochs, s.names, s.numbers
    from jobs j
    join job_progress p on p.job_key = j.key
    cross join lateral (
      select coalesce(array_agg(u.name order by u.name collate "C"), '{}') names,
        coalesce(array_agg(u.n::int - 1 order by u.name collate "C"), '{}') numbers
      from unnest(p.series) with ordinality as u (name, n)
      where ${keys}::text[] is null or u.name = any (${keys}::text[])) s
    where j.batch_key = ${batchKey} and j.key > ${after} and (${jobs}::text[] is null or j.id = any (${jobs}::text[]))
    order by j.key
    limit ${JOBS_A_PAGE}`
}

/** The times of these steps, which all are among the job's epochs. */
function timesAt(steps: Int32Array, times: Column): Float64Array {
  if (steps.length === times.steps.length) return times.values
  const result = new Float64Array(steps.length)
  let at = 0
  for (let i = 0; i < steps.length; i++) {
    while (times.steps[at] !== steps[i]) at++
    result[i] = times.values[at] as number
  }
  return result
}

/** The ids of the jobs and the names of the series that a query finds, without their points. */
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
    select array(select id from found order by key) jobs,
      array(select distinct name collate "C" from found, unnest(series) name
        where ${keys}::text[] is null or name = any (${keys}::text[]) order by 1) keys`
  return names ?? { jobs: [], keys: [] }
}

import type { Db, Fragment } from '../../db/sql.ts'
import {
  type Column,
  columnName,
  createRoom,
  type EpochRange,
  type Room,
  readColumns,
  TIMES,
  type Wanted,
} from './chunks.ts'

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

/** A series with what is known of its job. */
export interface JobSeries extends Series {
  /** Unix milliseconds of each point, when they were asked for. */
  times?: Float64Array
  /** Unix milliseconds. */
  startedAt: number
  /** The value that the job's group has in common, as text; null without one, or when no groups were asked for. */
  group: string | null
}

export interface ReadOptions extends SeriesQuery {
  /** With the time of every point. */
  timed?: boolean | undefined
  /** The times for values: of each job one series, whatever its name. */
  timesAlone?: boolean | undefined
  groupBy?: { param: string } | { field: 'status' | 'model' | 'dataset' | 'batch' } | undefined
}

/** The key of a batch, or the keys of jobs of any batches: what the caller may see of them was settled before. */
export type Scope = number | readonly number[]

/** Points that are in memory at once, give or take one series: 12 bytes each, twice while they are joined. */
const MOST_POINTS = 250_000
/** Rooms that wait for the next reader: three megabytes each. */
const rooms: Room[] = []
const MOST_ROOMS = 4
/** Jobs whose dictionaries are in memory at once. */
const JOBS_A_PAGE = 250

/**
 * The series of a batch, job by job in the order of their creation, by name within a job; only those with a point in
 * the range. Each job is read from one snapshot. Memory stays flat whatever the size of the batch: the arrays of a series
 * are reused, so they hold only until the next one is asked for.
 * @throws what the database throws
 */
export async function* readSeries(db: Db, batchKey: number, query: SeriesQuery): AsyncGenerator<Series> {
  for await (const { jobId, key, steps, values } of readJobSeries(db, batchKey, query)) {
    yield { jobId, key, steps, values }
  }
}

/** As `readSeries`, with the time of every point. */
export async function* readTimedSeries(
  db: Db,
  batchKey: number,
  query: SeriesQuery,
): AsyncGenerator<TimedSeries> {
  for await (const series of readJobSeries(db, batchKey, { ...query, timed: true })) {
    const { jobId, key, steps, values } = series
    yield { jobId, key, steps, values, times: series.times as Float64Array }
  }
}

/** As `readSeries`, with what is known of the jobs. */
export async function* readJobSeries(db: Db, scope: Scope, options: ReadOptions): AsyncGenerator<JobSeries> {
  for await (const { jobs, columns } of readSlices(db, scope, options)) {
    for (const { job, name, no } of jobs) {
      const column = columns.get(columnName(job.key, no))
      if (column === undefined) continue
      const known = { jobId: job.id, key: name, startedAt: job.startedAt, group: job.group, ...column }
      if (options.timed !== true) yield known
      else if (no === TIMES) yield { ...known, times: column.values }
      else {
        const times = columns.get(columnName(job.key, TIMES))
        if (times !== undefined) yield { ...known, times: timesAt(column.steps, times) }
      }
    }
  }
}

interface PlannedJob {
  key: number
  id: string
  startedAt: number
  group: string | null
  epochs: number
  names: string[]
  numbers: number[]
}

interface Slice {
  jobs: { job: PlannedJob; name: string; no: number }[]
  columns: Map<string, Column>
}

async function* readSlices(db: Db, scope: Scope, query: ReadOptions): AsyncGenerator<Slice> {
  const room = rooms.pop() ?? createRoom(MOST_POINTS)
  try {
    yield* slicesIn(room, db, scope, query)
  } finally {
    if (rooms.length < MOST_ROOMS) rooms.push(room)
  }
}

async function* slicesIn(room: Room, db: Db, scope: Scope, query: ReadOptions): AsyncGenerator<Slice> {
  let wanted: Slice['jobs'] = []
  let points = 0
  const read = async (): Promise<Slice> => {
    const jobs = wanted
    wanted = []
    points = 0
    const columns: Wanted[] = jobs.map(({ job, no }) => ({ jobKey: job.key, no }))
    if (query.timed && !query.timesAlone)
      for (const jobKey of new Set(jobs.map(({ job }) => job.key))) columns.push({ jobKey, no: TIMES })
    room.clear()
    return { jobs, columns: await readColumns(db, columns, query, room) }
  }
  let after: JobPosition = { id: '', key: 0 }
  for (;;) {
    const page = await planJobs(db, scope, query, after)
    for (const job of page) {
      const names = query.timesAlone ? job.names.slice(0, 1) : job.names
      const timed = query.timed && !query.timesAlone
      for (const [i, name] of names.entries()) {
        // The times of a job come with its first series in the slice.
        const cost = (): number => job.epochs * (timed && wanted.at(-1)?.job !== job ? 2 : 1)
        if (wanted.length > 0 && points + cost() > MOST_POINTS) yield await read()
        points += cost()
        wanted.push({ job, name, no: query.timesAlone ? TIMES : (job.numbers[i] as number) })
      }
    }
    const last = page.at(-1)
    if (page.length < JOBS_A_PAGE || last === undefined) break
    after = last
  }
  if (wanted.length > 0) yield await read()
}

const storable = (names: readonly string[] | undefined): string[] | null =>
  names?.filter((name) => !name.includes('\u0000') && name.isWellFormed()) ?? null

/** By id, not by key: keys tell which event came first, and the answer must not depend on that (contract §1). */
type JobPosition = Pick<PlannedJob, 'id' | 'key'>

function planJobs(
  db: Db,
  scope: Scope,
  query: ReadOptions,
  after: JobPosition,
): Promise<readonly PlannedJob[]> {
  const keys = storable(query.keys)
  const jobs = storable(query.jobs)
  return db<PlannedJob[]>`/* series.plan */
    select j.key, j.id, floor(extract(epoch from j.started_at) * 1000)::float8 "startedAt", p.epochs, s.names, s.numbers,
      ${groupOf(db, query.groupBy)} "group"
    from jobs j
    join job_progress p on p.job_key = j.key
    cross join lateral (
      select coalesce(array_agg(u.name order by u.name collate "C"), '{}') names,
        coalesce(array_agg(u.n::int - 1 order by u.name collate "C"), '{}') numbers
      from unnest(p.series) with ordinality as u (name, n)
      where ${keys}::text[] is null or u.name = any (${keys}::text[])) s
    where ${within(db, scope)} and (j.id, j.key) > (${after.id}, ${after.key})
      and (${jobs}::text[] is null or j.id = any (${jobs}::text[]))
    order by j.id, j.key
    limit ${JOBS_A_PAGE}`
}

const within = (db: Db, scope: Scope): Fragment =>
  typeof scope === 'number' ? db`j.batch_key = ${scope}` : db`j.key = any (${[...scope]}::bigint[])`

function groupOf(db: Db, groupBy: ReadOptions['groupBy']): Fragment {
  if (groupBy === undefined) return db`null::text`
  if ('field' in groupBy)
    return groupBy.field === 'batch'
      ? db`(select b.id from batches b where b.key = j.batch_key)`
      : db`j.${db(groupBy.field)}`
  return db`j.params ->> ${groupBy.param}::text`
}

/** The first and last epoch of these jobs; undefined when they have none. */
export async function epochBounds(
  db: Db,
  scope: Scope,
  query: SeriesQuery,
): Promise<{ first: number; last: number } | undefined> {
  const jobs = storable(query.jobs)
  const [row] = await db<{ first: number | null; last: number | null }[]>`/* series.bounds */
    select min(e.epoch) first, max(p.max_epoch) last
    from jobs j join job_progress p on p.job_key = j.key
    cross join lateral (select epoch from epochs e where e.job_key = j.key order by epoch limit 1) e
    where ${within(db, scope)} and (${jobs}::text[] is null or j.id = any (${jobs}::text[]))`
  return row === undefined || row.first === null || row.last === null
    ? undefined
    : { first: row.first, last: row.last }
}

/** The times of these steps, which all are among the job's epochs. */
export function timesAt(steps: Int32Array, times: Column): Float64Array {
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
    select array(select id from found order by id) jobs,
      array(select distinct name collate "C" from found, unnest(series) name
        where ${keys}::text[] is null or name = any (${keys}::text[]) order by 1) keys`
  return names ?? { jobs: [], keys: [] }
}

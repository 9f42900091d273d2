import type { Db, Fragment } from '../../db/sql.ts'
import type { Telemetry } from '../telemetry.ts'
import { timesAt, valuesAt } from './at-steps.ts'
import {
  type Column,
  columnName,
  createPointBuffer,
  type PointBuffer,
  readColumns,
  TIMES,
  type Wanted,
} from './chunks.ts'
import { splitKeys, withFormulas } from './formula-series.ts'
import { isSeveral, type Scope, type SeriesQuery, storable, within } from './series-names.ts'

export interface Series {
  jobId: string
  key: string
  /** Epochs, increasing. */
  steps: Float64Array
  values: Float64Array
}

export interface TimedSeries extends Series {
  /** Unix milliseconds of each point. */
  times: Float64Array
}

/** A series with data of its job. */
export interface JobSeries extends Series {
  jobKey: number
  batchKey: number
  /** Unix milliseconds of each point, if requested. */
  times?: Float64Array
  /** The values of `ReadOptions.beside` at each point, if requested; NaN if the epoch has none. */
  beside?: Float64Array
  /** Unix milliseconds. */
  startedAt: number
  /** The common value of the job's group, as text; null without one, or if no groups were requested. */
  group: string | null
}

export interface ReadOptions extends SeriesQuery {
  /** With the time of every point. */
  timed?: boolean | undefined
  /** With the values of this series of the same job; only of jobs that have it. */
  beside?: string | undefined
  /** Times as values: one series per job; its name is ignored. */
  timesAlone?: boolean | undefined
  /** The value of a group as SQL over a row `j` of jobs. */
  groupBy?: ((db: Db) => Fragment) | undefined
}

/** The most points in memory, plus at most one series: 16 bytes each, twice while they are joined. */
const MAX_POINTS = 250_000
/** The same if the caller keeps each series. */
const MAX_KEPT = 1_000_000
/** How many buffers are kept for the next reader: four megabytes each. */
const freeBuffers: PointBuffer[] = []
const MAX_FREE_BUFFERS = 4
/** How many jobs have their dictionaries in memory at once: of one batch, and of several, whose statements should be few. */
const JOBS_A_PAGE = 250
const JOBS_OF_SEVERAL = 1_000

/**
 * The series of jobs, job by job in the order of their creation, by name within a job; only those with a point in the
 * range. Several batches come one after the other. Each job is read from one snapshot. Memory stays flat for batches of
 * any size: the arrays of a series are reused, so they are valid only until the next one is read. Keys that are formulas
 * are computed, after the stored series.
 * @throws what the database throws, and Problem invalid_query, too_many_points for formulas
 */
export function readSeries(
  db: Telemetry,
  scope: Scope,
  options: ReadOptions & { timed: true },
): AsyncGenerator<JobSeries & TimedSeries>
export function readSeries(db: Telemetry, scope: Scope, options: ReadOptions): AsyncGenerator<JobSeries>
export async function* readSeries(
  db: Telemetry,
  scope: Scope,
  options: ReadOptions,
): AsyncGenerator<JobSeries> {
  if (options.timesAlone) yield* readStored(db, scope, { ...options, keys: splitKeys(options.keys).inputs })
  else yield* withFormulas(options, (one) => readStored(db, scope, one))
}

async function* readStored(db: Telemetry, scope: Scope, options: ReadOptions): AsyncGenerator<JobSeries> {
  const buffer = freeBuffers.pop() ?? createPointBuffer(MAX_POINTS)
  try {
    const jobs = plannedJobs(db, scope, options)
    for await (const slice of readSlices(db, jobs, options, { points: MAX_POINTS, buffer })) {
      for (const series of seriesOf(slice, options)) yield series
    }
  } finally {
    if (freeBuffers.length < MAX_FREE_BUFFERS) freeBuffers.push(buffer)
  }
}

/** A job to read series of, with its dictionary (`JobRow.series`). */
export interface SeriesSource {
  key: number
  batch_key: number
  id: string
  epochs: number
  series: readonly string[]
  started_at: string
}

/**
 * The series of these jobs of any batches, in the given order, by name within a job. The caller may keep the arrays;
 * `each` gets a series before the next slice of a million points is read, so it decides what stays in memory.
 */
export async function eachSeriesOf(
  db: Telemetry,
  jobs: readonly SeriesSource[],
  query: Pick<ReadOptions, 'from' | 'to' | 'keys' | 'timed' | 'beside'>,
  each: (jobKey: number, series: JobSeries) => Promise<void>,
): Promise<void> {
  for await (const series of withFormulas(query, (options) => seriesOfJobs(db, jobs, options)))
    await each(series.jobKey, series)
}

async function* seriesOfJobs(
  db: Telemetry,
  jobs: readonly SeriesSource[],
  query: Pick<ReadOptions, 'from' | 'to' | 'keys' | 'timed' | 'beside'>,
): AsyncGenerator<JobSeries> {
  const keys = query.keys === undefined ? undefined : new Set(query.keys)
  const pages = [jobs.map((job) => plannedFrom(job, keys, query.beside))]
  for await (const slice of readSlices(db, pages, query, { points: MAX_KEPT })) yield* seriesOf(slice, query)
}

function plannedFrom(
  job: SeriesSource,
  keys: ReadonlySet<string> | undefined,
  beside: string | undefined,
): PlannedJob {
  const no = beside === undefined ? -1 : job.series.indexOf(beside)
  const found = job.series.map((name, no) => ({ name, no })).filter(({ name }) => keys?.has(name) ?? true)
  found.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return {
    key: job.key,
    batchKey: job.batch_key,
    id: job.id,
    startedAt: Date.parse(job.started_at),
    group: null,
    epochs: job.epochs,
    beside: no < 0 ? null : no,
    names: found.map(({ name }) => name),
    numbers: found.map(({ no }) => no),
  }
}

/** The jobs of these batches as sources of series, in the order of their ids. */
export function seriesSources(
  db: Db,
  batchKeys: readonly number[],
  jobs: readonly string[] | undefined,
): Promise<readonly SeriesSource[]> {
  const ids = storable(jobs)
  return db<SeriesSource[]>`/* series.sources */
    select j.key, j.batch_key, j.id, j.started_at, p.epochs, p.series
    from jobs j join job_progress p on p.job_key = j.key
    where j.batch_key = any (${[...batchKeys]}::bigint[]) and (${ids}::text[] is null or j.id = any (${ids}::text[]))
    order by j.id, j.key`
}

interface PlannedJob {
  key: number
  batchKey: number
  id: string
  startedAt: number
  group: string | null
  epochs: number
  /** The number of the series of `beside`. */
  beside: number | null
  names: string[]
  numbers: number[]
}

interface Slice {
  jobs: { job: PlannedJob; name: string; no: number }[]
  columns: Map<string, Column>
}

function* seriesOf({ jobs, columns }: Slice, { timed, beside }: ReadOptions): Generator<JobSeries> {
  for (const { job, name, no } of jobs) {
    const column = columns.get(columnName(job.key, no))
    if (column === undefined) continue
    const { key: jobKey, batchKey, id: jobId, startedAt, group } = job
    const known = { jobKey, batchKey, jobId, key: name, startedAt, group, ...column }
    if (beside !== undefined) {
      const other = columns.get(columnName(jobKey, job.beside ?? Number.NaN))
      if (other !== undefined) yield { ...known, beside: valuesAt(column.steps, other) }
    } else if (timed !== true) yield known
    else if (no === TIMES) yield { ...known, times: column.values }
    else {
      const times = columns.get(columnName(jobKey, TIMES))
      if (times !== undefined) yield { ...known, times: timesAt(column.steps, times) }
    }
  }
}

/** @param most the most points in memory; without a buffer each slice has new arrays */
async function* readSlices(
  db: Telemetry,
  pages: AsyncIterable<readonly PlannedJob[]> | Iterable<readonly PlannedJob[]>,
  query: ReadOptions,
  most: { points: number; buffer?: PointBuffer },
): AsyncGenerator<Slice> {
  let wanted: Slice['jobs'] = []
  let points = 0
  const timed = query.timed && !query.timesAlone
  const besideOf = ({ beside }: PlannedJob): number | null => (timed ? TIMES : beside)
  const read = async (): Promise<Slice> => {
    const jobs = wanted
    wanted = []
    points = 0
    // By name: `beside` may be the series itself.
    const columns = new Map<string, Wanted>()
    const want = ({ batchKey, key }: PlannedJob, no: number | null): void => {
      if (no !== null) columns.set(columnName(key, no), { batchKey, jobKey: key, no })
    }
    for (const { job, no } of jobs) {
      want(job, no)
      want(job, besideOf(job))
    }
    most.buffer?.clear()
    return { jobs, columns: await readColumns(db, [...columns.values()], query, most.buffer) }
  }
  for await (const page of pages) {
    for (const job of page) {
      if (query.beside !== undefined && job.beside === null) continue
      const names = query.timesAlone ? job.names.slice(0, 1) : job.names
      for (const [i, name] of names.entries()) {
        // What is beside the series of a job comes with its first one in the slice.
        const cost = (): number => job.epochs * (besideOf(job) !== null && wanted.at(-1)?.job !== job ? 2 : 1)
        if (wanted.length > 0 && points + cost() > most.points) yield await read()
        points += cost()
        wanted.push({ job, name, no: query.timesAlone ? TIMES : (job.numbers[i] ?? Number.NaN) })
      }
    }
  }
  if (wanted.length > 0) yield await read()
}

async function* plannedJobs(db: Db, scope: Scope, query: ReadOptions): AsyncGenerator<readonly PlannedJob[]> {
  const limit = isSeveral(scope) ? JOBS_OF_SEVERAL : JOBS_A_PAGE
  let after: JobPosition | undefined = { batchKey: 0, id: '', key: 0 }
  while (after !== undefined) {
    const page = await planJobs(db, scope, query, { after, limit })
    yield page
    after = page.length < limit ? undefined : page.at(-1)
  }
}

/** By id, not by key: keys show the order of arrival, and the answer must not depend on that (contract §1). */
type JobPosition = Pick<PlannedJob, 'batchKey' | 'id' | 'key'>

function planJobs(
  db: Db,
  scope: Scope,
  query: ReadOptions,
  { after, limit }: { after: JobPosition; limit: number },
): Promise<readonly PlannedJob[]> {
  const keys = storable(query.keys)
  const jobs = storable(query.jobs)
  const order = isSeveral(scope) ? db`j.batch_key, j.id, j.key` : db`j.id, j.key`
  const position = isSeveral(scope)
    ? db`(${after.batchKey}, ${after.id}, ${after.key})`
    : db`(${after.id}, ${after.key})`
  const [beside = null] = storable(query.beside === undefined ? [] : [query.beside]) ?? []
  return db<PlannedJob[]>`/* series.plan */
    select j.key, j.batch_key "batchKey", j.id, floor(extract(epoch from j.started_at) * 1000)::float8 "startedAt", p.epochs, s.names, s.numbers,
      array_position(p.series, ${beside}::text) - 1 beside,
      ${query.groupBy?.(db) ?? db`null::text`} "group"
    from jobs j
    join job_progress p on p.job_key = j.key
    cross join lateral (
      select coalesce(array_agg(u.name order by u.name collate "C"), '{}') names,
        coalesce(array_agg(u.n::int - 1 order by u.name collate "C"), '{}') numbers
      from unnest(p.series) with ordinality as u (name, n)
      where ${keys}::text[] is null or u.name = any (${keys}::text[])) s
    where ${within(db, scope)} and (${order}) > ${position}
      and (${jobs}::text[] is null or j.id = any (${jobs}::text[]))
    order by ${order}
    limit ${limit}`
}

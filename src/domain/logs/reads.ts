import type { Db } from '../../db/sql.ts'
import { readByBatch, type Telemetry } from '../telemetry.ts'
import { isKnownLevel, levelRank } from './level.ts'
import type { LogLine } from './line-fields.ts'
import type { LogStream } from './stream.ts'

export interface LogQuery {
  /** This severity or a higher one; an unknown level matches only itself. In any case. */
  level?: string | undefined
  /** Only lines of these streams; default: all. */
  streams?: readonly LogStream[] | undefined
  /** Text in the line; case is ignored. */
  q?: string | undefined
  /** db_ids, both excluded. */
  after?: number | undefined
  before?: number | undefined
  /** The most lines. */
  limit: number
  /** The last lines instead of the first; `before` without `after` implies it. */
  tail?: boolean
}

/** Where lines are read: of a batch, or of one of its jobs. */
export interface LogPlace {
  batchKey: number
  jobKey: number | null
}

/** Lines of a batch in the order of arrival (contract §4). */
export async function readLogLines(
  db: Telemetry,
  batchKey: number,
  { jobId, ...query }: LogQuery & { jobId?: string | undefined },
): Promise<LogLine[]> {
  const [place] = await logPlaces(db, [batchKey], jobId)
  if (place == null) return []
  const [lines = []] = await readLogLinesOf(db, [place], query)
  return lines
}

/** The place in each of these batches of the job with this id, or of all its lines; null: there is no such job. */
export async function logPlaces(
  db: Db,
  batchKeys: readonly number[],
  jobId: string | null | undefined,
): Promise<(LogPlace | null)[]> {
  if (jobId == null) return batchKeys.map((batchKey) => ({ batchKey, jobKey: null }))
  const jobs = await db<{ key: number; batch_key: number }[]>`/* log_lines.jobs_named */
    select key, batch_key from jobs where batch_key = any (${[...batchKeys]}::bigint[]) and id = ${jobId}`
  const keys = new Map(jobs.map((job) => [job.batch_key, job.key]))
  return batchKeys.map((batchKey) => {
    const jobKey = keys.get(batchKey)
    return jobKey === undefined ? null : { batchKey, jobKey }
  })
}

/** Lines of each of these places, in the order of arrival; of all in one statement. */
export async function readLogLinesOf(
  db: Telemetry,
  places: readonly LogPlace[],
  query: LogQuery,
): Promise<LogLine[][]> {
  const { after, before, limit } = query
  const fromEnd = query.tail === true || (before !== undefined && after === undefined)
  const rows = await readByBatch(
    db,
    numbered(places),
    'kept',
    (own, batch) => db<(Omit<LogLine, 'job_id'> & { jobKey: number; place: number })[]>`/* log_lines.list */
      select u.place, l.*
      from ${unnested(db, own)}
      cross join lateral (
        select l.db_id, l.ts "timestamp", l.job_key "jobKey", l.level, l.stream, l.line
        from log_lines l
        where l.batch_key = ${batch} ${matching(db, places, query)}
          ${after === undefined ? db`` : db`and l.db_id > ${after}`}
          ${before === undefined ? db`` : db`and l.db_id < ${before}`}
        order by l.db_id ${fromEnd ? db`desc` : db``}
        limit ${limit}) l
      order by u.place, l.db_id`,
  )
  const ids = await jobIdsOf(db, [...new Set(rows.map((line) => line.jobKey))])
  const found = places.map((): LogLine[] => [])
  for (const { jobKey, place, ...line } of rows) {
    const jobId = ids.get(jobKey)
    if (jobId !== undefined) found[place]?.push({ ...line, job_id: jobId })
  }
  return found
}

async function jobIdsOf(db: Db, keys: number[]): Promise<Map<number, string>> {
  if (keys.length === 0) return new Map()
  const jobs = await db<{ key: number; id: string }[]>`/* log_lines.jobs */
    select key, id from jobs where key = any (${keys}::bigint[])`
  return new Map(jobs.map(({ key, id }) => [key, id]))
}

/** How many lines of each of these places match, on all pages. */
export async function countLogLines(
  db: Telemetry,
  places: readonly LogPlace[],
  query: Pick<LogQuery, 'level' | 'streams' | 'q'>,
): Promise<number[]> {
  const rows = await readByBatch(
    db,
    numbered(places),
    'kept',
    (own, batch) => db<{ place: number; n: number }[]>`/* log_lines.count */
      select u.place, l.n from ${unnested(db, own)}
      cross join lateral (
        select count(*)::int n from log_lines l where l.batch_key = ${batch} ${matching(db, places, query)}) l`,
  )
  const counts = new Map(rows.map(({ place, n }) => [place, n]))
  return places.map((_, place) => counts.get(place) ?? 0)
}

type Numbered = LogPlace & { place: number }
const numbered = (places: readonly LogPlace[]): Numbered[] =>
  places.map((place, i) => ({ ...place, place: i }))

const unnested = (db: Db, places: readonly Numbered[]) => db`
  unnest(${places.map((one) => one.batchKey)}::bigint[], ${places.map((one) => one.jobKey)}::bigint[],
    ${places.map((one) => one.place)}::int[]) as u (batch_key, job_key, place)`

/** What the lines of a place have to meet; all places have a job, or none has one. */
function matching(
  db: Db,
  places: readonly LogPlace[],
  { q, streams, ...query }: Pick<LogQuery, 'level' | 'streams' | 'q'>,
) {
  const level = query.level?.toLowerCase()
  return db`
    ${places.every(({ jobKey }) => jobKey === null) ? db`` : db`and l.job_key = u.job_key`}
    ${level === undefined ? db`` : isKnownLevel(level) ? db`and l.rank >= ${levelRank(level)}` : db`and l.level = ${level}`}
    ${streams === undefined || streams.length === 0 ? db`` : db`and l.stream = any (${[...streams]}::text[])`}
    ${q === undefined ? db`` : db`and strpos(lower(l.line), lower(${q})) > 0`}`
}

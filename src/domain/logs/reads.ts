import type { Db } from '../../db/sql.ts'
import { warm } from '../warm.ts'
import { isKnownLevel, levelRank } from './level.ts'
import type { LogStream } from './stream.ts'

export interface LogQuery {
  jobId?: string | undefined
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

export interface LogLine {
  dbId: number
  timestamp: string
  jobId: string
  level: string
  /** Null for lines that were not printed. */
  stream: LogStream | null
  line: string
}

/** Lines of a batch in the order of arrival (contract §4). */
export async function readLogLines(db: Db, batchKey: number, query: LogQuery): Promise<LogLine[]> {
  const { after, before, limit } = query
  const fromEnd = query.tail === true || (before !== undefined && after === undefined)
  await warm(db, { batches: [batchKey] })
  const jobKey = await jobKeyOf(db, batchKey, query.jobId)
  if (jobKey === null) return []
  const lines = await db<(Omit<LogLine, 'jobId'> & { jobKey: number })[]>`/* log_lines.list */
    select l.db_id "dbId", l.ts "timestamp", l.job_key "jobKey", l.level, l.stream, l.line
    from log_lines l
    where ${matching(db, batchKey, jobKey, query)}
      ${after === undefined ? db`` : db`and l.db_id > ${after}`}
      ${before === undefined ? db`` : db`and l.db_id < ${before}`}
    order by l.db_id ${fromEnd ? db`desc` : db``}
    limit ${limit}`
  const ids = await jobIdsOf(db, [...new Set(lines.map((line) => line.jobKey))])
  const known = lines.flatMap(({ jobKey: key, ...line }) => {
    const jobId = ids.get(key)
    return jobId === undefined ? [] : [{ ...line, jobId }]
  })
  return fromEnd ? known.reverse() : known
}

/** The key of the requested job; undefined: any job; null: there is no such job. */
async function jobKeyOf(
  db: Db,
  batchKey: number,
  jobId: string | undefined,
): Promise<number | null | undefined> {
  if (jobId === undefined) return undefined
  const [job] = await db<{ key: number }[]>`/* log_lines.job */
    select key from jobs where batch_key = ${batchKey} and id = ${jobId}`
  return job?.key ?? null
}

async function jobIdsOf(db: Db, keys: number[]): Promise<Map<number, string>> {
  if (keys.length === 0) return new Map()
  const jobs = await db<{ key: number; id: string }[]>`/* log_lines.jobs */
    select key, id from jobs where key = any (${keys}::bigint[])`
  return new Map(jobs.map(({ key, id }) => [key, id]))
}

/** How many lines match, on all pages. */
export async function countLogLines(
  db: Db,
  batchKey: number,
  query: Pick<LogQuery, 'jobId' | 'level' | 'streams' | 'q'>,
): Promise<number> {
  await warm(db, { batches: [batchKey] })
  const jobKey = await jobKeyOf(db, batchKey, query.jobId)
  if (jobKey === null) return 0
  const [row] = await db<{ n: number }[]>`/* log_lines.count */
    select count(*)::int n from log_lines l where ${matching(db, batchKey, jobKey, query)}`
  return row?.n ?? 0
}

function matching(
  db: Db,
  batchKey: number,
  jobKey: number | undefined,
  { q, streams, ...query }: Pick<LogQuery, 'level' | 'streams' | 'q'>,
) {
  const level = query.level?.toLowerCase()
  return db`l.batch_key = ${batchKey}
    ${jobKey === undefined ? db`` : db`and l.job_key = ${jobKey}`}
    ${level === undefined ? db`` : isKnownLevel(level) ? db`and l.rank >= ${levelRank(level)}` : db`and l.level = ${level}`}
    ${streams === undefined || streams.length === 0 ? db`` : db`and l.stream = any (${[...streams]}::text[])`}
    ${q === undefined ? db`` : db`and strpos(lower(l.line), lower(${q})) > 0`}`
}

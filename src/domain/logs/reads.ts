import type { Db } from '../../db/sql.ts'
import { isKnownLevel, levelRank } from './level.ts'
import type { LogStream } from './stream.ts'

export interface LogQuery {
  jobId?: string | undefined
  /** This severity or a worse one; a word without a severity of its own means that word. Any case. */
  level?: string | undefined
  /** Lines of these streams; all without it. */
  streams?: readonly LogStream[] | undefined
  /** Part of the line, in any case. */
  q?: string | undefined
  /** db_ids, neither included. */
  after?: number | undefined
  before?: number | undefined
  /** Most lines. */
  limit: number
  /** The last lines rather than the first; so is `before` without `after`. */
  tail?: boolean
}

export interface LogLine {
  dbId: number
  timestamp: string
  jobId: string
  level: string
  /** Null for what was logged otherwise than by printing. */
  stream: LogStream | null
  line: string
}

/** Lines of a batch in the order in which they arrived (contract §4). */
export async function readLogLines(db: Db, batchKey: number, query: LogQuery): Promise<LogLine[]> {
  const { after, before, limit } = query
  const fromEnd = query.tail === true || (before !== undefined && after === undefined)
  const lines = await db<LogLine[]>`/* log_lines.list */
    select l.db_id "dbId", l.ts "timestamp", j.id "jobId", l.level, l.stream, l.line
    from log_lines l join jobs j on j.key = l.job_key
    where ${matching(db, batchKey, query)}
      ${after === undefined ? db`` : db`and l.db_id > ${after}`}
      ${before === undefined ? db`` : db`and l.db_id < ${before}`}
    order by l.db_id ${fromEnd ? db`desc` : db``}
    limit ${limit}`
  return fromEnd ? lines.toReversed() : [...lines]
}

/** How many lines match, on all pages. */
export async function countLogLines(
  db: Db,
  batchKey: number,
  query: Pick<LogQuery, 'jobId' | 'level' | 'streams' | 'q'>,
): Promise<number> {
  const [row] = await db<{ n: number }[]>`/* log_lines.count */
    select count(*)::int n from log_lines l where ${matching(db, batchKey, query)}`
  return row?.n ?? 0
}

function matching(
  db: Db,
  batchKey: number,
  { jobId, q, streams, ...query }: Pick<LogQuery, 'jobId' | 'level' | 'streams' | 'q'>,
) {
  const level = query.level?.toLowerCase()
  return db`l.batch_key = ${batchKey}
    ${jobId === undefined ? db`` : db`and l.job_key = (select key from jobs where batch_key = ${batchKey} and id = ${jobId})`}
    ${level === undefined ? db`` : isKnownLevel(level) ? db`and l.rank >= ${levelRank(level)}` : db`and l.level = ${level}`}
    ${streams === undefined || streams.length === 0 ? db`` : db`and l.stream = any (${[...streams]}::text[])`}
    ${q === undefined ? db`` : db`and strpos(lower(l.line), lower(${q})) > 0`}`
}

import { type SqlFragment, sqlFragment } from '../../db/sql-fragment.ts'
import { levelRank } from './level.ts'
import type { LogStream } from './stream.ts'

export interface NewLogLine {
  batchKey: number
  jobKey: number
  dbId: number
  at: string
  level: string
  /** `stdout`, `stderr`; null for lines that were not printed. */
  stream: LogStream | null
  line: string
}

/** Writes log lines; the level is kept in lower case. */
export function insertLogLines(lines: NewLogLine[]): SqlFragment {
  // A line may contain newlines, so lines are sent as JSON.
  const rows = lines.map((l) => [
    l.batchKey,
    l.dbId,
    l.jobKey,
    l.at,
    l.level,
    levelRank(l.level),
    l.line,
    l.stream,
  ])
  return sqlFragment`
    insert into log_lines (batch_key, db_id, job_key, ts, level, rank, line, stream)
    select (x ->> 0)::bigint, (x ->> 1)::bigint, (x ->> 2)::bigint, (x ->> 3)::timestamptz, x ->> 4, (x ->> 5)::smallint, x ->> 6, x ->> 7
    from json_array_elements(${JSON.stringify(rows)}::text::json) as x`
}

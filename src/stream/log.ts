import type { Db, Sql } from '../db/sql.ts'
import { completeExtent } from './announcements.ts'

/** A row of the change log (change.ts): what changed, by key. Within a batch, `seq` ascends in the order of commits. */
export interface LoggedChange {
  seq: number
  /** When its transaction began, ISO 8601. */
  at: string
  channel: string
  type: string
  batchKey: number | null
  /** Keys of the batches, jobs or projects that changed. */
  keys: number[]
  /** First and last db_id of the events with the new points, lines or snapshots; both included. */
  firstId: number | null
  lastId: number | null
}

const columns = (sql: Sql, row: string) => {
  const c = sql(row)
  return sql`${c}.seq, ${c}.at, ${c}.channel, ${c}.type, ${c}.batch_key "batchKey", ${c}.keys,
    ${c}.first_id "firstId", ${c}.last_id "lastId"`
}

/** The changes after `after` up to `upTo` (completeExtent), inclusive, of all channels. */
export const changesAfter = (
  sql: Sql,
  range: { after: number; upTo: number; limit: number },
): Promise<LoggedChange[]> =>
  sql<LoggedChange[]>`/* changes.after */
    select ${columns(sql, 'c')} from changes c
    where c.seq > ${range.after} and c.seq <= ${range.upTo} order by c.seq limit ${range.limit}`

/** The changes of these channels after `after` up to `upTo`, inclusive. The cost depends on the result, not on the log's length. */
export const changesOfChannels = (
  sql: Sql,
  channels: readonly string[],
  range: { after: number; upTo: number; limit: number },
): Promise<LoggedChange[]> =>
  sql<LoggedChange[]>`/* changes.of_channels */
    select ${columns(sql, 'c')}
    from unnest(${channels}::text[]) as wanted (channel)
    cross join lateral (
      select * from changes one
      where one.channel = wanted.channel and one.seq > ${range.after} and one.seq <= ${range.upTo}
      order by one.seq limit ${range.limit}) c
    order by c.seq limit ${range.limit}`

/**
 * The oldest and the newest change of the log; null if there was never a change. The newest is never pruned. So a cursor
 * below `first - 1` has lost changes, and one above `last` was never issued.
 */
export async function logBounds(sql: Db): Promise<{ first: number; last: number } | null> {
  const [row] = await sql<{ first: number | null; last: number | null }[]>`/* changes.bounds */
    select (select min(seq) from changes) as first, (select max(seq) from changes) as last`
  return row === undefined || row.first === null || row.last === null
    ? null
    : { first: row.first, last: row.last }
}

/** The newest change up to `upTo`; 0 if there is none. */
export async function newestChange(sql: Db, upTo: number): Promise<number> {
  const [row] = await sql<{ last: number | null }[]>`/* changes.newest */
    select max(seq) as last from changes where seq <= ${upTo}`
  return row?.last ?? 0
}

/** The newest change below which no commit is open: a position to follow the log from; 0 if there is none. */
export async function newestCompleteChange(sql: Db): Promise<number> {
  const { upTo } = await completeExtent(sql)
  return newestChange(sql, upTo)
}

import type { Db } from '../db/sql.ts'
import { sqlFragment } from '../db/sql-fragment.ts'

/**
 * How writers of the change log need not wait for each other while readers pass over nothing
 * (docs/decisions/0020-append-without-a-lock.md). `seq` is drawn before the commit, so rows become visible out of
 * order. Before a writer draws, it announces the newest number given out, by a shared advisory lock on that number; all
 * that it draws is greater. PostgreSQL releases the lock after the rows are visible, or when the writer disconnects.
 * A reader goes up to the least number announced.
 *
 * The lock has two int4 keys: the first is 1,041,000,000 and the upper bits of the number, the second its lower 31 bits.
 * A number is below 2^53, so its upper bits are below 2^22; nothing else here uses keys of that range.
 */

/**
 * For the writer, after `joined`. The number is read before the lock is taken: others may draw in between, and what was
 * announced is then lower than it need be, never too high.
 */
export const announced = sqlFragment`
      select pg_advisory_xact_lock_shared((1041000000 + (last >> 31))::int4, (last & 2147483647)::int4)
      from joined, (select last_value - (not is_called)::int as last from changes_seq_seq) s`

/**
 * For the writer, first. Releases before migration 027 announce nothing: each of their writers holds the lock
 * 7041777 alone, and their readers take every row that they see. So our writers share the lock, which keeps them apart
 * from those writers; and take it alone while a server of such a release is up, so that its readers miss nothing.
 */
export const joined = sqlFragment`
      select case when exists (select from servers where not announces)
        then pg_advisory_xact_lock(7041777) else pg_advisory_xact_lock_shared(7041777) end`

/** How far the log is complete: no row can appear any more at or below `upTo`. */
export interface Extent {
  upTo: number
  /** The newest number given out. Above `upTo` while a writer is between its append and its commit. */
  drawn: number
}

/**
 * Two statements, and the rows are read by a third, in this order. A writer of a number up to `drawn` announced itself
 * before that was read; so either its announcement is found, or it has ended, and a statement that begins now sees
 * its rows. In one statement the rows could be those of before it ended.
 *
 * A position in the log must be that of a row that was seen, never `upTo` itself: numbers that were not flushed before
 * a crash of PostgreSQL are given again.
 */
export async function completeExtent(sql: Db): Promise<Extent> {
  const drawn = await readDrawn(sql)
  return extentOf(drawn, await readAnnounced(sql))
}

/** The first statement. */
export const readDrawn = (sql: Db) => sql<{ drawn: number }[]>`/* changes.drawn */
  select last_value - (not is_called)::int as drawn from changes_seq_seq`

/** The second. */
export const readAnnounced = (sql: Db) => sql<{ announced: number | null }[]>`/* changes.announced */
  select min(((classid::int8 - 1041000000) << 31) + objid::int8) as announced
  from pg_locks
  where locktype = 'advisory' and objsubid = 2 and granted
    and classid::int8 between 1041000000 and 1041000000 + (1 << 22) - 1
    and database = (select oid from pg_database where datname = current_database())`

export function extentOf(
  [sequence]: readonly { drawn: number }[],
  [least]: readonly { announced: number | null }[],
): Extent {
  const drawn = sequence?.drawn ?? 0
  return { upTo: Math.min(drawn, least?.announced ?? drawn), drawn }
}

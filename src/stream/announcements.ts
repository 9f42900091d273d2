import type { Db } from '../db/sql.ts'
import { sqlFragment } from '../db/sql-fragment.ts'

/**
 * Lets writers append to the change log without waiting for each other, while readers skip no row
 * (docs/decisions/0020-append-without-a-lock.md). `seq` is allocated before the commit, so rows become visible out of
 * order. Before a writer allocates numbers, it announces the newest number allocated so far: it takes a shared advisory
 * lock on it. All its own numbers are greater. PostgreSQL releases the lock once the rows are visible, or when the
 * writer disconnects. A reader reads up to the least announced number.
 *
 * The lock has two int4 keys: the first is 1,041,000,000 plus the upper bits of the number, the second its lower 31
 * bits. A number is below 2^53, so its upper bits are below 2^22. No other lock of this service uses that range.
 */

/**
 * For a writer, after `joined`. The number is read before the lock is taken. Other writers may allocate in between: the
 * announced number is then lower than necessary, never too high.
 */
export const announced = sqlFragment`
      select pg_advisory_xact_lock_shared((1041000000 + (last >> 31))::int4, (last & 2147483647)::int4)
      from joined, (select last_value - (not is_called)::int as last from changes_seq_seq) s`

/**
 * For a writer, first. Servers of releases before migration 027 announce nothing: their writers take lock 7041777
 * exclusively, and their readers read every visible row. Writers of this release share the lock, so they never run
 * beside one of those writers. While a server of such a release runs, they take the lock exclusively, so that its
 * readers miss no row.
 */
export const joined = sqlFragment`
      select case when exists (select from servers where not announces)
        then pg_advisory_xact_lock(7041777) else pg_advisory_xact_lock_shared(7041777) end`

/** How far the log is complete: no further row can appear at or below `upTo`. */
export interface Extent {
  upTo: number
  /** The newest allocated number. Above `upTo` while a writer is between its append and its commit. */
  allocated: number
}

/**
 * Two statements; a third one then reads the rows. The order matters. A writer that allocated a number up to
 * `allocated` announced itself before that was read. So either its announcement is found, or its transaction has ended,
 * and a statement that begins now sees its rows. One statement for both could miss rows: its snapshot may be older than
 * the end of that transaction.
 *
 * A position in the log must be the number of a row that was read, never `upTo` itself: after a crash PostgreSQL
 * allocates numbers again that were not flushed.
 */
export async function completeExtent(sql: Db): Promise<Extent> {
  const allocated = await readAllocated(sql)
  return extentOf(allocated, await readAnnounced(sql))
}

/** The first statement. */
export const readAllocated = (sql: Db) => sql<{ allocated: number }[]>`/* changes.allocated */
  select last_value - (not is_called)::int as allocated from changes_seq_seq`

/** The second. */
export const readAnnounced = (sql: Db) => sql<{ announced: number | null }[]>`/* changes.announced */
  select min(((classid::int8 - 1041000000) << 31) + objid::int8) as announced
  from pg_locks
  where locktype = 'advisory' and objsubid = 2 and granted
    and classid::int8 between 1041000000 and 1041000000 + (1 << 22) - 1
    and database = (select oid from pg_database where datname = current_database())`

export function extentOf(
  [sequence]: readonly { allocated: number }[],
  [least]: readonly { announced: number | null }[],
): Extent {
  const allocated = sequence?.allocated ?? 0
  return { upTo: Math.min(allocated, least?.announced ?? allocated), allocated }
}

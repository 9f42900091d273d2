import type { Db } from '../db/sql.ts'
import { commit, type Writer } from './commit.ts'

/** One server prunes at a time; the others need not wait for it. */
const PRUNE_LOCK = 7_041_782
/** Rows of one transaction. */
const ROWS = 5_000
export const KEPT_HOURS = 24

/**
 * Drops the changes that are older than the log is kept (contract §6: 24 h), in small transactions. The newest change
 * always stays, because cursors are held against it (log.ts).
 * @returns how many were dropped; 0 also while another server is at it
 */
export async function pruneChanges(writer: Writer, keptHours = KEPT_HOURS): Promise<number> {
  let dropped = 0
  for (;;) {
    const step = await commit(writer, async (tx) => {
      const [lock] = await tx<{ mine: boolean }[]>`/* changes.lock_pruning */
        select pg_try_advisory_xact_lock(${PRUNE_LOCK}) mine`
      if (lock?.mine !== true) return { result: 0, changes: [] }
      // Only the oldest rows are read: what must be deleted is at the beginning of the log.
      const { count } = await tx`/* changes.prune */
        with oldest as (select seq, at from changes order by seq limit ${ROWS})
        delete from changes c using oldest o
        where c.seq = o.seq and o.at < now() - ${keptHours} * interval '1 hour'
          and o.seq < (select max(seq) from changes)`
      return { result: count, changes: [] }
    })
    dropped += step
    if (step < ROWS) return dropped
  }
}

/** How many changes are older than the log is kept. */
export async function countPrunable(db: Db, keptHours = KEPT_HOURS): Promise<number> {
  const [row] = await db<{ n: number }[]>`/* changes.count_prunable */
    select count(*) n from changes
    where at < now() - ${keptHours} * interval '1 hour' and seq < (select max(seq) from changes)`
  return row?.n ?? 0
}

import type { Db } from '../db/sql.ts'
import { type Writer, write } from './commit.ts'

/** Advisory lock: one server prunes at a time, and the others do not wait for it. */
const PRUNE_LOCK = 7_041_782
/** Rows that one transaction deletes at most. */
const ROWS = 5_000
export const KEPT_HOURS = 24

/**
 * Deletes changes older than `keptHours` (contract §6: 24 h), in small transactions. The newest change always stays,
 * because cursors are compared with it (log.ts).
 * @returns how many were deleted; 0 also if another server is pruning
 */
export async function pruneChanges(writer: Writer, keptHours = KEPT_HOURS): Promise<number> {
  let dropped = 0
  for (;;) {
    const step = await write(writer, async (tx) => {
      const [lock] = await tx<{ mine: boolean }[]>`/* changes.lock_pruning */
        select pg_try_advisory_xact_lock(${PRUNE_LOCK}) mine`
      if (lock?.mine !== true) return 0
      // Only the oldest rows are read: what must be deleted is at the beginning of the log.
      const { count } = await tx`/* changes.prune */
        with oldest as (select seq, at from changes order by seq limit ${ROWS})
        delete from changes c using oldest o
        where c.seq = o.seq and o.at < now() - ${keptHours} * interval '1 hour'
          and o.seq < (select max(seq) from changes)`
      return count
    })
    dropped += step
    if (step < ROWS) return dropped
  }
}

/** How many changes are older than `keptHours`. */
export async function countPrunable(db: Db, keptHours = KEPT_HOURS): Promise<number> {
  const [row] = await db<{ n: number }[]>`/* changes.count_prunable */
    select count(*) n from changes
    where at < now() - ${keptHours} * interval '1 hour' and seq < (select max(seq) from changes)`
  return row?.n ?? 0
}

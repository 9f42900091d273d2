import type { Db, Tx } from '../../db/sql.ts'
import { batchesWithDueLines } from '../cold/index.ts'
import type { Cutoffs } from './retention.ts'

/**
 * Log lines of archived batches stay in the table, and their events are in the archive: they expire by their own times,
 * batch by batch (ranges.ts deletes the others).
 */
export const batchesWithArchivedLines = (
  db: Db,
  { lines }: Cutoffs,
): Promise<{ key: number; project: string }[]> => batchesWithDueLines(db, lines)

/**
 * Deletes them, `rows` at a time; `commit` runs each step in a transaction of its own.
 * @returns how many were deleted
 */
export async function sweepArchivedLines(
  db: Db,
  cutoffs: Cutoffs,
  commit: (step: (tx: Tx) => Promise<number>) => Promise<number>,
  { rows, signal }: { rows: number; signal: AbortSignal },
): Promise<number> {
  let total = 0
  for (const { key } of await batchesWithArchivedLines(db, cutoffs)) {
    let deleted: number
    do {
      if (signal.aborted) return total
      deleted = await commit((tx) => deleteLines(tx, key, cutoffs, rows))
      total += deleted
    } while (deleted > 0)
  }
  return total
}

async function deleteLines(tx: Tx, batchKey: number, { lines }: Cutoffs, rows: number): Promise<number> {
  const { count } = await tx`/* retention.archived_lines */
    delete from log_lines l using (
      select db_id from log_lines where batch_key = ${batchKey} and ts < ${lines}::timestamptz
      order by batch_key, db_id limit ${rows}) d
    where l.batch_key = ${batchKey} and l.db_id = d.db_id
      and exists (select from cold_batches where batch_key = ${batchKey} and state = 'cold')`
  return count
}

export async function countArchivedLines(db: Db, batchKey: number, { lines }: Cutoffs): Promise<number> {
  const [row] = await db<{ n: number }[]>`/* retention.count_archived_lines */
    select count(*)::int n from log_lines where batch_key = ${batchKey} and ts < ${lines}::timestamptz`
  return row?.n ?? 0
}

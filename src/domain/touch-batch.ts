import type { Tx } from '../db/sql.ts'

/**
 * Locks a batch and gives its progress row another version, by which servers notice that their cached state of its jobs no
 * longer holds. For changes that no list is ordered or filtered by: the stored fields of the batch stay valid
 * (docs/decisions/0028), which a trigger would otherwise have written again.
 */
export async function touchBatch(tx: Tx, batchKey: number): Promise<void> {
  const [row] = await tx<{ known: boolean }[]>`/* batches.touch */
    update batch_progress p set n_events = p.n_events
    from (select batch_key, fields_known from batch_progress where batch_key = ${batchKey} for no key update) b
    where p.batch_key = b.batch_key returning b.fields_known known`
  if (row?.known === true)
    await tx`/* batches.keep_fields */ update batch_progress set fields_known = true where batch_key = ${batchKey}`
}

import { type BatchEdit, changeBatch } from './api/batches.ts'
import type { Batch } from './api/types.ts'
import { type Editable, editRows } from './edit-rows.ts'
import { batchStore } from './live/batches.ts'
import { some } from './words.ts'

type Marks = Partial<Pick<Batch, 'tags' | 'starred' | 'archived'>>

const BATCHES: Editable<Batch, Marks> = {
  get: batchStore.get,
  put: (batch) => batchStore.put([batch]),
  save: (batch, edit) => changeBatch(batch.id, edit as BatchEdit),
  some: (n) => some(n, 'batch', 'batches'),
}

/**
 * Changes tags or marks of batches (`editRows`).
 * @param what the changed field, as the toast names it
 */
export const editBatches = (
  ids: readonly string[],
  what: string,
  editOf: (batch: Batch) => Marks,
): Promise<void> => editRows(BATCHES, ids, what, editOf)

import { type Batch, type BatchEdit, changeBatch } from './api/batches.ts'
import { type Editable, editRows, type RowEdit, tagEdit } from './edit-rows.ts'
import { batchStore } from './live/batches.ts'
import type { TagChange } from './tags.ts'
import { some } from './words.ts'

const BATCHES: Editable<Batch, BatchEdit> = {
  get: batchStore.get,
  put: (batch) => batchStore.put([batch]),
  save: (batch, body) => changeBatch(batch.id, body),
  some: (n) => some(n, 'batch', 'batches'),
}

/** Changes tags of batches (`editRows`). */
export const tagBatches = (ids: readonly string[], change: TagChange): Promise<void> =>
  editRows(BATCHES, ids, 'Tags', (batch) => tagEdit(batch, change))

/**
 * Stars or archives batches, or ends that (`editRows`).
 * @param what the mark, as the toast names it
 */
export const markBatches = (
  ids: readonly string[],
  what: string,
  mark: 'starred' | 'archived',
  on: boolean,
): Promise<void> => {
  const set = (value: boolean): RowEdit<Batch, BatchEdit> => ({
    body: { [mark]: value },
    shown: () => ({ [mark]: value }),
  })
  return editRows(BATCHES, ids, what, (batch) =>
    batch[mark] === on ? undefined : { edit: set(on), undo: set(!on) },
  )
}

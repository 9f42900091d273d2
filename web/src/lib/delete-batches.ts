import { deleteBatches, fetchBatch, restoreBatch } from './api/batches.ts'
import { errorText } from './api/request.ts'
import { daysText, keptDays } from './kept.ts'
import { batchStore } from './live/batches.ts'
import { some } from './words.ts'

type ShowToast = (
  text: string,
  options?: { bad?: boolean; action?: { label: string; run: () => void } },
) => void

/**
 * Removes the batches from the page at once, and shows how long this can be undone. Batches that the service refuses to
 * delete reappear, with the reason.
 */
export async function deleteWithUndo(ids: readonly string[], showToast: ShowToast): Promise<void> {
  const before = ids.flatMap((id) => batchStore.get(id) ?? [])
  const deletedAt = new Date().toISOString()
  batchStore.put(before.map((batch) => ({ ...batch, deleted_at: deletedAt })))
  const back = (some: readonly string[]): void =>
    batchStore.put(before.filter((batch) => some.includes(batch.id)))
  try {
    const { deleted, forbidden } = await deleteBatches(ids)
    back(forbidden)
    if (forbidden.length > 0)
      showToast(`${some(forbidden.length, 'batch', 'batches')} kept: only their owners may delete them.`, {
        bad: true,
      })
    if (deleted.length === 0) return
    const days = await keptDays()
    const kept = days === undefined ? '' : `; kept for ${daysText(days)}`
    showToast(`${some(deleted.length, 'batch', 'batches')} deleted${kept}.`, {
      action: { label: 'Undo', run: () => void undo(deleted, showToast) },
    })
  } catch (error) {
    back(ids)
    showToast(`Nothing was deleted: ${errorText(error)}`, { bad: true })
  }
}

async function undo(ids: readonly string[], tell: ShowToast): Promise<void> {
  try {
    for (const id of ids) {
      await restoreBatch(id)
      batchStore.put([await fetchBatch(id)])
    }
    tell(`${some(ids.length, 'batch', 'batches')} restored.`)
  } catch (error) {
    tell(`Not restored: ${errorText(error)}`, { bad: true })
  }
}

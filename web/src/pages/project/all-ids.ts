import { type BatchFilter, fetchBatches } from '../../lib/api/batches.ts'
import { batchStore } from '../../lib/live/batches.ts'

/** The maximum size of a selection. */
const MAX_SELECTED = 1_000

/** The ids of all matching batches, newest first, loaded or not. */
export async function allIds(filter: BatchFilter): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | undefined; ids.length < MAX_SELECTED; ) {
    const page = await fetchBatches(filter, { limit: 200, cursor })
    batchStore.put(page.items)
    ids.push(...page.items.map((batch) => batch.id))
    if (page.next_cursor === null) break
    cursor = page.next_cursor
  }
  return ids.slice(0, MAX_SELECTED)
}

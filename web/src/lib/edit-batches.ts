import { showToast } from '../ui/toasts.tsx'
import { type BatchEdit, changeBatch } from './api/batches.ts'
import { errorText } from './api/request.ts'
import type { Batch } from './api/types.ts'
import { batchStore } from './live/batches.ts'
import { some } from './words.ts'

const AT_ONCE = 6
type Marks = Pick<BatchEdit, 'tags' | 'starred' | 'archived'>

/**
 * Changes tags or marks of batches, at once in the page; what was refused comes back with the reason, and what was done
 * can be undone.
 * @param what is changed, as the toast says it
 */
export async function editBatches(
  ids: readonly string[],
  what: string,
  editOf: (batch: Batch) => Marks,
): Promise<void> {
  const before = ids.flatMap((id) => batchStore.get(id) ?? [])
  const put = (id: string, edit: Marks): void => {
    const now = batchStore.get(id)
    if (now !== undefined) batchStore.put([{ ...now, ...edit } as Batch])
  }
  const marksOf = ({ tags, starred, archived }: Batch): Marks => ({ tags, starred, archived })
  const set = async (edits: ReadonlyMap<string, Marks>): Promise<unknown[]> => {
    const refused: unknown[] = []
    for (const [id, edit] of edits) put(id, edit)
    const all = [...edits]
    for (let i = 0; i < all.length; i += AT_ONCE) {
      await Promise.all(
        all.slice(i, i + AT_ONCE).map(async ([id, edit]) => {
          try {
            batchStore.put([await changeBatch(id, edit)])
          } catch (error) {
            refused.push(error)
            const old = before.find((batch) => batch.id === id)
            if (old) put(id, marksOf(old))
          }
        }),
      )
    }
    return refused
  }
  const edits = new Map(before.map((batch) => [batch.id, editOf(batch)]))
  const refused = await set(edits)
  const n = before.length - refused.length
  if (refused.length > 0)
    showToast(`${some(refused.length, 'batch', 'batches')} not changed: ${errorText(refused[0])}`, {
      bad: true,
    })
  if (n === 0) return
  const undo = new Map(
    before.map((batch) => {
      const was = marksOf(batch)
      const changed = Object.keys(edits.get(batch.id) ?? {}) as (keyof Marks)[]
      return [batch.id, Object.fromEntries(changed.map((name) => [name, was[name]])) as Marks]
    }),
  )
  showToast(`${what} of ${some(n, 'batch', 'batches')} changed.`, {
    action: { label: 'Undo', run: () => void set(undo) },
  })
}

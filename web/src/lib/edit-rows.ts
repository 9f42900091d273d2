import { showToast } from '../ui/toasts.tsx'
import { errorText } from './api/request.ts'

const AT_ONCE = 6

/** Access to editable rows of one kind: how to read, replace and save them. */
export interface Editable<Row extends object, Edit extends Partial<Row>> {
  get: (id: string) => Row | undefined
  put: (row: Row) => void
  /** Returns the row as the service has it after the change. */
  save: (row: Row, edit: Edit) => Promise<Row>
  /** The number of rows as text, such as `3 jobs`. */
  some: (n: number) => string
}

/**
 * Changes rows optimistically. Refused changes are reverted, with the reason; the others can be undone.
 * @param what the changed field, as the toast names it
 */
export async function editRows<Row extends object, Edit extends Partial<Row>>(
  of: Editable<Row, Edit>,
  ids: readonly string[],
  what: string,
  editOf: (row: Row) => Edit,
): Promise<void> {
  const before = new Map(
    ids.flatMap((id) => {
      const row = of.get(id)
      return row === undefined ? [] : [[id, row] as const]
    }),
  )
  const put = (id: string, edit: Edit): void => {
    const now = of.get(id)
    if (now !== undefined) of.put({ ...now, ...edit })
  }
  /** The values that an edit replaces. */
  const was = (row: Row, edit: Edit): Edit =>
    Object.fromEntries(Object.keys(edit).map((name) => [name, row[name as keyof Row]])) as Edit
  const set = async (edits: ReadonlyMap<string, Edit>): Promise<unknown[]> => {
    const refused: unknown[] = []
    for (const [id, edit] of edits) put(id, edit)
    const all = [...edits]
    for (let i = 0; i < all.length; i += AT_ONCE) {
      await Promise.all(
        all.slice(i, i + AT_ONCE).map(async ([id, edit]) => {
          const old = before.get(id)
          if (old === undefined) return
          try {
            of.put(await of.save(old, edit))
          } catch (error) {
            refused.push(error)
            put(id, was(old, edit))
          }
        }),
      )
    }
    return refused
  }
  const edits = new Map([...before].map(([id, row]) => [id, editOf(row)]))
  const refused = await set(edits)
  const n = before.size - refused.length
  if (refused.length > 0)
    showToast(`${of.some(refused.length)} not changed: ${errorText(refused[0])}`, { bad: true })
  if (n === 0) return
  const undo = new Map([...before].map(([id, row]) => [id, was(row, editOf(row))]))
  showToast(`${what} of ${of.some(n)} changed.`, { action: { label: 'Undo', run: () => void set(undo) } })
}

import { showToast } from '../ui/toasts.tsx'
import { errorText } from './api/request.ts'
import { type TagBody, type TagChange, tagBody, tagsChanged, withTags } from './tags.ts'

const AT_ONCE = 6

/** Access to editable rows of one kind: how to read, replace and save them. */
export interface Editable<Row extends object, Body extends object> {
  get: (id: string) => Row | undefined
  put: (row: Row) => void
  /** Returns the row as the service has it after the change. */
  save: (row: Row, body: Body) => Promise<Row>
  /** The number of rows as text, such as `3 jobs`. */
  some: (n: number) => string
}

/** An edit of a row, relative to the row's state at that time: other fields and tags may have changed since. */
export interface RowEdit<Row extends object, Body extends object> {
  /** What is sent. */
  body: Body
  /** What the page shows until the service answers. */
  shown: (row: Row) => Partial<Row>
}
/** An edit with the one that undoes it. */
export type Undoable<Row extends object, Body extends object> = Record<'edit' | 'undo', RowEdit<Row, Body>>

/**
 * Changes rows optimistically. Refused changes are reverted, with the reason; the others can be undone.
 * @param what the changed field, as the toast names it
 * @param editOf undefined leaves the row unchanged
 */
export async function editRows<Row extends object, Body extends object>(
  of: Editable<Row, Body>,
  ids: readonly string[],
  what: string,
  editOf: (row: Row) => Undoable<Row, Body> | undefined,
): Promise<void> {
  const edits = ids.flatMap((id) => {
    const row = of.get(id)
    const found = row && editOf(row)
    return row === undefined || found === undefined ? [] : [{ id, row, ...found }]
  })
  const show = (id: string, { shown }: RowEdit<Row, Body>): void => {
    const now = of.get(id)
    if (now !== undefined) of.put({ ...now, ...shown(now) })
  }
  const set = async (way: 'edit' | 'undo', back: 'edit' | 'undo'): Promise<unknown[]> => {
    const refused: unknown[] = []
    for (const one of edits) show(one.id, one[way])
    for (let i = 0; i < edits.length; i += AT_ONCE) {
      await Promise.all(
        edits.slice(i, i + AT_ONCE).map(async (one) => {
          try {
            of.put(await of.save(one.row, one[way].body))
          } catch (error) {
            refused.push(error)
            show(one.id, one[back])
          }
        }),
      )
    }
    return refused
  }
  const refused = await set('edit', 'undo')
  const n = edits.length - refused.length
  if (refused.length > 0)
    showToast(`${of.some(refused.length)} not changed: ${errorText(refused[0])}`, { bad: true })
  if (n === 0) return
  showToast(`${what} of ${of.some(n)} changed.`, {
    action: { label: 'Undo', run: () => void set('undo', 'edit') },
  })
}

/** Adds and removes tags. The service keeps those that others add meanwhile; undone are only those that this changed. */
export function tagEdit<Row extends { tags: string[] }>(
  { tags }: Row,
  change: TagChange,
): Undoable<Row, TagBody> | undefined {
  const { add, drop } = tagsChanged(tags, withTags(tags, change))
  if (add.length + drop.length === 0) return undefined
  const of = (part: TagChange): RowEdit<Row, TagBody> => ({
    body: tagBody(part),
    shown: (row) => ({ tags: withTags(row.tags, part) }) as Partial<Row>,
  })
  return { edit: of({ add, drop }), undo: of({ add: drop, drop: add }) }
}

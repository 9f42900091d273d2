import { useSyncExternalStore } from 'react'
import { textsIn } from './address-values.ts'

/** The selected rows of a list, by id. Shared by its table, its charts and its selection bar. */
export interface Selection {
  get(): ReadonlySet<string>
  set(ids: Iterable<string>): void
  /** Calls `changed` after each change, until the returned function is called. */
  watch(changed: () => void): () => void
}

export function createSelection(): Selection {
  let ids: ReadonlySet<string> = new Set()
  const watchers = new Set<() => void>()
  return {
    get: () => ids,
    set(next) {
      ids = new Set(next)
      for (const watcher of watchers) watcher()
    },
    watch(changed) {
      watchers.add(changed)
      return () => watchers.delete(changed)
    },
  }
}

export const useSelection = (selection: Selection): ReadonlySet<string> =>
  useSyncExternalStore(selection.watch, selection.get)

/**
 * The selection after one row is checked or unchecked. With `from`, the row that was clicked before, every row between
 * the two follows, in the order of the list; a `from` that the list no longer has is ignored.
 */
export function withRow(
  selected: ReadonlySet<string>,
  list: readonly string[],
  row: { id: string; on: boolean; from?: string | null },
): Set<string> {
  const next = new Set(selected)
  const [a, b] = [list.indexOf(row.from ?? row.id), list.indexOf(row.id)]
  const rows = a < 0 || b < 0 ? [row.id] : list.slice(Math.min(a, b), Math.max(a, b) + 1)
  for (const id of rows) {
    if (row.on) next.add(id)
    else next.delete(id)
  }
  return next
}

/** Larger selections are not put into the URL, because servers and chats truncate URLs with thousands of names. */
const MAX_IN_ADDRESS = 50

/** The selection as a search parameter; undefined if it is empty or too large for the URL. */
export const inAddress = (ids: ReadonlySet<string>): string[] | undefined =>
  ids.size === 0 || ids.size > MAX_IN_ADDRESS ? undefined : [...ids]

export const fromAddress = (value: unknown): string[] | undefined => textsIn(value)?.slice(0, MAX_IN_ADDRESS)

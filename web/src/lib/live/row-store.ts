import { useSyncExternalStore } from 'react'

/**
 * Rows by id, outside React: a change wakes only those who show that row, and lists only when rows come or go.
 * `T` is replaced, never changed, so that identity says whether a row is new.
 */
export interface RowStore<T> {
  get(id: string): T | undefined
  ids(): readonly string[]
  /** Adds and replaces rows. */
  put(rows: readonly T[]): void
  onRow(id: string, changed: () => void): () => void
  /** When rows come or go. */
  onIds(changed: () => void): () => void
  /** At any change; at most once a frame. */
  onAny(changed: () => void): () => void
}

export function createRowStore<T>(
  idOf: (row: T) => string,
  merge: (old: T | undefined, fresh: T) => T = (_, fresh) => fresh,
): RowStore<T> {
  const rows = new Map<string, T>()
  const watchers = new Map<string, Set<() => void>>()
  const idWatchers = new Set<() => void>()
  const anyWatchers = new Set<() => void>()
  let ids: readonly string[] = []
  let due = false

  const tellAny = (): void => {
    if (due || anyWatchers.size === 0) return
    due = true
    // A timer rather than a frame: hidden tabs get no frames, and what they show must be right when they come back.
    setTimeout(() => {
      due = false
      for (const watcher of anyWatchers) watcher()
    }, 50)
  }
  return {
    get: (id) => rows.get(id),
    ids: () => ids,
    put(fresh) {
      const before = rows.size
      for (const row of fresh) {
        const id = idOf(row)
        rows.set(id, merge(rows.get(id), row))
        for (const watcher of watchers.get(id) ?? []) watcher()
      }
      if (rows.size !== before) {
        ids = [...rows.keys()]
        for (const watcher of idWatchers) watcher()
      }
      tellAny()
    },
    onRow(id, changed) {
      const set = watchers.get(id) ?? new Set()
      watchers.set(id, set.add(changed))
      return () => {
        set.delete(changed)
        if (set.size === 0) watchers.delete(id)
      }
    },
    onIds(changed) {
      idWatchers.add(changed)
      return () => idWatchers.delete(changed)
    },
    onAny(changed) {
      anyWatchers.add(changed)
      return () => anyWatchers.delete(changed)
    },
  }
}

export const useRow = <T>(store: RowStore<T>, id: string): T | undefined =>
  useSyncExternalStore(
    (changed) => store.onRow(id, changed),
    () => store.get(id),
  )
export const useIds = <T>(store: RowStore<T>): readonly string[] =>
  useSyncExternalStore(store.onIds, store.ids)

import { useCallback, useSyncExternalStore } from 'react'

/**
 * Rows by id, outside React: a change wakes only those who show that row, and lists only when rows come or go.
 * `T` is replaced, never changed, so that identity says whether a row is new.
 */
export interface RowStore<T> {
  get(id: string): T | undefined
  ids(): readonly string[]
  /** Every row; a new list only when one changed. */
  all(): readonly T[]
  /** Adds and replaces rows. */
  put(rows: readonly T[]): void
  /** Told of all that changed together, at most twenty times a second. */
  onRow(id: string, changed: () => void): () => void
  /** When rows come or go: at once, as points of a job that is not known yet are not drawn. */
  onIds(changed: () => void): () => void
  /** At any change, as seldom. */
  onAny(changed: () => void): () => void
}

/** How long a change waits for those that come with it. */
const GATHERED_MS = 8
const APART_MS = 50

export function createRowStore<T>(
  idOf: (row: T) => string,
  merge: (old: T | undefined, fresh: T) => T = (_, fresh) => fresh,
): RowStore<T> {
  const rows = new Map<string, T>()
  const watchers = new Map<string, Set<() => void>>()
  const idWatchers = new Set<() => void>()
  const anyWatchers = new Set<() => void>()
  const changed = new Set<string>()
  let ids: readonly string[] = []
  let all: readonly T[] | null = []
  let due = false
  let toldAt = 0

  // Several messages tell of one event, and each that was shown by itself would be a render of its own.
  const notify = (): void => {
    if (due) return
    due = true
    // A timer rather than a frame: hidden tabs get no frames, and what they show must be right when they come back.
    setTimeout(tellAll, Math.max(GATHERED_MS, toldAt + APART_MS - performance.now()))
  }
  const tellAll = (): void => {
    due = false
    toldAt = performance.now()
    const told = [...changed]
    changed.clear()
    for (const id of told) for (const watcher of watchers.get(id) ?? []) watcher()
    for (const watcher of anyWatchers) watcher()
  }
  return {
    get: (id) => rows.get(id),
    ids: () => ids,
    all() {
      all ??= [...rows.values()]
      return all
    },
    put(fresh) {
      const before = rows.size
      for (const row of fresh) {
        const id = idOf(row)
        const old = rows.get(id)
        const merged = merge(old, row)
        if (merged === old) continue
        rows.set(id, merged)
        changed.add(id)
        all = null
      }
      if (rows.size !== before) {
        ids = [...rows.keys()]
        for (const watcher of idWatchers) watcher()
      }
      if (changed.size > 0) notify()
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

export const useRow = <T>(store: RowStore<T>, id: string): T | undefined => useRowPart(store, id, same)
const same = <T>(row: T): T => row
/** The value that `pick` takes from a row, a string or a number. Other changes do not render again. */
export function useRowPart<T, Part>(
  store: RowStore<T>,
  id: string,
  pick: (row: T | undefined) => Part,
): Part {
  const watch = useCallback((changed: () => void) => store.onRow(id, changed), [store, id])
  return useSyncExternalStore(watch, () => pick(store.get(id)))
}
export const useIds = <T>(store: RowStore<T>): readonly string[] =>
  useSyncExternalStore(store.onIds, store.ids)

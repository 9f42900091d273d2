import { useCallback, useSyncExternalStore } from 'react'

/**
 * Rows by id, outside React: a change renders only the components of that row, and lists only when rows are added.
 * A row is replaced, never modified, so identity says whether it has changed.
 */
export interface RowStore<T> {
  get(id: string): T | undefined
  ids(): readonly string[]
  /** Every row; a new list only if one has changed. */
  all(): readonly T[]
  /** Adds and replaces rows. */
  put(rows: readonly T[]): void
  /** Calls `changed` at most twenty times a second. */
  onRow(id: string, changed: () => void): () => void
  /** When rows are added: at once, because points of an unknown job are not drawn. */
  onIds(changed: () => void): () => void
  /** At any change of a row, also at most twenty times a second. */
  onAny(changed: () => void): () => void
}

/** A change waits this long for others of the same event. */
const DEBOUNCE_MS = 8
const MIN_INTERVAL_MS = 50

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
  let isScheduled = false
  let notifiedAt = 0

  // One event causes several messages: they are rendered together.
  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    // A timer rather than a frame: hidden tabs get no frames, but must be up to date when they become visible.
    setTimeout(notify, Math.max(DEBOUNCE_MS, notifiedAt + MIN_INTERVAL_MS - performance.now()))
  }
  const notify = (): void => {
    isScheduled = false
    notifiedAt = performance.now()
    const ids = [...changed]
    changed.clear()
    for (const id of ids) for (const watcher of watchers.get(id) ?? []) watcher()
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
      if (changed.size > 0) schedule()
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
/** A string or number of a row, by `pick`. Changes of the rest of the row do not render again. */
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

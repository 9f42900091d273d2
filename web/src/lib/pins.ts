import { useSyncExternalStore } from 'react'

/** Views that somebody kept under a name, in this browser: a filtered table, a comparison. */
export interface Pin {
  title: string
  /** A path of ours, with what it shows. */
  href: string
}
const KEY = 'pinned views'
const MOST = 40
const watchers = new Set<() => void>()
let pins: readonly Pin[] = read()

function read(): Pin[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    if (!Array.isArray(kept)) return []
    // Never an address of somebody else's.
    return kept.filter((one) => typeof one?.title === 'string' && /^\/(?![/\\])/.test(String(one?.href)))
  } catch {
    return []
  }
}
function set(next: readonly Pin[]): void {
  pins = next.slice(0, MOST)
  localStorage.setItem(KEY, JSON.stringify(pins))
  for (const watcher of watchers) watcher()
}

/** One of the same name is replaced. */
export const pin = (view: Pin): void => set([...pins.filter((one) => one.title !== view.title), view])
export const unpin = (title: string): void => set(pins.filter((one) => one.title !== title))

function watch(changed: () => void): () => void {
  const other = (event: StorageEvent): void => {
    if (event.key !== KEY) return
    pins = read()
    changed()
  }
  watchers.add(changed)
  addEventListener('storage', other)
  return () => {
    watchers.delete(changed)
    removeEventListener('storage', other)
  }
}
export const usePins = (): readonly Pin[] => useSyncExternalStore(watch, () => pins)

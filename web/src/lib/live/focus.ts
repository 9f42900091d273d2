import { useSyncExternalStore } from 'react'

/** The hovered job. Its row and its curve are highlighted. */
export interface Focus {
  get(): string | null
  set(job: string | null): void
  on(changed: () => void): () => void
}
export function createFocus(): Focus {
  let now: string | null = null
  const watchers = new Set<() => void>()
  return {
    get: () => now,
    set(job) {
      if (job === now) return
      now = job
      for (const watcher of watchers) watcher()
    },
    on(changed) {
      watchers.add(changed)
      return () => watchers.delete(changed)
    },
  }
}
export const useFocused = (focus: Focus, job: string): boolean =>
  useSyncExternalStore(focus.on, () => focus.get() === job)

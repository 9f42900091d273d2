import { useSyncExternalStore } from 'react'

/** The values of all curves at the hovered step of a chart. */
export interface Hovered {
  /** The series and the place on the x-axis. */
  title: string
  values: ReadonlyMap<string, string>
}

/**
 * The hovered job, whose row and curve are highlighted, and the values at the hovered step. Where a list of the curves
 * is visible, it shows these values, and charts show no tooltip.
 */
export interface Focus {
  get(): string | null
  set(job: string | null): void
  on(changed: () => void): () => void
  hovered(): Hovered | null
  hover(at: Hovered | null): void
  onHover(changed: () => void): () => void
  /** Announces a list of the curves, until the returned function is called. */
  list(): () => void
  isListed(): boolean
}

export function createFocus(): Focus {
  const job = createCell<string>()
  const hovered = createCell<Hovered>()
  let lists = 0
  return {
    get: job.get,
    set: job.set,
    on: job.on,
    hovered: hovered.get,
    hover: hovered.set,
    onHover: hovered.on,
    list() {
      lists++
      return () => {
        lists--
      }
    },
    isListed: () => lists > 0,
  }
}

function createCell<T>() {
  let now: T | null = null
  const watchers = new Set<() => void>()
  return {
    get: () => now,
    set(next: T | null) {
      if (next === now) return
      now = next
      for (const watcher of watchers) watcher()
    },
    on(changed: () => void) {
      watchers.add(changed)
      return () => {
        watchers.delete(changed)
      }
    },
  }
}

export const useFocused = (focus: Focus, job: string): boolean =>
  useSyncExternalStore(focus.on, () => focus.get() === job)

/** The text of a curve at the hovered step; null while no chart is hovered, empty without a value there. */
export const useHoveredValue = (focus: Focus, name: string | undefined): string | null =>
  useSyncExternalStore(focus.onHover, () => {
    const at = focus.hovered()
    return at === null ? null : ((name === undefined ? undefined : at.values.get(name)) ?? '')
  })

export const useHoveredTitle = (focus: Focus): string | undefined =>
  useSyncExternalStore(focus.onHover, () => focus.hovered()?.title)

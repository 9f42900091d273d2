import type { Numeric } from '../api/wire-row.ts'

/** New points of metrics as they arrive, for all charts of a page. */
export interface Point {
  job: string
  /** An epoch, or seconds. */
  x: number
  /** Unix seconds, for epochs. */
  at?: number
  values: Record<string, Numeric>
}
export interface PointBus {
  publish(points: readonly Point[]): void
  on(watcher: (points: readonly Point[]) => void): () => void
  /** Points of the last 30 s: a response that was read before they arrived lacks them. */
  recent(): readonly Point[]
}

const KEPT_MS = 30_000
const MAX_KEPT = 20_000

export function createPointBus(): PointBus {
  const watchers = new Set<(points: readonly Point[]) => void>()
  let kept: { at: number; point: Point }[] = []
  return {
    publish(points) {
      const at = Date.now()
      for (const point of points) kept.push({ at, point })
      if (kept.length > MAX_KEPT || (kept[0] && kept[0].at < at - 2 * KEPT_MS))
        kept = kept.filter((one) => one.at > at - KEPT_MS).slice(-MAX_KEPT)
      for (const watcher of watchers) watcher(points)
    },
    on(watcher) {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    recent: () => kept.map((one) => one.point),
  }
}

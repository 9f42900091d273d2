import type { Numeric } from '../api/types.ts'

/** Points as they arrive, for all charts of a page. */
export interface Point {
  job: string
  /** An epoch, or seconds. */
  x: number
  /** Unix seconds, of an epoch. */
  at?: number
  values: Record<string, Numeric>
}
export interface PointBus {
  publish(points: readonly Point[]): void
  on(hear: (points: readonly Point[]) => void): () => void
  /** What arrived lately: an answer that was read before it lacks it. */
  recent(): readonly Point[]
}

const KEPT_MS = 30_000
const MAX_KEPT = 20_000

export function createPointBus(): PointBus {
  const hearers = new Set<(points: readonly Point[]) => void>()
  let kept: { at: number; point: Point }[] = []
  return {
    publish(points) {
      const at = Date.now()
      for (const point of points) kept.push({ at, point })
      if (kept.length > MAX_KEPT || (kept[0] && kept[0].at < at - 2 * KEPT_MS))
        kept = kept.filter((one) => one.at > at - KEPT_MS).slice(-MAX_KEPT)
      for (const hear of hearers) hear(points)
    },
    on(hear) {
      hearers.add(hear)
      return () => hearers.delete(hear)
    },
    recent: () => kept.map((one) => one.point),
  }
}

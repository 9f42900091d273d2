/**
 * On a slow line answers that arrive together all arrive late. There the first chart is drawn soon from few points, then
 * the others, and then each of them in full.
 */
/** Below this, the series of one screen take seconds. */
const SLOW_BYTES_PER_S = 250_000
/** What one coarse answer may take. */
const COARSE_S = 0.5
/** With its step and its part of the header. */
const POINT_BYTES = 16
/** Smaller files say how long the line takes to answer, not what it carries. */
const TELLING_BYTES = 20_000

/** Bytes a second of the fastest file so far; infinite while none came over the line. */
function speed(): number {
  let fastest = 0
  for (const one of performance.getEntriesByType('resource') as PerformanceResourceTiming[]) {
    const seconds = (one.responseEnd - one.responseStart) / 1000
    if (one.transferSize > TELLING_BYTES && seconds > 0)
      fastest = Math.max(fastest, one.transferSize / seconds)
  }
  return fastest === 0 ? Number.POSITIVE_INFINITY : fastest
}

/** Points of each of so many curves for a first drawing; undefined where the line carries all of them soon. */
export function coarsePoints(points: number, curves: number): number | undefined {
  const bytesPerS = speed()
  if (bytesPerS > SLOW_BYTES_PER_S) return undefined
  const few = Math.max(64, Math.floor((bytesPerS * COARSE_S) / (POINT_BYTES * Math.max(1, curves))))
  return few < points ? few : undefined
}

const waiting: { rank: number; start: () => void }[] = []
let busy = false

/** One after the other, those of the lowest rank first. */
export async function inTurn<T>(rank: number, work: () => Promise<T>): Promise<T> {
  if (busy) await new Promise<void>((start) => waiting.push({ rank, start }))
  busy = true
  try {
    return await work()
  } finally {
    const next = waiting.toSorted((a, b) => a.rank - b.rank)[0]
    if (next === undefined) busy = false
    else {
      waiting.splice(waiting.indexOf(next), 1)
      next.start()
    }
  }
}

/**
 * On a slow connection, responses that load in parallel all arrive late. So charts first load one after the other with
 * few points, and then each of them in full.
 */
/** Below this, the series of one screen take seconds to load. */
const SLOW_BYTES_PER_S = 250_000
/** The target duration of one coarse response. */
const COARSE_S = 0.5
/** Including its step and its share of the header. */
const POINT_BYTES = 16
/** Smaller files measure the latency of the connection, not its throughput. */
const TELLING_BYTES = 20_000

/** Bytes per second of the fastest file so far; infinite before any file was loaded over the network. */
function speed(): number {
  let fastest = 0
  for (const one of performance.getEntriesByType('resource') as PerformanceResourceTiming[]) {
    const seconds = (one.responseEnd - one.responseStart) / 1000
    if (one.transferSize > TELLING_BYTES && seconds > 0)
      fastest = Math.max(fastest, one.transferSize / seconds)
  }
  return fastest === 0 ? Number.POSITIVE_INFINITY : fastest
}

/** How many points per curve to load first; undefined if the connection is fast enough for all of them. */
export function coarsePoints(points: number, curves: number): number | undefined {
  const bytesPerS = speed()
  if (bytesPerS > SLOW_BYTES_PER_S) return undefined
  const few = Math.max(64, Math.floor((bytesPerS * COARSE_S) / (POINT_BYTES * Math.max(1, curves))))
  return few < points ? few : undefined
}

const waiting: { rank: number; start: () => void }[] = []
let busy = false

/** Runs tasks one after the other, lowest rank first. */
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

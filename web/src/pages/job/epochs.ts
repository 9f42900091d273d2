import { lowerBound } from '../../lib/charts/line.ts'

/** When epochs were reported: both columns rise. */
export interface Times {
  epochs: readonly number[]
  /** Milliseconds. */
  times: readonly number[]
}

/**
 * In which epoch a moment fell: the one that was reported next, because an epoch is reported when it ends. After the
 * last one it is the last.
 */
export function epochAt({ epochs, times }: Times, at: number): number | undefined {
  return epochs[Math.min(lowerBound(times, at), epochs.length - 1)]
}

/** From when to when an epoch went: from the report before it to its own; the last one goes on. */
export function timesOfEpoch(
  { epochs, times }: Times,
  epoch: number,
): [from: number, to: number] | undefined {
  const at = epochs.findIndex((one) => one >= epoch)
  if (at < 0) return undefined
  const from = at === 0 ? Number.NEGATIVE_INFINITY : (times[at - 1] ?? Number.NaN) + 1
  const to = at === epochs.length - 1 ? Number.POSITIVE_INFINITY : (times[at] ?? Number.NaN) + 1
  return [from, to]
}

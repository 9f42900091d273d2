import { lowerBound } from '../../lib/charts/line.ts'

/** When epochs were reported; both columns ascend. */
export interface Times {
  epochs: readonly number[]
  /** In milliseconds. */
  times: readonly number[]
}

/**
 * The epoch during which a time falls: the one reported next, because epochs are reported at their end. Times after the
 * last report belong to the last epoch.
 */
export function epochAt({ epochs, times }: Times, at: number): number | undefined {
  return epochs[Math.min(lowerBound(times, at), epochs.length - 1)]
}

/** The period of an epoch: from the previous report to its own. The last one is open-ended. */
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

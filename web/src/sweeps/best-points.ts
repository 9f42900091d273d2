import type { SweepView, Trial } from '../lib/api/sweeps.ts'

/** What the horizontal axis counts. */
export type Over = 'trials' | 'time'

interface BestPoint {
  n: number
  value: number
}

/** The values of completed trials, in the order of the axis. */
export const pointsOf = (trials: readonly Trial[], over: Over): BestPoint[] =>
  trials
    .flatMap(({ number, value, state, ended_at: at }) => {
      const n = over === 'trials' ? number : at === null ? Number.NaN : Date.parse(at)
      const isValue = state === 'completed' && typeof value === 'number' && Number.isFinite(value)
      return isValue && Number.isFinite(n) ? [{ n, value }] : []
    })
    .sort((a, b) => a.n - b.n)

/** The ends of the axis. */
export function spanOf(trials: readonly Trial[], points: readonly BestPoint[], over: Over): [number, number] {
  if (over === 'trials') return [0, Math.max(1, ...trials.map((trial) => trial.number))]
  const ns = points.map(({ n }) => n)
  const starts = trials.flatMap(({ started_at: at }) => (at === null ? [] : [Date.parse(at)]))
  const first = Math.min(...starts, ...ns)
  return [first, Math.max(first + 1, ...ns)]
}

/** Where another space began. */
export const editsOf = (edits: SweepView['edits'], over: Over): number[] =>
  edits.map(({ from_number: from, at }) => (over === 'trials' ? from - 0.5 : Date.parse(at)))

/** The points at which the best value changed. */
export function bestSteps(points: readonly BestPoint[], goal: 'minimize' | 'maximize') {
  const sign = goal === 'minimize' ? 1 : -1
  const found: BestPoint[] = []
  for (const point of points) {
    const best = found.at(-1)
    if (best === undefined || (point.value - best.value) * sign < 0) found.push(point)
  }
  return found
}

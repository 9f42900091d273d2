import type { Trial } from '../lib/api/sweeps.ts'
import { drawable, extremes, shareIn } from '../lib/charts/axis-range.ts'
import { number, some } from '../lib/words.ts'

const W = 600
const H = 140
const LEFT = 4
const TOP = 6

/** The value of each completed trial, and the best one until then, over the numbers of the trials. */
export function BestSoFar({ trials, goal }: { trials: readonly Trial[]; goal: 'minimize' | 'maximize' }) {
  const points = trials.flatMap(({ number: n, value, state }) =>
    state === 'completed' && typeof value === 'number' && Number.isFinite(value) ? [{ n, value }] : [],
  )
  const ends = extremes(points.map(({ value }) => value))
  if (points.length < 2 || ends === undefined) return null
  const [low, high] = ends
  const range = low === high ? undefined : drawable(ends)
  const last = Math.max(1, ...trials.map((trial) => trial.number))
  const x = (n: number): number => LEFT + (n / last) * (W - 2 * LEFT)
  const y = (v: number): number => TOP + (1 - (range ? shareIn(range, v) : 0.5)) * (H - 2 * TOP)
  const steps = bestSteps(points, goal)
  const line = steps.map(({ n, value }, i) => {
    const before = steps[i - 1]
    return before === undefined
      ? `${x(n).toFixed(1)},${y(value).toFixed(1)}`
      : `${x(n).toFixed(1)},${y(before.value).toFixed(1)} ${x(n).toFixed(1)},${y(value).toFixed(1)}`
  })
  const best = steps.at(-1)
  const end = best === undefined ? '' : ` ${x(last).toFixed(1)},${y(best.value).toFixed(1)}`
  return (
    <figure className="flex min-w-0 items-start gap-2">
      <figcaption className="sr-only">Best value so far over the trials</figcaption>
      <div className="flex h-32 flex-col justify-between text-right font-mono text-xs text-muted">
        <span>{number(high)}</span>
        <span>{number(low)}</span>
      </div>
      <div className="flex min-w-0 flex-1 flex-col gap-0.5">
        <svg
          viewBox={`0 0 ${W} ${H}`}
          preserveAspectRatio="none"
          className="h-32 w-full border-b border-l border-line"
          role="img"
          aria-label={`Best so far over ${some(points.length, 'completed trial')}: ${number(best?.value)}`}
        >
          {points.map(({ n, value }) => (
            <line
              key={n}
              x1={x(n)}
              x2={x(n)}
              y1={y(value)}
              y2={y(value)}
              className="stroke-muted"
              strokeWidth="4"
              strokeLinecap="round"
              vectorEffect="non-scaling-stroke"
            />
          ))}
          <polyline
            points={line.join(' ') + end}
            fill="none"
            className="stroke-accent"
            strokeWidth="2"
            vectorEffect="non-scaling-stroke"
          />
        </svg>
        <div className="flex justify-between text-xs text-muted">
          <span>trial 0</span>
          <span>best so far</span>
          <span>{last}</span>
        </div>
      </div>
    </figure>
  )
}

/** The points at which the best value changed. */
function bestSteps(points: readonly { n: number; value: number }[], goal: 'minimize' | 'maximize') {
  const sign = goal === 'minimize' ? 1 : -1
  const found: { n: number; value: number }[] = []
  for (const point of points) {
    const best = found.at(-1)
    if (best === undefined || (point.value - best.value) * sign < 0) found.push(point)
  }
  return found
}

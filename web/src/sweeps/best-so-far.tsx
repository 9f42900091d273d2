import { useState } from 'react'
import type { SweepView, Trial } from '../lib/api/sweeps.ts'
import { drawable, extremes, shareIn } from '../lib/charts/axis-range.ts'
import { clock, number, some } from '../lib/words.ts'
import { Choice } from '../ui/controls.tsx'
import { bestSteps, editsOf, type Over, pointsOf, spanOf } from './best-points.ts'

const W = 600
const H = 140
const LEFT = 4
const TOP = 6

/** The value of each completed trial, and the best one until then, over the numbers of the trials or over time. */
export function BestSoFar(props: {
  trials: readonly Trial[]
  goal: 'minimize' | 'maximize'
  edits: SweepView['edits']
}) {
  const { trials, goal } = props
  const [over, setOver] = useState<Over>('trials')
  const points = pointsOf(trials, over)
  const ends = extremes(points.map(({ value }) => value))
  if (points.length < 2 || ends === undefined) return null
  const [low, high] = ends
  const range = low === high ? undefined : drawable(ends)
  const [first, last] = spanOf(trials, points, over)
  const marks = editsOf(props.edits, over)
  const x = (n: number): number =>
    LEFT + Math.min(1, Math.max(0, (n - first) / (last - first))) * (W - 2 * LEFT)
  const y = (v: number): number => TOP + (1 - (range ? shareIn(range, v) : 0.5)) * (H - 2 * TOP)
  const steps = bestSteps(points, goal)
  const best = steps.at(-1)
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
          <Marks edits={marks} points={points} x={x} y={y} />
          <polyline
            points={stairs(steps, last, x, y)}
            fill="none"
            className="stroke-accent"
            strokeWidth="2"
            vectorEffect="non-scaling-stroke"
          />
        </svg>
        <div className="flex justify-between text-xs text-muted">
          <span>{over === 'trials' ? 'trial 0' : clock(first)}</span>
          <span>best so far{marks.length > 0 && ', dashed: new space'}</span>
          <span>{over === 'trials' ? last : clock(last)}</span>
        </div>
        <div className="self-start">
          <Choice
            label="Best so far over"
            hideLabel
            value={over}
            onChange={setOver}
            options={[
              ['trials', 'over trials'],
              ['time', 'over time'],
            ]}
          />
        </div>
      </div>
    </figure>
  )
}

interface Scales {
  x: (n: number) => number
  y: (value: number) => number
}

/** The edits of the space as dashed lines, and the trials as dots. */
function Marks({
  edits,
  points,
  x,
  y,
}: Scales & { edits: readonly number[]; points: ReturnType<typeof pointsOf> }) {
  return (
    <>
      {edits.map((n) => (
        <line
          key={`edit ${n}`}
          x1={x(n)}
          x2={x(n)}
          y1={0}
          y2={H}
          className="stroke-line-strong"
          strokeWidth="1"
          strokeDasharray="4 3"
          vectorEffect="non-scaling-stroke"
        />
      ))}
      {points.map(({ n, value }, i) => (
        <line
          // biome-ignore lint/suspicious/noArrayIndexKey: two trials may end at one time
          key={i}
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
    </>
  )
}

/** The best value as stairs, up to the end of the axis. */
function stairs(steps: ReturnType<typeof bestSteps>, last: number, x: Scales['x'], y: Scales['y']): string {
  const at = (n: number, value: number): string => `${x(n).toFixed(1)},${y(value).toFixed(1)}`
  const line = steps.flatMap(({ n, value }, i) => {
    const before = steps[i - 1]
    return before === undefined ? [at(n, value)] : [at(n, before.value), at(n, value)]
  })
  const best = steps.at(-1)
  return (best === undefined ? line : [...line, at(last, best.value)]).join(' ')
}

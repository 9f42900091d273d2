import { drawable, extremes, shareIn } from '../lib/charts/axis-range.ts'
import { lastOf } from '../lib/checked.ts'

/** A small curve without axes; the newest point is marked. */
export function Sparkline({
  values,
  steps,
  colour,
  label,
}: {
  values: readonly number[]
  /** Where the values are; without them, at equal distances. */
  steps?: readonly number[]
  colour: string
  label: string
}) {
  const W = 96
  const H = 24
  const finite = values.filter(Number.isFinite)
  const places = steps?.filter((_, i) => Number.isFinite(values[i])) ?? [...finite.keys()]
  const [from, to] = [places[0] ?? 0, places.at(-1) ?? 0]
  const ends = extremes(finite)
  if (finite.length < 2 || ends === undefined) return <span className="inline-block h-6 w-24" />
  const [low, high] = ends
  const range = low === high ? undefined : drawable(ends)
  const x = (i: number): number => 2 + (((places[i] ?? 0) - from) / (to - from)) * (W - 5)
  const y = (v: number): number => 2 + (1 - (range ? shareIn(range, v) : 0)) * (H - 4)
  const points = finite.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(' ')
  return (
    <svg viewBox={`0 0 ${W} ${H}`} className="h-6 w-24 shrink-0" role="img" aria-label={label}>
      <polyline points={points} fill="none" stroke={colour} strokeWidth="1.5" strokeLinejoin="round" />
      <circle cx={x(finite.length - 1)} cy={y(lastOf(finite))} r="2" fill={colour} />
    </svg>
  )
}

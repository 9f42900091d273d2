import { useMemo } from 'react'
import type { HistogramMedia } from '../lib/api/media.ts'
import { useTheme } from '../lib/theme.ts'
import { viridis } from '../sweeps/viridis.ts'
import type { HeatMap } from './heat-map.ts'

/** More steps would cover each other: they are taken evenly, with the first and the last. */
const MAX_RIDGES = 24
/** How far a ridge rises, in distances between two ridges: many may reach into those behind them. */
const riseOf = (n: number): number => Math.min(3, Math.max(1, n / 4))

/** The distribution at each step as a curve, the last in front. Values run to the right. */
export function Ridges(props: {
  map: HeatMap
  label: string
  /** The place of the step that stands out. */
  at: number
  onHover: (place: number | undefined) => void
  onChoose: (place: number) => void
}) {
  const { map, at } = props
  const theme = useTheme()
  const places = useMemo(() => evenly(map.steps.length), [map])
  const rise = riseOf(places.length)
  const curves = useMemo(() => curvesOf(map, places, rise), [map, places, rise])
  const nearest = places.reduce(
    (best, place) => (Math.abs(place - at) < Math.abs(best - at) ? place : best),
    places[0] ?? 0,
  )
  return (
    <svg
      viewBox={`0 0 1 ${places.length + rise}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={props.label}
      className="absolute inset-0 size-full"
      onPointerLeave={() => props.onHover(undefined)}
    >
      {curves.map((points, i) => {
        const place = places[i] ?? 0
        const isNear = place === nearest
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the slider of steps does the same by keyboard
          <polygon
            key={place}
            data-ridge={map.steps[place]}
            points={points}
            fill={viridis(places.length < 2 ? 1 : i / (places.length - 1), theme)}
            fillOpacity={isNear ? 1 : 0.85}
            stroke={isNear ? 'var(--ink)' : 'var(--bg)'}
            strokeWidth={isNear ? 1.5 : 0.75}
            vectorEffect="non-scaling-stroke"
            onPointerEnter={() => props.onHover(place)}
            onClick={() => props.onChoose(place)}
          />
        )
      })}
    </svg>
  )
}

function evenly(n: number): number[] {
  const count = Math.min(n, MAX_RIDGES)
  return Array.from({ length: count }, (_, i) => (count < 2 ? 0 : Math.round((i * (n - 1)) / (count - 1))))
}

/** Polygons from 0 to 1 that stand on lines one unit apart; the highest peak rises by `rise`. */
function curvesOf({ columns, low, high }: HeatMap, places: readonly number[], rise: number): string[] {
  const shown = places.map((place) => columns[place]).map((column) => (column ? densitiesOf(column) : []))
  const most = Math.max(0, ...shown.flat().map(([, density]) => density))
  return shown.map((points, i) => {
    const foot = i + rise + 0.9
    const across = (value: number): string =>
      Math.min(1, Math.max(0, (value - low) / (high - low))).toFixed(4)
    const drawn = points.map(
      ([value, density]) =>
        `${across(value)},${(foot - (most === 0 ? 0 : (density / most) * rise)).toFixed(3)}`,
    )
    const [first, last] = [points[0], points.at(-1)].map((point) => across(point?.[0] ?? low))
    return `${first},${foot} ${drawn.join(' ')} ${last},${foot}`
  })
}

/** The middle of each bin, with the share of the values for a unit of the axis. */
function densitiesOf({ bins, counts }: HistogramMedia): [value: number, density: number][] {
  const total = counts.reduce((a, b) => a + b, 0)
  return counts.flatMap((n, i): [number, number][] => {
    const [from, to] = [bins[i] ?? 0, bins[i + 1] ?? 0]
    return to > from && total > 0 ? [[(from + to) / 2, n / total / (to - from)]] : []
  })
}

import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { MAX_ITEMS, type MediaItem } from '../lib/api/media.ts'
import { errorText } from '../lib/api/request.ts'
import { useTheme } from '../lib/theme.ts'
import { count, number, some } from '../lib/words.ts'
import { useBatchContext } from '../pages/batch/context.ts'
import { viridis } from '../sweeps/viridis.ts'
import { Button, Choice } from '../ui/controls.tsx'
import { Failure } from '../ui/notice.tsx'
import { type HeatMap, heatMapOf, paintHeatMap, quantile, rangeOfJobs } from './heat-map.ts'
import { mediaItemsQuery } from './media-queries.ts'
import { Ridges } from './ridges.tsx'
import { placeOf } from './step-slider.tsx'

const ROWS = 96
const HEIGHT = 160
const RIDGES_HEIGHT = 240
/** The quantiles that are drawn on demand. */
const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]
type Look = 'heat' | 'ridges'
const LOOKS = [
  ['heat', 'Heat map'],
  ['ridges', 'Ridges'],
] as const
/** Jobs beyond these are drawn on request. */
const FIRST_JOBS = 8

/** Histograms over steps: a heat map or ridges for each job, all with the same axis of values. */
export function HistogramCard(props: {
  name: string
  unit: string
  jobs: readonly string[]
  named: readonly string[] | undefined
  /** Those that have this key, ascending. */
  steps: readonly number[]
  step: number
  onStep: (step: number) => void
}) {
  const { name, jobs, named, steps, step } = props
  const { of, media } = useBatchContext()
  const [all, setAll] = useState(false)
  const [look, setLook] = useState<Look>('heat')
  const [quantiles, setQuantiles] = useState(false)
  // Of more steps the last ones are read.
  const perStep = Math.max(1, named?.length ?? 1)
  const from = steps.at(-Math.floor(MAX_ITEMS / perStep))
  const items = useQuery({
    ...mediaItemsQuery(of, media as NonNullable<typeof media>, { keys: [name], jobs: named, from }),
    enabled: media !== null && steps.length > 0,
  })
  const range = useMemo(() => rangeOfJobs(items.data ?? [], new Set(jobs)), [items.data, jobs])
  if (items.error) return <Failure>{errorText(items.error)}</Failure>
  if (items.data === undefined)
    return <div className="pulse rounded-md bg-surface" style={{ height: HEIGHT }} />
  const having = new Set(items.data.map((item) => item.job_id))
  const drawn = jobs.filter((job) => having.has(job))
  const shown = all ? drawn : drawn.slice(0, FIRST_JOBS)
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center gap-3 px-1 text-xs">
        <Choice label={`Form of ${name}`} hideLabel value={look} options={LOOKS} onChange={setLook} />
        {look === 'heat' && (
          <label className="flex items-center gap-1.5 text-muted">
            <input
              type="checkbox"
              checked={quantiles}
              onChange={(event) => setQuantiles(event.target.checked)}
            />
            quantiles
          </label>
        )}
      </div>
      <div
        className="grid gap-x-4 gap-y-3"
        style={{ gridTemplateColumns: 'repeat(auto-fill, minmax(min(100%, 340px), 1fr))' }}
      >
        {shown.map((job) => (
          <JobHistograms
            key={job}
            {...props}
            look={look}
            quantiles={quantiles && look === 'heat'}
            job={job}
            items={items.data}
            range={range}
            alone={jobs.length === 1}
          />
        ))}
      </div>
      {from !== undefined && from !== steps[0] && (
        <p className="text-xs text-muted">
          From {props.unit} {number(from)}: the last of {count(steps.length)}.
        </p>
      )}
      {drawn.length < jobs.length && (
        <p className="px-1 text-xs text-muted">
          {drawn.length === 0
            ? `These jobs have no ${name}.`
            : `${some(jobs.length - drawn.length, 'other job')} without ${name}`}
        </p>
      )}
      {drawn.length > FIRST_JOBS && (
        <Button look="quiet" className="self-start" onClick={() => setAll(!all)}>
          {all ? `Show the first ${FIRST_JOBS} jobs` : `Show all ${count(drawn.length)} jobs`}
        </Button>
      )}
      <p className="sr-only">
        {name} at {props.unit} {number(step)}
      </p>
    </div>
  )
}

function JobHistograms(props: {
  name: string
  unit: string
  job: string
  items: readonly MediaItem[]
  /** Of all jobs, so that their axes are the same. */
  range: readonly [low: number, high: number]
  look: Look
  quantiles: boolean
  step: number
  onStep: (step: number) => void
  alone: boolean
}) {
  const { name, unit, job, items, range, step, alone } = props
  const theme = useTheme()
  const { colourOf } = useBatchContext()
  const map = useMemo(() => heatMapOf(items, job, range), [items, job, range])
  const [hovered, setHovered] = useState<number>()
  const n = map.steps.length
  const at = hovered ?? (n === 0 ? -1 : placeOf(map.steps, step))
  const drawn = {
    map,
    at,
    label: wordsOf(map, name, job, unit),
    onHover: setHovered,
    onChoose: (place: number) => {
      const next = map.steps[place]
      if (next !== undefined) props.onStep(next)
    },
  }
  return (
    <figure className="flex min-w-0 flex-col gap-1" data-heat-map={job}>
      {!alone && (
        <figcaption className="flex items-center gap-1.5 text-xs">
          <span
            aria-hidden="true"
            className="size-2.5 shrink-0 rounded-full"
            style={{ background: colourOf(job, theme) }}
          />
          <span className="truncate">{job}</span>
        </figcaption>
      )}
      {n > 0 && (
        <>
          {props.look === 'heat' ? (
            <Framed up={[map.low, map.high]} across={[map.steps[0], map.steps.at(-1)]} height={HEIGHT}>
              <HeatMapPlot {...drawn} quantiles={props.quantiles} />
            </Framed>
          ) : (
            <Framed up={[map.steps.at(-1), map.steps[0]]} across={[map.low, map.high]} height={RIDGES_HEIGHT}>
              <Ridges {...drawn} />
            </Framed>
          )}
          <p className="truncate text-2xs text-muted tabular-nums" data-quantiles>
            {quantilesText(map, at, unit, props.quantiles)}
          </p>
        </>
      )}
    </figure>
  )
}

type Ends = readonly [number | undefined, number | undefined]

/** A plot with the ends of its axes. */
const Framed = (props: { up: Ends; across: Ends; height: number; children: React.ReactNode }) => (
  <div className="grid grid-cols-[auto_1fr] gap-x-1.5 text-2xs text-muted tabular-nums">
    <span className="flex flex-col justify-between text-right" style={{ height: props.height }}>
      <span>{number(props.up[1])}</span>
      <span>{number(props.up[0])}</span>
    </span>
    <div
      className="relative overflow-hidden rounded border border-line bg-surface"
      style={{ height: props.height }}
    >
      {props.children}
    </div>
    <span />
    <span className="flex justify-between">
      <span>{number(props.across[0])}</span>
      <span>{number(props.across[1])}</span>
    </span>
  </div>
)

function HeatMapPlot(props: {
  map: HeatMap
  label: string
  at: number
  quantiles: boolean
  onHover: (place: number | undefined) => void
  onChoose: (place: number) => void
}) {
  const { map, at } = props
  const theme = useTheme()
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (canvas.current === null) return
    paintHeatMap(canvas.current, map, ROWS, (share) => channels(viridis(share, theme)))
  }, [map, theme])
  const n = map.steps.length
  const placeAt = ({ currentTarget, clientX }: React.PointerEvent | React.MouseEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return Math.max(0, Math.min(n - 1, Math.floor(((clientX - left) / width) * n)))
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the slider of steps does the same by keyboard
    // biome-ignore lint/a11y/useKeyWithClickEvents: the slider of steps does the same by keyboard
    <div
      className="absolute inset-0 cursor-crosshair"
      onPointerMove={(event) => props.onHover(placeAt(event))}
      onPointerLeave={() => props.onHover(undefined)}
      onClick={(event) => props.onChoose(placeAt(event))}
    >
      <canvas
        ref={canvas}
        role="img"
        aria-label={props.label}
        className="absolute inset-0 size-full"
        style={{ imageRendering: 'pixelated' }}
      />
      {props.quantiles && <QuantileLines map={map} />}
      {at >= 0 && (
        <span
          aria-hidden="true"
          className="pointer-events-none absolute inset-y-0 w-px bg-ink"
          style={{ left: `${(100 * (at + 0.5)) / n}%` }}
        />
      )}
    </div>
  )
}

/** Each quantile over the steps; the median is stronger. */
function QuantileLines({ map }: { map: HeatMap }) {
  const { columns, low, high } = map
  return (
    <svg
      viewBox={`0 0 ${Math.max(1, columns.length)} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="pointer-events-none absolute inset-0 size-full"
    >
      {QUANTILES.map((share) => {
        const points = columns.flatMap((column, i) => {
          const value = quantile(column, share)
          return value === undefined ? [] : [`${i + 0.5},${(1 - (value - low) / (high - low)).toFixed(4)}`]
        })
        return (
          <g key={share} fill="none" data-quantile={share}>
            {/* Light on dark: it is seen on every colour of the map. */}
            <polyline
              points={points.join(' ')}
              stroke="#000"
              strokeOpacity="0.55"
              strokeWidth={share === 0.5 ? 4 : 3}
              vectorEffect="non-scaling-stroke"
            />
            <polyline
              points={points.join(' ')}
              stroke="#fff"
              strokeWidth={share === 0.5 ? 2 : 1}
              vectorEffect="non-scaling-stroke"
            />
          </g>
        )
      })}
    </svg>
  )
}

function quantilesText(map: HeatMap, at: number, unit: string, all: boolean): string {
  const column = map.columns[at]
  if (column === undefined) return '\u00a0'
  const [low, lower, median, upper, high] = QUANTILES.map((share) => number(quantile(column, share)))
  const n = column.counts.reduce((a, b) => a + b, 0)
  if (all)
    return `${unit} ${number(map.steps[at])}: 5% ${low}, 25% ${lower}, median ${median}, 75% ${upper}, 95% ${high}, n ${number(n)}`
  return `${unit} ${number(map.steps[at])}: median ${median}, 5–95% ${low} to ${high}, n ${number(n)}`
}

const wordsOf = (map: HeatMap, name: string, job: string, unit: string): string =>
  `Distribution of ${name} of ${job} from ${unit} ${number(map.steps[0])} to ${number(map.steps.at(-1))}, values ${number(map.low)} to ${number(map.high)}`

/** Of `rgb(r, g, b)`. */
const channels = (colour: string): [number, number, number] => {
  const [r = 0, g = 0, b = 0] = (colour.match(/\d+/g) ?? []).map(Number)
  return [r, g, b]
}

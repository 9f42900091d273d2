import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { MAX_ITEMS, type MediaItem } from '../lib/api/media.ts'
import { errorText } from '../lib/api/request.ts'
import { useTheme } from '../lib/theme.ts'
import { count, number, some } from '../lib/words.ts'
import { useBatchContext } from '../pages/batch/context.ts'
import { viridis } from '../sweeps/viridis.ts'
import { Button } from '../ui/controls.tsx'
import { Failure } from '../ui/notice.tsx'
import { type HeatMap, heatMapOf, paintHeatMap, quantile, rangeOfJobs } from './heat-map.ts'
import { mediaItemsQuery } from './media-queries.ts'
import { placeOf } from './step-slider.tsx'

const ROWS = 96
const HEIGHT = 160
/** Jobs beyond these are drawn on request. */
const FIRST_JOBS = 8

/** Histograms over steps: a heat map for each job, all with the same axis of values. */
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
      <div
        className="grid gap-x-4 gap-y-3"
        style={{ gridTemplateColumns: 'repeat(auto-fill, minmax(min(100%, 340px), 1fr))' }}
      >
        {shown.map((job) => (
          <JobHeatMap
            key={job}
            {...props}
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

function JobHeatMap(props: {
  name: string
  unit: string
  job: string
  items: readonly MediaItem[]
  /** Of all jobs, so that their axes are the same. */
  range: readonly [low: number, high: number]
  step: number
  onStep: (step: number) => void
  alone: boolean
}) {
  const { name, unit, job, items, range, step, alone } = props
  const theme = useTheme()
  const { colourOf } = useBatchContext()
  const canvas = useRef<HTMLCanvasElement>(null)
  const map = useMemo(() => heatMapOf(items, job, range), [items, job, range])
  const [hovered, setHovered] = useState<number>()
  useEffect(() => {
    if (canvas.current === null) return
    paintHeatMap(canvas.current, map, ROWS, (share) => channels(viridis(share, theme)))
  }, [map, theme])
  const n = map.steps.length
  const at = hovered ?? (n === 0 ? -1 : placeOf(map.steps, step))
  const placeAt = ({ currentTarget, clientX }: React.PointerEvent | React.MouseEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect()
    return Math.max(0, Math.min(n - 1, Math.floor(((clientX - left) / width) * n)))
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
        <div className="grid grid-cols-[auto_1fr] gap-x-1.5 text-2xs text-muted tabular-nums">
          <span className="flex flex-col justify-between text-right" style={{ height: HEIGHT }}>
            <span>{number(map.high)}</span>
            <span>{number(map.low)}</span>
          </span>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the slider of steps does the same by keyboard */}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: the slider of steps does the same by keyboard */}
          <div
            className="relative cursor-crosshair overflow-hidden rounded border border-line bg-surface"
            style={{ height: HEIGHT }}
            onPointerMove={(event) => setHovered(placeAt(event))}
            onPointerLeave={() => setHovered(undefined)}
            onClick={(event) => {
              const next = map.steps[placeAt(event)]
              if (next !== undefined) props.onStep(next)
            }}
          >
            <canvas
              ref={canvas}
              role="img"
              aria-label={wordsOf(map, name, job, unit)}
              className="absolute inset-0 size-full"
              style={{ imageRendering: 'pixelated' }}
            />
            {at >= 0 && (
              <span
                aria-hidden="true"
                className="pointer-events-none absolute inset-y-0 w-px bg-ink"
                style={{ left: `${(100 * (at + 0.5)) / n}%` }}
              />
            )}
          </div>
          <span />
          <span className="flex justify-between">
            <span>{number(map.steps[0])}</span>
            <span>{number(map.steps.at(-1))}</span>
          </span>
          <span />
          <span className="truncate" data-quantiles>
            {quantilesText(map, at, unit)}
          </span>
        </div>
      )}
    </figure>
  )
}

function quantilesText(map: HeatMap, at: number, unit: string): string {
  const column = map.columns[at]
  if (column === undefined) return '\u00a0'
  const [low, median, high] = [0.05, 0.5, 0.95].map((share) => number(quantile(column, share)))
  const n = column.counts.reduce((a, b) => a + b, 0)
  return `${unit} ${number(map.steps[at])}: median ${median}, 5–95% ${low} to ${high}, n ${number(n)}`
}

const wordsOf = (map: HeatMap, name: string, job: string, unit: string): string =>
  `Distribution of ${name} of ${job} from ${unit} ${number(map.steps[0])} to ${number(map.steps.at(-1))}, values ${number(map.low)} to ${number(map.high)}`

/** Of `rgb(r, g, b)`. */
const channels = (colour: string): [number, number, number] => {
  const [r = 0, g = 0, b = 0] = (colour.match(/\d+/g) ?? []).map(Number)
  return [r, g, b]
}

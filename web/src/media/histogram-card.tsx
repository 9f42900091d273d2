import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useBatchContext } from '../batch/context.ts'
import { MAX_ITEMS, type MediaItem } from '../lib/api/media.ts'
import { errorText } from '../lib/api/request.ts'
import { useTheme } from '../lib/theme.ts'
import { count, number, some } from '../lib/words.ts'
import { Button, Choice } from '../ui/controls.tsx'
import { Name } from '../ui/name.tsx'
import { Failure } from '../ui/notice.tsx'
import { type HeatMap, heatMapOf, QUANTILES, quantile, rangeOfJobs } from './heat-map.ts'
import { HeatMapPlot } from './heat-map-plot.tsx'
import { useLook } from './looks.ts'
import { mediaItemsQuery } from './media-queries.ts'
import { Ridges } from './ridges.tsx'
import { placeOf } from './step-slider.tsx'

const HEIGHT = 160
const RIDGES_HEIGHT = 240
type Form = 'heat' | 'ridges'
const FORMS = [
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
  /** What the card is higher than usual, in pixels. */
  more: number
}) {
  const { name, jobs, named, steps, step } = props
  const { of, media } = useBatchContext()
  const [all, setAll] = useState(false)
  const [look, onLook] = useLook(name)
  const form: Form = look.ridges ? 'ridges' : 'heat'
  const quantiles = look.quantiles === true
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
        <Choice
          label={`Form of ${name}`}
          hideLabel
          value={form}
          options={FORMS}
          onChange={(next) => onLook({ ridges: next === 'ridges' || undefined })}
        />
        {form === 'heat' && (
          <label className="flex items-center gap-1.5 text-muted">
            <input
              type="checkbox"
              checked={quantiles}
              onChange={(event) => onLook({ quantiles: event.target.checked || undefined })}
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
            form={form}
            more={props.more}
            quantiles={quantiles && form === 'heat'}
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
  form: Form
  more: number
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
          <span className="min-w-0 flex-1 truncate">
            <Name>{job}</Name>
          </span>
        </figcaption>
      )}
      {n > 0 && (
        <>
          {props.form === 'heat' ? (
            <Framed
              up={[map.low, map.high]}
              across={[map.steps[0], map.steps.at(-1)]}
              height={HEIGHT + props.more}
            >
              <HeatMapPlot {...drawn} quantiles={props.quantiles} />
            </Framed>
          ) : (
            <Framed
              up={[map.steps.at(-1), map.steps[0]]}
              across={[map.low, map.high]}
              height={RIDGES_HEIGHT + props.more}
            >
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

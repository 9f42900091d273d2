import { X as Cross, LayoutGrid } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { type ChartSearch, xKeyOf } from '../lib/charts/search.ts'
import type { SearchChange } from '../lib/search-change.ts'
import { EPOCH, unitsOf } from '../lib/step-unit.ts'
import { duration, number } from '../lib/words.ts'
import { Button, buttonLook, Choice, inputLook } from '../ui/controls.tsx'
import { Copy } from '../ui/copy.tsx'
import { PopoverLater } from '../ui/popover-later.tsx'
import { FormulaButton } from './formula-button.tsx'
import { placeOf } from './plot-axes.ts'
import { RangeForm } from './range-form.tsx'

const X = [
  ['relative', 'Relative time'],
  ['wall', 'Wall time'],
] as const
const CLIPS = [
  ['0', 'All values'],
  ['0.01', 'Hide outer 1%'],
  ['0.05', 'Hide outer 5%'],
] as const
const BANDS = [
  ['std', 'Mean ± std'],
  ['range', 'Min–max'],
  ['none', 'Mean only'],
] as const

/** Text fields of the toolbar take the remaining width, so that all controls fit in one row if possible. */
export const filterLook = 'w-40! lg:w-auto! lg:min-w-0 lg:max-w-40 lg:basis-20 lg:grow'

/** Settings for all charts of a tab. */
export function ChartControls(props: {
  search: ChartSearch
  /** The fields that jobs can be grouped by. */
  groupings: readonly string[]
  onChange: (part: SearchChange<ChartSearch>) => void
  onZoom: (range: [number, number] | undefined) => void
  /** Whether there is a field to filter series. */
  finds?: boolean
  /** The unit of steps. */
  unit?: string
  /** Series that can be the x-axis. */
  metrics: readonly string[]
  /** Whether charts are being arranged; undefined where they cannot be. */
  isArranging?: boolean
  onArranging?: (on: boolean) => void
  /** Changes the computed series; undefined where there are none. */
  onFormulas?: (formulas: readonly string[]) => void
  /** Shown before the other controls. */
  lead?: ReactNode
}) {
  const { search, onChange, finds = true, unit = EPOCH } = props
  const groupings = [...new Set([...props.groupings, ...(search.group ? [search.group] : [])])]
  return (
    <div
      role="toolbar"
      aria-label="Charts"
      // One scrolling row on small screens, up to two rows elsewhere.
      className="fade-end relative flex items-center gap-1.5 max-2xl:gap-x-1 max-lg:overflow-x-auto max-lg:py-0.5 max-lg:*:shrink-0 lg:flex-wrap"
    >
      {props.lead}
      {finds && (
        <input
          data-search
          type="search"
          aria-label="Find series by regular expression"
          placeholder="Filter series"
          title="A regular expression, such as loss|acc"
          className={`${inputLook} ${filterLook}`}
          value={search.series ?? ''}
          onChange={(event) => onChange({ series: event.target.value })}
        />
      )}
      <AxisControls search={search} onChange={onChange} unit={unit} metrics={props.metrics} />
      {groupings.length > 0 && (
        <Choice
          label="Group by"
          hideLabel
          value={search.group ?? ''}
          options={[
            ['', 'No grouping'],
            ...groupings.map((one) => [one, `By ${one.replace(/^param\./, '')}`] as const),
          ]}
          onChange={(group) => onChange({ group: group || undefined })}
        />
      )}
      {search.group && (
        <Choice
          label="Band"
          hideLabel
          value={search.band ?? 'std'}
          options={BANDS}
          onChange={(band) => onChange({ band: band === 'std' ? undefined : band })}
        />
      )}
      <Zoom {...props} unit={unit} />
      {props.onFormulas && (
        <FormulaButton
          formulas={search.formulas ?? []}
          metrics={props.metrics}
          onFormulas={props.onFormulas}
        />
      )}
      {props.onArranging && (
        <Button
          look={props.isArranging ? 'on' : 'plain'}
          aria-pressed={props.isArranging ?? false}
          title="Move, resize and hide charts; add sections"
          onClick={() => props.onArranging?.(!props.isArranging)}
        >
          <LayoutGrid className="size-4" aria-hidden="true" />
          {props.isArranging ? 'Done' : 'Arrange'}
        </Button>
      )}
      <Copy text={location.href} label="Copy link" sign />
    </div>
  )
}

/** Axes, smoothing and outliers, for one chart or all. */
export function AxisControls(props: {
  search: ChartSearch
  onChange: (part: SearchChange<ChartSearch>) => void
  /** The unit of steps. */
  unit?: string | undefined
  /** Series that can be the x-axis. */
  metrics: readonly string[]
}) {
  const { search, onChange } = props
  return (
    <>
      <Choice
        label="The x-axis"
        hideLabel
        value={search.x ?? 'epoch'}
        options={[['epoch', unitsOf(props.unit ?? EPOCH)], ...X]}
        more={{
          label: 'Values of a metric',
          options: metricsFor(props.metrics, search).map((key) => [`metric.${key}` as const, key]),
        }}
        onChange={(x) => onChange({ x: x === 'epoch' ? undefined : x, zoom: undefined })}
      />
      <Check label="Log x" on={search.xlog} onChange={(xlog) => onChange({ xlog })} />
      <Check label="Log y" on={search.log} onChange={(log) => onChange({ log })} />
      <Smoothing value={search.smooth ?? 0} onChange={(smooth) => onChange({ smooth })} />
      <Choice
        label="Outliers"
        hideLabel
        value={String(search.clip ?? 0) as (typeof CLIPS)[number][0]}
        options={
          CLIPS.some(([share]) => Number(share) === (search.clip ?? 0))
            ? CLIPS
            : [...CLIPS, [String(search.clip) as '0', `Hide outer ${number(100 * (search.clip ?? 0))}%`]]
        }
        onChange={(share) => onChange({ clip: Number(share) || undefined })}
      />
    </>
  )
}

/** Includes the selected metric even if none of the drawn jobs reports it. */
function metricsFor(metrics: readonly string[], { x }: ChartSearch): readonly string[] {
  const key = xKeyOf(x)
  return key === undefined || metrics.includes(key) ? metrics : [...metrics, key]
}

const Check = (props: { label: string; on: boolean | undefined; onChange: (on: boolean) => void }) => (
  <label className="flex items-center gap-1.5 px-1 whitespace-nowrap">
    <input
      type="checkbox"
      checked={props.on ?? false}
      onChange={(event) => props.onChange(event.target.checked)}
    />
    {props.label}
  </label>
)

/** A slider for all charts. The service computes the smoothing, so series are fetched again once the slider rests. */
function Smoothing({ value, onChange }: { value: number; onChange: (value: number) => void }) {
  const [now, setNow] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  useEffect(() => setNow(value), [value])
  useEffect(() => () => void (timer.current !== null && clearTimeout(timer.current)), [])
  return (
    <label className="flex items-center gap-1.5">
      <span className="text-muted">Smoothing</span>
      <input
        type="range"
        min="0"
        max="0.99"
        step="0.01"
        className="w-14 accent-accent 2xl:w-16"
        value={now}
        onChange={(event) => {
          const next = Number(event.target.value)
          setNow(next)
          if (timer.current !== null) clearTimeout(timer.current)
          timer.current = setTimeout(() => onChange(next), 120)
        }}
      />
      <span className="w-7">{now ? number(now) : 'off'}</span>
    </label>
  )
}

/** The visible range of the x-axis, set by dragging or typing. */
function Zoom({
  search,
  onZoom,
  unit: step,
}: {
  search: ChartSearch
  unit: string
  onZoom: (range: [number, number] | undefined) => void
}) {
  const { zoom, x } = search
  const smoothingText = (at: number): string =>
    x === 'relative' ? duration(at) : x === 'wall' ? placeOf('wall', at) : number(at)
  const unit =
    x === 'relative'
      ? 'Seconds since the start'
      : x === 'wall'
        ? 'Unix seconds'
        : (xKeyOf(x) ?? unitsOf(step))
  return (
    <span className="flex items-center gap-1">
      <PopoverLater
        label="Range of the x-axis"
        align="start"
        className="w-64 p-3"
        trigger={{
          className: buttonLook(),
          title: 'Drag in a chart, or type; a double click steps out',
          children: zoom
            ? `${x === 'relative' || x === 'wall' ? '' : `${unit} `}${smoothingText(zoom[0])} to ${smoothingText(zoom[1])}`
            : 'Range…',
        }}
      >
        {(close) => (
          <>
            <p className="pb-2 text-xs text-muted">{unit}</p>
            <RangeForm
              label={unit}
              range={zoom}
              onRange={(range) => {
                onZoom(range)
                close()
              }}
            />
          </>
        )}
      </PopoverLater>
      {zoom && (
        <Button look="quiet" aria-label="Show the whole range" onClick={() => onZoom(undefined)}>
          <Cross className="size-3.5" aria-hidden="true" />
        </Button>
      )}
    </span>
  )
}

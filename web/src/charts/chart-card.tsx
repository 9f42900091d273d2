import { Ellipsis, Maximize2, Pin, SlidersHorizontal } from 'lucide-react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { count, some } from '../lib/words.ts'
import { buttonLook } from '../ui/controls.tsx'
import { Name } from '../ui/name.tsx'
import { OpenLater } from '../ui/open-later.tsx'
import { AddedMetricsLegend, AddMetric } from './chart-metrics.tsx'
import type { ChartView } from './chart-view.ts'
import { CurveList } from './curve-list.tsx'
import { type Curves, curvesOf } from './curves.ts'
import { PLOT_HEIGHT } from './plot-height.ts'
import { YRange } from './range-form.tsx'
import { saveCsv, saveDrawing, savePicture } from './save-chart.ts'
import { usePlot } from './use-plot.ts'

const chartMenu = () => import('./chart-menu.tsx').then((file) => file.ChartMenu)

/** The curves of one chart; a stable object until they change. */
function useCurves(props: ChartView & { name: string; jobs: readonly string[] }): Curves {
  const { name, more, right, curvesOf: known } = props
  const alone = props.jobs.length === 1 && props.group === undefined
  const added = JSON.stringify([more?.[name] ?? [], right?.[name] ?? []])
  return useMemo(() => {
    const [keys, onRight] = JSON.parse(added)
    return known?.get(name) ?? curvesOf(name, { more: { [name]: keys }, right: { [name]: onRight } }, alone)
  }, [known, name, added, alone])
}

type ChartProps = ChartView & {
  name: string
  jobs: readonly string[]
  whole: boolean
  /** The height of the plot including its axes, in pixels. */
  height?: number
  onFullScreen?: () => void
  /** In full screen, with the list of curves beside it. */
  alone?: boolean
}

/** A chart of one series over all drawn jobs, or over groups of them. Mounted only while visible. */
export function ChartCard(props: ChartProps) {
  const { name, height = PLOT_HEIGHT, alone = false } = props
  const root = useRef<HTMLDivElement>(null)
  const curves = useCurves(props)
  const drawn = usePlot(root, props, curves)
  const { query, isEmpty } = drawn
  return (
    <figure
      aria-label={name}
      data-chart={name}
      data-unit={drawn.unit}
      className="group/chart min-w-0 rounded-lg border border-line bg-bg p-2"
    >
      <Header {...props} root={root} curves={curves} drawn={drawn} />
      {curves.distinct && <AddedMetricsLegend curves={curves} />}
      <div className="flex gap-3">
        <div
          ref={root}
          data-plot={alone || undefined}
          className={`relative min-w-0 flex-1 text-muted ${query.isPlaceholderData || drawn.isCoarse ? 'refreshing' : ''}`}
          style={{ height }}
        >
          {query.isLoading && (
            <div
              role="status"
              aria-label="Loading"
              className="pulse absolute inset-2 rounded-md bg-surface transition-[visibility] delay-300 starting:invisible"
            />
          )}
          {query.error && <p className="p-4 text-failed">{errorText(query.error)}</p>}
          {isEmpty && !query.error && (
            <p className="p-4 text-muted">
              None of the selected jobs reports this series{props.zoom && ' in this range'}.
            </p>
          )}
          {drawn.counts.isBlank && !isEmpty && (
            <p className="pointer-events-none absolute inset-x-4 top-1/3 z-[1] text-center" data-blank>
              {blankText(drawn.counts, props.zoom !== undefined)}
            </p>
          )}
        </div>
        {alone && (
          <CurveList
            lines={drawn.shown()}
            focus={props.focus}
            colourOf={curves.colourOf ?? props.colourOf}
            height={height}
          />
        )}
      </div>
    </figure>
  )
}

/** Why a chart with points has no curve. */
function blankText({ total, nonFinite }: { total: number; nonFinite: number }, isZoomed: boolean): string {
  const range = isZoomed ? ' in this range' : ''
  return nonFinite < total
    ? `No value${range} is above 0, so a logarithmic axis shows none.`
    : total === 1
      ? `The only value${range} is NaN or infinite. A mark shows its place.`
      : `All ${count(total)} values${range} are NaN or infinite. Marks show their places.`
}

/** Counts and tools are shown while a chart is hovered or has the focus; on touch behind one button. */
const CALM =
  'pointer-fine:opacity-0 pointer-fine:group-focus-within/chart:opacity-100 pointer-fine:group-hover/chart:opacity-100 pointer-fine:has-data-[state=open]:opacity-100'

/** The name of a chart, how many points it shows, and its actions. */
function Header(
  props: ChartProps & {
    root: React.RefObject<HTMLDivElement | null>
    curves: Curves
    drawn: ReturnType<typeof usePlot>
  },
) {
  const { name, root, curves, drawn, onFullScreen } = props
  const { plot, counts, hidden } = drawn
  // Popovers of a chart in a dialog must be inside the dialog: elements outside of a modal dialog cannot be clicked.
  const [container, setContainer] = useState<HTMLElement>()
  useEffect(() => setContainer(root.current?.closest('dialog') ?? undefined), [root])
  const number = props.group
    ? `${count(counts.total)} points, all counted`
    : `${count(counts.drawn)} of ${count(counts.total)} points`
  const points = counts.total > 0 ? number : ''
  const [shows, setShows] = useState(false)
  // These stay visible.
  const notes = [
    ...(counts.nonFinite > 0 ? [`${count(counts.nonFinite)} not finite`] : []),
    ...(counts.unshown > 0 ? [`${count(counts.unshown)} not above 0`] : []),
  ]
  return (
    <figcaption className="flex items-center gap-1 px-1 pb-1">
      <span className="truncate font-medium" title={name}>
        {props.kept?.has(name) && <Pin className="inline size-3 text-accent" aria-hidden="true" />}
        <Name>{name}</Name>
      </span>
      <span data-points className="flex min-w-0 flex-1 justify-end gap-1 text-xs text-muted">
        <span
          className={`truncate ${CALM} ${shows ? '' : 'pointer-coarse:opacity-0'}`}
          title={hidden > 0 ? `${some(hidden, 'outlier')} outside; ${points}` : points}
        >
          {points}
          {(notes.length > 0 || hidden > 0) && ', '}
        </span>
        {hidden > 0 && (
          <span className="whitespace-nowrap text-amber" data-hidden>
            {some(hidden, 'outlier')} outside{notes.length > 0 && ', '}
          </span>
        )}
        {notes.length > 0 && <span className="whitespace-nowrap">{notes.join(', ')}</span>}
      </span>
      <button
        type="button"
        aria-expanded={shows}
        aria-label={`Tools of ${name}`}
        className={`${buttonLook('quiet')} h-5 px-1! pointer-fine:hidden`}
        onClick={() => setShows(!shows)}
      >
        <SlidersHorizontal className="size-3.5" aria-hidden="true" />
      </button>
      <span className={`flex items-center gap-1 ${CALM} ${shows ? '' : 'pointer-coarse:hidden'}`}>
        {onFullScreen && (
          <button
            type="button"
            data-full-screen
            aria-label={`Full screen: ${name}`}
            title="Full screen (f)"
            className={`${buttonLook('quiet')} h-5 px-1!`}
            onClick={onFullScreen}
          >
            <Maximize2 className="size-3.5" aria-hidden="true" />
          </button>
        )}
        {props.onAdded && (props.metrics?.length ?? 0) > 1 && (
          <AddMetric
            container={container}
            name={name}
            curves={curves}
            metrics={props.metrics ?? []}
            onChange={props.onAdded}
          />
        )}
        {props.onY && (
          <YRange
            container={container}
            name={name}
            range={props.y?.[name]}
            onRange={(range) => props.onY?.(name, range)}
          />
        )}
        <OpenLater
          load={chartMenu}
          given={{
            name,
            container,
            kept: props.kept?.has(name) ?? false,
            onKeep: props.onKeep && (() => props.onKeep?.(name)),
            // A hidden chart would leave full screen without one.
            onHide: props.alone ? undefined : props.onHide && (() => props.onHide?.(name)),
            onPicture: () => plot.current && void savePicture(name, plot.current.svg()),
            onDrawing: () => plot.current && saveDrawing(name, plot.current.svg()),
            onCsv: () =>
              drawn.query.data && saveCsv(name, drawn.shown(), props.x === 'metric' ? drawn.unit : undefined),
          }}
          aria-label={`Menu of ${name}`}
          className={`${buttonLook('quiet')} h-5 px-1!`}
        >
          <Ellipsis className="size-4" aria-hidden="true" />
        </OpenLater>
      </span>
    </figcaption>
  )
}

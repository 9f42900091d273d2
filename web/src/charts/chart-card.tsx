import { Ellipsis, Maximize2, Pin } from 'lucide-react'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { useColourChoice } from '../lib/charts/colours.ts'
import { createDrawer } from '../lib/charts/draw-queue.ts'
import type { Line } from '../lib/charts/line.ts'
import type { Point } from '../lib/live/points.ts'
import { EPOCH } from '../lib/step-unit.ts'
import { useTheme } from '../lib/theme.ts'
import { count, some } from '../lib/words.ts'
import { buttonLook } from '../ui/controls.tsx'
import { OpenLater } from '../ui/open-later.tsx'
import { AddedMetricsLegend, AddMetric } from './chart-metrics.tsx'
import type { ChartView } from './chart-view.ts'
import { CurveList } from './curve-list.tsx'
import { axisName, type Curves, curvesOf, madeOf, shownOf } from './curves.ts'
import { Plot } from './plot.ts'
import { isClock } from './plot-axes.ts'
import { PLOT_HEIGHT } from './plot-height.ts'
import { YRange } from './range-form.tsx'
import { saveCsv, saveDrawing, savePicture } from './save-chart.ts'
import { arrive, useClip, useLines } from './use-lines.ts'

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

/** A chart of one series over all drawn jobs, or over groups of them. Mounted only while visible. */
export function ChartCard(
  props: ChartView & {
    name: string
    jobs: readonly string[]
    whole: boolean
    /** The height of the plot including its axes, in pixels. */
    height?: number
    onFullScreen?: () => void
    /** In full screen, with the list of curves beside it. */
    alone?: boolean
  },
) {
  const { name, jobs, view } = { ...props, view: props }
  const { height = PLOT_HEIGHT, onFullScreen, alone = false } = props
  const theme = useTheme()
  const choice = useColourChoice()
  const root = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | null>(null)
  const [width, setWidth] = useState(0)
  // Popovers of a chart in a dialog must be inside the dialog: elements outside of a modal dialog cannot be clicked.
  const [container, setContainer] = useState<HTMLElement>()
  const [counts, setCounts] = useState({ drawn: 0, total: 0, unshown: 0, nonFinite: 0, beyond: 0 })
  const curves = useCurves(props)
  const wish = { ...props, curves }
  const query = useLines(wish, width)
  const clip = useClip(wish)
  const lines = query.data
  // On a slow connection a chart is first drawn from few points.
  const coarse =
    query.isFetching && counts.drawn > 0 && counts.drawn < counts.total && view.group === undefined
  const typed = view.y?.[name]
  const [low, high] = typed ?? [clip?.low ?? null, clip?.high ?? null]

  const draw = useCallback(() => {
    if (plot.current === null || lines === undefined) return
    const shown = shownOf(lines, jobs, curves)
    const { unshown } = plot.current.draw(shown, { x: view.zoom, y: [low, high] })
    const sum = (of: (line: Line) => number): number => shown.reduce((n, line) => n + of(line), 0)
    setCounts({
      drawn: sum((line) => line.steps.length),
      total: sum((line) => line.total),
      nonFinite: sum((line) => line.nonFinite),
      unshown,
      beyond: clip?.later() ?? 0,
    })
  }, [lines, jobs, curves, view.zoom, low, high, clip])

  useEffect(() => {
    const at = root.current
    if (at === null) return
    const watcher = new ResizeObserver(() => {
      setWidth(at.clientWidth)
      plot.current?.resize(at.clientWidth, at.clientHeight)
    })
    watcher.observe(at)
    setContainer(at.closest('dialog') ?? undefined)
    return () => watcher.disconnect()
  }, [])

  // Handlers may change at every render; the plot is rebuilt only if its structure changes.
  const latest = useRef(wish)
  useEffect(() => {
    latest.current = wish
  })
  const names = lines === undefined ? '' : madeOf(shownOf(lines, jobs, curves))
  const linesNow = useRef(lines)
  linesNow.current = lines
  const jobsNow = useRef(jobs)
  jobsNow.current = jobs
  const { x, xKey, xLog = false, log, of, focus, colourOf } = view
  const sync = isClock(x) && view.clock !== undefined ? view.clock : `${of} ${x} ${xKey ?? ''}`
  const stepUnit = view.unitOf?.(name) ?? view.unit ?? EPOCH
  const unit = x === 'metric' ? (xKey ?? EPOCH) : stepUnit
  // The y-axis needs no name if the title of the chart already says it.
  const named = curves.keys.length > 1 || curves.unit !== undefined || onFullScreen === undefined
  const band = view.group?.band ?? 'none'
  // biome-ignore lint/correctness/useExhaustiveDependencies: a chosen colour changes the result of colourOf
  useEffect(() => {
    const at = root.current
    if (at === null || names === '' || linesNow.current === undefined) return
    const made = new Plot(at, shownOf(linesNow.current, jobsNow.current, curves), {
      title: name,
      x,
      unit,
      stepUnit,
      curves,
      names: named
        ? { left: axisName(curves, 'left'), right: axisName(curves, 'right') }
        : { left: undefined, right: undefined },
      xLog,
      log,
      band,
      theme,
      colourOf,
      height: at.clientHeight,
      sync,
      onZoom: (range) => latest.current.onZoom(range),
      onZoomOut: () => latest.current.onZoomOut(),
      onNear: (job) => latest.current.focus.set(job),
      focused: () => latest.current.focus.get(),
    })
    plot.current = made
    const unsubscribe = focus.on(() => made.highlight(focus.get()))
    return () => {
      unsubscribe()
      made.destroy()
      plot.current = null
    }
  }, [
    names,
    name,
    x,
    xKey,
    unit,
    stepUnit,
    curves,
    named,
    xLog,
    log,
    band,
    sync,
    focus,
    colourOf,
    theme,
    choice,
  ])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a rebuilt plot has to be drawn
  useEffect(draw, [draw, names, x, xKey, unit, stepUnit, curves, named, xLog, log, band, theme, choice])

  useEffect(() => {
    if (lines === undefined || view.group !== undefined) return
    const drawer = createDrawer(draw)
    const chosen = new Set(jobs)
    const off = view.bus.on((arrived: readonly Point[]) => {
      let changed = false
      for (const point of arrived) {
        if (!chosen.has(point.job)) continue
        const arrivals = arrive(lines, point, latest.current)
        if (arrivals.length > 0) changed = true
        for (const { key, value } of arrivals) if (!curves.right.has(key)) clip?.note(value)
      }
      if (changed) drawer.request()
    })
    return () => {
      off()
      drawer.stop()
    }
  }, [lines, jobs, curves, view.bus, view.group, draw, clip])

  const hidden = typed === undefined && clip ? clip.hidden + counts.beyond : 0
  const drawn = view.group
    ? `${count(counts.total)} points, all counted`
    : `${count(counts.drawn)} of ${count(counts.total)} points`
  const points = counts.total > 0 ? drawn : ''
  return (
    <figure
      aria-label={name}
      data-chart={name}
      data-unit={unit}
      className="min-w-0 rounded-lg border border-line bg-bg p-2"
    >
      <figcaption className="flex items-center gap-1 px-1 pb-1">
        <span className="truncate font-medium" title={name}>
          {props.kept?.has(name) && <Pin className="inline size-3 text-accent" aria-hidden="true" />}
          {name}
        </span>
        <span
          data-points
          className="flex-1 truncate text-right text-xs text-muted"
          title={hidden > 0 ? `${some(hidden, 'outlier')} outside; ${points}` : points}
        >
          {hidden > 0 && (
            <span className="text-amber" data-hidden>
              {some(hidden, 'outlier')} outside,{' '}
            </span>
          )}
          {points}
          {counts.nonFinite > 0 && `, ${count(counts.nonFinite)} not finite`}
          {counts.unshown > 0 && `, ${count(counts.unshown)} not above 0`}
        </span>
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
            range={typed}
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
            onPicture: () => plot.current && void savePicture(name, plot.current.svg()),
            onDrawing: () => plot.current && saveDrawing(name, plot.current.svg()),
            onCsv: () =>
              lines && saveCsv(name, shownOf(lines, jobs, curves), x === 'metric' ? unit : undefined),
          }}
          aria-label={`Menu of ${name}`}
          className={`${buttonLook('quiet')} h-5 px-1!`}
        >
          <Ellipsis className="size-4" aria-hidden="true" />
        </OpenLater>
      </figcaption>
      {curves.distinct && <AddedMetricsLegend curves={curves} />}
      <div className="flex gap-3">
        <div
          ref={root}
          data-plot={alone || undefined}
          className={`relative min-w-0 flex-1 text-muted ${query.isPlaceholderData || coarse ? 'refreshing' : ''}`}
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
          {lines !== undefined && names === '' && !query.error && (
            <p className="p-4 text-muted">
              None of the selected jobs reports this series{view.zoom && ' in this range'}.
            </p>
          )}
        </div>
        {alone && (
          <CurveList
            lines={lines === undefined ? [] : shownOf(lines, jobs, curves)}
            focus={focus}
            colourOf={curves.colourOf ?? colourOf}
            height={height}
          />
        )}
      </div>
    </figure>
  )
}

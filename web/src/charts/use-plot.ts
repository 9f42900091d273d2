import { type RefObject, useCallback, useEffect, useRef, useState } from 'react'
import { useColourChoice } from '../lib/charts/colours.ts'
import { createDrawer } from '../lib/charts/draw-queue.ts'
import type { Line } from '../lib/charts/line.ts'
import type { Point } from '../lib/live/points.ts'
import { EPOCH } from '../lib/step-unit.ts'
import { useTheme } from '../lib/theme.ts'
import type { ChartView } from './chart-view.ts'
import { axisName, type Curves, madeOf, shownOf } from './curves.ts'
import { Plot } from './plot.ts'
import { isClock } from './plot-axes.ts'
import { arrive, useClip, useLines } from './use-lines.ts'

type PlotProps = ChartView & {
  name: string
  jobs: readonly string[]
  whole: boolean
  onFullScreen?: () => void
}

/** Numbers of points of a chart. */
interface Counts {
  drawn: number
  total: number
  /** Not above 0, on a logarithmic axis. */
  unshown: number
  nonFinite: number
  /** Outliers that arrived after the range of the y-axis was chosen. */
  beyond: number
  /** There are points, and none has a place between the axes. */
  isBlank: boolean
}
const NO_POINTS: Counts = { drawn: 0, total: 0, unshown: 0, nonFinite: 0, beyond: 0, isBlank: false }

/**
 * Loads the curves of a chart and draws them into `root`, in its full size. The plot is built again only if its series or
 * axes change.
 */
export function usePlot(root: RefObject<HTMLDivElement | null>, props: PlotProps, curves: Curves) {
  const { name, jobs } = props
  const plot = useRef<Plot | null>(null)
  const width = usePlotWidth(root, plot)
  const [counts, setCounts] = useState(NO_POINTS)
  const request = { ...props, curves }
  const query = useLines(request, width)
  const clip = useClip(request)
  const lines = query.data
  const typed = props.y?.[name]
  const [low, high] = typed ?? [clip?.low ?? null, clip?.high ?? null]

  const draw = useCallback(() => {
    if (plot.current === null || lines === undefined) return
    const shown = shownOf(lines, jobs, curves)
    const { unshown, isBlank } = plot.current.draw(shown, { x: props.zoom, y: [low, high] })
    const sum = (of: (line: Line) => number): number => shown.reduce((n, line) => n + of(line), 0)
    const drawn = sum((line) => line.steps.length)
    setCounts({
      drawn,
      total: sum((line) => line.total),
      nonFinite: sum((line) => line.nonFinite),
      unshown,
      beyond: clip?.later() ?? 0,
      isBlank: drawn > 0 && isBlank,
    })
  }, [lines, jobs, curves, props.zoom, low, high, clip])

  const { names, unit } = usePlotBuilt(root, plot, { request, lines, draw })
  useArrivals({ request, lines, clip, draw })
  return {
    plot,
    query,
    counts,
    unit,
    /** No selected job has a point of these series. */
    isEmpty: lines !== undefined && names === '',
    /** On a slow connection a chart is first drawn from few points. */
    isCoarse:
      query.isFetching && counts.drawn > 0 && counts.drawn < counts.total && props.group === undefined,
    /** Outliers outside of the range of the y-axis. */
    hidden: typed === undefined && clip ? clip.hidden + counts.beyond : 0,
    shown: () => (lines === undefined ? [] : shownOf(lines, jobs, curves)),
  }
}

/** Keeps the plot as large as `root`. @returns the width in pixels; 0 before the first layout */
function usePlotWidth(root: RefObject<HTMLDivElement | null>, plot: RefObject<Plot | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const at = root.current
    if (at === null) return
    const watcher = new ResizeObserver(() => {
      setWidth(at.clientWidth)
      plot.current?.resize(at.clientWidth, at.clientHeight)
    })
    watcher.observe(at)
    return () => watcher.disconnect()
  }, [root, plot])
  return width
}

interface Loaded {
  request: PlotProps & { curves: Curves }
  lines: ReadonlyMap<string, Line> | undefined
  draw: () => void
}

/** Builds the plot for the series and axes of the request, and draws it. */
function usePlotBuilt(
  root: RefObject<HTMLDivElement | null>,
  plot: RefObject<Plot | null>,
  { request, lines, draw }: Loaded,
): { names: string; unit: string } {
  const { name, jobs, curves, x, xKey, xLog = false, log, of, focus, colourOf, strong } = request
  const theme = useTheme()
  const choice = useColourChoice()
  const names = lines === undefined ? '' : madeOf(shownOf(lines, jobs, curves))
  // Handlers may change at every render; the plot is rebuilt only if its structure changes.
  const latest = useRef({ request, lines })
  latest.current = { request, lines }
  const sync = isClock(x) && request.clock !== undefined ? request.clock : `${of} ${x} ${xKey ?? ''}`
  const stepUnit = request.unitOf?.(name) ?? request.unit ?? EPOCH
  const unit = x === 'metric' ? (xKey ?? EPOCH) : stepUnit
  // The y-axis needs no name if the title of the chart already says it.
  const named = curves.keys.length > 1 || curves.unit !== undefined || request.onFullScreen === undefined
  const band = request.group?.band ?? 'none'
  // biome-ignore lint/correctness/useExhaustiveDependencies: a chosen colour changes the result of colourOf
  useEffect(() => {
    const at = root.current
    const { lines } = latest.current
    if (at === null || names === '' || lines === undefined) return
    const made = new Plot(at, shownOf(lines, latest.current.request.jobs, curves), {
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
      strong,
      height: at.clientHeight,
      sync,
      onZoom: (range) => latest.current.request.onZoom(range),
      onZoomOut: () => latest.current.request.onZoomOut(),
      onNear: (job) => latest.current.request.focus.set(job),
      focused: () => latest.current.request.focus.get(),
      isListed: () => latest.current.request.focus.isListed(),
      onHover: (at) => latest.current.request.focus.hover(at),
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
    strong,
    theme,
    choice,
  ])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a rebuilt plot has to be drawn
  useEffect(draw, [
    draw,
    names,
    x,
    xKey,
    unit,
    stepUnit,
    curves,
    named,
    xLog,
    log,
    band,
    strong,
    theme,
    choice,
  ])
  return { names, unit }
}

/** Appends points that arrive, and draws them at most once a frame. */
function useArrivals({
  request,
  lines,
  clip,
  draw,
}: Omit<Loaded, 'lines'> & {
  lines: ReturnType<typeof useLines>['data']
  clip: ReturnType<typeof useClip>
}): void {
  const { jobs, curves, bus, group } = request
  const latest = useRef(request)
  latest.current = request
  useEffect(() => {
    if (lines === undefined || group !== undefined) return
    const drawer = createDrawer(draw)
    const chosen = new Set(jobs)
    const off = bus.on((arrived: readonly Point[]) => {
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
  }, [lines, jobs, curves, bus, group, draw, clip])
}

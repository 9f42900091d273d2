import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { DropdownMenu } from 'radix-ui'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { SeriesSource } from '../../lib/api/batches.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { ColourOf } from '../../lib/charts/colours.ts'
import { addPoint, type Line, lineOf } from '../../lib/charts/line.ts'
import type { Focus } from '../../lib/live/focus.ts'
import type { PointBus } from '../../lib/live/points.ts'
import { useTheme } from '../../lib/theme.ts'
import { count } from '../../lib/words.ts'
import { buttonLook } from '../../ui/controls.tsx'
import { createPlot, PLOT_HEIGHT, type Plot } from '../../ui/plot.ts'
import { saveCsv, savePicture } from './save-chart.ts'

export interface ChartView {
  x: 'epoch' | 'time'
  /** Names the whole of what is charted, for the cache. */
  of: string
  source: SeriesSource
  bus: PointBus
  focus: Focus
  colourOf: ColourOf
  log: boolean
  smooth: number
  zoom: [number, number] | undefined
  onZoom: (range: [number, number]) => void
  onZoomOut: () => void
}
/** In one answer, over all curves. */
const MOST_POINTS = 400_000

/** One series over all chosen jobs. Mounted only while it can be seen. */
export function ChartCard(props: ChartView & { name: string; jobs: readonly string[]; whole: boolean }) {
  const { name, jobs, whole, view } = { ...props, view: props }
  const theme = useTheme()
  const root = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | null>(null)
  const [width, setWidth] = useState(0)
  const [said, setSaid] = useState({ drawn: 0, total: 0, unshown: 0, curves: 0 })
  const points = useMemo(() => {
    const wanted = Math.ceil((width * devicePixelRatio * 4) / 400) * 400
    return Math.max(64, Math.min(wanted, Math.floor(MOST_POINTS / Math.max(1, jobs.length))))
  }, [width, jobs.length])
  const query = useQuery({
    queryKey: ['series', view.of, name, whole ? 'all' : jobs, view.zoom, points],
    enabled: width > 0 && jobs.length > 0,
    queryFn: async ({ signal }) => {
      const [from, to] = view.zoom ?? []
      const wanted = { keys: [name], jobs: whole ? undefined : jobs, points, from, to }
      const lines = new Map(
        (await view.source(wanted, signal)).map((one) => [one.job_id ?? 'batch', lineOf(one)]),
      )
      for (const point of view.bus.recent()) arrive(lines, point.job, point.x, point.values[name], view.zoom)
      return lines
    },
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    refetchOnMount: 'always',
  })
  const lines = query.data

  const draw = useCallback(() => {
    if (plot.current === null || lines === undefined) return
    const shown = shownOf(lines, jobs)
    const { unshown } = plot.current.draw(shown, view.zoom)
    setSaid({
      drawn: shown.reduce((n, line) => n + line.steps.length, 0),
      total: shown.reduce((n, line) => n + line.total, 0),
      unshown,
      curves: shown.length,
    })
  }, [lines, jobs, view.zoom])

  useEffect(() => {
    const at = root.current
    if (at === null) return
    const watcher = new ResizeObserver(() => {
      setWidth(at.clientWidth)
      plot.current?.resize(at.clientWidth)
    })
    watcher.observe(at)
    return () => watcher.disconnect()
  }, [])

  // The handlers may change at every render; the plot is made anew only for what it is made of.
  const latest = useRef(view)
  useEffect(() => {
    latest.current = view
  })
  const names =
    lines === undefined
      ? ''
      : shownOf(lines, jobs)
          .map((line) => line.name)
          .join('\n')
  const linesNow = useRef(lines)
  linesNow.current = lines
  const jobsNow = useRef(jobs)
  jobsNow.current = jobs
  useEffect(() => {
    const at = root.current
    if (at === null || names === '' || linesNow.current === undefined) return
    const made = createPlot(at, shownOf(linesNow.current, jobsNow.current), {
      x: view.x,
      log: view.log,
      smooth: view.smooth,
      theme,
      colourOf: view.colourOf,
      sync: view.of,
      onZoom: (range) => latest.current.onZoom(range),
      onZoomOut: () => latest.current.onZoomOut(),
      onNear: (job) => latest.current.focus.set(job),
      focused: () => latest.current.focus.get(),
    })
    plot.current = made
    const unlight = view.focus.on(() => made.light(view.focus.get()))
    return () => {
      unlight()
      made.destroy()
      plot.current = null
    }
  }, [names, view.x, view.log, view.smooth, view.of, view.focus, view.colourOf, theme])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot that was made anew is drawn
  useEffect(draw, [draw, names, view.log, view.smooth, theme])

  useEffect(() => {
    if (lines === undefined) return
    let frame = 0
    const chosen = new Set(jobs)
    const off = view.bus.on((arrived) => {
      let changed = false
      for (const { job, x, values } of arrived) {
        if (chosen.has(job)) changed = arrive(lines, job, x, values[name], view.zoom) || changed
      }
      if (!changed || frame !== 0) return
      frame = requestAnimationFrame(() => {
        frame = 0
        draw()
      })
    })
    return () => {
      off()
      cancelAnimationFrame(frame)
    }
  }, [lines, jobs, name, view.bus, view.zoom, draw])

  return (
    <figure
      aria-label={name}
      data-chart={name}
      className={`min-w-0 rounded-md border border-line bg-bg p-2 ${query.isPlaceholderData ? 'dimmed' : ''}`}
    >
      <figcaption className="flex items-baseline gap-2 px-1 pb-1">
        <span className="truncate font-medium" title={name}>
          {name}
        </span>
        <span data-points className="flex-1 truncate text-right text-xs text-muted">
          {said.total > 0 && `${count(said.drawn)} of ${count(said.total)} points`}
          {said.unshown > 0 && `, ${count(said.unshown)} not above 0`}
        </span>
        <Save
          name={name}
          onPicture={() => plot.current && savePicture(name, plot.current.picture())}
          onCsv={() => lines && saveCsv(name, shownOf(lines, jobs))}
        />
      </figcaption>
      <div ref={root} className="relative w-full text-muted" style={{ height: PLOT_HEIGHT }}>
        {query.error && <p className="p-4 text-failed">{sayWhy(query.error)}</p>}
        {lines !== undefined && names === '' && !query.error && (
          <p className="p-4 text-muted">None of the chosen jobs has it{view.zoom && ' in this range'}.</p>
        )}
      </div>
    </figure>
  )
}

const shownOf = (lines: ReadonlyMap<string, Line>, jobs: readonly string[]): Line[] =>
  jobs.flatMap((job) => lines.get(job) ?? [])

function arrive(
  lines: Map<string, Line>,
  job: string,
  x: number,
  value: number | string | undefined,
  zoom: [number, number] | undefined,
): boolean {
  if (value === undefined || (zoom !== undefined && (x < zoom[0] || x > zoom[1]))) return false
  let line = lines.get(job)
  if (line === undefined) {
    line = { name: job, steps: [], values: [], total: 0, sampled: false }
    lines.set(job, line)
  }
  return addPoint(line, x, value as never)
}

const entry = 'cursor-pointer rounded px-2 py-1 outline-none data-highlighted:bg-hover'
function Save({ name, onPicture, onCsv }: { name: string; onPicture: () => void; onCsv: () => void }) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className={`${buttonLook('quiet')} h-5 px-1`} aria-label={`Save ${name}`}>
        ⋯
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          className="z-30 rounded-md border border-line bg-raised p-1 shadow-lg"
        >
          <DropdownMenu.Item className={entry} onSelect={onPicture}>
            Save as PNG
          </DropdownMenu.Item>
          <DropdownMenu.Item className={entry} onSelect={onCsv}>
            Save what is shown as CSV
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

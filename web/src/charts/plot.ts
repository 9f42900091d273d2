import uPlot from 'uplot'
import { align } from '../lib/charts/align.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import { type BandKind, columnsOf } from '../lib/charts/columns.ts'
import { aboveZero, type Line } from '../lib/charts/line.ts'
import { itemAt } from '../lib/checked.ts'
import type { Theme } from '../lib/theme.ts'
import { type Curves, dashOf, scaleOf } from './curves.ts'
import { CHART_FONT, isClock, type Ticks, type XKind, xAxisOf, yAxisOf } from './plot-axes.ts'
import { markNonFinite } from './plot-marks.ts'
import { yRangeOf, zoomOf } from './plot-range.ts'
import { svgOf } from './plot-svg.ts'
import { createTooltip } from './plot-tooltip.ts'
import { pointerIn } from './pointer.ts'

/** One plot on a canvas. Knows curves and pixels; where they come from is its owner's business. */
export interface PlotOptions {
  title: string
  x: XKind
  /** What the steps count, where `x` is `epoch`; the series that is the axis, where it is `metric`. */
  unit: string
  /** What the steps count, on any axis. */
  stepUnit: string
  curves: Curves
  /** What stands along the axes of values, where the title does not say it. */
  names: { left: string | undefined; right: string | undefined }
  xLog: boolean
  log: boolean
  /** What is drawn around means of groups. */
  band: BandKind
  theme: Theme
  colourOf: ColourOf
  /** In pixels, with its axes. */
  height: number
  /** Shared by the plots whose cursors go together. */
  sync: string
  onZoom: (range: [number, number]) => void
  onZoomOut: () => void
  /** The curve nearest to the cursor. */
  onNear: (name: string | null) => void
  /** The curve that is lit up on the page; plots that only follow the cursor tell of it alone. */
  focused: () => string | null
}
export interface Ranges {
  /** What is zoomed to. */
  x: [number, number] | undefined
  /** What the y-axis shows; null where the values say. */
  y: readonly [number | null, number | null]
}
export interface Plot {
  draw(lines: readonly Line[], ranges: Ranges): { unshown: number }
  light(name: string | null): void
  resize(width: number, height: number): void
  /** What is seen as a drawing with its title, axes and legend, in the colours of the page. */
  svg(): string
  destroy(): void
}
/** Past so many curves they are thin, and one does not light up. */
const MANY = 20
const MAX_LIT = 60

const NO_TICKS: Ticks = { places: [], texts: [] }

export function createPlot(root: HTMLElement, lines: readonly Line[], options: PlotOptions): Plot {
  const ink = getComputedStyle(root).color
  const grid = options.theme === 'dark' ? 'rgba(255,255,255,.09)' : 'rgba(0,0,0,.08)'
  const first = columnsOf(lines, options.band)
  const faded = first.means.length > 0
  const width = lines.length > MANY ? 1 : 1.5
  const n = lines.length
  const { curves } = options
  const colourOf = curves.colourOf ?? options.colourOf
  const colour = (line: Line): string => colourOf(line.paint, options.theme)
  const alone = curves.keys.length === 1
  let shown: readonly Line[] = lines
  let dragged = false
  let inside = false
  let ranges: Ranges = { x: undefined, y: [null, null] }
  const tip = createTooltip(options, colour)

  const curve = (line: Line, look: 'raw' | 'whole' | 'edge'): uPlot.Series => ({
    label: line.name,
    scale: scaleOf(curves, line),
    dash: [...dashOf(curves, line.key)],
    stroke: look === 'edge' ? 'transparent' : colour(line),
    alpha: look === 'raw' ? 0.25 : 1,
    width: look === 'edge' ? 0 : width,
    points: { show: look !== 'edge' && line.steps.length < 2, size: 5 },
  })
  const axis: uPlot.Axis = {
    stroke: ink,
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
    font: CHART_FONT,
  }
  const ticks: Record<'x' | 'left' | 'right', Ticks> = { x: NO_TICKS, left: NO_TICKS, right: NO_TICKS }
  /** What an axis says is also what the drawing says. */
  const noted = (which: keyof typeof ticks, made: Partial<uPlot.Axis>): Partial<uPlot.Axis> => ({
    ...made,
    values: (u, places, at, space, step) => {
      const texts =
        typeof made.values === 'function' ? made.values(u, places, at, space, step).map(String) : []
      ticks[which] = { places, texts }
      return texts
    },
  })
  const xRange = (min: number, max: number): [number, number] => {
    if (ranges.x) return options.xLog && ranges.x[0] <= 0 ? [min, ranges.x[1]] : ranges.x
    if (min !== max) return [min, max]
    return options.xLog ? [min / 2, min * 2] : [min - 1, max + 1]
  }
  // A plot that is built or moved under a resting pointer gets no event from the browser.
  const followPointer = (u: uPlot): void => {
    const at = pointerIn(u.over)
    if (at === null && !inside) tip.hide()
    else {
      inside = at !== null
      u.setCursor(at ?? { left: -10, top: -10 })
      if (at === null) options.onNear(null)
    }
  }
  const plot: uPlot = new uPlot(
    {
      width: Math.max(80, root.clientWidth),
      height: options.height,
      legend: { show: false },
      focus: { alpha: 0.2 },
      padding: [8, 8, 0, 0],
      cursor: {
        sync: { key: options.sync, scales: ['x', null] },
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        y: false,
        bind: {
          dblclick: () => () => {
            options.onZoomOut()
            return null
          },
        },
      },
      scales: {
        x: {
          time: isClock(options.x),
          distr: options.xLog ? 3 : 1,
          range: (_, min, max) => xRange(min, max),
        },
        y: {
          distr: options.log ? 3 : 1,
          range: (_, min, max) => yRangeOf([min, max], ranges.y, options.log, curves.span),
        },
        y2: {
          distr: options.log ? 3 : 1,
          range: (_, min, max) => yRangeOf([min, max], [null, null], options.log),
        },
      },
      axes: [
        {
          ...axis,
          space: options.x === 'relative' ? 72 : 60,
          size: 28,
          ...noted('x', xAxisOf(options.x, options.xLog, options.unit)),
        },
        { ...axis, ...noted('left', yAxisOf({ log: options.log, grid, name: options.names.left })) },
        ...(curves.right.size === 0
          ? []
          : [
              {
                ...axis,
                ...noted('right', yAxisOf({ log: options.log, grid, name: options.names.right })),
                scale: 'y2',
                side: 1,
                grid: { show: false },
              },
            ]),
      ],
      series: [
        {},
        ...lines.map((line) => curve(line, faded ? 'raw' : 'whole')),
        ...first.means.map((_, i) => curve(itemAt(lines, i), 'whole')),
        ...[...first.high, ...first.low].map((_, i) => curve(itemAt(lines, i % n), 'edge')),
      ],
      bands: first.high.map((_, i) => {
        const at = 1 + n + first.means.length + i
        return { series: [at, at + n], fill: `${colour(itemAt(lines, i))}2e` }
      }),
      hooks: {
        setSelect: [
          (u) => {
            // A selection goes through all charts: only the one in which it was drawn tells of it.
            const mine = dragged
            dragged = false
            if (u.select.width < 4) return
            if (!mine) return u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            const from = u.posToVal(u.select.left, 'x')
            const to = u.posToVal(u.select.left + u.select.width, 'x')
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
            options.onZoom(zoomOf(options.x, from, to))
          },
        ],
        setCursor: [
          (u) => {
            const here = inside && (u.cursor.left ?? -1) >= 0
            const near = tip.update(u, shown, options.focused(), here)
            if (here) options.onNear(near)
          },
        ],
        setSize: [(u) => u.status === 1 && followPointer(u)],
        draw: [(u) => markNonFinite(u, shown, colour)],
        // Of a dialog nothing outside is seen, and nothing of a chart that is cut off by its box.
        ready: [
          (u) => {
            const page = u.root.closest('dialog') ?? document.body
            page.append(tip.element)
            followPointer(u)
          },
        ],
      },
    },
    [
      [],
      ...lines.map(() => []),
      ...first.means.map(() => []),
      ...[...first.high, ...first.low].map(() => []),
    ] as unknown as uPlot.AlignedData,
    root,
  )
  // A log that scrolls elsewhere on the page moves no chart.
  const onScroll = ({ target }: Event): void => {
    if (plot.status === 1 && target instanceof Node && target.contains(root)) followPointer(plot)
  }
  addEventListener('scroll', onScroll, { capture: true, passive: true })
  // A canvas does not draw its text again by itself when the font arrives.
  const onFont = (): void => plot.redraw(false, true)
  document.fonts.addEventListener('loadingdone', onFont)
  plot.over.addEventListener('mousedown', () => {
    dragged = true
  })
  // In the capture phase: uPlot's own listener on this element calls `setCursor`, which reads it.
  const enter = (): void => {
    inside = true
  }
  plot.over.addEventListener('mousemove', enter, { capture: true })
  plot.over.addEventListener('mouseleave', () => {
    inside = false
    tip.hide()
    options.onNear(null)
  })

  return {
    draw(next, range) {
      shown = options.xLog ? next.map(aboveZero) : next
      ranges = range
      const { raw, means, high, low } = columnsOf(shown, options.band)
      const pixels = Math.round(Math.max(100, plot.over.clientWidth) * devicePixelRatio)
      const { columns, unshown } = align(
        [...raw, ...means, ...high, ...low],
        options.log,
        pixels,
        options.xLog,
      )
      const set = (): void => plot.setData(columns as uPlot.AlignedData)
      // On its own uPlot paints in a microtask, which a measurement of the drawing time would miss.
      // Before it is ready that microtask is on its way already, and would paint a second time.
      if (plot.status === 1) plot.batch(set)
      else set()
      return { unshown }
    },
    light(name) {
      // Of several metrics only one curve would light up, and the others of its job fade.
      if (n > MAX_LIT || !alone) return
      const i = name === null ? -1 : shown.findIndex((line) => line.owner === name)
      plot.setSeries(i < 0 ? null : i + 1 + (faded ? n : 0), { focus: i >= 0 })
    },
    resize: (width, height) => {
      if (Math.abs(width - plot.width) >= 1 || Math.abs(height - plot.height) >= 1)
        plot.setSize({ width, height })
    },
    svg: () => svgOf(plot, shown, { ...options, ticks, ink, grid, width, colour }),
    destroy: () => {
      document.fonts.removeEventListener('loadingdone', onFont)
      tip.element.remove()
      removeEventListener('scroll', onScroll, { capture: true })
      plot.destroy()
    },
  }
}

import uPlot from 'uplot'
import { align } from '../lib/charts/align.ts'
import type { ColourOf } from '../lib/charts/colours.ts'
import { type BandKind, columnsOf } from '../lib/charts/columns.ts'
import { type Line, lowerBound } from '../lib/charts/line.ts'
import { itemAt } from '../lib/checked.ts'
import type { Theme } from '../lib/theme.ts'
import { number } from '../lib/words.ts'
import { CHART_FONT, isClock, type XKind, xAxisOf } from './plot-axes.ts'
import { markNonFinite } from './plot-marks.ts'
import { svgOf } from './plot-svg.ts'
import { createTooltip } from './plot-tooltip.ts'
import { pointerIn } from './pointer.ts'

/** One plot on a canvas. Knows curves and pixels; where they come from is its owner's business. */
export interface PlotOptions {
  title: string
  x: XKind
  /** What the steps count, where `x` is `epoch`. */
  unit: string
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
  picture(): HTMLCanvasElement
  /** The same as a drawing, in the colours of the page. */
  svg(): string
  destroy(): void
}
/** Past so many curves they are thin, and one does not light up. */
const MANY = 20
const MAX_LIT = 60

/** A logarithmic x-axis has no place for the others. */
function aboveZero(line: Line): Line {
  const first = lowerBound(line.steps, Number.MIN_VALUE)
  if (first === 0) return line
  return {
    ...line,
    steps: line.steps.slice(first),
    values: line.values.slice(first),
    epochs: line.epochs?.slice(first),
    mean: line.mean && { ...line.mean, values: line.mean.values.slice(first) },
    band: line.band && {
      ...line.band,
      std: line.band.std.slice(first),
      min: line.band.min.slice(first),
      max: line.band.max.slice(first),
      n: line.band.n.slice(first),
    },
  }
}

/** Over several decades the lines between the tens would fill the plot. */
const tens = (_: uPlot, splits: number[]): (number | null)[] => {
  const decades = Math.log10((splits.at(-1) ?? Number.NaN) / (splits[0] ?? Number.NaN))
  return decades < 3 ? splits : splits.map((at) => (Math.abs(Math.log10(at) % 1) < 1e-9 ? at : null))
}

export function createPlot(root: HTMLElement, lines: readonly Line[], options: PlotOptions): Plot {
  const ink = getComputedStyle(root).color
  const grid = options.theme === 'dark' ? 'rgba(255,255,255,.09)' : 'rgba(0,0,0,.08)'
  const first = columnsOf(lines, options.band)
  const faded = first.means.length > 0
  const width = lines.length > MANY ? 1 : 1.5
  const n = lines.length
  const colour = (name: string): string => options.colourOf(name, options.theme)
  let shown: readonly Line[] = lines
  let dragged = false
  let inside = false
  let ranges: Ranges = { x: undefined, y: [null, null] }
  const tip = createTooltip(options.title, options.x, options.unit, colour)

  const curve = (line: Line, look: 'raw' | 'whole' | 'edge'): uPlot.Series => ({
    label: line.name,
    stroke: look === 'edge' ? 'transparent' : colour(line.name),
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
  const xRange = (min: number, max: number): [number, number] => {
    if (ranges.x) return options.xLog && ranges.x[0] <= 0 ? [min, ranges.x[1]] : ranges.x
    if (min !== max) return [min, max]
    return options.xLog ? [min / 2, min * 2] : [min - 1, max + 1]
  }
  const yRange = (min: number | null, max: number | null): [number, number] => {
    const [low, high] = ranges.y
    if (min === null || max === null) return options.log ? [0.1, 1] : [low ?? 0, high ?? 1]
    const [least, most] = options.log
      ? uPlot.rangeLog(min, max, 10, false)
      : uPlot.rangeNum(min, max, 0.1, true)
    const from = low !== null && (!options.log || low > 0) ? low : (least as number)
    const to = high !== null && (!options.log || high > 0) ? high : (most as number)
    return from < to ? [from, to] : [least as number, most as number]
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
        y: { distr: options.log ? 3 : 1, range: (_, min, max) => yRange(min, max) },
      },
      axes: [
        {
          ...axis,
          space: options.x === 'relative' ? 72 : 60,
          size: 28,
          ...xAxisOf(options.x, options.xLog, options.unit),
        },
        {
          ...axis,
          size: 58,
          ...(options.log && { grid: { stroke: grid, width: 1, filter: tens } }),
          values: (_, splits) => (splits as (number | null)[]).map((v) => (v === null ? '' : number(v))),
        },
      ],
      series: [
        {},
        ...lines.map((line) => curve(line, faded ? 'raw' : 'whole')),
        ...first.means.map((_, i) => curve(itemAt(lines, i), 'whole')),
        ...[...first.high, ...first.low].map((_, i) => curve(itemAt(lines, i % n), 'edge')),
      ],
      bands: first.high.map((_, i) => {
        const at = 1 + n + first.means.length + i
        return { series: [at, at + n], fill: `${colour(itemAt(lines, i).name)}2e` }
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
            const unit = options.x === 'epoch' || options.x === 'time' ? 1 : 1000
            options.onZoom([Math.floor(from * unit) / unit, Math.ceil(to * unit) / unit])
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
  let gone = false
  if (document.fonts.status === 'loading')
    void document.fonts.ready.then(() => {
      if (!gone) plot.redraw(false, true)
    })
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
      if (n > MAX_LIT) return
      const i = name === null ? -1 : shown.findIndex((line) => line.name === name)
      plot.setSeries(i < 0 ? null : i + 1 + (faded ? n : 0), { focus: i >= 0 })
    },
    resize: (width, height) => {
      if (Math.abs(width - plot.width) >= 1 || Math.abs(height - plot.height) >= 1)
        plot.setSize({ width, height })
    },
    picture: () => plot.ctx.canvas,
    svg: () => svgOf(plot, shown, { ...options, ink, grid, width, colour }),
    destroy: () => {
      gone = true
      tip.element.remove()
      removeEventListener('scroll', onScroll, { capture: true })
      plot.destroy()
    },
  }
}

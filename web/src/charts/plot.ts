import uPlot from 'uplot'
import { align, areEmpty } from '../lib/charts/align.ts'
import { columnsOf } from '../lib/charts/columns.ts'
import { aboveZero, type Line } from '../lib/charts/line.ts'
import { dashesOf } from './curves.ts'
import {
  axisStyle,
  distributionOf,
  drawOffsets,
  noTicks,
  paddingOf,
  type TicksByAxis,
  xAxisOf,
  yAxisOf,
} from './plot-axes.ts'
import { markNonFinite } from './plot-marks.ts'
import type { PlotOptions, Ranges } from './plot-options.ts'
import { xRangeOf, yRangeOf, zoomOf } from './plot-range.ts'
import { emptyData, seriesOf } from './plot-series.ts'
import { svgOf } from './plot-svg.ts'
import { createTooltip, type Tooltip } from './plot-tooltip.ts'
import { pointerIn } from './pointer.ts'

/** With more curves than this they are drawn thin. */
const MANY = 20
/** With more curves than this none is highlighted. */
const MAX_HIGHLIGHTED = 60
const MIN_SELECTION_PX = 4
/** Of uPlot's `status`. */
const READY = 1

/** One plot on a canvas. It draws curves; its owner loads them. */
export class Plot {
  readonly #root: HTMLElement
  readonly #options: PlotOptions
  readonly #plot: uPlot
  readonly #tip: Tooltip
  readonly #ink: string
  readonly #grid: string
  readonly #width: number
  /** Of all series; they stay the same while the plot exists. */
  readonly #count: number
  /** Raw curves are faded behind their means. */
  readonly #isFaded: boolean
  /** For the SVG. */
  readonly #ticks: TicksByAxis = noTicks()
  #shown: readonly Line[]
  #ranges: Ranges = { x: undefined, y: [null, null] }
  /** The selection being drawn began in this plot. */
  #isDragged = false
  /** The pointer is in this plot. */
  #isInside = false

  constructor(root: HTMLElement, lines: readonly Line[], options: PlotOptions) {
    this.#root = root
    this.#options = options
    this.#shown = lines
    this.#count = lines.length
    this.#ink = getComputedStyle(root).color
    this.#grid = options.theme === 'dark' ? 'rgba(255,255,255,.09)' : 'rgba(0,0,0,.08)'
    this.#width = lines.length > MANY ? 1 : 1.5
    this.#tip = createTooltip(options, this.#colour)
    const columns = columnsOf(lines, options.band)
    this.#isFaded = columns.means.length > 0
    this.#plot = new uPlot(this.#uplotOptions(lines, columns), emptyData(columns), root)
    this.#listen()
  }

  /** @returns how many points a logarithmic axis cannot show, and whether no point has a place between the axes */
  draw(lines: readonly Line[], ranges: Ranges): { unshown: number; isBlank: boolean } {
    const { log, xLog, band } = this.#options
    const plot = this.#plot
    this.#shown = xLog ? lines.map(aboveZero) : lines
    this.#ranges = ranges
    const { raw, means, high, low } = columnsOf(this.#shown, band)
    const pixels = Math.round(Math.max(100, plot.over.clientWidth) * devicePixelRatio)
    const { columns, unshown } = align([...raw, ...means, ...high, ...low], log, pixels, xLog)
    Object.assign(this.#ticks, noTicks()) // An axis without a range records none.
    const set = (): void => plot.setData(columns as uPlot.AlignedData)
    // Without `batch` uPlot paints in a microtask, which a measurement of the drawing time would miss. Until it is ready,
    // that microtask is queued anyway, and a batch would paint twice.
    if (plot.status === READY) plot.batch(set)
    else set()
    return { unshown, isBlank: areEmpty(columns.slice(1)) }
  }

  /** Highlights the curve of a job or group; null ends it. */
  highlight(name: string | null): void {
    // With several metrics only one curve would be highlighted, and the other curves of its job would fade.
    if (this.#count > MAX_HIGHLIGHTED || this.#options.curves.keys.length !== 1) return
    const i = name === null ? -1 : this.#shown.findIndex((line) => line.owner === name)
    this.#plot.setSeries(i < 0 ? null : i + 1 + (this.#isFaded ? this.#count : 0), { focus: i >= 0 })
  }

  resize(width: number, height: number): void {
    const plot = this.#plot
    if (Math.abs(width - plot.width) >= 1 || Math.abs(height - plot.height) >= 1)
      plot.setSize({ width, height })
  }

  /** The visible part with title, axes and legend, in the colours of the page. */
  svg(): string {
    return svgOf(this.#plot, this.#shown, {
      ...this.#options,
      ticks: this.#ticks,
      ink: this.#ink,
      grid: this.#grid,
      width: this.#width,
      colour: this.#colour,
      dashes: this.#dashes,
    })
  }

  destroy(): void {
    document.fonts.removeEventListener('loadingdone', this.#onFontsLoaded)
    this.#tip.hide()
    this.#tip.element.remove()
    removeEventListener('scroll', this.#onScroll, { capture: true })
    this.#plot.destroy()
  }

  readonly #colour = (line: Line): string => {
    const { curves, colourOf, theme } = this.#options
    return (curves.colourOf ?? colourOf)(line.colourKey, theme)
  }

  /** Dashes of many curves would only be noise. */
  readonly #dashes = (line: Line): readonly number[] => {
    const { curves, colourOf } = this.#options
    return this.#count > MAX_HIGHLIGHTED ? [] : dashesOf(curves, colourOf, line)
  }

  #uplotOptions(lines: readonly Line[], columns: ReturnType<typeof columnsOf>): uPlot.Options {
    const { height, sync } = this.#options
    return {
      width: Math.max(80, this.#root.clientWidth),
      height,
      legend: { show: false },
      focus: { alpha: 0.2 },
      padding: paddingOf(this.#ticks),
      cursor: {
        sync: { key: sync, scales: ['x', null] },
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        y: false,
        bind: {
          dblclick: () => () => {
            this.#options.onZoomOut()
            return null
          },
        },
      },
      scales: this.#scales(),
      axes: this.#axes(),
      ...seriesOf(lines, columns, {
        curves: this.#options.curves,
        colour: this.#colour,
        dashes: this.#dashes,
        width: this.#width,
        isFaded: this.#isFaded,
        strong: this.#options.strong,
      }),
      hooks: {
        setSelect: [(u) => this.#onSelect(u)],
        setCursor: [(u) => this.#onCursor(u)],
        setSize: [(u) => u.status === READY && this.#followPointer(u)],
        draw: [
          (u) => {
            markNonFinite(u, this.#shown, this.#colour)
            drawOffsets(u, this.#ticks, this.#ink)
          },
        ],
        // The tooltip is outside the chart, which would clip it, but inside a dialog, which covers everything else.
        ready: [
          (u) => {
            const page = u.root.closest('dialog') ?? document.body
            page.append(this.#tip.element)
            this.#followPointer(u)
          },
        ],
      },
    }
  }

  #scales(): uPlot.Scales {
    const { x, xLog, log, curves } = this.#options
    const distr = distributionOf(log)
    return {
      x: {
        time: false,
        ...distributionOf(xLog),
        range: (u) => xRangeOf(u.data[0], this.#ranges.x, { log: xLog, x }),
      },
      y: { ...distr, range: (_, min, max) => yRangeOf([min, max], this.#ranges.y, log, curves.span) },
      y2: { ...distr, range: (_, min, max) => yRangeOf([min, max], [null, null], log) },
    }
  }

  #axes(): uPlot.Axis[] {
    const { x, xLog, log, unit, curves, names } = this.#options
    const axis = axisStyle(this.#ink, this.#grid)
    const axes: uPlot.Axis[] = [
      { ...axis, ...xAxisOf(this.#ticks, { x, log: xLog, unit }) },
      { ...axis, ...yAxisOf(this.#ticks, 'left', { log, name: names.left }) },
    ]
    if (curves.right.size > 0)
      axes.push({
        ...axis,
        ...yAxisOf(this.#ticks, 'right', { log, name: names.right }),
        scale: 'y2',
        side: 1,
        grid: { show: false },
      })
    return axes
  }

  #onSelect(u: uPlot): void {
    // A selection is copied to all charts of the page: only the one in which it was drawn zooms.
    const isOwn = this.#isDragged
    this.#isDragged = false
    if (u.select.width < MIN_SELECTION_PX) return
    const from = u.posToVal(u.select.left, 'x')
    const to = u.posToVal(u.select.left + u.select.width, 'x')
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
    if (isOwn) this.#options.onZoom(zoomOf(this.#options.x, from, to))
  }

  #onCursor(u: uPlot): void {
    const isHere = this.#isInside && (u.cursor.left ?? -1) >= 0
    const near = this.#tip.update(u, this.#shown, this.#options.focused(), isHere)
    if (isHere) this.#options.onNear(near)
  }

  /** For a plot that is built or moved under a resting pointer: the browser sends no event. */
  #followPointer(u: uPlot): void {
    const at = pointerIn(u.over)
    if (at === null && !this.#isInside) {
      this.#tip.hide()
      return
    }
    this.#isInside = at !== null
    u.setCursor(at ?? { left: -10, top: -10 })
    if (at === null) this.#options.onNear(null)
  }

  #listen(): void {
    const { over } = this.#plot
    addEventListener('scroll', this.#onScroll, { capture: true, passive: true })
    document.fonts.addEventListener('loadingdone', this.#onFontsLoaded)
    over.addEventListener('mousedown', () => {
      this.#isDragged = true
    })
    // In the capture phase: uPlot's own listener on this element calls `setCursor`, which reads it.
    const onMove = (): void => {
      this.#isInside = true
    }
    over.addEventListener('mousemove', onMove, { capture: true })
    over.addEventListener('mouseleave', () => {
      this.#isInside = false
      this.#tip.hide()
      this.#options.onNear(null)
    })
  }

  /** Only if what scrolls contains the chart. */
  readonly #onScroll = ({ target }: Event): void => {
    if (this.#plot.status === READY && target instanceof Node && target.contains(this.#root))
      this.#followPointer(this.#plot)
  }

  /** A canvas does not redraw its text when its font has loaded. */
  readonly #onFontsLoaded = (): void => this.#plot.redraw(false, true)
}

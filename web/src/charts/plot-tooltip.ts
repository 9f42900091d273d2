import type uPlot from 'uplot'
import type { Line } from '../lib/charts/line.ts'
import { lowerBound, pointAt } from '../lib/charts/line.ts'
import type { Hovered } from '../lib/live/focus.ts'
import { number } from '../lib/words.ts'
import { type Curves, scaleOf } from './curves.ts'
import { placeOf, type XKind } from './plot-axes.ts'

/** The tooltip lists the values at the cursor, largest first, and marks the nearest curve. */
const MAX_LISTED = 12
/** In pixels, of an entry whose name may break, and of the lines around the entries. */
const ENTRY = 20
const AROUND = 60
/** Distance between the tooltip and the edges of the chart and the screen. */
const GAP = 8
/** Below this screen width the tooltip is a sheet as wide as the screen. */
const PHONE = 640
/** The tooltip shrinks to this width, breaking names, before it covers curves. */
const MIN_BESIDE = 200

export interface Tooltip {
  element: HTMLElement
  hide(): void
  /**
   * @param here whether the pointer is in this plot
   * @returns the curve nearest to the pointer; null if it is in another plot
   */
  update(u: uPlot, lines: readonly Line[], focused: string | null, here: boolean): string | null
}

export interface TooltipOptions {
  title: string
  x: XKind
  /** The units of the x-axis and of steps. */
  unit: string
  stepUnit: string
  curves: Curves
  /** Whether a list of the curves shows the values at the cursor in place of the tooltip. */
  isListed: () => boolean
  onHover: (at: Hovered | null) => void
}

interface Row {
  line: Line
  i: number
  value: number
}

export function createTooltip(
  { title, x, unit, stepUnit, curves, isListed, onHover }: TooltipOptions,
  colour: (line: Line) => string,
): Tooltip {
  const element = document.createElement('div')
  element.dataset.tip = title
  element.className =
    'pointer-events-none fixed z-40 hidden max-w-[min(32rem,calc(100vw-16px))] overflow-hidden rounded-md border border-line bg-raised px-2.5 py-1.5 text-xs text-ink shadow-md'
  const conceal = (): void => element.classList.add('hidden')
  // A chart that is not hovered must not clear the values of the one that is.
  let isHovered = false
  const hide = (): void => {
    conceal()
    if (isHovered) onHover(null)
    isHovered = false
  }

  const line = (text: string): HTMLElement => {
    const made = document.createElement('div')
    made.className = 'text-muted'
    made.textContent = text
    return made
  }
  const entry = (row: Row, near: boolean): HTMLElement => {
    const item = document.createElement('div')
    item.className = `flex items-center gap-2 ${near ? 'font-semibold' : ''}`
    if (near) item.dataset.near = row.line.name
    const dot = document.createElement('span')
    dot.className = 'size-2 shrink-0 rounded-full'
    dot.style.background = colour(row.line)
    const name = document.createElement('span')
    name.className = 'min-w-0 flex-1 break-all'
    name.textContent = row.line.name
    const value = document.createElement('span')
    value.className = 'whitespace-nowrap text-right'
    value.textContent = rowText(row, curves.unit)
    item.append(dot, name, value)
    return item
  }

  return {
    element,
    hide,
    update(u, lines, focused, here) {
      const { left, top } = u.cursor
      // With several metrics a row of the list has several values, which only a tooltip has room for.
      const listed = curves.keys.length === 1 && isListed()
      if (listed && !here) {
        conceal()
        return null
      }
      const shownLines = here ? lines : lines.filter(({ owner }) => owner === focused)
      if (left === undefined || left < 0 || shownLines.length === 0) {
        if (here || left === undefined || left < 0) hide()
        else conceal()
        return null
      }
      const at = u.posToVal(left, 'x')
      const pixel = Math.abs(u.posToVal(left + 1, 'x') - at)
      const rows = shownLines.flatMap((line): Row[] => {
        const i = pointAt(line.steps, at, pixel)
        const value = line.mean?.values[i] ?? line.values[i]
        return i < 0 || value === undefined ? [] : [{ line, i, value }]
      })
      const near = here ? nearestRow(u, rows, curves, left, top as number) : null
      if (listed) {
        conceal()
        isHovered = true
        onHover(hoveredAt(rows, near, { title, x, unit, stepUnit }))
        return near?.line.owner ?? null
      }
      rows.sort((a, b) => (Number.isNaN(b.value) ? -1 : Number.isNaN(a.value) ? 1 : b.value - a.value))
      const place = near === null ? -1 : rows.indexOf(near)
      const max = mostListed(u)
      const from = Math.max(0, Math.min(rows.length - max, place - Math.floor(max / 2)))
      const first = near ?? rows[0]
      const step = first?.line.steps[first.i] ?? at
      const epoch = first?.line.epochs?.[first.i]
      const more = rows.length - max
      element.replaceChildren(
        line(placeOf(x, step, unit) + (epoch === undefined ? '' : `, ${stepUnit} ${number(epoch)}`)),
        ...rows.slice(from, from + max).map((row) => entry(row, row === near)),
        ...(more > 0 ? [line(`and ${more} more`)] : []),
      )
      element.classList.remove('hidden')
      if (rows.length === 0) conceal()
      else if (here) placeOutside(element, u, left, near, curves)
      else placeInside(element, u, left, first ?? null, curves)
      return near?.line.owner ?? null
    },
  }
}

function hoveredAt(
  rows: readonly Row[],
  near: Row | null,
  { title, x, unit, stepUnit }: Pick<TooltipOptions, 'title' | 'x' | 'unit' | 'stepUnit'>,
): Hovered | null {
  const first = near ?? rows[0]
  const step = first?.line.steps[first.i]
  if (step === undefined) return null
  const epoch = first?.line.epochs?.[first.i]
  const place =
    (x === 'epoch' ? number(step) : placeOf(x, step, unit)) +
    (epoch === undefined ? '' : `, ${stepUnit} ${number(epoch)}`)
  return {
    title: `${title} @ ${place}`,
    values: new Map(
      rows.map((row) => {
        const { band } = row.line
        const spread = band === undefined ? '' : ` ± ${number(band.std[row.i])}`
        return [row.line.owner, number(row.value) + spread]
      }),
    ),
  }
}

/** As many as fit beside a full-screen chart. */
function mostListed(u: uPlot): number {
  const fullScreenPlot = innerWidth < PHONE ? null : u.root.closest('[data-plot]')
  return Math.max(MAX_LISTED, Math.floor(((fullScreenPlot?.clientHeight ?? 0) - AROUND) / ENTRY))
}

/**
 * Places the tooltip outside of the hovered chart so that it covers no curve: below, otherwise above, otherwise beside;
 * always on the screen. A full-screen chart reserves space beside it, on phones below.
 */
function placeOutside(element: HTMLElement, u: uPlot, left: number, near: Row | null, curves: Curves): void {
  const fullScreenPlot = u.root.closest('[data-plot]')
  const chart = (fullScreenPlot ?? u.root.closest('[data-chart]') ?? u.root).getBoundingClientRect()
  const over = u.over.getBoundingClientRect()
  const phone = innerWidth < PHONE
  sizeFreely(element)
  if (phone) element.style.width = `${innerWidth - 2 * GAP}px`
  const { offsetWidth: width, offsetHeight: height } = element
  const within = (wanted: number, size: number, room: number): number =>
    Math.max(GAP, Math.min(wanted, room - size - GAP))
  const x = within(over.left + left - width / 2, width, innerWidth)
  const y = within(chart.top, height, innerHeight)
  const below = innerHeight - chart.bottom - GAP
  const spaceBeside = innerWidth - chart.right - 2 * GAP
  const placeBeside = (): void => {
    element.style.maxWidth = `min(32rem, ${spaceBeside}px)`
    // Covers the list of curves completely.
    const list = fullScreenPlot?.nextElementSibling?.getBoundingClientRect()
    element.style.minWidth = `${Math.min(list?.width ?? 0, spaceBeside)}px`
    element.style.minHeight = `${Math.min(list?.height ?? 0, innerHeight - chart.top - GAP)}px`
    move(element, chart.right + 4, within(chart.top, element.offsetHeight, innerHeight))
  }
  if (phone) {
    const room = Math.max(below, 120) - GAP
    element.style.maxHeight = `${room}px`
    move(element, x, Math.min(chart.bottom + 4, innerHeight - Math.min(height, room) - GAP))
  } else if (fullScreenPlot !== null && spaceBeside >= MIN_BESIDE) placeBeside()
  else if (height <= below) move(element, x, chart.bottom + 4)
  else if (height <= chart.top - GAP) move(element, x, chart.top - height - 4)
  else if (width <= chart.left - GAP) move(element, chart.left - width - 4, y)
  else if (Math.min(width, MIN_BESIDE) <= spaceBeside) placeBeside()
  else placeInside(element, u, left, near, curves)
}

function sizeFreely({ style }: HTMLElement): void {
  for (const one of ['width', 'minWidth', 'maxWidth', 'minHeight', 'maxHeight'] as const) style[one] = ''
}

/** Places the tooltip inside the plot, on the other side of the cursor, away from the nearest curve. */
function placeInside(element: HTMLElement, u: uPlot, left: number, near: Row | null, curves: Curves): void {
  const over = u.over.getBoundingClientRect()
  sizeFreely(element)
  const { offsetWidth: width, offsetHeight: height } = element
  const from = left > over.width / 2 ? GAP : over.width - width - GAP
  const [top, bottom] =
    near === null ? [over.height, over.height] : heightsOf(u, near.line, curves, from, width)
  const atFoot = top - height < over.height - bottom - height
  const y = over.top + (atFoot ? over.height - height - 4 : 4)
  move(element, over.left + from, Math.max(GAP, Math.min(y, innerHeight - height - GAP)))
}

/** The vertical extent of a curve over a horizontal range of the plot, in pixels from the top. */
function heightsOf(u: uPlot, line: Line, curves: Curves, from: number, width: number): [number, number] {
  const [low, high] = [u.posToVal(from, 'x'), u.posToVal(from + width, 'x')]
  let [top, bottom] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let i = lowerBound(line.steps, low); i < line.steps.length && (line.steps[i] as number) <= high; i++) {
    const y = u.valToPos(line.mean?.values[i] ?? line.values[i] ?? Number.NaN, scaleOf(curves, line))
    if (Number.isNaN(y)) continue
    top = Math.min(top, y)
    bottom = Math.max(bottom, y)
  }
  return top > bottom ? [u.over.clientHeight, u.over.clientHeight] : [top, bottom]
}

function move(element: HTMLElement, x: number, y: number): void {
  element.style.left = `${x}px`
  element.style.top = `${y}px`
}

/** The value, with the mean if there is one; for groups the standard deviation and the number of values. */
function rowText({ line, i, value }: Row, unit: string | undefined): string {
  const raw = line.values[i] ?? Number.NaN
  if (line.band) return `${number(value)} ± ${number(line.band.std[i])} (n ${line.band.n[i]})`
  const said = unit === undefined ? number(value) : `${number(value)} ${unit}`
  return line.mean && !Object.is(raw, value) ? `${said} (${number(raw)})` : said
}

function nearestRow(u: uPlot, rows: readonly Row[], curves: Curves, left: number, top: number): Row | null {
  let best: Row | null = null
  let least = Number.POSITIVE_INFINITY
  for (const row of rows) {
    const y = Number.isFinite(row.value) ? u.valToPos(row.value, scaleOf(curves, row.line)) : Number.NaN
    const isOutside = Number.isNaN(y)
      ? 1e9
      : Math.abs(y - top) + Math.abs(u.valToPos(row.line.steps[row.i] ?? Number.NaN, 'x') - left) / 2
    if (isOutside < least) {
      best = row
      least = isOutside
    }
  }
  return best
}

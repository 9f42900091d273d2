import type uPlot from 'uplot'
import { type Range, shareIn } from '../lib/charts/axis-range.ts'
import { durationTicks, logTicks, MIN_TICKS, numberTicks, timeTicks } from '../lib/charts/axis-ticks.ts'
import { durationTexts, type TickTexts, tickTexts, timeTexts } from '../lib/charts/tick-text.ts'
import { EPOCH } from '../lib/step-unit.ts'
import { duration, exact, number } from '../lib/words.ts'

/** The unit of the x-axis: epochs; Unix seconds; seconds since each job's start; values of a series. */
export type XKind = 'epoch' | 'time' | 'wall' | 'relative' | 'metric'

/** The canvas font of axis labels. */
export const CHART_FONT = '11px "Inter Variable", "Inter Fallback", sans-serif'

/** How a scale places values. A quarter of a value, because uPlot subtracts an end from it, which may overflow. */
export const distributionOf = (log: boolean): Pick<uPlot.Scale, 'distr' | 'fwd' | 'bwd'> =>
  log ? { distr: 3 } : { distr: 100, fwd: (value) => value / 4, bwd: (value) => value * 4 }

export const axisStyle = (ink: string, grid: string): uPlot.Axis => ({
  stroke: ink,
  grid: { stroke: grid, width: 1 },
  ticks: { stroke: grid, width: 1, size: 4 },
  font: CHART_FONT,
})

export const isClock = (x: XKind): boolean => x === 'time' || x === 'wall'

/** Larger numbers do not fit between two ticks of the x-axis, or beside the y-axis. */
const MAX_ALONG = 1e7
const MAX_BESIDE = 1e6

/** The name of the x-axis. */
export const xName = (x: XKind, unit: string): string =>
  isClock(x) ? 'time' : x === 'relative' ? 'time since the start' : unit

/** The ticks that an axis shows now: positions, and their texts, which may be distances from an offset. */
export interface Ticks extends TickTexts {
  places: readonly number[]
}
export type TicksByAxis = Record<'x' | 'left' | 'right', Ticks>

export const noTicks = (): TicksByAxis => {
  const none = (): Ticks => ({ places: [], texts: [], offset: null })
  return { x: none(), left: none(), right: none() }
}

/** The width of a label, in CSS pixels. */
export type Measure = (text: string) => number

/** The least distance between two ticks of the x-axis and of a y-axis, and between two labels. */
const ALONG = 60
const BESIDE = 30
const BETWEEN = 8
const LINE = 14

/** The ticks of an x-axis, as many as have space beside each other. */
export const xTicks = (
  { x, log }: { x: XKind; log: boolean },
  range: Range,
  pixels: number,
  measure: Measure,
): Ticks =>
  spaced(
    pixels / ALONG,
    (most) => ticksAlong(x, log, range, most),
    ({ places, texts }) => {
      let end = Number.NEGATIVE_INFINITY
      return places.every((place, i) => {
        const [middle, half] = [shareIn(range, place, log) * pixels, measure(texts[i] ?? '') / 2]
        const fits = middle - half >= end + (i === 0 ? 0 : BETWEEN)
        end = middle + half
        return fits
      })
    },
  )

/** As many ticks as have space: the labels decide how wide that is. */
function spaced(most: number, of: (most: number) => Ticks, isApart: (ticks: Ticks) => boolean): Ticks {
  let found = of(most)
  for (let fewer = most; !isApart(found) && fewer > MIN_TICKS; found = of(fewer)) fewer /= 1.4
  const { places, texts, offset } = found
  for (let every = 1; every <= places.length; every++) {
    const isKept = (_: unknown, i: number): boolean => i % every === 0
    const some = { places: places.filter(isKept), texts: texts.filter(isKept), offset }
    if (isApart(some)) return some
  }
  return { places: places.slice(0, 1), texts: texts.slice(0, 1), offset }
}

function ticksAlong(x: XKind, log: boolean, range: Range, most: number): Ticks {
  if (log) return withTexts(logTicks(range, most), (places) => tickTexts(places, { log, most: MAX_ALONG }))
  if (isClock(x)) {
    const { places, step } = timeTicks(range, most)
    return withTexts(places, () => timeTexts(places, step))
  }
  if (x === 'relative') return withTexts(durationTicks(range, most), durationTexts)
  const places = numberTicks(range, most, x === 'epoch')
  return withTexts(places, () => tickTexts(places, { log, most: MAX_ALONG }))
}

const withTexts = (places: readonly number[], textsOf: (places: readonly number[]) => TickTexts): Ticks => ({
  places,
  ...textsOf(places),
})

/** The ticks of a y-axis. */
export const yTicks = (log: boolean, range: Range, pixels: number): Ticks =>
  spaced(
    pixels / BESIDE,
    (most) =>
      withTexts(log ? logTicks(range, most) : numberTicks(range, most), (places) =>
        tickTexts(places, { log, most: MAX_BESIDE }),
      ),
    ({ places }) =>
      places.every(
        (place, i) =>
          i === 0 || (shareIn(range, place, log) - shareIn(range, places[i - 1] ?? 0, log)) * pixels >= LINE,
      ),
  )

/** The width of labels in the font of the axes. */
const measureIn =
  ({ ctx }: uPlot): Measure =>
  (text) => {
    ctx.save()
    ctx.font = CHART_FONT
    const { width } = ctx.measureText(text)
    ctx.restore()
    return width
  }

/** Lets an axis draw ticks of `of` and keeps them in `ticks`. uPlot's own steps end before 1e-32 and after 1e32. */
function drawing(
  ticks: TicksByAxis,
  which: keyof TicksByAxis,
  of: (range: Range, pixels: number, measure: Measure) => Ticks,
): Partial<uPlot.Axis> {
  let pixels = 0
  return {
    incrs: (_, __, ___, ____, dim) => {
      pixels = dim
      // uPlot chooses a step of this list that is far enough apart, and leaves it to `splits` to use it.
      return [Number.POSITIVE_INFINITY]
    },
    splits: (u, _, low, high) => {
      ticks[which] = of([low, high], pixels, measureIn(u))
      return [...ticks[which].places]
    },
    filter: (_, splits) => splits,
    values: () => [...ticks[which].texts],
  }
}

/** The x-axis. */
export const xAxisOf = (
  ticks: TicksByAxis,
  { x, log, unit }: { x: XKind; log: boolean; unit: string },
): Partial<uPlot.Axis> => ({
  // It is a function at the time of drawing, when the offset is known.
  label: (() => xLabel(x, unit, ticks.x)) as unknown as string,
  labelSize: 16,
  labelFont: CHART_FONT,
  size: 28,
  ...drawing(ticks, 'x', (range, pixels, measure) => xTicks({ x, log }, range, pixels, measure)),
})

export const xLabel = (x: XKind, unit: string, { offset }: Pick<Ticks, 'offset'>): string =>
  offset === null ? xName(x, unit) : `${xName(x, unit)}, from ${offset}`

/** A position on the x-axis as text, for tooltips. */
export const placeOf = (x: XKind, at: number, unit = EPOCH): string =>
  isClock(x)
    ? exact(at * 1000)
    : x === 'relative'
      ? `${duration(at)} after the start`
      : `${unit} ${number(at)}`

const Y_AXIS_WIDTH = 58
/** Of a label: its tick, and the gaps around it. */
const BESIDE_LABEL = 12
const EDGE = 8
/** Above the plot, for the offset of a y-axis. */
const OFFSET_HEIGHT = 20

/** Around the plot. Without values there is no y-axis; its place is kept, so that charts stay aligned. */
export const paddingOf = (ticks: TicksByAxis): uPlot.Padding => [
  () => (ticks.left.offset === null && ticks.right.offset === null ? EDGE : OFFSET_HEIGHT),
  (u) => {
    const { places, texts } = ticks.x
    const { min, max } = u.scales.x ?? {}
    if (min == null || max == null || u.axes.length > 2) return EDGE
    const rest = (1 - shareIn([min, max], places.at(-1) ?? min, u.scales.x?.distr === 3)) * u.bbox.width
    return Math.max(EDGE, Math.ceil(measureIn(u)(texts.at(-1) ?? '') / 2 + 1 - rest / devicePixelRatio))
  },
  0,
  (u) => (u.scales.y?.min == null ? Y_AXIS_WIDTH : 0),
]

/** Writes the offsets of the y-axes above them. */
export function drawOffsets({ ctx }: uPlot, ticks: TicksByAxis, ink: string): void {
  ctx.save()
  ctx.font = CHART_FONT.replace('11px', `${11 * devicePixelRatio}px`)
  ctx.fillStyle = ink
  ctx.textBaseline = 'top'
  const top = 3 * devicePixelRatio
  if (ticks.left.offset !== null) {
    ctx.textAlign = 'left'
    ctx.fillText(ticks.left.offset, top, top)
  }
  if (ticks.right.offset !== null) {
    ctx.textAlign = 'right'
    ctx.fillText(ticks.right.offset, ctx.canvas.width - top, top)
  }
  ctx.restore()
}

/** The left or right y-axis, as wide as its labels. It has a name only if the chart's title does not say it. */
export const yAxisOf = (
  ticks: TicksByAxis,
  which: 'left' | 'right',
  { log, name }: { log: boolean; name: string | undefined },
): Partial<uPlot.Axis> => ({
  size: (u, values) => {
    const widest = Math.max(0, ...(values ?? []).map(measureIn(u)))
    return Math.max(Y_AXIS_WIDTH, Math.ceil(widest) + BESIDE_LABEL)
  },
  ...(name !== undefined && { label: name, labelSize: 16, labelGap: 0, labelFont: CHART_FONT }),
  ...drawing(ticks, which, (range, pixels) => yTicks(log, range, pixels)),
})

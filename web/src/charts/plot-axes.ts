import type uPlot from 'uplot'
import { EPOCH } from '../lib/step-unit.ts'
import { dayOfMonth, duration, exact, minuteOfDay, number, timeOfDay } from '../lib/words.ts'
import { tickTexts } from './tick-text.ts'

/** The unit of the x-axis: epochs; Unix seconds; seconds since each job's start; values of a series. */
export type XKind = 'epoch' | 'time' | 'wall' | 'relative' | 'metric'

/** The canvas font of axis labels. */
export const CHART_FONT = '11px "Inter Variable", "Inter Fallback", sans-serif'

/** uPlot's `distr` of a scale. */
export const distributionOf = (log: boolean): 1 | 3 => (log ? 3 : 1)

export const axisStyle = (ink: string, grid: string): uPlot.Axis => ({
  stroke: ink,
  grid: { stroke: grid, width: 1 },
  ticks: { stroke: grid, width: 1, size: 4 },
  font: CHART_FONT,
})

export const isClock = (x: XKind): boolean => x === 'time' || x === 'wall'

const TENS = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7]
const WHOLE = [1, 2, 5].flatMap((n) => TENS.map((ten) => n * ten)).sort((a, b) => a - b)
const SECONDS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400].concat(
  [2, 5, 10, 20, 50].map((days) => days * 86_400),
)

/** Larger numbers do not fit between two ticks of the x-axis, or beside the y-axis. */
const MAX_ALONG = 1e7
const MAX_BESIDE = 1e6

/** The name of the x-axis. */
export const xName = (x: XKind, unit: string): string =>
  isClock(x) ? 'time' : x === 'relative' ? 'time since the start' : unit

/** The ticks and labels of an x-axis. uPlot passes null for ticks without space. */
export function xAxisOf(x: XKind, log: boolean, unit: string): Partial<uPlot.Axis> {
  const tickText = (at: number, step: number): string =>
    isClock(x) ? timeOf(at, step) : at === 0 ? '0' : duration(at)
  const numbers = x === 'epoch' || x === 'metric'
  return {
    label: xName(x, unit),
    labelSize: 16,
    labelFont: CHART_FONT,
    ...(!log && x === 'epoch' && { incrs: WHOLE }),
    ...(!log && x === 'relative' && { incrs: [0.001, 0.01, 0.1, 0.5, ...SECONDS] }),
    values: (_, splits: readonly (number | null)[], __, ___, step) =>
      numbers
        ? tickTexts(splits, { log, most: MAX_ALONG })
        : splits.map((at) => (at === null ? '' : tickText(at, step))),
  }
}

/** A position on the x-axis as text, for tooltips. */
export const placeOf = (x: XKind, at: number, unit = EPOCH): string =>
  isClock(x)
    ? exact(at * 1000)
    : x === 'relative'
      ? `${duration(at)} after the start`
      : `${unit} ${number(at)}`

/** A date if ticks are days apart, otherwise the time, with seconds if needed. */
function timeOf(seconds: number, step: number): string {
  const at = seconds * 1000
  if (step >= 86_400) return dayOfMonth(at)
  return step < 60 ? timeOfDay(at) : minuteOfDay(at)
}

/** The ticks that an axis shows now: positions and their texts. */
export interface Ticks {
  places: readonly number[]
  texts: readonly string[]
}
export type TicksByAxis = Record<'x' | 'left' | 'right', Ticks>

export const noTicks = (): TicksByAxis => {
  const none: Ticks = { places: [], texts: [] }
  return { x: none, left: none, right: none }
}

/** Keeps the ticks of an axis in `ticks` whenever they are computed. */
export const recordTicks = (
  ticks: TicksByAxis,
  which: keyof TicksByAxis,
  axis: Partial<uPlot.Axis>,
): Partial<uPlot.Axis> => ({
  ...axis,
  values: (u, places, at, space, step) => {
    const texts = typeof axis.values === 'function' ? axis.values(u, places, at, space, step).map(String) : []
    ticks[which] = { places, texts }
    return texts
  },
})

/** Over several decades only powers of ten have a grid line: the others would fill the plot. */
const tens = (_: uPlot, splits: number[]): (number | null)[] => {
  const decades = Math.log10((splits.at(-1) ?? Number.NaN) / (splits[0] ?? Number.NaN))
  return decades < 3 ? splits : splits.map((at) => (Math.abs(Math.log10(at) % 1) < 1e-9 ? at : null))
}

const Y_AXIS_WIDTH = 58
/** Without values there is no y-axis; its place is kept, so that charts stay aligned. */
export const PADDING: uPlot.Padding = [8, 8, 0, (u) => (u.scales.y?.min == null ? Y_AXIS_WIDTH : 0)]

/** The left or right y-axis. It has a name only if the chart's title does not say it. */
export const yAxisOf = (options: {
  log: boolean
  grid: string
  name: string | undefined
}): Partial<uPlot.Axis> => ({
  size: Y_AXIS_WIDTH,
  ...(options.name !== undefined && {
    label: options.name,
    labelSize: 16,
    labelGap: 0,
    labelFont: CHART_FONT,
  }),
  ...(options.log && { grid: { stroke: options.grid, width: 1, filter: tens } }),
  values: (_, splits) => tickTexts(splits, { log: options.log, most: MAX_BESIDE }),
})

import uPlot from 'uplot'
import type { XKind } from './plot-axes.ts'

/** Range of the x-axis: the zoom, else the range of the steps. */
export function xRangeOf(
  steps: ArrayLike<number> | undefined,
  [low, high]: readonly [number, number],
  zoom: readonly [number, number] | undefined,
  log: boolean,
): [number, number] {
  // Around a single point uPlot has a range of its own: 0 to 100 around 0.
  const [least, most] = steps?.length === 1 ? [steps[0] ?? low, steps[0] ?? high] : [low, high]
  if (zoom) return log && zoom[0] <= 0 ? [least, zoom[1]] : [...zoom]
  if (least !== most) return [least, most]
  return log ? [least / 2, least * 2] : [least - 1, least + 1]
}

/**
 * Range of a y-axis: the chosen limits, else the range of the values with a margin. Without a value that it can show there
 * is no range, and uPlot draws no axis.
 */
export function yRangeOf(
  [least, most]: readonly [number | null, number | null],
  [low, high]: readonly [number | null, number | null],
  log: boolean,
  span?: readonly [number, number],
): [number, number] | [null, null] {
  if (least === null || most === null) {
    const [from, to] = [low ?? span?.[0], high ?? span?.[1]]
    const isChosen = from !== undefined && to !== undefined && from < to && (!log || from > 0)
    return isChosen ? [from, to] : [null, null]
  }
  const [from, to] = log
    ? uPlot.rangeLog(least, most, 10, false)
    : span
      ? [Math.min(least, span[0]), Math.max(most, span[1])]
      : uPlot.rangeNum(least, most, 0.1, true)
  const [first, last] = [from ?? least, to ?? most]
  const lower = low !== null && (!log || low > 0) ? low : first
  const upper = high !== null && (!log || high > 0) ? high : last
  return lower < upper ? [lower, upper] : [first, last]
}

/** The zoom of a selection, rounded: epochs and seconds to whole ones, times to milliseconds, other values to seven digits. */
export function zoomOf(x: XKind, from: number, to: number): [number, number] {
  if (x === 'metric') return [Number(from.toPrecision(7)), Number(to.toPrecision(7))]
  const unit = x === 'epoch' || x === 'time' ? 1 : 1000
  return [Math.floor(from * unit) / unit, Math.ceil(to * unit) / unit]
}

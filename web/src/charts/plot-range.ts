import { drawable, niceStep, padded, paddedLog } from '../lib/charts/axis-range.ts'
import type { XKind } from './plot-axes.ts'

/** Range of the x-axis: the zoom, else the range of the steps. */
export function xRangeOf(
  steps: ArrayLike<number> | undefined,
  zoom: readonly [number, number] | undefined,
  { log, x }: { log: boolean; x: XKind },
): [number, number] {
  const whole = x === 'epoch'
  const [least, most] = [steps?.[0] ?? (log ? 1 : 0), steps?.[steps.length - 1] ?? 1]
  if (zoom) return drawable([log && zoom[0] <= 0 ? least : zoom[0], zoom[1]], { log, whole })
  if (least !== most) return drawable([least, most], { log, whole })
  if (log) return drawable([least / 2, least * 2], { log, whole })
  if (x === 'metric') return padded([least, least])
  // Nothing is before the first step or the start.
  return drawable([least >= 0 ? Math.max(0, least - 1) : least - 1, least + 1], { whole })
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
    ? paddedLog([least, most])
    : span
      ? [Math.min(least, span[0]), Math.max(most, span[1])]
      : padded([least, most])
  const lower = low !== null && (!log || low > 0) ? low : from
  const upper = high !== null && (!log || high > 0) ? high : to
  return drawable(lower < upper ? [lower, upper] : [from, to], { log })
}

/**
 * The zoom of a selection, rounded: epochs and seconds to whole ones, times to milliseconds, other values to a
 * ten-thousandth of its width.
 */
export function zoomOf(x: XKind, from: number, to: number): [number, number] {
  if (x === 'metric') {
    const { factor, exponent, size } = niceStep((to - from) / 1e4)
    const at = (n: number): number => Number(`${n * factor}e${exponent}`)
    return [at(Math.floor(from / size)), at(Math.ceil(to / size))]
  }
  const unit = x === 'epoch' || x === 'time' ? 1 : 1000
  return [Math.floor(from * unit) / unit, Math.ceil(to * unit) / unit]
}

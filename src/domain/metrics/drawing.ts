import { required } from '../../checked.ts'
import { lowerBound } from './lower-bound.ts'
import { pick, type Sampled, sample } from './m4.ts'
import type { Series } from './read-series.ts'
import { type SmoothingState, smoothed } from './smoothing.ts'

/** Series as a chart shows them: on its axes, smoothed, within what is zoomed to, sampled. Pure. */

export type XAxis = 'epoch' | 'relative' | 'wall'

export interface Drawing {
  /** At most so many points of a series; every one without it. */
  points?: number | undefined
  /** Epochs; seconds since the job's start; Unix seconds. `epoch` without it. */
  x?: XAxis | undefined
  /** In units of `x`, both included. */
  from?: number | undefined
  to?: number | undefined
  xLog?: boolean | undefined
  yLog?: boolean | undefined
  /** Weight of the past in the exponential mean; none without it. */
  smooth?: number | undefined
}

export interface DrawnSeries extends Sampled<Int32Array> {
  /** Seconds on a time axis, never decreasing; undefined on an axis of epochs. */
  times?: Float64Array
  /** The exponential mean at each point, over every point up to it. */
  smoothed?: Float64Array
  /** After the last point that was read: the last of the range, or of the series on a time axis. */
  smoothing?: SmoothingState
  /** Every value of the range, as it was before sampling. */
  inRange: Float64Array
}

/** What must be read for it: a mean rests on what came before the range, and times are not looked up by epoch. */
export function rangeToRead({ x, from, to, smooth }: Drawing): { from?: number; to?: number } {
  if (x === 'relative' || x === 'wall') return {}
  return {
    ...(from !== undefined && !smooth && { from: Math.ceil(from) }),
    ...(to !== undefined && { to: Math.floor(to) }),
  }
}

export const needsTimes = ({ x }: Drawing): boolean => x === 'relative' || x === 'wall'

/**
 * @param series with `times` (Unix milliseconds of each point) and the job's start when the axis is time
 * @returns undefined when no point lies in the range
 */
export function drawSeries(
  series: Pick<Series, 'steps' | 'values'> & { times?: Float64Array; startedAt?: number },
  drawing: Drawing,
): DrawnSeries | undefined {
  let { steps, values } = series
  const mean = drawing.smooth ? smoothed(values, drawing.smooth) : undefined
  let beside = mean?.values
  let axis: Int32Array | Float64Array = steps
  let times: Float64Array | undefined
  const scale = needsTimes(drawing) ? 1000 : 1
  if (scale === 1000) {
    times = required(series.times)
    const zero = drawing.x === 'relative' ? (series.startedAt ?? times[0] ?? 0) : 0
    if (zero !== 0) times = times.map((ms) => ms - zero)
    const order = orderOf(times)
    if (order !== undefined) {
      times = pick(times, order)
      steps = pick(steps, order)
      values = pick(values, order)
      beside = beside && pick(beside, order)
    }
    axis = times
  }
  const from = drawing.from === undefined ? undefined : Math.ceil(milli(drawing.from, scale))
  const to = drawing.to === undefined ? undefined : Math.floor(milli(drawing.to, scale))
  // The least place of a logarithmic axis is one epoch, or one millisecond.
  const first = drawing.xLog ? Math.max(1, from ?? 1) : from
  const begin = first === undefined ? 0 : lowerBound(axis, first)
  const end = to === undefined ? axis.length : lowerBound(axis, to + 1)
  if (begin >= end) return undefined
  if (begin > 0 || end < axis.length) {
    axis = axis.subarray(begin, end)
    steps = steps.subarray(begin, end)
    values = values.subarray(begin, end)
    beside = beside?.subarray(begin, end)
  }
  const shown = sample(axis, values, drawing.points, {
    from: from === undefined ? undefined : first,
    to,
    xLog: drawing.xLog,
    yLog: drawing.yLog,
    beside,
  })
  const { positions } = shown
  const at = <A extends Int32Array | Float64Array>(column: A): A =>
    positions === undefined ? column : pick(column, positions)
  return {
    ...shown,
    steps: axis === steps ? (shown.steps as Int32Array) : at(steps),
    ...(times && { times: inSeconds(shown.steps as Float64Array) }),
    ...(beside && { smoothed: at(beside) }),
    ...(mean && { smoothing: mean.state }),
    inRange: values,
  }
}

function inSeconds(ms: Float64Array): Float64Array {
  const seconds = new Float64Array(ms.length)
  for (let i = 0; i < ms.length; i++) seconds[i] = (ms[i] ?? Number.NaN) / 1000
  return seconds
}

/** Seconds told with a fraction of a bit too much or too little are still the milliseconds that they were. */
const milli = (place: number, scale: number): number => Math.round(place * scale * 1000) / 1000

/** The order of increasing times, of equal ones as they come; undefined when they are in order. */
function orderOf(times: Float64Array): Uint32Array | undefined {
  let sorted = true
  for (let i = 1; i < times.length && sorted; i++)
    sorted = (times[i] ?? Number.NaN) >= (times[i - 1] ?? Number.NaN)
  if (sorted) return undefined
  return Uint32Array.from(times.keys()).sort(
    (a, b) => (times[a] ?? Number.NaN) - (times[b] ?? Number.NaN) || a - b,
  )
}

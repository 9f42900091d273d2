import { required } from '../../checked.ts'
import { lowerBound, upperBound } from './lower-bound.ts'
import { pick, type Sampled, sample } from './m4.ts'
import type { JobSeries, ReadOptions } from './read-series.ts'
import { type SmoothingState, smoothed } from './smoothing.ts'

/** Series as charts show them: on their axes, smoothed, within the zoomed range, sampled. Pure. */

export type XAxis = 'epoch' | 'relative' | 'wall'

export interface Drawing {
  /** The most points of a series; default: all. */
  points?: number | undefined
  /** Epochs, seconds since the job's start, or Unix seconds. Default: `epoch`. */
  x?: XAxis | undefined
  /** Replaces `x`: the values of this series of the same job, joined by epoch. */
  xKey?: string | undefined
  /** In units of the axis, both included. */
  from?: number | undefined
  to?: number | undefined
  xLog?: boolean | undefined
  yLog?: boolean | undefined
  /** Weight of the past in the exponential mean; default: no smoothing. */
  smooth?: number | undefined
}

export interface DrawnSeries extends Sampled {
  /** Seconds on a time axis, never decreasing; undefined on other axes. */
  times?: Float64Array
  /** The values of `xKey`, never decreasing; undefined on other axes. */
  xValues?: Float64Array
  /** The exponential mean at each point, over every point up to it. */
  smoothed?: Float64Array
  /**
   * The state after the last point that was read: the last of the range, or of the series on any axis but that of
   * epochs.
   */
  smoothing?: SmoothingState
  /** Every value of the range, before sampling. */
  inRange: Float64Array
}

/**
 * What to read for a drawing: a mean depends on points before the range, and points cannot be looked up by time or
 * value.
 */
export function reading(drawing: Drawing): Pick<ReadOptions, 'timed' | 'beside' | 'from' | 'to'> {
  const { xKey, from, to, smooth } = drawing
  if (xKey !== undefined) return { beside: xKey }
  if (isTimed(drawing)) return { timed: true }
  return {
    ...(from !== undefined && !smooth && { from: Math.ceil(from) }),
    ...(to !== undefined && { to: Math.floor(to) }),
  }
}

/** Whether the x-axis is time. */
export const isTimed = ({ x, xKey }: Drawing): boolean =>
  xKey === undefined && (x === 'relative' || x === 'wall')

type Drawable = Pick<JobSeries, 'steps' | 'values' | 'times' | 'beside'> & { startedAt?: number }

/**
 * @param series with `times` (Unix milliseconds of each point) and the job's start when the axis is time, with `beside`
 * when it is another series
 * @returns undefined when no point lies in the range
 */
export function drawSeries(series: Drawable, drawing: Drawing): DrawnSeries | undefined {
  const mean = drawing.smooth ? smoothed(series.values, drawing.smooth) : undefined
  const places = placesOf(series, drawing)
  const order = places === series.steps ? undefined : orderOf(places)
  const [first, last] = boundsOf(drawing)
  const sorted = order === undefined ? places : pick(places, order)
  const begin = first === undefined ? 0 : lowerBound(sorted, first)
  const end = last === undefined ? sorted.length : upperBound(sorted, last)
  if (begin >= end) return undefined
  const cut = (column: Float64Array): Float64Array => {
    const all = order === undefined || column === sorted ? column : pick(column, order)
    return begin > 0 || end < all.length ? all.subarray(begin, end) : all
  }
  const axis = cut(sorted)
  const steps = places === series.steps ? axis : cut(series.steps)
  const values = cut(series.values)
  const beside = mean && cut(mean.values)
  const { points, xKey, xLog, yLog } = drawing
  const shown =
    xKey === undefined
      ? sample(axis, values, points, {
          from: drawing.from === undefined ? undefined : first,
          to: last,
          xLog,
          yLog,
          beside,
        })
      : sample(onGrid(axis, drawing), values, points, { from: 0, to: GRID, yLog, beside })
  const { positions } = shown
  const at = (column: Float64Array): Float64Array =>
    positions === undefined ? column : pick(column, positions)
  return {
    ...shown,
    steps: at(steps),
    ...(isTimed(drawing) && { times: inSeconds(at(axis)) }),
    ...(xKey !== undefined && { xValues: at(axis) }),
    ...(beside && { smoothed: at(beside) }),
    ...(mean && { smoothing: mean.state }),
    inRange: values,
  }
}

/** The position of each point on the axis: epochs, milliseconds, or values, some of which may be NaN or infinite. */
function placesOf({ steps, times, beside, startedAt }: Drawable, drawing: Drawing): Float64Array {
  if (drawing.xKey !== undefined) return required(beside)
  if (!isTimed(drawing)) return steps
  const all = required(times)
  const zero = drawing.x === 'relative' ? (startedAt ?? all[0] ?? 0) : 0
  return zero === 0 ? all : all.map((ms) => ms - zero)
}

/**
 * The first and last position of the range. The lowest position of a logarithmic axis is one epoch or one millisecond.
 */
function boundsOf(drawing: Drawing): [number | undefined, number | undefined] {
  const { xKey, xLog } = drawing
  const whole = xKey === undefined
  const place = isTimed(drawing) ? milliseconds : (step: number) => step
  const from = drawing.from === undefined || !whole ? drawing.from : Math.ceil(place(drawing.from))
  const to = drawing.to === undefined || !whole ? drawing.to : Math.floor(place(drawing.to))
  const least = whole ? 1 : Number.MIN_VALUE
  return [xLog ? Math.max(least, from ?? least) : from, to]
}

/** The number of whole positions, which buckets need; finer than any screen. */
const GRID = 2 ** 30

/** Values as positions on a grid over the range, which defaults to the first and last value. */
function onGrid(axis: Float64Array, { from, to, xLog }: Drawing): Float64Array {
  const low = from !== undefined && !(xLog && from <= 0) ? from : (axis[0] ?? Number.NaN)
  const high = to ?? axis.at(-1) ?? Number.NaN
  // Halved, so that the width of the widest range is still finite.
  const span = xLog ? Math.log(high / low) : high / 2 - low / 2
  const places = new Float64Array(axis.length)
  if (!(span > 0)) return places
  for (let i = 0; i < axis.length; i++) {
    const x = axis[i] ?? Number.NaN
    const along = (xLog ? Math.log(x / low) : x / 2 - low / 2) / span
    places[i] = Math.floor(Math.min(1, Math.max(0, along)) * GRID)
  }
  return places
}

function inSeconds(ms: Float64Array): Float64Array {
  const seconds = new Float64Array(ms.length)
  for (let i = 0; i < ms.length; i++) seconds[i] = (ms[i] ?? Number.NaN) / 1000
  return seconds
}

/** Rounded, because seconds with a fraction are not exact in binary. */
const milliseconds = (seconds: number): number => Math.round(seconds * 1_000_000) / 1000

/**
 * The indices of the finite positions in increasing order, equal ones in their order; undefined if all are in order
 * already.
 */
function orderOf(places: Float64Array): Uint32Array | undefined {
  let sorted = places.length === 0 || Number.isFinite(places[0])
  for (let i = 1; i < places.length && sorted; i++)
    sorted = (places[i] ?? Number.NaN) >= (places[i - 1] ?? Number.NaN)
  if (sorted && Number.isFinite(places.at(-1) ?? 0)) return undefined
  return Uint32Array.from(places.keys())
    .filter((i) => Number.isFinite(places[i]))
    .sort((a, b) => (places[a] ?? Number.NaN) - (places[b] ?? Number.NaN) || a - b)
}

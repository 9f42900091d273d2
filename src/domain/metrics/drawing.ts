import { required } from '../../checked.ts'
import { lowerBound, upperBound } from './lower-bound.ts'
import { pick, type Sampled, type Steps, sample } from './m4.ts'
import type { JobSeries, ReadOptions } from './read-series.ts'
import { type SmoothingState, smoothed } from './smoothing.ts'

/** Series as a chart shows them: on its axes, smoothed, within what is zoomed to, sampled. Pure. */

export type XAxis = 'epoch' | 'relative' | 'wall'

export interface Drawing {
  /** At most so many points of a series; every one without it. */
  points?: number | undefined
  /** Epochs; seconds since the job's start; Unix seconds. `epoch` without it. */
  x?: XAxis | undefined
  /** In place of `x`: the values of this series of the same job, joined by epoch. */
  xKey?: string | undefined
  /** In units of the axis, both included. */
  from?: number | undefined
  to?: number | undefined
  xLog?: boolean | undefined
  yLog?: boolean | undefined
  /** Weight of the past in the exponential mean; none without it. */
  smooth?: number | undefined
}

export interface DrawnSeries extends Sampled<Int32Array> {
  /** Seconds on a time axis, never decreasing; undefined on other axes. */
  times?: Float64Array
  /** The values of `xKey`, never decreasing; undefined on other axes. */
  xValues?: Float64Array
  /** The exponential mean at each point, over every point up to it. */
  smoothed?: Float64Array
  /** After the last point that was read: the last of the range, or of the series on any axis but that of epochs. */
  smoothing?: SmoothingState
  /** Every value of the range, as it was before sampling. */
  inRange: Float64Array
}

/**
 * What must be read for it: a mean rests on what came before the range, and neither times nor values are looked up by
 * epoch.
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

/** Whether seconds are the axis. */
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
  const cut = <A extends Steps>(column: A): A => {
    const all = order === undefined || column === sorted ? column : pick(column, order)
    return begin > 0 || end < all.length ? (all.subarray(begin, end) as A) : all
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
  const at = <A extends Steps>(column: A): A => (positions === undefined ? column : pick(column, positions))
  return {
    ...shown,
    steps: at(steps) as Int32Array,
    ...(isTimed(drawing) && { times: inSeconds(at(axis)) }),
    ...(xKey !== undefined && { xValues: at(axis) as Float64Array }),
    ...(beside && { smoothed: at(beside) }),
    ...(mean && { smoothing: mean.state }),
    inRange: values,
  }
}

/** Where each point is on the axis: epochs, milliseconds, or values of which some are NaN or infinite. */
function placesOf({ steps, times, beside, startedAt }: Drawable, drawing: Drawing): Steps {
  if (drawing.xKey !== undefined) return required(beside)
  if (!isTimed(drawing)) return steps
  const all = required(times)
  const zero = drawing.x === 'relative' ? (startedAt ?? all[0] ?? 0) : 0
  return zero === 0 ? all : all.map((ms) => ms - zero)
}

/** The first and last place of the range. The least place of a logarithmic axis is one epoch, or one millisecond. */
function boundsOf(drawing: Drawing): [number | undefined, number | undefined] {
  const { xKey, xLog } = drawing
  const scale = isTimed(drawing) ? 1000 : 1
  const whole = xKey === undefined
  const from = drawing.from === undefined || !whole ? drawing.from : Math.ceil(milli(drawing.from, scale))
  const to = drawing.to === undefined || !whole ? drawing.to : Math.floor(milli(drawing.to, scale))
  const least = whole ? 1 : Number.MIN_VALUE
  return [xLog ? Math.max(least, from ?? least) : from, to]
}

/** Whole numbers, which buckets need; finer than any screen. */
const GRID = 2 ** 30

/** Values as places on a grid over the range; it begins and ends with the series where the range does not say. */
function onGrid(axis: Steps, { from, to, xLog }: Drawing): Float64Array {
  const low = from !== undefined && !(xLog && from <= 0) ? from : (axis[0] ?? Number.NaN)
  const high = to ?? axis.at(-1) ?? Number.NaN
  // Halved, so that the span of the widest range is still a number.
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

function inSeconds(ms: Steps): Float64Array {
  const seconds = new Float64Array(ms.length)
  for (let i = 0; i < ms.length; i++) seconds[i] = (ms[i] ?? Number.NaN) / 1000
  return seconds
}

/** Seconds told with a fraction of a bit too much or too little are still the milliseconds that they were. */
const milli = (place: number, scale: number): number => Math.round(place * scale * 1000) / 1000

/** The finite places in increasing order, equal ones as they come; undefined when they all are in order. */
function orderOf(places: Steps): Uint32Array | undefined {
  let sorted = places.length === 0 || Number.isFinite(places[0])
  for (let i = 1; i < places.length && sorted; i++)
    sorted = (places[i] ?? Number.NaN) >= (places[i - 1] ?? Number.NaN)
  if (sorted && Number.isFinite(places.at(-1) ?? 0)) return undefined
  return Uint32Array.from(places.keys())
    .filter((i) => Number.isFinite(places[i]))
    .sort((a, b) => (places[a] ?? Number.NaN) - (places[b] ?? Number.NaN) || a - b)
}

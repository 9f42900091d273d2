import type { SeriesGroup } from '../api/series.ts'
import type { Series } from '../api/series-frames.ts'
import type { Numeric } from '../api/wire-row.ts'

/** A curve: columns outside React, to which the stream appends. */
export interface Line {
  /** The name in tooltips, legends and files. */
  name: string
  /** The job or group of jobs, and the series. */
  owner: string
  key: string
  /** The name that determines the colour. */
  colourKey: string
  /** The x values: epochs, seconds, or values of a series; never decreasing. */
  steps: number[]
  /** Includes NaN and infinities. */
  values: number[]
  /** Points in the range, drawn or not. */
  total: number
  sampled: boolean
  /** Points in the range that are NaN or infinite, drawn or not. */
  nonFinite: number
  /** The epoch of each point, if x is a time or a value. */
  epochs?: number[] | undefined
  mean?: Mean | undefined
  /** Around the mean of a group: the edges of the band, and the number of values. */
  band?: Band | undefined
}

export interface Band {
  std: number[]
  min: number[]
  max: number[]
  n: number[]
  jobs: number
}

/** The moving average at each point, continued with new points. */
export interface Mean {
  values: number[]
  weight: number
  /** The state after the last point: see the service's `smoothing`. */
  mean: number
  mass: number
}

/** The name and the colour of a curve, by owner and series. */
export interface Naming {
  nameOf: (owner: string, key: string) => string
  colourKeyOf: (owner: string, key: string) => string
  /** Values are divided by this for display. */
  divisor?: number
}

export const labelled = (owner: string, key: string, { nameOf, colourKeyOf }: Naming) => ({
  name: nameOf(owner, key),
  owner,
  key,
  colourKey: colourKeyOf(owner, key),
})

export const lineOf = (series: Series, naming: Naming, weight = 0): Line => ({
  ...labelled(series.job_id ?? 'batch', series.key, naming),
  steps: series.times ?? series.x_values ?? series.steps,
  values: series.values.map((value) => Number(value) / (naming.divisor ?? 1)),
  total: series.total_points,
  sampled: series.sampled,
  nonFinite: series.non_finite,
  epochs: (series.times ?? series.x_values) && series.steps,
  mean: series.smoothed && {
    values: series.smoothed.map(Number),
    weight,
    mean: Number(series.smoothing?.mean ?? 0),
    mass: Number(series.smoothing?.mass ?? 0),
  },
})

/** A group's points are at the centres of their buckets. */
export const lineOfGroup = (group: SeriesGroup, owner: string, naming: Naming): Line => ({
  ...labelled(owner, group.key, naming),
  steps: group.steps.map((step, i) => (step + (group.ends[i] ?? Number.NaN)) / 2),
  values: group.mean.map(Number),
  total: group.total_points,
  sampled: false,
  nonFinite: group.non_finite,
  band: {
    std: group.std.map(Number),
    min: group.min.map(Number),
    max: group.max.map(Number),
    n: group.n,
    jobs: group.jobs,
  },
})

export interface Arrived {
  x: number
  /** If x is a time or a value, points are identified by their epoch. */
  epoch?: number
}

/** Adds a point, or replaces the point of the same epoch. Returns whether anything changed. */
export function addPoint(line: Line, { x, epoch }: Arrived, value: Numeric): boolean {
  const y = Number(value)
  const last = line.steps.length - 1
  const known = line.epochs === undefined || epoch === undefined ? -1 : line.epochs.lastIndexOf(epoch)
  const end = line.steps[last] ?? Number.NEGATIVE_INFINITY
  // Two epochs may have the same time, or the same value.
  if (known < 0 && (last < 0 || x > end || (x === end && line.epochs !== undefined))) {
    line.steps.push(x)
    line.values.push(y)
    if (epoch !== undefined) line.epochs?.push(epoch)
    line.total++
    if (!Number.isFinite(y)) line.nonFinite++
    if (line.mean) line.mean.values.push(goOn(line.mean, y))
    return true
  }
  const at = known < 0 ? lowerBound(line.steps, x) : known
  if (known >= 0 || (line.epochs === undefined && line.steps[at] === x)) {
    const before = line.values[at] ?? Number.NaN
    if (Object.is(before, y)) return false
    line.values[at] = y
    line.nonFinite += Number(!Number.isFinite(y)) - Number(!Number.isFinite(before))
    if (line.mean) {
      if (at === last) {
        goBack(line.mean, before)
        line.mean.values[at] = goOn(line.mean, y)
      } else recomputeMean(line)
    }
    return true
  }
  // In a sampled line, an older point was already counted and then left out.
  const fresh = epoch !== undefined && line.epochs?.every((before) => before < epoch)
  if (line.sampled && !fresh) return false
  line.steps.splice(at, 0, x)
  line.values.splice(at, 0, y)
  if (epoch !== undefined) line.epochs?.splice(at, 0, epoch)
  line.total++
  if (!Number.isFinite(y)) line.nonFinite++
  if (line.mean) {
    line.mean.values.splice(at, 0, Number.NaN)
    recomputeMean(line)
  }
  return true
}

function goOn(mean: Mean, value: number): number {
  if (!Number.isFinite(value)) return Number.NaN
  mean.mean = mean.mean * mean.weight + value * (1 - mean.weight)
  mean.mass = mean.mass * mean.weight + (1 - mean.weight)
  return mean.mean / mean.mass
}
function goBack(mean: Mean, value: number): void {
  if (!Number.isFinite(value)) return
  mean.mean = (mean.mean - value * (1 - mean.weight)) / mean.weight
  mean.mass = (mean.mass - (1 - mean.weight)) / mean.weight
}

/** Only for complete lines. The mean of a sampled line needs missing points, so it stays until the next fetch. */
function recomputeMean(line: Line): void {
  const { mean } = line
  if (mean === undefined || line.sampled) return
  mean.mean = 0
  mean.mass = 0
  const { epochs } = line
  const order = [...line.values.keys()]
  if (epochs) order.sort((a, b) => (epochs[a] ?? Number.NaN) - (epochs[b] ?? Number.NaN))
  mean.values = new Array(line.values.length)
  for (const i of order) mean.values[i] = goOn(mean, line.values[i] ?? Number.NaN)
}

/** The first index whose step is at least `x`. */
export function lowerBound(steps: readonly number[], x: number): number {
  let low = 0
  let high = steps.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((steps[middle] ?? Number.NaN) < x) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The index of the point at `x`: the nearest one, within half the distance between its neighbours or within `reach`. -1
 * if there is none: before the first point, after the last, or in an empty curve.
 */
export function pointAt(steps: readonly number[], x: number, reach: number): number {
  const at = nearest(steps, x)
  if (at < 0) return -1
  const here = steps[at] ?? Number.NaN
  const distance = Math.abs(here - x)
  if (distance <= reach) return at
  const inside = x > (steps[0] ?? Number.NaN) && x < (steps.at(-1) ?? Number.NaN)
  if (inside) return at
  const neighbour = steps[at === 0 ? 1 : at - 1]
  return neighbour !== undefined && distance <= Math.abs(here - neighbour) / 2 ? at : -1
}

/** The index of the point nearest to `x`; -1 if the curve is empty. */
export function nearest(steps: readonly number[], x: number): number {
  const at = lowerBound(steps, x)
  if (at >= steps.length) return steps.length - 1
  if (at === 0) return 0
  return x - (steps[at - 1] ?? Number.NaN) <= (steps[at] ?? Number.NaN) - x ? at - 1 : at
}

/** Drops points that a logarithmic x-axis cannot show. */
export function aboveZero(line: Line): Line {
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

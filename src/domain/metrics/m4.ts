/**
 * M4: each bucket of the x-axis keeps its first, last, lowest and highest point, so a line through them covers the same
 * pixels as the line through all points (contract §6). Values that no axis can show are not lost: each bucket also
 * keeps its first NaN, its first Infinity and its first -Infinity. Pure, over typed arrays: a million points take a few
 * milliseconds.
 */

export interface Grid extends Scales {
  buckets: number
  /** The x-axis, both ends included; all steps are within it. */
  from: number
  to: number
}

/** The scales of the axes: buckets have equal width, and heights are compared, on those. */
export interface Scales {
  /** All steps are above 0. */
  xLog?: boolean | undefined
  /** Values that are not above 0 have no height: a bucket keeps the first of them. */
  yLog?: boolean | undefined
}

export interface Sampling extends Scales {
  from?: number | undefined
  to?: number | undefined
  /** A second curve over the same steps, whose spikes are kept too; NaN where the first has no finite value. */
  beside?: Float64Array | undefined
}

export interface Sampled {
  /** Whole numbers, never decreasing: epochs, or Unix seconds. */
  steps: Float64Array
  values: Float64Array
  totalPoints: number
  returnedPoints: number
  sampled: boolean
  /** How many of all points are NaN or infinite. */
  nonFinite: number
  /** The indices of the kept points; undefined if all are kept. */
  positions: Uint32Array | undefined
}

/** The lowest `points` that `sample` accepts: one bucket. */
export const MIN_POINTS = 4

/**
 * A series with at most `points` points; unchanged if it has no more.
 * @param sampling the x-axis that the buckets divide; its first and last step if undefined. Series that are sampled
 *   with the same bounds share one grid.
 */
export function sample(
  steps: Float64Array,
  values: Float64Array,
  points: number | undefined,
  sampling: Sampling = {},
): Sampled {
  const totalPoints = steps.length
  const nonFinite = countNonFinite(values)
  if (points === undefined || totalPoints <= points) {
    return {
      steps,
      values,
      totalPoints,
      returnedPoints: totalPoints,
      sampled: false,
      nonFinite,
      positions: undefined,
    }
  }
  const { beside, xLog, yLog } = sampling
  const perBucket = (nonFinite === 0 && !yLog ? 4 : 7) + (beside === undefined ? 0 : 2)
  const grid: Grid = {
    buckets: Math.max(1, Math.floor(points / perBucket)),
    from: sampling.from ?? steps[0] ?? Number.NaN,
    to: sampling.to ?? steps[totalPoints - 1] ?? Number.NaN,
    xLog,
    yLog,
  }
  let kept = m4(steps, values, grid)
  if (beside !== undefined) kept = union(kept, m4(steps, beside, { ...grid, extremesOnly: true }))
  return {
    steps: pick(steps, kept),
    values: pick(values, kept),
    totalPoints,
    returnedPoints: kept.length,
    sampled: true,
    nonFinite,
    positions: kept,
  }
}

/** The values at these positions. A loop: `TypedArray.from` with a function is ten times slower. */
export function pick(column: Float64Array, positions: Uint32Array): Float64Array {
  const picked = new Float64Array(positions.length)
  for (let i = 0; i < positions.length; i++) picked[i] = column[positions[i] ?? Number.NaN] ?? Number.NaN
  return picked
}

/**
 * @param grid with `extremesOnly`, keeps only the lowest and highest of each bucket
 * @returns the indices of the kept points, increasing; at most 4 a bucket, 7 if some of its points have no height
 */
export function m4(
  steps: Float64Array,
  values: Float64Array,
  { buckets, from, to, xLog, yLog, extremesOnly }: Grid & { extremesOnly?: boolean },
): Uint32Array {
  const n = steps.length
  const span = to - from + 1
  const widths = Math.log((to + 1) / from) / buckets
  const floor = yLog ? 0 : Number.NEGATIVE_INFINITY
  const kept = new Uint32Array(Math.min(n, buckets * 7))
  let count = 0
  let i = 0
  let bucket = -1
  while (i < n) {
    let end: number
    if (xLog) {
      bucket = Math.max(bucket + 1, Math.floor(Math.log((steps[i] ?? Number.NaN) / from) / widths))
      end = bucket >= buckets - 1 ? Number.POSITIVE_INFINITY : from * Math.exp((bucket + 1) * widths)
    } else {
      // Beyond 2^53 the product is rounded: the bucket after the last one and the end of the axis bound it.
      bucket = Math.max(bucket + 1, Math.floor((((steps[i] ?? Number.NaN) - from) * buckets) / span))
      end =
        bucket >= buckets - 1 ? Number.POSITIVE_INFINITY : from + Math.ceil(((bucket + 1) * span) / buckets)
    }
    const first = i
    let least = -1
    let greatest = -1
    let min = Number.POSITIVE_INFINITY
    let max = Number.NEGATIVE_INFINITY
    let nan = -1
    let up = -1
    let down = -1
    do {
      const value = values[i] ?? Number.NaN
      if (value - value === 0 && value > floor) {
        if (value < min || least < 0) {
          min = value
          least = i
        }
        if (value > max || greatest < 0) {
          max = value
          greatest = i
        }
      } else if (value > 0) {
        if (up < 0) up = i
      } else if (value <= 0) {
        if (down < 0) down = i
      } else if (nan < 0) nan = i
      i++
    } while (i < n && (steps[i] ?? Number.NaN) < end)
    const begun = count
    if (extremesOnly) {
      if (least >= 0) kept[count++] = Math.min(least, greatest)
      if (greatest !== least) kept[count++] = Math.max(least, greatest)
      continue
    }
    kept[count++] = first
    if (nan < 0 && up < 0 && down < 0) {
      const one = least < greatest ? least : greatest
      const two = least < greatest ? greatest : least
      if (one > first) kept[count++] = one
      if (two > one) kept[count++] = two
      if (i - 1 > two) kept[count++] = i - 1
      continue
    }
    for (const at of [least, greatest, nan, up, down, i - 1]) {
      if (at >= 0 && !kept.subarray(begun, count).includes(at)) kept[count++] = at
    }
    kept.subarray(begun, count).sort()
  }
  return kept.slice(0, count)
}

/** Both increasing. */
function union(a: Uint32Array, b: Uint32Array): Uint32Array {
  const out = new Uint32Array(a.length + b.length)
  let count = 0
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    const one = a[i] ?? Number.POSITIVE_INFINITY
    const two = b[j] ?? Number.POSITIVE_INFINITY
    if (one <= two) i++
    if (two <= one) j++
    out[count++] = Math.min(one, two)
  }
  return out.slice(0, count)
}

export function countNonFinite(values: Float64Array): number {
  // A product with 0 is NaN for values that are not finite: one pass without branches is enough for nearly
  // every series.
  let probe = 0
  for (let i = 0; i < values.length; i++) probe += (values[i] ?? Number.NaN) * 0
  if (probe === 0) return 0
  let count = 0
  for (let i = 0; i < values.length; i++) if (!Number.isFinite(values[i])) count++
  return count
}

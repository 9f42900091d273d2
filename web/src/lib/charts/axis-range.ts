/** The ends of an axis; the first is below the second. */
export type Range = readonly [low: number, high: number]

/** A range narrower than this share of its magnitude has too few floating-point numbers to draw a shape. */
const NARROWEST = 2 ** -40
/** On a log axis, for each decade from 1: the logarithm of 1e300 has fewer bits left for a difference than that of 1. */
const NARROWEST_BY_DECADE = 2 ** -42
/** Subnormal numbers that a range includes at least: ticks differ, and rounding to one moves a point by less than 0.5%. */
const NARROWEST_SUBNORMAL = 128 * Number.MIN_VALUE
const MAX = Number.MAX_VALUE

/**
 * The range that a plot can divide into pixels and ticks: finite, not empty, and wide enough for its magnitude. Every
 * axis takes its range from here.
 * @param whole for steps, which are whole numbers: floating point has no rounding errors between these
 */
export function drawable(
  ends: Range,
  { log = false, whole = false }: { log?: boolean; whole?: boolean } = {},
): [number, number] {
  const [low, high] = [Math.max(-MAX, ends[0]), Math.min(MAX, ends[1])]
  const size = Math.max(Math.abs(low), Math.abs(high))
  if (size === 0) return [0, 1]
  const share = log ? Math.max(NARROWEST, Math.abs(Math.log10(size)) * NARROWEST_BY_DECADE) : NARROWEST
  const narrowest = Math.max(size * share, NARROWEST_SUBNORMAL)
  const least = whole && size <= Number.MAX_SAFE_INTEGER ? 1 : narrowest
  const width = high - low
  // A width that overflows is cut to the largest that can be divided.
  if (width === Number.POSITIVE_INFINITY) return [Math.max(low, -MAX / 2), Math.min(high, MAX / 2)]
  if (width >= least) return [low, high]
  const middle = low / 2 + high / 2
  const [from, to] = [Math.max(-MAX, middle - least), Math.min(MAX, middle + least)]
  return [log && from <= 0 ? Number.MIN_VALUE : from, to]
}

/** The same for `shareIn` and `valueIn`, which also divide a width that overflows. */
export const divisible = ([low, high]: Range, log: boolean): Range =>
  Number.isFinite(high - low) ? drawable([low, high], { log }) : [low, high]

/** A step of 1, 2 or 5 times a power of ten, as its two parts: `factor * 10 ** exponent`. */
export interface NiceStep {
  factor: number
  exponent: number
  size: number
}

/** The least power of ten that is a number. */
const MIN_EXPONENT = -323

export function niceStep(least: number, whole = false): NiceStep {
  const at = Math.floor(Math.log10(least)) - 1
  for (let exponent = Math.max(whole ? 0 : MIN_EXPONENT, at); ; exponent++)
    for (const factor of [1, 2, 5]) {
      const size = Number(`${factor}e${exponent}`)
      if (size >= least * (1 - 1e-9)) return { factor, exponent, size }
    }
}

const PAD = 0.1

/** The range of values with a margin, ending at a round number; it includes 0 if the margin does. */
export function padded([low, high]: Range): [number, number] {
  const [from, to] = drawable([low, high])
  const width = to - from
  if (low === high)
    return low > 0 ? [0, Math.min(MAX, low * 2)] : low < 0 ? [Math.max(-MAX, low * 2), 0] : [0, 1]
  const step = niceStep(width / 50).size
  const down = roundTo(from - width * PAD, step, Math.floor)
  const up = roundTo(to + width * PAD, step, Math.ceil)
  const ends: Range = [
    from >= 0 && down <= 0 ? 0 : Math.min(from, down),
    to <= 0 && up >= 0 ? 0 : Math.max(to, up),
  ]
  return Number.isFinite(ends[1] - ends[0]) ? drawable(ends) : [from, to]
}

/** Beyond this many steps from 0, a multiple of the step is no rounder than the value. */
const EXACT = 2 ** 50
const roundTo = (value: number, step: number, round: (value: number) => number): number =>
  Math.abs(value / step) < EXACT ? round(value / step) * step : value

/** The range of positive values on a log axis, ending at numbers of one digit. */
export function paddedLog([low, high]: Range): [number, number] {
  if (low === high) return [Math.max(Number.MIN_VALUE, low / 10), Math.min(MAX, high * 10)]
  // Within a factor of 2 a log axis is nearly linear, and numbers of one digit may be too far apart.
  if (high / low < 2) {
    const [from, to] = padded([low, high])
    return drawable([from > 0 ? from : low, to], { log: true })
  }
  return drawable([oneDigit(low, Math.floor), oneDigit(high, Math.ceil)], { log: true })
}

function oneDigit(value: number, round: (value: number) => number): number {
  const exponent = Math.floor(Math.log10(value))
  const unit = Number(`1e${exponent}`)
  const digit = round(value / unit)
  const rounded = Number(`${digit}e${exponent}`)
  const isBeyond = round === Math.floor ? rounded > value : rounded < value
  return rounded > 0 && Number.isFinite(rounded) && !isBeyond ? rounded : value
}

/** The position of a value between the ends, 0 to 1; NaN where a log axis has none. */
export function shareIn([low, high]: Range, value: number, log = false): number {
  if (log) {
    if (!(value > 0)) return Number.NaN
    const ratio = high / low
    return Number.isFinite(ratio)
      ? Math.log(value / low) / Math.log(ratio)
      : (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))
  }
  const width = high - low
  // Halves, if the width itself is above the largest number.
  return Number.isFinite(width) ? (value - low) / width : (value / 2 - low / 2) / (high / 2 - low / 2)
}

/** The value at a position from 0 to 1. */
export function valueIn([low, high]: Range, share: number, log = false): number {
  const value = valueAlong([low, high], share, log)
  // On a narrow range a rounding error is a large share: without this the value at an end is beyond it.
  return share >= 0 && share <= 1 ? Math.min(high, Math.max(low, value)) : value
}

function valueAlong([low, high]: Range, share: number, log: boolean): number {
  if (log) {
    const ratio = high / low
    // The logarithm of a ratio keeps the digits that the difference of two logarithms loses.
    return Number.isFinite(ratio)
      ? low * Math.exp(share * Math.log(ratio))
      : Math.exp(Math.log(low) + share * (Math.log(high) - Math.log(low)))
  }
  const width = high - low
  return Number.isFinite(width) ? low + share * width : low * (1 - share) + high * share
}

/** The least and the greatest finite number; undefined if there is none. */
export function extremes(values: Iterable<number>): [number, number] | undefined {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    if (!Number.isFinite(value)) continue
    if (value < low) low = value
    if (value > high) high = value
  }
  return low <= high ? [low, high] : undefined
}

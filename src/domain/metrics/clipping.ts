/**
 * Percentiles of any number of values in one pass and two megabytes: a histogram whose bins follow the bits of a float
 * (sign, exponent, seven bits of the mantissa: each bin less than 0.8 % wide). A range that begins and ends at edges of
 * bins hides exactly as many points as it says.
 */
export interface Clip {
  /** Null if there is no finite value. */
  low: number | null
  high: number | null
  /** Finite values below `low` or above `high`. */
  hidden: number
}

export interface Percentiles {
  add(values: Float64Array): void
  /** The narrowest range that leaves out at most `share` of the finite values at either end. */
  clip(share: number): Clip
}

const SHIFT = 13
const BINS = 1 << (32 - SHIFT)
const NEGATIVE = BINS / 2
/** The index of the 4 bytes with sign and exponent. */
const HIGH_WORD = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0

export function createPercentiles(): Percentiles {
  const counts = new Uint32Array(BINS)
  let finite = 0
  let least = Number.POSITIVE_INFINITY
  let greatest = Number.NEGATIVE_INFINITY
  return {
    add(values) {
      const words = new Uint32Array(values.buffer, values.byteOffset, values.length * 2)
      for (let i = 0; i < values.length; i++) {
        const value = values[i] ?? Number.NaN
        if (value - value !== 0) continue
        // -0 and 0 are the same value.
        const bin = value === 0 ? 0 : (words[2 * i + HIGH_WORD] ?? Number.NaN) >>> SHIFT
        counts[bin] = (counts[bin] ?? Number.NaN) + 1
        finite++
        if (value < least) least = value
        if (value > greatest) greatest = value
      }
    },
    clip(share) {
      if (finite === 0) return { low: null, high: null, hidden: 0 }
      const allowed = Math.floor(share * finite)
      const below = skip(counts, allowed, ascending)
      const above = skip(counts, allowed, (n) => ascending(BINS - 1 - n))
      return {
        low: Math.max(least, lowerEdge(below.bin)),
        high: Math.min(greatest, upperEdge(above.bin)),
        hidden: below.hidden + above.hidden,
      }
    },
  }
}

/** Bins from the lowest value to the highest: for negative values the bits run in the other direction. */
const ascending = (n: number): number => (n < NEGATIVE ? BINS - 1 - n : n - NEGATIVE)

/** Skips bins until the next one would leave out more than is allowed. */
function skip(
  counts: Uint32Array,
  allowed: number,
  at: (n: number) => number,
): { bin: number; hidden: number } {
  let hidden = 0
  for (let n = 0; ; n++) {
    const bin = at(n)
    const here = counts[bin] ?? Number.NaN
    if (hidden + here > allowed) return { bin, hidden }
    hidden += here
  }
}

const view = new DataView(new ArrayBuffer(8))
function edge(bin: number, low: number): number {
  view.setUint32(0, ((bin << SHIFT) | (low & ((1 << SHIFT) - 1))) >>> 0)
  view.setUint32(4, low)
  return view.getFloat64(0)
}
const nearZero = (bin: number): number => edge(bin, 0)
const farFromZero = (bin: number): number => edge(bin, 0xffffffff)
const lowerEdge = (bin: number): number => (bin < NEGATIVE ? nearZero(bin) : farFromZero(bin))
const upperEdge = (bin: number): number => (bin < NEGATIVE ? farFromZero(bin) : nearZero(bin))

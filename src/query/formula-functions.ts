/** The functions of formulas (docs/formulas.md). */

interface Declared {
  /** The fewest and the most arguments. */
  args: readonly [number, number]
  /** Of one point, without the others. */
  of?: (...values: number[]) => number
  /** A whole number, or a weight below 1, that the second argument must be. */
  second?: 'window' | 'weight'
  means: string
}

/** Every function. Those without `of` look at the earlier points of a series, so they are for charts alone. */
export const FUNCTIONS = {
  abs: { args: [1, 1], of: Math.abs, means: 'absolute value' },
  sqrt: { args: [1, 1], of: Math.sqrt, means: 'square root' },
  exp: { args: [1, 1], of: Math.exp, means: 'e to the power of it' },
  log: { args: [1, 1], of: Math.log, means: 'natural logarithm' },
  log2: { args: [1, 1], of: Math.log2, means: 'logarithm to base 2' },
  log10: { args: [1, 1], of: Math.log10, means: 'logarithm to base 10' },
  min: { args: [2, 8], of: Math.min, means: 'lowest of the arguments' },
  max: { args: [2, 8], of: Math.max, means: 'highest of the arguments' },
  clip: {
    args: [3, 3],
    of: (x: number, low: number, high: number) => Math.min(high, Math.max(low, x)),
    means: 'the first argument, kept between the second and the third',
  },
  ema: {
    args: [2, 2],
    second: 'weight',
    means: 'exponential mean without bias; the second argument is the weight of the past, 0 to below 1',
  },
  mean: { args: [2, 2], second: 'window', means: 'mean of the last so many points' },
  diff: { args: [1, 1], means: 'difference from the point before' },
  cumsum: { args: [1, 1], means: 'sum of all points so far' },
  cummin: { args: [1, 1], means: 'lowest point so far' },
  cummax: { args: [1, 1], means: 'highest point so far' },
} as const satisfies Record<string, Declared>
export type FunctionName = keyof typeof FUNCTIONS
export const declared = (name: FunctionName): Declared => FUNCTIONS[name]

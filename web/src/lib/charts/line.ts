import type { Numeric, Series } from '../api/types.ts'

/** One curve: columns outside React, which the stream appends to. */
export interface Line {
  name: string
  /** Epochs, or seconds; increasing. */
  steps: number[]
  /** NaN and infinities as they are. */
  values: number[]
  /** Points that there are in the range, drawn or not. */
  total: number
  sampled: boolean
}

export const lineOf = (series: Series): Line => ({
  name: series.job_id ?? 'batch',
  steps: series.steps,
  values: series.values.map(Number),
  total: series.total_points,
  sampled: series.sampled,
})

/** A point that arrived, or arrived again: by its step there is one. Returns whether anything changed. */
export function addPoint(line: Line, step: number, value: Numeric): boolean {
  const y = Number(value)
  const last = line.steps.at(-1)
  if (last === undefined || step > last) {
    line.steps.push(step)
    line.values.push(y)
    line.total++
    return true
  }
  const at = lowerBound(line.steps, step)
  if (line.steps[at] === step) {
    if (Object.is(line.values[at], y)) return false
    line.values[at] = y
    return true
  }
  // Of a sampled line this one was counted, and left out, before.
  if (line.sampled) return false
  line.steps.splice(at, 0, step)
  line.values.splice(at, 0, y)
  line.total++
  return true
}

/** The first place whose step is not below `x`. */
export function lowerBound(steps: readonly number[], x: number): number {
  let low = 0
  let high = steps.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((steps[middle] as number) < x) low = middle + 1
    else high = middle
  }
  return low
}

/** The place of the point nearest to `x`; -1 without points. */
export function nearest(steps: readonly number[], x: number): number {
  const at = lowerBound(steps, x)
  if (at >= steps.length) return steps.length - 1
  if (at === 0) return 0
  return x - (steps[at - 1] as number) <= (steps[at] as number) - x ? at - 1 : at
}

/**
 * An exponential mean without the bias towards its start: `weight` is how much of the past one step keeps. Steps that
 * were left out count by their distance, so a sampled line bends like the whole one.
 */
export function smoothed({ steps, values }: Line, weight: number): number[] {
  const out = new Array<number>(values.length)
  let mean = 0
  let mass = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number
    if (!Number.isFinite(value)) {
      out[i] = value
      continue
    }
    const kept = weight ** (i === 0 ? 1 : Math.max(1, (steps[i] as number) - (steps[i - 1] as number)))
    mean = mean * kept + value * (1 - kept)
    mass = mass * kept + (1 - kept)
    out[i] = mean / mass
  }
  return out
}

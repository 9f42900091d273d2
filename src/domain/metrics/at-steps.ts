import type { Column } from './chunks.ts'

/** The times of these steps, which all are among the job's epochs. */
export function timesAt(steps: Float64Array, times: Column): Float64Array {
  if (steps.length === times.steps.length) return times.values
  const result = new Float64Array(steps.length)
  let at = 0
  for (let i = 0; i < steps.length; i++) {
    while (times.steps[at] !== steps[i]) at++
    result[i] = times.values[at] ?? Number.NaN
  }
  return result
}

/** The values of a column at these steps; NaN where it has none. */
export function valuesAt(steps: Float64Array, column: Column): Float64Array {
  const result = new Float64Array(steps.length).fill(Number.NaN)
  let at = 0
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] ?? Number.NaN
    while ((column.steps[at] ?? Number.POSITIVE_INFINITY) < step) at++
    if (column.steps[at] === step) result[i] = column.values[at] ?? Number.NaN
  }
  return result
}

/**
 * An exponential mean without the bias towards its start: s = Σ w^(n-i) v_i / Σ w^(n-i), over every finite point, one
 * step a point. Computed before anything is sampled, so it does not depend on what is drawn. Pure.
 */

/**
 * The state of the mean, which the next point continues: mean' = mean·w + v·(1-w), mass' = mass·w + (1-w), s =
 * mean'/mass'.
 */
export interface SmoothingState {
  mean: number
  mass: number
}

export interface Smoothed {
  /** One for each value; NaN if the value is not finite. */
  values: Float64Array
  /** After the last point. */
  state: SmoothingState
}

/** @param weight how much of the past one point keeps: at least 0, below 1 */
export function smoothed(values: Float64Array, weight: number): Smoothed {
  const out = new Float64Array(values.length)
  const fresh = 1 - weight
  let mean = 0
  let mass = 0
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? Number.NaN
    if (value - value !== 0) {
      out[i] = Number.NaN
      continue
    }
    mean = mean * weight + value * fresh
    mass = mass * weight + fresh
    out[i] = mean / mass
  }
  return { values: out, state: { mean, mass } }
}

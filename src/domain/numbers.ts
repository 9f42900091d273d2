/** The number in a numeric field; undefined for other values (contract §1 "Numbers"). */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity') return Number.POSITIVE_INFINITY
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY
  return undefined
}

/** A number in JSON: itself, or its name if JSON cannot write it. */
export const writeNumber = (value: number): number | 'NaN' | 'Infinity' | '-Infinity' =>
  Number.isFinite(value) ? value : Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'

/** The number behind a numeric field; undefined for anything that is not one (contract §1 "Numbers"). */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity') return Number.POSITIVE_INFINITY
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY
  return undefined
}

/** How a number is written in JSON: as itself, or by name where JSON has no way. */
export const writeNumber = (value: number): number | 'NaN' | 'Infinity' | '-Infinity' =>
  Number.isFinite(value) ? value : Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'

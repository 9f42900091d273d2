import type { Numeric } from './schema.ts'

/** The number behind a numeric field; undefined for anything that is not one (contract §1 "Numbers"). */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (value === 'NaN') return Number.NaN
  if (value === 'Infinity') return Number.POSITIVE_INFINITY
  if (value === '-Infinity') return Number.NEGATIVE_INFINITY
  return undefined
}

/** How a number is written in JSON: as itself, or by name where JSON has no way. */
export const writeNumber = (value: number): Numeric =>
  Number.isFinite(value) ? value : Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity'

export const MAX_SERIES = 1_000
const MAX_NAME = 128

/**
 * The series of one job_epoch: every numeric field but `epoch`, nested objects flattened with `/`
 * (`{"acc": {"top1": 0.7}}` is `acc/top1`). Later fields of the same flattened name win.
 * @returns names and values, or the first name that is empty or longer than 128 characters
 */
export function seriesOf(data: Record<string, unknown>): Map<string, number> | { badName: string } {
  const series = new Map<string, number>()
  const badName = collect(data, '', series)
  return badName === undefined ? series : { badName }
}

function collect(
  fields: Record<string, unknown>,
  prefix: string,
  into: Map<string, number>,
): string | undefined {
  for (const field of Object.keys(fields)) {
    if (prefix === '' && field === 'epoch') continue
    const value = fields[field]
    const number = numberOf(value)
    if (number !== undefined) {
      const name = prefix + field
      if (field === '' || (name.length > MAX_NAME && [...name].length > MAX_NAME)) return name
      into.set(name, number)
    } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const bad = collect(value as Record<string, unknown>, `${prefix}${field}/`, into)
      if (bad !== undefined) return bad
    }
  }
  return undefined
}

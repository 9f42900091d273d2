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

/** The values of one event by series. */
export interface SeriesValues {
  /** Each once. Events that name the same series in the same order mostly share this very array. */
  readonly names: readonly string[]
  /** By position. */
  readonly values: readonly number[]
}

/**
 * The series of one job_epoch: every numeric field but `epoch`, nested objects flattened with `/`
 * (`{"acc": {"top1": 0.7}}` is `acc/top1`). Later fields of the same flattened name win.
 * @returns names and values, or the first name that is empty or longer than 128 characters
 */
export function seriesOf(data: Record<string, unknown>): SeriesValues | { badName: string } {
  const found: Found = { names: [], values: [], nested: false }
  const badName = collect(data, '', found)
  if (badName !== undefined) return { badName }
  const { names, values } = found.nested ? lastOfEachName(found) : found
  return { names: shared(names), values }
}

interface Found {
  names: string[]
  values: number[]
  /** Whether some came from objects within: only then can two have one name. */
  nested: boolean
}

function collect(fields: Record<string, unknown>, prefix: string, into: Found): string | undefined {
  for (const field of Object.keys(fields)) {
    if (prefix === '' && field === 'epoch') continue
    const value = fields[field]
    const number = numberOf(value)
    if (number !== undefined) {
      const name = prefix + field
      if (field === '' || (name.length > MAX_NAME && [...name].length > MAX_NAME)) return name
      into.names.push(name)
      into.values.push(number)
    } else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      into.nested = true
      const bad = collect(value as Record<string, unknown>, `${prefix}${field}/`, into)
      if (bad !== undefined) return bad
    }
  }
  return undefined
}

function lastOfEachName({ names, values }: Found): Pick<Found, 'names' | 'values'> {
  const byName = new Map(names.map((name, i) => [name, values[i] as number]))
  return byName.size === names.length
    ? { names, values }
    : { names: [...byName.keys()], values: [...byName.values()] }
}

const MOST_SHAPES = 16
/** Names that came lately, the latest first. Jobs of one program all send the same ones. */
const lately: (readonly string[])[] = []

function shared(names: readonly string[]): readonly string[] {
  let at = 0
  while (at < lately.length && !isSame(lately[at] as readonly string[], names)) at++
  const known = lately[at] ?? names
  if (at === 0 && lately.length > 0) return known
  lately.splice(at, 1)
  lately.unshift(known)
  if (lately.length > MOST_SHAPES) lately.pop()
  return known
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

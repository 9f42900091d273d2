import { isRecord, itemAt } from '../../checked.ts'
import type { FieldError } from '../../problem.ts'
import { numberOf } from '../numbers.ts'
import { holdsMedia, readMedia, type SentMedia } from './media.ts'

export const MAX_NAME = 128

/** A value of a job_epoch that is not stored, under its flattened name (contract §10). */
export interface IgnoredValue {
  key: string
  reason: 'empty_name' | 'name_too_long' | 'too_many_series'
}

/** The values of one event by series. */
export interface SeriesValues {
  /** The names, each once. Events with the same series in the same order mostly share this array. */
  readonly names: readonly string[]
  /** By position. */
  readonly values: readonly number[]
}

/**
 * The series of one job_epoch: every numeric field but `epoch`, nested objects flattened with `/`
 * (`{"acc": {"top1": 0.7}}` is `acc/top1`). Later fields of the same flattened name win.
 * @returns names and values, and the values whose names are empty or longer than 128 characters, which are left out; and
 *   the media among the fields, with what is wrong with them
 */
export function seriesOf(data: Record<string, unknown>): {
  series: SeriesValues
  ignored: IgnoredValue[]
  media: SentMedia[]
  mediaFaults: FieldError[]
} {
  const found: Found = { names: [], values: [], nested: false, ignored: [], media: [], mediaFaults: [] }
  collect(data, '', found)
  const { names, values } = found.nested ? lastOfEachName(found) : found
  const { ignored, media, mediaFaults } = found
  return { series: { names: shared(names), values }, ignored, media, mediaFaults }
}

/** The series that `keeps` accepts, in order. */
export function seriesThat({ names, values }: SeriesValues, keeps: (name: string) => boolean): SeriesValues {
  const kept = names.flatMap((name, i) => (keeps(name) ? [i] : []))
  return {
    names: shared(kept.map((i) => itemAt(names, i))),
    values: kept.map((i) => values[i] ?? Number.NaN),
  }
}

interface Found {
  names: string[]
  values: number[]
  /** Whether some come from nested objects: only then can two have the same name. */
  nested: boolean
  ignored: IgnoredValue[]
  media: SentMedia[]
  mediaFaults: FieldError[]
}

function collect(fields: Record<string, unknown>, prefix: string, into: Found): void {
  for (const field of Object.keys(fields)) {
    if (prefix === '' && field === 'epoch') continue
    const value = fields[field]
    const number = numberOf(value)
    if (number !== undefined) {
      const name = prefix + field
      const reason = faultOfName(name, field)
      if (reason !== undefined) into.ignored.push({ key: name, reason })
      else {
        into.names.push(name)
        into.values.push(number)
      }
    } else if (typeof value === 'object' && holdsMedia(value)) {
      collectMedia(value, prefix, field, into)
    } else if (isRecord(value)) {
      into.nested = true
      collect(value, `${prefix}${field}/`, into)
    }
  }
}

function faultOfName(name: string, field: string): 'empty_name' | 'name_too_long' | undefined {
  if (field === '') return 'empty_name'
  return name.length > MAX_NAME && [...name].length > MAX_NAME ? 'name_too_long' : undefined
}

function collectMedia(value: unknown, prefix: string, field: string, into: Found): void {
  const key = prefix + field
  const reason = faultOfName(key, field)
  if (reason !== undefined) {
    into.ignored.push({ key, reason })
    return
  }
  const read = readMedia(value, `data.${key.replaceAll('/', '.')}`)
  if ('errors' in read) into.mediaFaults.push(...read.errors)
  else into.media.push({ key, ...read })
}

function lastOfEachName({ names, values }: Found): Pick<Found, 'names' | 'values'> {
  const byName = new Map(names.map((name, i) => [name, values[i] ?? Number.NaN]))
  return byName.size === names.length
    ? { names, values }
    : { names: [...byName.keys()], values: [...byName.values()] }
}

const MAX_SHAPES = 16
/** Recently used lists of names, the latest first. Jobs of one program all send the same ones. */
const lately: (readonly string[])[] = []

function shared(names: readonly string[]): readonly string[] {
  let at = 0
  while (at < lately.length && !isSame(itemAt(lately, at), names)) at++
  const known = lately[at] ?? names
  if (at === 0 && lately.length > 0) return known
  lately.splice(at, 1)
  lately.unshift(known)
  if (lately.length > MAX_SHAPES) lately.pop()
  return known
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

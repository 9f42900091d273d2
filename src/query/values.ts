import type { Operator } from './types.ts'

/**
 * How a value meets a condition. Text compares with text: without case, but in order by its characters, as lists are ordered.
 * Text that reads as a number compares with numbers too. NaN equals NaN and is neither below nor above anything.
 */

/**
 * A text that reads as a number. The lengths keep it far within the range of a double, so that PostgreSQL, which has the same
 * pattern, can convert it without an error.
 */
export const NUMBER_PATTERN = '^[+-]?([0-9]{1,40}([.][0-9]{0,40})?|[.][0-9]{1,40})([eE][+-]?[0-9]{1,2})?$'
const STORED_NUMBER = new RegExp(NUMBER_PATTERN)
const TYPED_NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const SPECIAL: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
}

/** The number that the value of a condition is, if it reads as one. */
export const numberIn = (value: string): number | undefined =>
  TYPED_NUMBER.test(value) ? Number(value) : Object.hasOwn(SPECIAL, value) ? SPECIAL[value] : undefined

/** What is stored under a name: its number, or its text and the number in it; neither for null, lists and objects. */
interface Stored {
  number?: number | undefined
  text?: string | undefined
}
function storedOf(value: unknown): Stored {
  if (typeof value === 'number') return { number: value }
  if (typeof value === 'boolean') return { text: String(value) }
  if (typeof value !== 'string') return {}
  if (Object.hasOwn(SPECIAL, value)) return { number: SPECIAL[value] }
  return STORED_NUMBER.test(value) ? { text: value, number: Number(value) } : { text: value }
}

export function meets(value: unknown, op: Operator, wanted: string): boolean {
  const { number, text } = storedOf(value)
  if (number === undefined && text === undefined) return false
  const wantedNumber = numberIn(wanted)
  const equal =
    (number !== undefined && wantedNumber !== undefined && isSame(number, wantedNumber)) ||
    text?.toLowerCase() === wanted.toLowerCase()
  switch (op) {
    case 'eq':
      return equal
    case 'ne':
      return !equal
    case 'has':
      return equal || (text?.toLowerCase().includes(wanted.toLowerCase()) ?? false)
    default:
      return wantedNumber === undefined
        ? text !== undefined && isOrdered(text, op, wanted)
        : number !== undefined && isOrdered(number, op, wantedNumber)
  }
}

const isSame = (a: number, b: number): boolean => a === b || (Number.isNaN(a) && Number.isNaN(b))

function isOrdered<T extends number | string>(a: T, op: 'lt' | 'le' | 'gt' | 'ge', b: T): boolean {
  switch (op) {
    case 'lt':
      return a < b
    case 'le':
      return a <= b
    case 'gt':
      return a > b
    case 'ge':
      return a >= b
  }
}

import { readName } from './names.ts'
import { termsOf } from './syntax.ts'
import type { Comparison, Fault, Operator, Query } from './types.ts'
import { numberIn } from './values.ts'

/**
 * Fields of jobs and batches as queries know them. The tables come from the declarations of the fields; here is what their
 * kinds mean in a condition.
 *
 *  text    `:` means contains
 *  word    `:` means equals, as for hosts and projects
 *  words   a list of words, one of which must equal the value: tags
 */
export type FieldKind = 'text' | 'word' | 'words' | 'number' | 'flag' | 'time' | 'status'
export type FieldKinds = Readonly<Record<string, FieldKind>>

export const STATES = ['running', 'completed', 'failed', 'stopped', 'lost'] as const

/** Other names of fields. */
const ALIASES: Readonly<Record<string, string>> = {
  tag: 'tags',
  elapsed: 'elapsed_s',
  reason: 'failure_reason',
}
/** The field that a bare name means. */
export const fieldNamed = (kinds: FieldKinds, key: string): string | undefined => {
  const name = Object.hasOwn(ALIASES, key) ? ALIASES[key] : key
  return name !== undefined && Object.hasOwn(kinds, name) ? name : undefined
}

/** The name under which a field is offered. */
export const offeredName = (field: string): string =>
  Object.entries(ALIASES).find(([, name]) => name === field)?.[0] ?? field

/** The start of the day, hour, minute or second that the text names, in UTC unless it says otherwise. */
export function instantIn(text: string): string | undefined {
  const [, day, time = 'T00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?(Z|[+-]\d{2}:?\d{2})?$/.exec(text) ?? []
  if (day === undefined) return undefined
  const at = new Date(`${day}${time.replace(' ', 'T')}${zone}`)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** The value as a field of this kind has it. */
export const flagIn = (value: string): boolean | undefined =>
  /^(true|yes|1)$/i.test(value) ? true : /^(false|no|0)$/i.test(value) ? false : undefined

/** Why the query cannot be evaluated although it is well formed; null if it can. */
export function faultOf(query: Query | null, kinds: FieldKinds): Fault | null {
  for (const term of termsOf(query)) {
    if (term.kind !== 'is') continue
    const message = problemOf(term, kinds)
    if (message !== null) return { message, from: term.from, to: term.to }
  }
  return null
}

const ORDERED: readonly Operator[] = ['lt', 'le', 'gt', 'ge']

function problemOf({ name, op, value }: Comparison, kinds: FieldKinds): string | null {
  if (name.length > 512) return 'A name has at most 512 characters'
  if (/^(param|config|last|min|max|best|final)\.$/.test(name)) return `A name is missing after ${name}`
  const { of, key } = readName(name)
  const field = of === 'any' ? fieldNamed(kinds, key) : undefined
  switch (field && kinds[field]) {
    case 'status':
      if (ORDERED.includes(op)) return `Write ${key}:${value}`
      return STATES.some((state) => state === value.toLowerCase())
        ? null
        : `${value} is not a status: ${STATES.join(', ')}`
    case 'flag':
      if (ORDERED.includes(op)) return `Write ${key}:${value}`
      return flagIn(value) === undefined ? `${key} is true or false, not ${value}` : null
    case 'word':
    case 'words':
      return ORDERED.includes(op) ? `${key} has no order: write ${key}:${value}` : null
    case 'time':
      return instantIn(value) === undefined
        ? `${key} is a time: write 2026-11-26 or 2026-11-26T10:30, in UTC`
        : null
    case 'number':
      // A parameter of that name may be a text.
      return ORDERED.includes(op) && numberIn(value) === undefined
        ? `${key} is a number, and ${value} is not one`
        : null
    default:
      return null
  }
}

import { type FieldKinds, fieldNamed, flagIn, instantIn } from './fields.ts'
import { type Name, type Possession, possessionOf, readName } from './names.ts'
import type { Comparison, Operator, Query } from './types.ts'
import { meets } from './values.ts'

/** A job or batch as queries see it. */
export interface Row {
  /** The values of a declared field: of one of its jobs a batch has as many as jobs. */
  field: (name: string) => readonly unknown[]
  /** All values under a name, such as a parameter of each job of a batch; none if there is none. */
  values: (of: Exclude<Name['of'], 'any'>, key: string) => readonly unknown[]
  /** What words are searched in. */
  texts: readonly (string | null | undefined)[]
  /** What is found by the whole word only, such as tags of jobs. */
  wholes?: readonly string[]
  /** Whether it has media under a key, or made or used an artifact; without this it has none. */
  owns?: (what: Possession, name: string) => boolean
}

/** The order in which a bare name that is no field is looked up. */
export const LOOKUP = ['param', 'config', 'last', 'final'] as const

/** Whether the row matches. The lists of the service mean the same in SQL, which a property test compares with this. */
export function matches(query: Query | null, row: Row, kinds: FieldKinds): boolean {
  if (query === null) return true
  switch (query.kind) {
    case 'and':
      return query.parts.every((part) => matches(part, row, kinds))
    case 'or':
      return query.parts.some((part) => matches(part, row, kinds))
    case 'not':
      return !matches(query.part, row, kinds)
    case 'words': {
      const wanted = query.text.toLowerCase()
      return (
        row.texts.some((text) => text?.toLowerCase().includes(wanted)) ||
        (row.wholes ?? []).some((text) => text.toLowerCase() === wanted)
      )
    }
    default:
      return isMet(query, row, kinds)
  }
}

const isPresent = (value: unknown): boolean => value !== null && value !== undefined

function isMet({ name, op, value }: Comparison, row: Row, kinds: FieldKinds): boolean {
  const possession = possessionOf({ name, op })
  if (possession !== undefined) return row.owns?.(possession, value) === true
  const { of, key } = readName(name)
  const anyMeets = (values: readonly unknown[]): boolean => values.some((one) => meets(one, op, value))
  if (of !== 'any') return anyMeets(row.values(of, key))
  const field = fieldNamed(kinds, key)
  const own = field === undefined ? [] : row.field(field).filter(isPresent)
  if (field !== undefined && own.length > 0)
    return own.some((one) => fieldMeets(kinds[field], one, op, value))
  for (const kind of LOOKUP) {
    const values = row.values(kind, key).filter(isPresent)
    if (values.length > 0) return anyMeets(values)
  }
  return false
}

function fieldMeets(
  kind: FieldKinds[string] | undefined,
  own: unknown,
  op: Operator,
  value: string,
): boolean {
  switch (kind) {
    case 'words': {
      const has = Array.isArray(own) && own.some((one) => meets(String(one), 'eq', value))
      return op === 'ne' ? !has : has
    }
    case 'flag':
      return (own === flagIn(value)) !== (op === 'ne')
    case 'time':
      return meets(
        Date.parse(String(own)),
        op === 'has' ? 'eq' : op,
        String(Date.parse(instantIn(value) ?? '')),
      )
    case 'word':
    case 'status':
      return meets(String(own), op === 'has' ? 'eq' : op, value)
    default:
      return meets(own, op, value)
  }
}

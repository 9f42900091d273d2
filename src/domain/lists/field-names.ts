import { bestOf, fieldNamed, LOOKUP, readName } from '../../query/index.ts'
import { declaredField, type Entity, FIELD_KINDS } from './field-kinds.ts'
import type { Place } from './places.ts'

/** How many characters of a text determine the order: a cursor contains them. */
export const MAX_SORTED = 200

/** The longest name of a sort or a column: a prefix and 128 characters. */
const MAX_NAME = 140

/** Why the text cannot name a field to order by or to show; null if it can. */
export function nameFault(text: string): string | null {
  if (text.length > MAX_NAME) return `must have at most ${MAX_NAME} characters`
  return /^(param|config|last|min|max|best|final)\.?$/.test(text) ? 'needs a name after the prefix' : null
}

/** All places where a name can have a value, without looking at rows. */
export function everyPlace(listed: Entity, name: string): Place[] {
  const { of, key } = readName(name)
  if (of === 'best') return [{ kind: bestOf(key), key }]
  if (of !== 'any') return [{ kind: of, key }]
  const field = fieldNamed(FIELD_KINDS[listed], key)
  const own: Place[] = field === undefined ? [] : [{ kind: 'field', field: declaredField(listed, field) }]
  return [...own, ...LOOKUP.map((kind): Place => ({ kind, key }))]
}

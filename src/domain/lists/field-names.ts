import {
  bestOf,
  fieldNamed,
  formulaNames,
  isFormula,
  LOOKUP,
  parseColumnFormula,
  readName,
} from '../../query/index.ts'
import { declaredField, type Entity, FIELD_KINDS } from './field-kinds.ts'
import type { Place } from './places.ts'

/** How many characters of a text determine the order: a cursor contains them. */
export const MAX_SORTED = 200

/** The longest name of a sort or a column: a prefix and 128 characters. */
const MAX_NAME = 140

/** Why the text cannot name a field to order by or to show; null if it can. */
export function nameFault(text: string): string | null {
  if (text.length > MAX_NAME) return `must have at most ${MAX_NAME} characters`
  if (isFormula(text)) return 'cannot be a formula'
  return /^(param|config|last|min|max|best|final)\.?$/.test(text) ? 'needs a name after the prefix' : null
}

/** Why the text is not a column, which may also be a formula; null if it is one. */
export function columnFault(text: string): string | null {
  if (!isFormula(text)) return nameFault(text)
  const { fault } = parseColumnFormula(text)
  return fault === null ? null : `${fault.message} (at character ${fault.from + 1})`
}

/** The names whose values a column needs. */
export function namesOfColumn(text: string): string[] {
  const formula = isFormula(text) ? parseColumnFormula(text).formula : null
  return formula === null ? [text] : formulaNames(formula)
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

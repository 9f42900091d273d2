import type { Fragment } from 'postgres'
import type { Db } from '../db/sql.ts'
import { NUMBER_PATTERN, numberIn, type Operator as QueryOperator } from '../query/index.ts'
import { every, some } from './conditions.ts'
import { numberOf } from './numbers.ts'

/** Conditions on fields that users name: parameters and metrics, which are in JSON columns or come from series. */

export type Operator = 'lt' | 'le' | 'eq' | 'ne' | 'ge' | 'gt'

/**
 * One condition on one field, with a number or a text. A field that is missing or of the other type does not meet it; a
 * text that reads as a number is one too, as in queries (contract §11).
 * NaN equals NaN here, because users search for diverged runs; it is neither below nor above any number.
 */
export interface Comparison {
  key: string
  op: Operator
  number?: number | undefined
  text?: string | undefined
}

const OPERATORS = { '<': 'lt', '<=': 'le', '=': 'eq', '!=': 'ne', '>=': 'ge', '>': 'gt' } as const
const MAX_NAMED = 512

/** The three parts of `lr<0.01` or `lr < 0.01`; null if the text is no comparison. */
function partsOfComparison(text: string): { key: string; op: Operator; value: string } | null {
  const [, before = '', sign = '', after = ''] = /^([^<>=!]+)(<=|>=|!=|<|>|=)(.+)$/u.exec(text) ?? []
  const op = OPERATORS[sign as keyof typeof OPERATORS]
  const [key, value] = [before.trim(), after.trim()]
  return key === '' || value === '' || op === undefined ? null : { key, op, value }
}

/** The right side of a comparison: a number, the name of a number that JSON cannot write, or else a text. */
function comparedWith(value: string): Pick<Comparison, 'number' | 'text'> {
  const number = numberOf(/^[-+]?(\d|\.\d)/.test(value) ? Number(value) : value)
  return number !== undefined && (value === 'NaN' || !Number.isNaN(number)) ? { number } : { text: value }
}

/** `lr<0.01`, `optimizer=adam`, `tag="1"` (a text in any case); null for a text that is no comparison. */
export function readComparison(text: string): Comparison | null {
  const parts = partsOfComparison(text)
  if (parts === null || parts.key.length > MAX_NAMED) return null
  const { key, op, value } = parts
  const [, quoted] = /^"(.*)"$/u.exec(value) ?? []
  return { key, op, ...(quoted === undefined ? comparedWith(value) : { text: quoted }) }
}

/** A field as SQL; null if a row has none of that type. */
export interface Field {
  number?: Fragment
  text?: Fragment
}

/**
 * A field of a JSON column, by its name or, where there is none of that name, by its path: `opt/lr`. Numbers that JSON
 * cannot write are there as the words for them.
 */
export function fieldOf(
  db: Db,
  column: Fragment,
  key: string,
  textless: boolean,
): Field & { number: Fragment } {
  const value = db`coalesce(${column} -> ${key}::text, ${column} #> string_to_array(${key}, '/'))`
  const word = db`(${value} #>> '{}')`
  const isNumber = db`(jsonb_typeof(${value}) = 'number' or jsonb_typeof(${value}) = 'string' and ${word} in ('NaN', 'Infinity', '-Infinity'))`
  const number = db`case when ${isNumber} then ${word}::float8 end`
  if (textless) return { number }
  return {
    number,
    text: db`case when jsonb_typeof(${value}) in ('string', 'boolean') and not ${isNumber} then ${word} end`,
  }
}

export function holds(db: Db, field: Field, { op, number, text }: Omit<Comparison, 'key'>): Fragment {
  if (text !== undefined) {
    if (field.text === undefined) return db`false`
    return db`coalesce((${field.text}) collate "C" ${operator(db, op)} ${text}, false)`
  }
  const wanted = number ?? Number.NaN
  const ordered = op !== 'eq' && op !== 'ne'
  // In PostgreSQL NaN is greater than every number.
  if (ordered && Number.isNaN(wanted)) return db`false`
  return some(
    db,
    numbersOf(db, field).map((one) => {
      const compared = db`(${one}) ${operator(db, op)} ${wanted}::float8`
      return ordered
        ? db`coalesce((${one}) <> 'NaN' and ${compared}, false)`
        : db`coalesce(${compared}, false)`
    }),
  )
}

/** A number, and the number that a text reads as. */
const numbersOf = (db: Db, { number, text }: Field): Fragment[] =>
  [number, text && numberInText(db, text)].flatMap((one) => (one === undefined ? [] : [one]))

/** SQL for whether a field meets a condition of a query; the meaning is that of `meets` in src/query/values.ts. */
export function holdsValue(db: Db, field: Field, op: QueryOperator, value: string): Fragment {
  const { text } = field
  const wanted = numberIn(value)
  const numbers = wanted === undefined ? [] : numbersOf(db, field)
  switch (op) {
    case 'eq':
    case 'ne':
    case 'has': {
      const equal = some(db, [
        ...numbers.map((number) => db`coalesce((${number}) = ${wanted ?? 0}::float8, false)`),
        ...(text === undefined ? [] : [db`coalesce(lower(${text}) = lower(${value}), false)`]),
      ])
      if (op === 'eq') return equal
      if (op === 'ne') return every(db, [isPresent(db, field), db`not ${equal}`])
      return text === undefined
        ? equal
        : some(db, [equal, db`coalesce(strpos(lower(${text}), lower(${value})) > 0, false)`])
    }
    default:
      if (wanted === undefined)
        return text === undefined
          ? db`false`
          : db`coalesce((${text}) collate "C" ${operator(db, op)} ${value}, false)`
      // In PostgreSQL NaN is greater than every number.
      if (Number.isNaN(wanted)) return db`false`
      return some(
        db,
        numbers.map(
          (number) =>
            db`coalesce((${number}) <> 'NaN' and (${number}) ${operator(db, op)} ${wanted}::float8, false)`,
        ),
      )
  }
}

export const isPresent = (db: Db, { number, text }: Field): Fragment =>
  some(
    db,
    [number, text].flatMap((one) => (one === undefined ? [] : [db`(${one}) is not null`])),
  )

/** SQL for the number that a text reads as; null if it does not. */
export const numberInText = (db: Db, text: Fragment): Fragment =>
  db`case when (${text}) ~ ${NUMBER_PATTERN} then (${text})::float8 end`

function operator(db: Db, op: Operator): Fragment {
  switch (op) {
    case 'lt':
      return db`<`
    case 'le':
      return db`<=`
    case 'eq':
      return db`=`
    case 'ne':
      return db`<>`
    case 'ge':
      return db`>=`
    case 'gt':
      return db`>`
  }
}

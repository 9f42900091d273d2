import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { type Comparison, flagIn, instantIn } from '../../query/index.ts'
import { type Field, fieldOf, holdsValue } from '../json-field.ts'
import { type DeclaredField, sentField } from './field-kinds.ts'

/** Conditions on single values as SQL; the meaning is that of `src/query/evaluate.ts`. */

export type Asked = Pick<Comparison, 'op' | 'value'>

/** A parameter over the row `row` of jobs. What job_start sent as a field was sent as a parameter too. */
export function paramOf(db: Db, row: Fragment, name: string, textless: boolean): Field {
  const sent = sentField(name)
  const column = db`${row}.${db(sent?.column ?? 'params')}`
  if (name === 'model' || name === 'dataset') return textless ? {} : { text: column }
  const field = fieldOf(db, db`${row}.params`, name, textless)
  if (sent === undefined) return field
  if (sent.isNumber) return { ...field, number: db`coalesce(${field.number}, ${column}::float8)` }
  return field.text === undefined ? field : { ...field, text: db`coalesce(${field.text}, ${column})` }
}

/** Whether a declared field of a row meets the condition. */
export function fieldMeets(db: Db, field: DeclaredField, row: Fragment, { op, value }: Asked): Fragment {
  const own = field.value(db, row)
  const isNot = op === 'ne'
  switch (field.kind) {
    case 'words': {
      const has = db`filter_texts(${own}) && filter_texts(array[${value}]::text[])`
      return isNot ? db`not (${has})` : has
    }
    case 'flag':
      return db`coalesce(${own} = ${(flagIn(value) ?? true) !== isNot}::boolean, false)`
    case 'status':
      return isNot ? db`${own} <> ${value.toLowerCase()}` : db`${own} = ${value.toLowerCase()}`
    case 'word':
      return isNot
        ? db`coalesce(filter_text(${own}) <> filter_text(${value}), false)`
        : db`coalesce(filter_text(${own}) = filter_text(${value}), false)`
    case 'time': {
      const at = db`${instantIn(value) ?? null}::timestamptz`
      return db`coalesce(${own} ${db.unsafe(SIGNS[op])} ${at}, false)`
    }
    case 'number':
      return holdsValue(db, { number: own }, op, value)
    case 'text':
      return holdsValue(db, { text: own }, op, value)
  }
}
const SIGNS = { has: '=', eq: '=', ne: '<>', lt: '<', le: '<=', gt: '>', ge: '>=' }

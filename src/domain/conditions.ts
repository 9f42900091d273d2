import type { Fragment } from 'postgres'
import { itemAt } from '../checked.ts'
import type { Db } from '../db/sql.ts'

/** SQL conditions that lists share. */

/**
 * The number as a literal. For a limit that is a parameter PostgreSQL assumes a tenth of all rows: in large tables the
 * generic plan then seems so expensive that it plans every time.
 */
export const literalNumber = (db: Db, count: number): Fragment => db.unsafe(String(Math.trunc(count)))

/** `a and b and …`; true if there are none. */
export const every = (db: Db, conditions: readonly Fragment[]): Fragment =>
  conditions.reduce((joined, next) => db`${joined} and ${next}`, db`true`)

/** `(a or b or …)`; false if there are none. */
export const some = (db: Db, conditions: readonly Fragment[]): Fragment =>
  db`(${conditions.reduce((joined, next) => db`${joined} or ${next}`, db`false`)})`

/**
 * The condition that the column has one of these values; an equality if there is only one, which keeps the order of an
 * index.
 */
export const oneOf = (db: Db, column: Fragment, values: string[]): Fragment =>
  values.length === 1
    ? db`${column} = ${itemAt(values, 0)}`
    : db`${column} in (${commaList(db, values, (v) => db`${v}`)})`

/** The same without regard to case, and in the first 200 characters, for columns indexed by `filter_text(column)`. */
export const oneOfAnyCase = (db: Db, column: Fragment, values: string[]): Fragment =>
  values.length === 1
    ? db`filter_text(${column}) = filter_text(${itemAt(values, 0)})`
    : db`filter_text(${column}) in (${commaList(db, values, (v) => db`filter_text(${v})`)})`

const commaList = (db: Db, values: string[], one: (value: string) => Fragment): Fragment =>
  values.slice(1).reduce((list, v) => db`${list}, ${one(v)}`, one(itemAt(values, 0)))

/** The text as a LIKE pattern that matches it literally. */
export const escapeLike = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

import { instantOf } from '../db/instant.ts'
import { type Derived, type Fields, type ViewOf, viewsOf } from './field.ts'

/**
 * Views of entities that Prisma reads: its records name a column in camelCase and hold a `Date` for a time, and a `bigint`
 * for a large integer.
 */

type InCamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<InCamelCase<Rest>>}`
  : Name
type ColumnOf<Field> = Field extends { column: infer Column extends string } ? Column : never

/** The property of a record with the value of a column. */
export const recordName = (column: string): string =>
  column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/** A value of a record in an answer. */
export const shownValue = (value: unknown): unknown =>
  value instanceof Date ? instantOf(value) : typeof value === 'bigint' ? Number(value) : value

type Selection<F extends Fields> = { [Name in keyof F as InCamelCase<ColumnOf<F[Name]>>]: true }

/** The `select` of a Prisma query that reads these columns. */
export function selectionOf<F extends Fields>(fields: F): Selection<F> {
  const columns = Object.values(fields).flatMap(({ column }) => column ?? [])
  // The keys are those of the table, which `Object.fromEntries` cannot say.
  return Object.fromEntries(columns.map((column) => [recordName(column), true])) as Selection<F>
}

/** Builds the view of a record that has at least these fields. */
export function recordViewsOf<F extends Fields, Row extends object = object>(
  fields: F,
  derived: Derived<F, [record: Row]>,
): (record: Row) => ViewOf<F> {
  const entries = Object.entries(fields)
  const inRecord = Object.fromEntries(
    entries.map(([name, field]) => [
      name,
      field.column === undefined ? field : { ...field, column: recordName(field.column) },
    ]),
  )
  const view = viewsOf(inRecord, derived)
  const stored = new Set(
    entries.flatMap(([, { column }]) => (column === undefined ? [] : recordName(column))),
  )
  return (record) => {
    const shown = Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, stored.has(name) ? shownValue(value) : value]),
    )
    // The names of the fields and the types of their values are those of the table.
    return view(shown as Row) as ViewOf<F>
  }
}

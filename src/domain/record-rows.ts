import { canonicalInstant, instantOf, showInstant } from '../db/instant.ts'
import type { CreationPosition } from './cursors.ts'
import type { Fields } from './field.ts'

/**
 * The rows of an entity with a table of fields, read by SQL and through Prisma alike. What views need besides the columns
 * of the fields is declared once, with its SQL and with its place in a record of Prisma. Times of events are text in the
 * models, because a `Date` has no microseconds.
 */
export interface Beside {
  sql: string
  /** Paths in the record, such as `project.slug`. */
  from: string | readonly string[]
  /** Makes the value of those at the paths; without it, it is the value at the only path. */
  of?: (...values: never[]) => unknown
  /** Read only if the caller asks for this part of the row. */
  part?: string
  instant?: true
}
export type Besides = Readonly<Record<string, Beside>>

/** The columns as a select lists them. */
export const besideColumns = (besides: Besides, part?: string): string =>
  Object.entries(besides)
    .flatMap(([name, beside]) => (beside.part === part ? [`${beside.sql} ${name}`] : []))
    .join(', ')

/** The `select` of a Prisma query; relations are nested. */
export interface Selection {
  [name: string]: true | { select: Selection; where?: object }
}

/** The property of a record with the value of a column. */
const recordName = (column: string): string =>
  column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())

export interface RecordRows<Row> {
  select: Selection
  rowOf: (record: object) => Row
}

/**
 * @param besides without SQL where only Prisma reads the entity
 * @param parts those that are read; the columns of the others are missing from the rows
 */
export function recordRows<Row>(
  fields: Fields,
  besides: Readonly<Record<string, Omit<Beside, 'sql'>>>,
  parts: readonly string[] = [],
): RecordRows<Row> {
  const wanted = (part: string | undefined): boolean => part === undefined || parts.includes(part)
  const columns: Record<string, Omit<Beside, 'sql'>> = {}
  for (const { column, part, type } of Object.values(fields))
    if (column !== undefined && wanted(part))
      columns[column] = { from: recordName(column), ...(type.sql === 'timestamptz' && { instant: true }) }
  for (const [name, beside] of Object.entries(besides)) if (wanted(beside.part)) columns[name] = beside

  const select: Selection = {}
  const makers = Object.entries(columns).map(([name, { from, of, instant }]) => {
    const paths = [from].flat().map((path) => path.split('.'))
    for (const path of paths) choose(select, path)
    const [only = []] = paths
    const shown = instant ? (value: unknown) => instantText(value) : plain
    const make: (record: object) => unknown =
      of === undefined
        ? (record) => shown(valueAt(record, only))
        : (record) => of(...(paths.map((path) => valueAt(record, path)) as never[]))
    return [name, make] as const
  })
  // An object that gets its twentieth property one by one becomes a hash table; a copy keeps its shape (db/wide-rows.ts).
  const blank: Record<string, unknown> = JSON.parse(
    JSON.stringify(Object.fromEntries(makers.map(([name]) => [name, null]))),
  )
  return {
    select,
    rowOf(record) {
      const row = { ...blank }
      for (const [name, make] of makers) row[name] = make(record)
      return row as Row
    },
  }
}

function choose(into: Selection, [name, ...rest]: readonly string[]): void {
  if (name === undefined) return
  if (rest.length === 0) {
    into[name] ??= true
    return
  }
  const known = into[name]
  const nested = typeof known === 'object' ? known : { select: {} }
  into[name] = nested
  choose(nested.select, rest)
}

function valueAt(record: object, path: readonly string[]): unknown {
  let value: unknown = record
  for (const name of path) {
    if (value === null || value === undefined) return null
    value = (value as Record<string, unknown>)[name]
  }
  return value ?? null
}

const plain = (value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value)

/** A time of Prisma, in the shown form: a text, or a `Date` where milliseconds are enough. */
const instantText = (value: unknown): unknown =>
  typeof value === 'string'
    ? showInstant(canonicalInstant(value))
    : value instanceof Date
      ? instantOf(value)
      : value

/** The `where` of the rows after a position in the order of a time and the id, newest first. */
export const olderThan = <Time extends string>(time: Time, { createdAt, id }: CreationPosition) => ({
  OR: [
    { [time]: { lt: createdAt } } as { [T in Time]: { lt: string } },
    { [time]: createdAt, id: { lt: id } } as { [T in Time]: string } & { id: { lt: string } },
  ],
})

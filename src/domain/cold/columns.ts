import type { Db } from '../../db/sql.ts'
import { stepFrom } from '../step.ts'

/** How the values of a column are kept: what is read of it, what Parquet has, what is written back. */
export type Kind = 'int' | 'long' | 'double' | 'text' | 'bool' | 'bytes' | 'instant' | 'doubles'

export interface Column {
  name: string
  kind: Kind
  /** The type in the database; text of any other type than those above is cast to it. */
  type: string
}

/** A value as it was read: instants as microseconds since 1970. */
export type Value = number | string | boolean | Uint8Array | Vals | null
/** The values of an epoch, in the order of the job's series. */
export type Vals = (number | null)[]
/** Rows, by column. */
export type Columns = readonly Value[][]

/** Every table that grows with a batch, epochs before what follows from them; rows carry `batch_key`. */
export const TABLES = ['epochs', 'events', 'metric_chunks', 'log_lines', 'resource_snapshots'] as const
export type Table = (typeof TABLES)[number]

const KINDS: Record<string, Kind> = {
  smallint: 'int',
  integer: 'int',
  bigint: 'long',
  'double precision': 'double',
  boolean: 'bool',
  bytea: 'bytes',
  'timestamp with time zone': 'instant',
  'double precision[]': 'doubles',
}

/** The columns that the tables have now: a release that adds one need not be told here. */
export async function columnsOf(db: Db): Promise<Map<Table, Column[]>> {
  const rows = await db<{ table: Table; name: string; type: string }[]>`/* cold.columns */
    select c.relname "table", a.attname::text "name", format_type(a.atttypid, a.atttypmod) "type"
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace and c.relname = any (${[...TABLES]}::text[])
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    order by a.attnum`
  const found = new Map<Table, Column[]>(TABLES.map((table) => [table, []]))
  for (const { table, name, type } of rows)
    found.get(table)?.push({ name, type, kind: KINDS[type] ?? 'text' })
  return found
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** What is selected of a column, over a row `e`. */
export function selected({ name, kind }: Column): string {
  const column = `e.${quoted(name)}`
  if (kind === 'instant') return `(extract(epoch from ${column}) * 1000000)::bigint`
  return kind === 'text' ? `${column}::text` : column
}

/** How a column is inserted from `$n`, the texts of its values. */
export function inserted({ kind, type }: Column, text: string): string {
  if (kind === 'instant') return `timestamptz 'epoch' + ${text}::bigint * interval '1 microsecond'`
  return `${text}::${type}`
}

/** Over a row `e`, of the batch `$1`. */
export const ofBatch = (columns: readonly Column[]): string =>
  columns.some(({ name }) => name === 'batch_key')
    ? 'e.batch_key = $1'
    : 'e.job_key in (select g.job_key from job_progress g where g.batch_key = $1)'

export const columnList = (columns: readonly Column[]): string =>
  columns.map(({ name }) => quoted(name)).join(', ')

/** As PostgreSQL reads it; also what digests are made of. */
export function textOf(value: Value): string | null {
  if (value === null) return null
  if (typeof value === 'number') return numberText(value)
  if (value instanceof Uint8Array)
    return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`
  if (Array.isArray(value))
    return `{${value.map((one) => (one === null ? 'NULL' : numberText(one))).join(',')}}`
  return String(value)
}

const numberText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value))

/** Finds columns of rows by name. */
export const columnsAt =
  (columns: readonly Column[], values: Columns) =>
  (name: string): Value[] =>
    values[columns.findIndex((column) => column.name === name)] as Value[]

/** Archives from before steps had 64 bits lack the high part. */
export function stepsAt(
  at: (name: string) => Value[] | undefined,
  high: string,
  low: string,
): (row: number) => number {
  const [highs, lows] = [at(high), at(low)]
  return (row) => stepFrom((highs?.[row] ?? 0) as number, lows?.[row] as number)
}

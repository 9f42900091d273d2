import type { Sql } from '../../src/db/sql.ts'

export interface Sizes {
  /** Bytes above those of the empty database. */
  total: number
  /** By table, with its indexes. */
  tables: Map<string, number>
  /** By table and by index. */
  parts: { name: string; bytes: number }[]
}

const empty = new WeakMap<Sql, Map<string, number>>()

/** What the tables have now counts as nothing from here on. */
export async function countFrom(sql: Sql): Promise<void> {
  empty.set(sql, new Map((await relations(sql)).map(({ name, bytes }) => [name, bytes])))
}

interface Relation {
  name: string
  table: string
  bytes: number
}

/** Tables with their TOAST, and indexes. */
const relations = (sql: Sql): Promise<readonly Relation[]> =>
  sql<Relation[]>`/* bench.relations */
    select c.relname as name, coalesce(t.relname, c.relname) as table,
      (case c.relkind when 'i' then pg_relation_size(c.oid) else pg_table_size(c.oid) end)::float8 bytes
    from pg_class c left join pg_index i on i.indexrelid = c.oid left join pg_class t on t.oid = i.indrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'i')`

export async function sizesOf(sql: Sql): Promise<Sizes> {
  const before = empty.get(sql)
  const tables = new Map<string, number>()
  const parts: Sizes['parts'] = []
  let total = 0
  for (const { name, table, bytes } of await relations(sql)) {
    const more = bytes - (before?.get(name) ?? 0)
    total += more
    tables.set(table, (tables.get(table) ?? 0) + more)
    parts.push({ name, bytes: more })
  }
  return { total, tables, parts: parts.sort((a, b) => b.bytes - a.bytes) }
}

/** The largest parts, in bytes an event. */
export const partsOf = ({ parts }: Sizes, events: number): string =>
  parts
    .slice(0, 9)
    .filter(({ bytes }) => bytes >= events)
    .map(({ name, bytes }) => `${name} ${(bytes / events).toFixed(0)}`)
    .join(', ')

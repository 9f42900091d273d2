import type { Client } from 'pg'
import { itemAt } from '../../checked.ts'
import type { DumpedTable } from './file.ts'

/** The objects that the migrations of a release create, by name. */
export interface SchemaObjects {
  tables: string[]
  sequences: string[]
  functions: string[]
  views: string[]
}

/**
 * Extracts the names from migrations, which create everything with `if not exists` or `or replace`
 * (docs/architecture.md).
 */
export function schemaObjectsOf(scripts: readonly string[]): SchemaObjects {
  const text = scripts.join('\n').replace(/--.*$/gm, '')
  const names = (pattern: RegExp): string[] => [
    ...new Set([...text.matchAll(pattern)].map((found) => itemAt(found, 1))),
  ]
  return {
    tables: names(/\bcreate\s+(?:unlogged\s+)?table\s+if\s+not\s+exists\s+(\w+)\s*\(/gi),
    sequences: names(/\bcreate\s+sequence\s+if\s+not\s+exists\s+(\w+)(?![\w.])/gi),
    functions: names(/\bcreate\s+or\s+replace\s+function\s+(\w+)\s*\(/gi),
    views: names(/\bcreate\s+or\s+replace\s+view\s+(\w+)\s+as\b/gi),
  }
}

/**
 * The tables among `names` that the database has, with their stored columns. Each comes after the tables that it refers
 * to.
 */
export async function storedTables(client: Client, names: readonly string[]): Promise<DumpedTable[]> {
  const { rows } = await client.query<{ name: string; columns: string[]; refers: string[] }>(
    `/* dump.tables */
     select c.relname as name,
       array(select a.attname::text from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
             order by a.attnum) as columns,
       array(select f.relname::text from pg_constraint k join pg_class f on f.oid = k.confrelid
             where k.conrelid = c.oid and k.contype = 'f' and f.oid <> c.oid) as refers
     from pg_class c
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.relname = any ($1)
     order by c.relname`,
    [names],
  )
  const placed: typeof rows = []
  while (placed.length < rows.length) {
    const next = rows.find(
      (row) =>
        !placed.includes(row) &&
        row.refers.every(
          (name) => placed.some((p) => p.name === name) || !rows.some((one) => one.name === name),
        ),
    )
    if (next === undefined) throw new Error('tables refer to each other in a circle')
    placed.push(next)
  }
  return placed.map(({ name, columns }) => ({ name, columns }))
}

/** The sequences of these tables and the named ones, with their last values. Unused sequences are omitted. */
export async function sequencesOf(
  client: Client,
  { tables, sequences }: Pick<SchemaObjects, 'tables' | 'sequences'>,
): Promise<{ name: string; last: number }[]> {
  const { rows } = await client.query<{ name: string; last: string }>(
    // Materialized first, because pg_sequence_last_value fails for anything but a sequence.
    `/* dump.sequences */
     with found as materialized (
       select s.oid, s.relname as name from pg_class s
       where s.relkind = 'S' and s.relnamespace = current_schema()::regnamespace
         and (s.relname = any ($2) or exists (
           select from pg_depend d join pg_class t on t.oid = d.refobjid and t.relname = any ($1)
           where d.classid = 'pg_class'::regclass and d.objid = s.oid and d.refclassid = 'pg_class'::regclass)))
     select name, last::text from (select name, pg_sequence_last_value(oid) as last from found) f
     where last is not null order by name`,
    [tables, sequences],
  )
  return rows.map(({ name, last }) => ({ name, last: Number(last) }))
}

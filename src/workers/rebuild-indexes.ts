import type { Logger } from 'pino'
import { LOCK_NOT_AVAILABLE } from '../db/migrate.ts'
import { openSql, type Sql } from '../db/sql.ts'
import { codeOf } from '../thrown.ts'

/** The name of the cron task, and of the lock that a round holds. */
export const REBUILD_TASK = 'rebuild_indexes'

/** Pages of 8 kB. Smaller indexes are not worth a rebuild, and larger ones are seldom emptied. */
const MIN_PAGES = 256
/**
 * How many times larger than after a rebuild the index must be. Page splits and updates never bloat an index this much.
 */
const MIN_BLOAT = 4
/**
 * The table's size. A rebuild reads the table in one snapshot, during which vacuum removes no rows anywhere in the
 * database: some minutes for 64 GB.
 */
const MAX_TABLE_PAGES = 8_388_608
/** How long to wait for older transactions; longer than the 60 seconds that a read may take. */
const WAIT = '120s'

interface Index {
  /** Schema-qualified, and quoted if necessary. */
  name: string
  table: string
}

export interface RebuildOptions {
  url: string
  log: Logger
  /**
   * How long a rebuild waits for transactions that are older than it, as a PostgreSQL interval. It does not start while
   * one has been open for that long.
   */
  wait?: string
}

export interface Rebuilt {
  name: string
  fromBytes: number
  toBytes: number
}

/**
 * Rebuilds indexes that consist mostly of empty pages. Archiving and retention empty pages all over an index;
 * PostgreSQL reuses them for the same index but never returns them. Indexes are rebuilt one at a time without blocking
 * readers or writers; the rebuild waits for older transactions. Leftovers of an interrupted rebuild are dropped first.
 *
 * On a Citus cluster only tables of the coordinator are covered, because its catalog has no sizes of distributed
 * tables.
 *
 * The caller must hold the lock of the task but no snapshot: a rebuild would wait for that forever.
 */
export async function rebuildBloatedIndexes(
  { url, log, wait = WAIT }: RebuildOptions,
  signal: AbortSignal,
): Promise<Rebuilt[]> {
  const settings = { statement_timeout: '0', lock_timeout: wait, jit: 'off' }
  const sql = openSql(url, { name: 'rebuild indexes', max: 1, settings })
  // PostgreSQL finishes the running rebuild, or the next round drops its leftovers.
  const stop = (): void => void sql.end({ timeout: 0 })
  signal.addEventListener('abort', stop, { once: true })
  const done: Rebuilt[] = []
  try {
    await dropLeftovers(sql, log)
    for (const { name, table } of await bloatedIndexes(sql)) {
      if (signal.aborted || (await hasOldTransaction(sql, wait))) break
      // The index may have changed since its size was estimated.
      await sql.unsafe(`/* indexes.analyze */ analyze ${table}`)
      const index = (await bloatedIndexes(sql)).find((one) => one.name === name)
      if (index === undefined) continue
      const rebuilt = await rebuild(sql, index, log)
      if (rebuilt !== undefined) done.push(rebuilt)
    }
    return done
  } catch (error) {
    if (signal.aborted) return done
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
    await sql.end({ timeout: 5 })
  }
}

async function rebuild(sql: Sql, { name, table }: Index, log: Logger): Promise<Rebuilt | undefined> {
  const begun = performance.now()
  const fromBytes = await sizeOf(sql, name)
  try {
    await sql.unsafe(`/* indexes.rebuild */ reindex index concurrently ${name}`)
  } catch (error) {
    if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error
    log.info({ index: name, table }, 'an index was not rebuilt: a transaction was open for too long')
    // Otherwise writers would maintain the leftover index until the next round.
    await dropLeftovers(sql, log)
    return undefined
  }
  const toBytes = await sizeOf(sql, name)
  const ms = Math.round(performance.now() - begun)
  log.info({ index: name, table, fromBytes, toBytes, ms }, 'an index that was mostly empty was rebuilt')
  return { name, fromBytes, toBytes }
}

async function sizeOf(sql: Sql, name: string): Promise<number> {
  const [row] = await sql<{ bytes: number }[]>`/* indexes.size */
    select pg_relation_size(to_regclass(${name})) bytes`
  return row?.bytes ?? 0
}

/**
 * Bloated B-trees of this schema, from the catalog as of the last VACUUM or ANALYZE. The size after a rebuild is
 * estimated as the number of rows times their width, with pages 90% full and without deduplication of equal keys.
 */
const bloatedIndexes = (sql: Sql): Promise<readonly Index[]> => sql<Index[]>`/* indexes.empty */
  select format('%I.%I', n.nspname, c.relname) "name", format('%I.%I', n.nspname, t.relname) "table"
  from pg_index i
  join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam and m.amname = 'btree'
  join pg_class t on t.oid = i.indrelid join pg_namespace n on n.oid = t.relnamespace
  cross join lateral (
    select sum(case when a.attlen > 0 then (a.attlen + 7) / 8 * 8 else coalesce(s.avg_width, 32) + 8 end) width
    from pg_attribute a
    left join pg_attribute k on k.attrelid = i.indrelid and k.attnum = i.indkey[a.attnum - 1]
    left join pg_stats s on s.schemaname = n.nspname and s.tablename = t.relname and s.attname = k.attname
    where a.attrelid = c.oid) w
  where n.nspname = current_schema() and i.indisvalid and c.relpages >= ${MIN_PAGES} and c.reltuples >= 0
    and t.relpages <= ${MAX_TABLE_PAGES}
    and ${MIN_BLOAT} * (c.reltuples * (12 + w.width) / (0.9 * current_setting('block_size')::int) + 2) < c.relpages
  order by c.relpages desc`

async function hasOldTransaction(sql: Sql, age: string): Promise<boolean> {
  const rows = await sql`/* indexes.old_transaction */
    select from pg_stat_activity
    where datname = current_database() and xact_start < now() - ${age}::interval limit 1`
  return rows.length > 0
}

/** Drops indexes of interrupted rebuilds, unless a rebuild is running on their table. Missing indexes are ignored. */
async function dropLeftovers(sql: Sql, log: Logger): Promise<void> {
  const left = await sql<{ name: string }[]>`/* indexes.leftovers */
    select format('%I.%I', n.nspname, c.relname) "name"
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = current_schema() and not i.indisvalid and c.relname ~ '_cc(new|old)[0-9]*$'
      and not exists (select from pg_stat_progress_create_index p where p.relid = i.indrelid)`
  for (const { name } of left) {
    try {
      await sql.unsafe(`/* indexes.drop_leftover */ drop index concurrently if exists ${name}`)
      log.info({ index: name }, 'an index that a rebuild left unfinished was dropped')
    } catch (error) {
      if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error
    }
  }
}

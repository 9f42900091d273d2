import type { Logger } from 'pino'
import { LOCK_NOT_AVAILABLE } from '../db/migrate.ts'
import { openSql, type Sql } from '../db/sql.ts'
import { codeOf } from '../thrown.ts'

/** The cron task, and the lock that a round holds. */
export const REBUILD_TASK = 'rebuild_indexes'

/** Pages of 8 kB. Less is not worth a rebuild, and a larger index is seldom emptied. */
const MIN_PAGES = 256
/** Rebuilt, it would have one page in so many; an index in use is never as empty by splits and updates. */
const EMPTY_FACTOR = 4
/**
 * Of the table. A rebuild reads it in one snapshot, and meanwhile no row that changes elsewhere is vacuumed: some
 * minutes for 64 GB.
 */
const MAX_TABLE_PAGES = 8_388_608
/** For transactions that were there before. Above the 60 seconds that a read may take. */
const WAIT = '120s'

interface Index {
  /** Quoted where it has to be, with its schema. */
  name: string
  table: string
}

export interface RebuildOptions {
  url: string
  log: Logger
  /**
   * How long a rebuild waits for transactions that were there before it, as PostgreSQL writes it. It does not begin while
   * one has been open for as long already.
   */
  wait?: string
}

export interface Rebuilt {
  name: string
  fromBytes: number
  toBytes: number
}

/**
 * Rebuilds indexes that are mostly empty pages. Archiving and retention empty pages all over an index; PostgreSQL uses
 * them again for the same index but never gives them back. One at a time, beside writers and readers, who wait for
 * nothing; the rebuild waits for transactions that were there before it. What an earlier rebuild left when it was cut
 * off is dropped first.
 *
 * On a Citus cluster only tables of the coordinator are looked at: what its catalogue has of distributed tables is empty.
 *
 * The caller holds the lock of the task but no snapshot: a rebuild would wait for it for ever.
 */
export async function rebuildEmptyIndexes(
  { url, log, wait = WAIT }: RebuildOptions,
  signal: AbortSignal,
): Promise<Rebuilt[]> {
  const settings = { statement_timeout: '0', lock_timeout: wait, jit: 'off' }
  const sql = openSql(url, { name: 'rebuild indexes', max: 1, settings })
  // PostgreSQL completes what is under way, or the next round drops what is left of it.
  const stop = (): void => void sql.end({ timeout: 0 })
  signal.addEventListener('abort', stop, { once: true })
  const done: Rebuilt[] = []
  try {
    await dropLeftovers(sql, log)
    for (const { name, table } of await emptyIndexes(sql)) {
      if (signal.aborted || (await hasOldTransaction(sql, wait))) break
      // How much the index holds may have changed since it was counted.
      await sql.unsafe(`/* indexes.analyze */ analyze ${table}`)
      const index = (await emptyIndexes(sql)).find((one) => one.name === name)
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
    // Writers would keep it up to date until the next round.
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
 * B-trees of this schema, by the catalogue as the last vacuum or ANALYZE left it: what a rebuilt one would take is its rows
 * times their width, 90% of each page full, without what PostgreSQL saves on equal keys.
 */
const emptyIndexes = (sql: Sql): Promise<readonly Index[]> => sql<Index[]>`/* indexes.empty */
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
    and ${EMPTY_FACTOR} * (c.reltuples * (12 + w.width) / (0.9 * current_setting('block_size')::int) + 2) < c.relpages
  order by c.relpages desc`

async function hasOldTransaction(sql: Sql, age: string): Promise<boolean> {
  const rows = await sql`/* indexes.old_transaction */
    select from pg_stat_activity
    where datname = current_database() and xact_start < now() - ${age}::interval limit 1`
  return rows.length > 0
}

/** Indexes that a rebuild began and did not finish, nor is about to. A name that is gone by then is passed over. */
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

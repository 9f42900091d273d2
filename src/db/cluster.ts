import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../thrown.ts'
import { LOCK_NOT_AVAILABLE, migrate, takeTurn } from './migrate.ts'
import { type Db, isDistributed, markDistributed, openSql, type Sql, type Tx } from './sql.ts'

/**
 * A database that is the coordinator of a Citus cluster (docs/decisions/0025-telemetry-on-citus.md). The tables of telemetry
 * are spread over its workers by the hash of `batch_key`, so that all rows of a batch lie together on one worker; every
 * other table stays on the coordinator.
 */
export const TELEMETRY = [
  'events',
  'payload_templates',
  'epochs',
  'metric_chunks',
  'log_lines',
  'resource_snapshots',
] as const

const TURN_PAUSE_MS = 100

/**
 * Distributes the tables of telemetry that are not distributed yet, after the migrations. What they hold is copied to the
 * workers. Nothing happens in a database without Citus, or without workers. Several servers may call this at once.
 * @returns whether the database is a cluster's; pools that are opened from then on know it
 * @throws Error with one line for the operator: the URL names a worker, or Citus refuses
 */
export async function distribute(
  sql: Sql,
  url: string,
  { log }: { log: (message: string) => void },
): Promise<boolean> {
  if (!(await isCluster(sql))) return false
  while ((await sql.begin((tx) => distributeInTurn(tx, log)).catch(busy)) === undefined)
    await sleep(TURN_PAUSE_MS)
  markDistributed(url)
  return true
}

/**
 * The tables of this release, and their distribution where the database is a cluster's. Other connections are opened after it.
 * @returns whether they are distributed
 */
export async function prepareTables(
  url: string,
  migrations: string,
  options: { log: (message: string) => void },
): Promise<boolean> {
  const sql = openSql(url, { name: 'migrate', max: 4, settings: { synchronous_commit: 'on' } })
  try {
    await migrate(sql, migrations, options)
    return await distribute(sql, url, options)
  } finally {
    await sql.end({ timeout: 1 })
  }
}

/** Finds out whether the tables of a database are distributed, for commands beside servers. */
export async function noteDistribution(url: string): Promise<void> {
  const sql = openSql(url, { name: 'command', max: 1 })
  try {
    if ((await isCluster(sql)) && (await undistributed(sql)).length === 0) markDistributed(url)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/** Whether the database is the coordinator of a Citus cluster that has workers. @throws where it is a worker */
export async function isCluster(sql: Sql): Promise<boolean> {
  const [extension] = await sql`/* cluster.extension */ select from pg_extension where extname = 'citus'`
  if (extension === undefined) return false
  const [row] = await sql<{ coordinator: boolean; workers: number }[]>`/* cluster.nodes */
    select (select groupid = 0 from pg_dist_local_group) coordinator,
      (select count(*)::int from pg_dist_node where groupid > 0 and noderole = 'primary' and shouldhaveshards) workers`
  if (row?.coordinator === false)
    throw new Error('SVC_DATABASE_URL names a worker of a Citus cluster: name its coordinator')
  return row !== undefined && row.workers > 0
}

/** Another transaction holds a table for longer than a migration waits: it is tried again. */
function busy(error: unknown): undefined {
  if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error
}

/** @returns undefined while another server migrates or distributes */
async function distributeInTurn(tx: Tx, log: (message: string) => void): Promise<true | undefined> {
  if (!(await takeTurn(tx))) return undefined
  const waiting = await undistributed(tx)
  if (waiting.length === 0) return true
  await tx`/* cluster.one_connection */ set local citus.multi_shard_modify_mode = 'sequential'`
  for (const table of waiting) {
    log(`distributing ${table} over the workers`)
    await tx`/* cluster.distribute */
      select create_distributed_table(${table}, 'batch_key', colocate_with => ${table === TELEMETRY[0] ? 'none' : TELEMETRY[0]})`
    // The rows that were copied to the workers still lie here as well.
    await tx`/* cluster.truncate_local */ select truncate_local_data_after_distributing_table(${table}::text::regclass)`
  }
  return true
}

async function undistributed(db: Db): Promise<string[]> {
  const rows = await db<{ name: string }[]>`/* cluster.undistributed */
    select w.name from unnest(${[...TELEMETRY]}::text[]) with ordinality as w (name, n)
    where to_regclass(w.name) is not null
      and not exists (select from pg_dist_partition p where p.logicalrelid = to_regclass(w.name))
    order by w.n`
  return rows.map((row) => row.name)
}

/** Keys of advisory locks on batches: above every other key here. */
const BATCH_LOCKS = 2 ** 52

/**
 * For a transaction that has locked batches and goes on to read or write their telemetry. On a cluster the lock on a
 * batch's row ends with the commit on the coordinator, a moment before the workers have committed as well; this lock
 * ends after them. So its holder sees all that the one before wrote.
 */
export async function awaitWorkers(tx: Tx, batchKeys: readonly number[]): Promise<void> {
  if (!isDistributed(tx) || batchKeys.length === 0) return
  const keys = [...batchKeys].sort((a, b) => a - b).map((key) => BATCH_LOCKS + key)
  await tx`/* cluster.await_workers */
    select pg_advisory_xact_lock(key) from unnest(${keys}::bigint[]) with ordinality as w (key, n) order by n`
}

/**
 * For a transaction that reads telemetry of batches before it brings them rows by COPY, to be called before it reads. Citus
 * (13.0) prepares the commit on those connections that it knows a write of, and does not take note of a COPY on one that
 * it read through before: the rows would be committed after the coordinator's commit, and be lost if the worker went in
 * between. It takes note of a delete, which finds no row here.
 */
export async function noteWrites(tx: Tx, batchKeys: readonly number[]): Promise<void> {
  if (!isDistributed(tx)) return
  await Promise.all(
    batchKeys.map(
      (key) => tx`/* cluster.note_write */
        delete from payload_templates where batch_key = ${key} and hash = ''::bytea`,
    ),
  )
}

/**
 * Makes the commit of a transaction one of two phases, on the workers and on the coordinator: for what changes both, but
 * brings the workers no new rows by COPY. Citus would otherwise commit on a single worker first, and a crash of the
 * coordinator between the two would leave half of it.
 */
export async function commitInTwoPhases(tx: Tx): Promise<void> {
  if (!isDistributed(tx)) return
  await tx`/* cluster.two_phases */
    insert into payload_templates (batch_key, hash, template) select 0::bigint, ''::bytea, '' where false`
}

import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../thrown.ts'
import { LOCK_NOT_AVAILABLE, migrate, tryMigrationLock } from './migrate.ts'
import { type Db, isDistributed, markDistributed, openSql, type Sql, type Tx } from './sql.ts'
import { sqlStateOf } from './worker-errors.ts'

/**
 * Support for a database that is the coordinator of a Citus cluster (docs/decisions/0025-telemetry-on-citus.md).
 * Telemetry tables are distributed over the workers by the hash of `batch_key`, so all rows of a batch are on one
 * worker. All other tables stay on the coordinator.
 */
export const TELEMETRY_TABLES = [
  'events',
  'payload_templates',
  'epochs',
  'metric_chunks',
  'log_lines',
  'resource_snapshots',
] as const

const LOCK_RETRY_MS = 100

/**
 * Distributes the telemetry tables that are not distributed yet, and copies their rows to the workers. Runs after the
 * migrations. Does nothing in a database without Citus or without workers. Several servers may call this at once.
 * @returns whether the database is a cluster; connection pools opened afterwards take this into account
 * @throws Error with one line for the operator: the URL names a worker, or Citus refuses
 */
export async function distribute(
  sql: Sql,
  url: string,
  { log }: { log: (message: string) => void },
): Promise<boolean> {
  if (!(await isCluster(sql))) return false
  while ((await sql.begin((tx) => distributeIfUnlocked(tx, log)).catch(undefinedIfLocked)) === undefined)
    await sleep(LOCK_RETRY_MS)
  markDistributed(url)
  return true
}

/**
 * Migrates the database and, on a cluster, distributes its telemetry tables. Open other connections only afterwards.
 * @returns whether the tables are distributed
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

/** Detects whether the tables are distributed, for commands that run beside servers. */
export async function detectDistribution(url: string): Promise<void> {
  const sql = openSql(url, { name: 'command', max: 1 })
  try {
    if ((await isCluster(sql)) && (await undistributed(sql)).length === 0) markDistributed(url)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

/**
 * Whether the database is the coordinator of a Citus cluster that has workers.
 * @throws Error when the URL names a worker
 */
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

/** Turns a lock timeout, which is retried, into undefined. Any other error is thrown. */
function undefinedIfLocked(error: unknown): undefined {
  if (codeOf(error) !== LOCK_NOT_AVAILABLE) throw error
}

/** @returns undefined while another server holds the migration lock */
async function distributeIfUnlocked(tx: Tx, log: (message: string) => void): Promise<true | undefined> {
  if (!(await tryMigrationLock(tx))) return undefined
  const waiting = await undistributed(tx)
  if (waiting.length === 0) return true
  await tx`/* cluster.one_connection */ set local citus.multi_shard_modify_mode = 'sequential'`
  for (const table of waiting) {
    log(`distributing ${table} over the workers`)
    await tx`/* cluster.distribute */
      select create_distributed_table(${table}, 'batch_key', colocate_with => ${table === TELEMETRY_TABLES[0] ? 'none' : TELEMETRY_TABLES[0]})`
    // The rows are still in the local table after they were copied to the workers.
    await tx`/* cluster.truncate_local */ select truncate_local_data_after_distributing_table(${table}::text::regclass)`
  }
  return true
}

async function undistributed(db: Db): Promise<string[]> {
  const rows = await db<{ name: string }[]>`/* cluster.undistributed */
    select w.name from unnest(${[...TELEMETRY_TABLES]}::text[]) with ordinality as w (name, n)
    where to_regclass(w.name) is not null
      and not exists (select from pg_dist_partition p where p.logicalrelid = to_regclass(w.name))
    order by w.n`
  return rows.map((row) => row.name)
}

/** Offset of the advisory lock keys of batches; every other lock key of the service is lower. */
const BATCH_LOCKS = 2 ** 52
/** How long a transaction waits on a worker for a lock before it fails with LOCK_NOT_AVAILABLE. */
const WORKER_LOCK_TIMEOUT = '1s'

/**
 * Call this in a transaction that has locked batches, before it reads or writes their telemetry. On a cluster the row lock
 * on a batch ends when the coordinator commits, before the workers have committed: usually milliseconds, but until Citus
 * recovers the prepared transaction if the worker failed in between. So each transaction also takes an advisory lock on
 * the batch's worker. A prepared transaction keeps it, across a restart of the worker too, so its next holder sees
 * everything that the previous one wrote.
 *
 * Citus (13.0) prepares the commit only on connections that it knows were written to, and it misses a COPY on a connection
 * that was read through before. The rows would then be committed after the coordinator's commit, and be lost if the worker
 * failed in between. Citus does register a DELETE, so the first statement is one that matches no row. It also begins the
 * worker's transaction, without which the lock would end with its statement.
 * @throws 55P03 (lock not available) if a previous transaction has not ended within a second: see `recoverCommits`
 */
export async function lockOnWorkers(tx: Tx, batchKeys: readonly number[]): Promise<void> {
  if (!isDistributed(tx)) return
  const keys = [...batchKeys].sort((a, b) => a - b)
  await Promise.all(
    keys.flatMap((key) => [
      tx`/* cluster.note_write */
        delete from payload_templates where batch_key = ${key} and hash = ''::bytea`,
      tx`/* cluster.lock_batch */
        select case when set_config('lock_timeout', ${WORKER_LOCK_TIMEOUT}, true) is not null
          then pg_advisory_xact_lock(${BATCH_LOCKS + key}::bigint) end
        from (select count(*) from payload_templates where batch_key = ${key} and hash = ''::bytea) as one_row`,
    ]),
  )
}

/**
 * After an error of `lockOnWorkers`: has Citus commit now what was prepared on workers that failed before they committed
 * it. By itself it does so every `citus.recover_2pc_interval`, which is a minute unless it is set.
 * @returns whether the error is such a one, so that the transaction is worth another attempt
 */
export async function recoverCommits(sql: Sql, error: unknown): Promise<boolean> {
  if (!isDistributed(sql) || sqlStateOf(error) !== LOCK_NOT_AVAILABLE) return false
  // If it fails, the next attempts wait for Citus to recover by itself.
  await sql`/* cluster.recover_commits */ select recover_prepared_transactions()`.catch(() => {})
  return true
}

/**
 * Makes the transaction commit in two phases, on the workers and on the coordinator. For transactions that change both
 * but add no rows to the workers by COPY. Otherwise Citus commits on a single worker first, and a crash of the
 * coordinator in between would leave half of the change.
 */
export async function commitInTwoPhases(tx: Tx): Promise<void> {
  if (!isDistributed(tx)) return
  await tx`/* cluster.two_phases */
    insert into payload_templates (batch_key, hash, template) select 0::bigint, ''::bytea, '' where false`
}

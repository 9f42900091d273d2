import { MIGRATION_LOCK } from './migrate.ts'
import { type Sql, type Tx, transaction } from './sql.ts'

/**
 * The tables that are distributed by `batch_key` where the database is the coordinator of a Citus cluster (decision 0022).
 * All others stay on the coordinator: they are small, and every statement that joins them stays in one place.
 */
export const DISTRIBUTED_TABLES = [
  'events',
  'epochs',
  'metric_chunks',
  'log_lines',
  'resource_snapshots',
] as const

/**
 * Distributes the telemetry tables over the workers, if there are any and it was not done before; existing rows move with
 * them. Two servers may call this at once. To be called after `migrate`.
 * @returns whether the tables are distributed
 * @throws what the database throws; a table is distributed whole or not at all
 */
export async function distributeTelemetry(sql: Sql, log: (message: string) => void): Promise<boolean> {
  const [citus] = await sql<{ installed: boolean }[]>`/* cluster.installed */
    select exists (select from pg_extension where extname = 'citus') as installed`
  if (citus?.installed !== true) return false
  const [nodes] = await sql<{ workers: number }[]>`/* cluster.workers */
    select count(*)::int workers from pg_dist_node where isactive and noderole = 'primary' and shouldhaveshards`
  if (nodes?.workers === 0) return false
  for (const table of DISTRIBUTED_TABLES) {
    const done = await transaction(sql, (tx) => distribute(tx, table))
    if (done) log(`distributed ${table} by batch over ${nodes?.workers} workers`)
  }
  return true
}

/** @returns false when it was done before */
async function distribute(tx: Tx, table: (typeof DISTRIBUTED_TABLES)[number]): Promise<boolean> {
  await tx`/* cluster.limits */ select set_config('statement_timeout', '0', true), pg_advisory_xact_lock(${MIGRATION_LOCK})`
  const [known] = await tx<{ is: boolean }[]>`/* cluster.is_distributed */
    select exists (select from pg_dist_partition where logicalrelid = ${table}::regclass and partmethod = 'h') as is`
  if (known?.is === true) return false
  // It refuses servers of releases that cannot write to this cluster either, by a function that workers do not have.
  await tx.unsafe(`/* cluster.drop_default */ alter table ${table} alter column batch_key drop default`)
  const beside = table === 'events' ? 'none' : 'events'
  await tx`/* cluster.distribute */ select create_distributed_table(${table}, 'batch_key', colocate_with => ${beside})`
  return true
}

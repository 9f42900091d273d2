import type { Client } from 'pg'
import { codeOf } from '../../thrown.ts'
import { PrimaryClient } from '../hosts.ts'
import { LOCK_NOT_AVAILABLE } from '../migrate.ts'

/** Lock timeout of one attempt to hold up writers, and the number of attempts. */
const LOCK_TIMEOUT = '2s'
const MAX_ATTEMPTS = 30

/**
 * Begins a transaction that reads one consistent snapshot. On a cluster (db/cluster.ts) each node has its own snapshot,
 * so writers are held up until this transaction has one on every node. Otherwise it could see events without the
 * changes that they made to their batch.
 */
export async function beginSnapshot(client: Client, url: string): Promise<void> {
  const begin = async (): Promise<void> => {
    await client.query('/* backup.begin */ begin isolation level repeatable read, read only')
  }
  if (!(await isDistributedHere(client))) return begin()
  const holder = new PrimaryClient({ connectionString: url, name: 'backup' })
  holder.on('error', () => {})
  await holder.connect()
  try {
    await holdWriters(holder)
    await begin()
    // With one connection per worker there is one snapshot per worker.
    await client.query('/* backup.one_connection */ set local citus.max_adaptive_executor_pool_size = 1')
    await client.query('/* backup.moment */ select from events limit 1')
  } finally {
    await holder.end().catch(() => {})
  }
}

async function isDistributedHere(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(
    `/* backup.has_citus */ select to_regclass('pg_dist_partition') is not null there`,
  )
  if (rows[0]?.there !== true) return false
  const { rowCount } = await client.query(
    `/* backup.is_distributed */ select from pg_dist_partition where logicalrelid = to_regclass('events')`,
  )
  return rowCount !== 0
}

/**
 * Every transaction that changes telemetry together with its batch writes one of these tables. Locking them waits for
 * the running ones.
 */
async function holdWriters(holder: Client): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await holder.query(`/* backup.hold_begin */ begin`)
      await holder.query(`/* backup.hold_patience */ set local lock_timeout = '${LOCK_TIMEOUT}'`)
      await holder.query(`/* backup.hold */ lock table batch_progress, cold_batches in share mode`)
      return
    } catch (error) {
      if (codeOf(error) !== LOCK_NOT_AVAILABLE || attempt === MAX_ATTEMPTS) throw error
      await holder.query('/* backup.hold_again */ rollback')
    }
  }
}

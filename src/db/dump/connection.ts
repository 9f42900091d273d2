import type { Client } from 'pg'
import { findPrimary, PrimaryClient } from '../hosts.ts'
import { MIGRATION_LOCK } from '../migrate.ts'

/** The text format of COPY must not depend on settings of the database, and there must be no time limits. */
const SETTINGS = `/* dump.settings */
  set timezone = 'UTC'; set datestyle = 'ISO, MDY'; set intervalstyle = 'postgres'; set extra_float_digits = 1;
  set bytea_output = 'hex'; set xmloption = 'content'; set synchronous_commit = on;
  set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set lock_timeout = 0`

/**
 * Opens a connection for a backup or a restore, and closes it after `work`. Meanwhile no server applies migrations.
 * @param options.shared whether others may hold the migration lock too, as for several backups
 * @param options.signal closes the connection, so that `work` fails
 */
export async function withConnection<T>(
  options: { url: string; name: string; shared: boolean; signal?: AbortSignal | undefined },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { url, name, shared, signal } = options
  await findPrimary(url)
  const client = new PrimaryClient({
    connectionString: url,
    name,
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
  })
  // The running query gets the error.
  client.on('error', () => {})
  const abort = (): void => void client.end().catch(() => {})
  try {
    await client.connect()
    signal?.throwIfAborted()
    signal?.addEventListener('abort', abort, { once: true })
    await client.query(SETTINGS)
    await client.query(`/* dump.lock */ select pg_advisory_lock${shared ? '_shared' : ''}(${MIGRATION_LOCK})`)
    return await work(client)
  } catch (error) {
    throw signal?.aborted ? new Error('stopped') : error
  } finally {
    signal?.removeEventListener('abort', abort)
    await client.end().catch(() => {})
  }
}

/** The migrations that a database has, in order; undefined if it was never used by this service. */
export async function migrationsOf(client: Client): Promise<string[] | undefined> {
  const { rows } = await client.query<{ exists: boolean }>(
    `/* dump.has_migrations */ select to_regclass('_prisma_migrations') is not null as exists`,
  )
  if (rows[0]?.exists !== true) return undefined
  const applied = await client.query<{ name: string }>(
    `/* dump.migrations */ select migration_name as name from _prisma_migrations
     where finished_at is not null and rolled_back_at is null order by migration_name`,
  )
  return applied.rows.map(({ name }) => name)
}

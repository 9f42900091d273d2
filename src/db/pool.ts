import { Pool } from 'pg'
import { PrimaryClient } from './hosts.ts'
import { SESSION } from './sql.ts'

/**
 * A connection pool of `pg`, for the job queue, which supports no other client. Broken connections are reported to
 * `failed`, and the next query opens a new one.
 */
export function openPool(
  url: string,
  options: { name: string; max: number; idleMs?: number; failed: (error: Error) => void },
): Pool {
  const pool = new Pool({
    Client: PrimaryClient as never,
    connectionString: url,
    ...({ name: options.name, settings: SESSION } as object),
    max: options.max,
    ...(options.idleMs !== undefined && { idleTimeoutMillis: options.idleMs }),
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  })
  // Without these listeners an error event would end the process.
  pool.on('error', options.failed)
  pool.on('connect', (client) => client.on('error', options.failed))
  return pool
}

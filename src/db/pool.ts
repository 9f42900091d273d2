import { Pool } from 'pg'
import { PrimaryClient } from './hosts.ts'

/**
 * A pool of `pg` connections, for the queue of background jobs, which speaks no other client. Connections that break
 * are told to `failed` and replaced by the next query.
 */
export function openPool(
  url: string,
  options: { name: string; max: number; failed: (error: Error) => void },
): Pool {
  const pool = new Pool({
    Client: PrimaryClient as never,
    connectionString: url,
    application_name: `svc ${options.name}`,
    max: options.max,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  })
  // Unheard, either would end the process.
  pool.on('error', options.failed)
  pool.on('connect', (client) => client.on('error', options.failed))
  return pool
}

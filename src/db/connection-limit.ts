import type { Logger } from 'pino'
import { required } from '../checked.ts'
import type { Sql } from './sql.ts'

/** All connections of a server at once: its pools, the pipeline, the listener, the locks of its tasks. */
export const MAX_CONNECTIONS = 42

interface Limit {
  /** Connections that this account may open beside those that are open. */
  free: number
  /** The setting that limits them. */
  setting: string
}

/**
 * Warns if PostgreSQL would refuse some of the connections that a server opens under load: requests would get 503 only then,
 * hours after the start. To be called before the server opens its other pools.
 */
export async function warnOfFewConnections(sql: Sql, log: Logger): Promise<void> {
  const { free, setting } = await freeConnections(sql)
  if (free >= MAX_CONNECTIONS) return
  log.warn(
    { free, needed: MAX_CONNECTIONS },
    `PostgreSQL has ${free} free connections for this account (${setting}), and a server opens up to ` +
      `${MAX_CONNECTIONS}: raise ${setting}, or requests get 503 under load`,
  )
}

/** The least of the limits of the server, the database and the role; -1 means no limit. */
async function freeConnections(sql: Sql): Promise<Limit> {
  const [row] = await sql<Limit[]>`/* connections.limit */
    with open as (
      select count(*) n, count(*) filter (where datname = current_database()) in_database,
        count(*) filter (where usename = current_user) of_role
      from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid())
    select setting, greatest(most - open, 0)::int free from (
      select 'max_connections' setting,
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
          - coalesce(current_setting('reserved_connections', true)::int, 0) most, n open from open
      union all
      select 'the connection limit of the database', datconnlimit, in_database from pg_database, open
      where datname = current_database() and datconnlimit >= 0
      union all
      select 'the connection limit of the role', rolconnlimit, of_role from pg_roles, open
      where rolname = current_user and rolconnlimit >= 0) limits
    order by free limit 1`
  return required(row)
}

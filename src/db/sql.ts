import type { Socket } from 'node:net'
import postgres from 'postgres'
import { codeOf, fieldOf, messageOf } from '../thrown.ts'
import { tracesStatements } from '../tracing.ts'
import { addressOf, type Host } from './address.ts'
import { poolSockets, settingsSql } from './hosts.ts'
import { instantFromPostgres } from './instant.ts'
import { passwordFor } from './password.ts'
import { traceStatementsOf } from './statement-spans.ts'
import { TLS_FAULT } from './tls.ts'
import { sqlStateOf } from './worker-errors.ts'

export type Sql = postgres.Sql<{ bigint: number }>
export type Tx = postgres.TransactionSql<{ bigint: number }>
/** SQL with its parameters, to embed in a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>
/** What a read may run on: a connection pool or a transaction. */
export type Db = Sql | Tx

const distributed = new WeakSet<Db>()
/** URLs of Citus coordinators whose telemetry tables are distributed by batch (cluster.ts). */
const distributedUrls = new Set<string>()
/** Connection pools that are opened from now on, and their transactions, count as distributed. */
export const markDistributed = (url: string): void => void distributedUrls.add(url)
export const isDistributed = (db: Db): boolean => distributed.has(db)
export const isDistributedUrl = (url: string): boolean => distributedUrls.has(url)
/** A transaction is distributed if its connection pool is. */
export function inheritDistribution(from: Db, to: Db): void {
  if (distributed.has(from)) distributed.add(to)
}

/**
 * A connection that nothing used for so long is closed, because a backend takes 3 to 8 MB (decision 0044). State of a
 * session, such as an advisory lock, needs `idleS: 0`, a reserved connection or a transaction; these are never closed.
 */
export const IDLE_CONNECTION_S = 10

/**
 * Opens a connection pool. `bigint` columns are returned as numbers: all ids of this service are counters far below
 * 2^53, and JSON has no other integers. `timestamptz` columns are returned as text (instant.ts).
 */
export function openSql(
  url: string,
  options: {
    max?: number
    name: string
    settings?: Record<string, string>
    /** Seconds after which an unused connection is closed; 0: never. */
    idleS?: number
    /** Called with the text of every statement, for tests that count them. */
    onStatement?: (text: string) => void
    /** Creates the sockets, for tests that break them. */
    socket?: () => Promise<Socket>
  },
): Sql {
  const { onStatement } = options
  const address = addressOf(url)
  const settings = {
    ...address.settings,
    ...SESSION,
    ...options.settings,
    ...(isDistributedUrl(url) && ON_COORDINATOR),
  }
  const sql: Sql = postgres({
    // `socket` is missing in the types of postgres.js, and `setup` is our patch's.
    ...({ socket: options.socket ?? poolSockets(url), setup: settingsSql(settings) } as object),
    host: 'localhost',
    port: address.hosts[0]?.port ?? 0,
    database: address.database,
    user: address.user,
    // For sockets of tests. Those of `poolSockets` know the password of their own host.
    password: () => passwordFor(address, address.hosts[0] as Host),
    // `poolSockets` does it.
    ssl: false,
    max: options.max ?? 10,
    idle_timeout: options.idleS ?? IDLE_CONNECTION_S,
    connect_timeout: address.connectTimeoutMs / 1000,
    // In seconds. The default backoff of postgres.js grows, and requests would wait for it instead of getting 503.
    backoff: () => 0.1,
    max_lifetime: null,
    onnotice: () => {},
    ...(onStatement && { debug: (_connection: number, text: string) => onStatement(text) }),
    connection: {
      application_name: `${address.name} ${options.name}`,
      ...(address.options !== undefined && { options: address.options }),
    },
    types: {
      bigint: {
        to: 20,
        from: [20],
        parse: (text: string) => Number(text),
        serialize: (value: number) => String(value),
      },
      // postgres.js passes a NULL within an array to the parser of its elements, as the text `NULL`.
      double: {
        to: 701,
        from: [701],
        parse: (text: string) => (text === 'NULL' ? null : Number(text)),
        serialize: (value: number) => String(value),
      },
      instant: {
        to: 1184,
        from: [1184],
        parse: instantFromPostgres,
        serialize: (at: string | Date) => (at instanceof Date ? at.toISOString() : at),
      },
    },
  })
  refuseUnpatched(sql)
  if (isDistributedUrl(url)) distributed.add(sql)
  if (tracesStatements()) traceStatementsOf(sql)
  return sql
}

/** Without the patch (docs/decisions/0026-postgres-js-is-patched.md), `postgres` would leave out the settings, and it has faults that lose connections. */
export function refuseUnpatched({ options }: Pick<Sql, 'options'>): void {
  if ('setup' in options) return
  throw new Error(
    'the package postgres is installed without the patch of this service: npm did not run the install scripts. In a checkout, run npm ci and then node scripts/patch-packages.mjs',
  )
}

/** How values are written and read, whichever defaults the role or the database has. */
export const SESSION: Readonly<Record<string, string>> = {
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  bytea_output: 'hex',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
}

/**
 * For connections to a coordinator. Statements are planned with their values, because the values decide which worker is
 * used. An unreachable worker times out before the requests that wait for it do.
 */
const ON_COORDINATOR: Record<string, string> = {
  plan_cache_mode: 'force_custom_plan',
  'citus.node_connection_timeout': '5000',
}

/**
 * For connections that serve reads. Pages follow the order of an index. PostgreSQL's default cost of a random page,
 * which is meant for spinning disks, would make it prefer a sequential scan over the rows of all projects.
 */
export const PAGED_READS: Record<string, string> = { random_page_cost: '1.1', jit: 'off' }

/**
 * For the connection that ingest writes through. Its statements are point look-ups by key, so their plans must not
 * change with the statistics of growing tables: they are planned once and always use an index.
 */
export const POINT_LOOKUPS: Record<string, string> = {
  synchronous_commit: 'on',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
}

/**
 * Makes PostgreSQL plan the query with its values each time. By default it keeps one generic plan for a prepared
 * statement after five executions. Where the best plan depends on how common a value is, planning costs less than a
 * wrong plan.
 */
export function withCustomPlan<Rows extends readonly postgres.MaybeRow[]>(
  query: postgres.PendingQuery<Rows>,
): postgres.PendingQuery<Rows> {
  // postgres.js reads this option when it sends the query, but has no method to set it for a single query.
  const { options } = query as unknown as { options: { prepare?: boolean } }
  options.prepare = false
  return query
}

/**
 * Runs `work` in a transaction: committed when it returns, rolled back when it throws.
 *
 * When the connection is lost, postgres.js (3.4) rejects the transaction, but `work` continues to run. Its later
 * statements, including the final COMMIT or ROLLBACK, are sent on the same connection object. If that is closed, this
 * throws outside of any promise and ends the process (github.com/porsager/postgres/issues/1154); if it was reconnected,
 * they run within another transaction. So after a loss, statements are refused and the callback never settles: there is
 * nothing to roll back.
 */
export async function transaction<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  let open = true
  const result = sql.begin(async (connection) => {
    const tx = whileOpen(connection, () => open)
    inheritDistribution(sql, tx)
    try {
      const value = await work(tx)
      if (open) return { value }
    } catch (error) {
      if (open && !isConnectionLost(error)) throw error
    }
    return await new Promise<never>(() => {})
  })
  result.catch(() => {
    open = false
  })
  return ((await result) as { value: T }).value
}

/** A proxy for the transaction that refuses statements once its connection is lost. */
function whileOpen(tx: Tx, isOpen: () => boolean): Tx {
  const refuseIfLost = (): void => {
    if (!isOpen())
      throw Object.assign(new Error('The connection to the database was lost'), { code: 'CONNECTION_CLOSED' })
  }
  return new Proxy(tx, {
    apply(target, self, args) {
      refuseIfLost()
      return Reflect.apply(target, self, args)
    },
    get(target, property, self) {
      refuseIfLost()
      return Reflect.get(target, property, self)
    },
  })
}

/** Whether the error says that the connection is closed, or that the server is about to close it. */
function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  const severity = fieldOf(error, 'severity')
  if (severity === 'FATAL' || severity === 'PANIC' || sqlStateOf(error) === '57P02') return true
  return code === 'CONNECTION_CLOSED' || code === 'ECONNRESET' || code === 'EPIPE' || code === 'ETIMEDOUT'
}

/** For the live stream, whose reads are look-ups by key as well. Their plans must never become scans of old rows. */
export const STREAM_READS: Record<string, string> = {
  ...POINT_LOOKUPS,
  enable_bitmapscan: 'off',
  default_transaction_read_only: 'on',
}

/**
 * Includes 25006, the refusal of a write by a standby or a read-only server, and 55P03, a lock that was not available in
 * time.
 */
const UNAVAILABLE_STATES = /^(08|53|57P|25006|55P03)/
const UNAVAILABLE = new Set([
  TLS_FAULT,
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOTFOUND',
  'ETIMEDOUT',
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
])

/** `pg` reports these without a code. */
const PG_CONNECTION_LOST =
  /^(Connection terminated|Client has encountered a connection error|timeout expired$|Query read timeout$)/
const PG_POOL_ENDED = /^Cannot use a pool after calling end/

/** Whether this server has closed its connections: a request of a disconnected client may still run during shutdown. */
export const isShutDown = (error: unknown): boolean =>
  sqlStateOf(error) === 'CONNECTION_ENDED' || PG_POOL_ENDED.test(messageOf(error))

/** Prisma has its own error codes and quotes the database's error in its message. */
const isPrismaTimeout = (error: unknown): boolean =>
  /\b57014\b|canceling statement due to statement timeout/.test(
    `${messageOf(error)} ${JSON.stringify(fieldOf(error, 'meta') ?? '')}`,
  )

/** What a database error means to the caller. */
export type DatabaseFault = 'unavailable' | 'retry' | 'timeout' | 'bad_value' | 'other'

/**
 * Classifies a database error:
 * - `unavailable`: no connection, out of resources, or shutting down; requests get 503
 * - `retry`: deadlock or serialization failure; run the transaction again
 * - `timeout`: the statement timeout
 * - `bad_value`: classes 22, 23 and 54, caused by the values of one event
 * - `other`: anything else
 */
export function databaseFault(error: unknown): DatabaseFault {
  if (isShutDown(error)) return 'unavailable'
  const code = sqlStateOf(error)
  if (code === undefined) return PG_CONNECTION_LOST.test(messageOf(error)) ? 'unavailable' : 'other'
  if (UNAVAILABLE.has(code) || UNAVAILABLE_STATES.test(code)) return 'unavailable'
  if (code === '40P01' || code === '40001') return 'retry'
  if (code === '57014' || isPrismaTimeout(error)) return 'timeout'
  if (/^(22|23|54)/.test(code)) return 'bad_value'
  return 'other'
}

/** Whether the error is about an unreachable worker, reported by a coordinator that works. */
export const isWorkerUnreachable = (db: Db, error: unknown): boolean =>
  isDistributed(db) && databaseFault(error) === 'unavailable' && fieldOf(error, 'severity') === 'ERROR'

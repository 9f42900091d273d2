import type { Socket } from 'node:net'
import postgres from 'postgres'
import { codeOf, fieldOf, messageOf } from '../thrown.ts'
import { tracesStatements } from '../tracing.ts'
import { poolSockets, urlsOf } from './hosts.ts'
import { instantFromPostgres } from './instant.ts'
import { traceStatementsOf } from './statement-spans.ts'
import { sqlStateOf } from './worker-errors.ts'

export type Sql = postgres.Sql<{ bigint: number }>
export type Tx = postgres.TransactionSql<{ bigint: number }>
/** A piece of SQL with its parameters, to be put into a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>
/** Anything a read may run on: the pool or a transaction. */
export type Db = Sql | Tx

const distributed = new WeakSet<Db>()
/** Databases whose telemetry tables are distributed by batch, by the URL of their coordinator (cluster.ts). */
const distributedUrls = new Set<string>()
/** Says so of a database: pools that are opened from now on know it, and so do their transactions. */
export const markDistributed = (url: string): void => void distributedUrls.add(url)
export const isDistributed = (db: Db): boolean => distributed.has(db)
export const isDistributedUrl = (url: string): boolean => distributedUrls.has(url)
/** A transaction knows what its pool knows. */
export function inheritDistribution(from: Db, to: Db): void {
  if (distributed.has(from)) distributed.add(to)
}

/**
 * Opens a pool of connections. `bigint` columns come back as numbers: every id of this service stays far below
 * 2^53 (they are counters), and JSON has no other integers. `timestamptz` columns come back as text (instant.ts).
 */
export function openSql(
  url: string,
  options: {
    max?: number
    name: string
    settings?: Record<string, string>
    /** Called with the text of every statement, for tests that count them. */
    onStatement?: (text: string) => void
    /** Makes the sockets, for tests that break them. */
    socket?: () => Promise<Socket>
  },
): Sql {
  const { onStatement } = options
  const settings = isDistributedUrl(url) ? { ...options.settings, ...ON_COORDINATOR } : options.settings
  const sql: Sql = postgres(urlsOf(url)[0] as string, {
    // Not among its types.
    ...({ socket: options.socket ?? poolSockets(url) } as object),
    max: options.max ?? 10,
    idle_timeout: 0,
    connect_timeout: 10,
    // In seconds. Not ever longer, as postgres.js would have it: a request would wait for it instead of being told 503.
    backoff: () => 0.1,
    max_lifetime: null,
    onnotice: () => {},
    ...(onStatement && { debug: (_connection: number, text: string) => onStatement(text) }),
    connection: { application_name: `svc ${options.name}`, TimeZone: 'UTC', ...settings },
    types: {
      bigint: {
        to: 20,
        from: [20],
        parse: (text: string) => Number(text),
        serialize: (value: number) => String(value),
      },
      // postgres.js hands a NULL among the elements of an array to the parser of its elements, as the word.
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
  if (isDistributedUrl(url)) distributed.add(sql)
  if (tracesStatements()) traceStatementsOf(sql)
  return sql
}

/**
 * For every connection to a coordinator. Which worker a statement goes to follows from its values, so it is planned with
 * them; and a worker that does not answer is given up before the requests that wait for it are.
 */
const ON_COORDINATOR: Record<string, string> = {
  plan_cache_mode: 'force_custom_plan',
  'citus.node_connection_timeout': '5000',
}

/**
 * For the connections that reads use. Pages are walked in the order of an index; with the default cost of a random
 * page, which is that of a turning disk, PostgreSQL would rather read other people's rows sequentially.
 */
export const PAGED_READS: Record<string, string> = { random_page_cost: '1.1', jit: 'off' }

/**
 * For the connection that ingest writes through. Its statements are all point look-ups by key, so their plans must
 * not change with what the statistics say of tables that grow under them: planned once, always by index.
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
 * The query, planned with its values each time. PostgreSQL keeps one plan for all values of a statement that was run
 * five times; where the right one depends on how common the value is, planning each time costs less than the wrong plan.
 */
export function withCustomPlan<Rows extends readonly postgres.MaybeRow[]>(
  query: postgres.PendingQuery<Rows>,
): postgres.PendingQuery<Rows> {
  // postgres.js reads this when it sends the query, but has no method that sets it for a single one.
  const { options } = query as unknown as { options: { prepare?: boolean } }
  options.prepare = false
  return query
}

/**
 * Runs `work` in a transaction: committed when it returns, rolled back when it throws.
 *
 * When the connection is lost, postgres.js (3.4) rejects the transaction, but `work` goes on, and what it still sends,
 * the COMMIT or ROLLBACK at its end included, goes out on the same object: closed, which is an exception outside of any
 * promise and ends the process (github.com/porsager/postgres/issues/1154), or connected again, which is in the middle of
 * the transaction of another. So then its statements are refused, and `work` is kept from ending: there is nothing to
 * roll back.
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

/** The same transaction, that refuses statements once its connection is lost. */
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

/** Whether the error says that its connection is closed, or is about to be by the server. */
function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  const severity = fieldOf(error, 'severity')
  if (severity === 'FATAL' || severity === 'PANIC' || sqlStateOf(error) === '57P02') return true
  return code === 'CONNECTION_CLOSED' || code === 'ECONNRESET' || code === 'EPIPE' || code === 'ETIMEDOUT'
}

/** For the stream, whose reads are look-ups by key as well: the plan of one must not turn into a scan of history. */
export const STREAM_READS: Record<string, string> = {
  ...POINT_LOOKUPS,
  enable_bitmapscan: 'off',
  default_transaction_read_only: 'on',
}

/** Also the refusal of a write by a server that is a standby, or was made read only. */
const POSTGRES_AWAY = /^(08|53|57P|25006)/
const AWAY = new Set([
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

/** `pg` says so without a code. */
const PG_LOST = /^(Connection terminated|Client has encountered a connection error|timeout expired$)/

/** Prisma has a code of its own, and says the database's in its words. */
const isPrismaTimeout = (error: unknown): boolean =>
  /\b57014\b|canceling statement due to statement timeout/.test(
    `${messageOf(error)} ${JSON.stringify(fieldOf(error, 'meta') ?? '')}`,
  )

/** What an error of the database means to a caller. */
export type DatabaseFault = 'away' | 'retry' | 'timeout' | 'bad_value' | 'other'

/**
 * Sorts a database error: `away` (no connection, no room, shutting down: 503), `retry` (deadlock or
 * serialization: run it again), `timeout` (the statement took longer than it may), `bad_value` (classes 22, 23 and 54: the values of one event), else `other`.
 */
export function databaseFault(error: unknown): DatabaseFault {
  const code = sqlStateOf(error)
  if (code === undefined) return PG_LOST.test(messageOf(error)) ? 'away' : 'other'
  if (AWAY.has(code) || POSTGRES_AWAY.test(code)) return 'away'
  if (code === '40P01' || code === '40001') return 'retry'
  if (code === '57014' || isPrismaTimeout(error)) return 'timeout'
  if (/^(22|23|54)/.test(code)) return 'bad_value'
  return 'other'
}

/** Whether the error says that a worker is away, and the coordinator is there to say so. */
export const isWorkerAway = (db: Db, error: unknown): boolean =>
  isDistributed(db) && databaseFault(error) === 'away' && fieldOf(error, 'severity') === 'ERROR'

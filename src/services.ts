import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { PrismaClient } from './db/prisma.ts'
import type { Replica } from './db/replica.ts'
import type { Sql } from './db/sql.ts'
import type { DashboardCache } from './domain/dashboard/index.ts'
import type { Live } from './domain/live/index.ts'
import type { Clock } from './domain/liveness.ts'
import type { Sse } from './graphql/sse.ts'
import type { Ingest } from './ingest/index.ts'
import type { Outages } from './log.ts'
import type { Writer } from './stream/commit.ts'

/** What app.ts passes to the transports: opened once, closed once. */
export interface Services {
  config: Config
  /** The pool that reads use. */
  sql: Sql
  /** What long reads may be answered from. */
  replica: Replica | undefined
  /** Reads plain lists of entities; every write is refused. */
  prisma: PrismaClient
  /** What `commit` writes through. */
  writer: Writer
  ingest: Ingest
  /** Who may follow which channels, and the hub that tells every change. */
  live: Live
  /** The sums of the dashboard, kept from request to request. */
  dashboardCache: DashboardCache
  /** Writes streams to clients. */
  sse: Sse
  now: () => Date
  /** Since when events can come in without a break: silence before it proves nothing (domain/liveness.ts). */
  startedAt: Date
  log: Logger
  /** Whether the database is there, as far as the log has heard. */
  outages: Outages
  /** Where the embedded PostgreSQL keeps its data; undefined with an external database. */
  dataFolder: string | undefined
  /** Whether requests and counters go to OpenTelemetry's SDK. */
  telemetry?: boolean | undefined
  /** Names of migrations that the database lacks. */
  pendingMigrations: () => Promise<string[]>
}

/** The moment of a request, for what is derived from silence. */
export const clockOf = ({
  config,
  now,
  startedAt,
}: Pick<Services, 'config' | 'now' | 'startedAt'>): Clock => ({
  now: now(),
  startedAt,
  stallTimeoutMin: config.stallTimeoutMin,
  lostAfterMin: config.lostAfterMin,
  idleJobThresholdMin: config.idleJobThresholdMin,
})

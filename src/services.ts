import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { CostBudget } from './cost-budget.ts'
import type { PrismaClient } from './db/prisma.ts'
import type { Replica } from './db/replica.ts'
import type { DashboardCache } from './domain/dashboard/index.ts'
import type { Receiver, Thumbnails } from './domain/files/index.ts'
import type { Live } from './domain/live/index.ts'
import type { Clock } from './domain/liveness.ts'
import type { TelemetryPool } from './domain/telemetry.ts'
import type { Sse } from './graphql/sse.ts'
import type { Ingest } from './ingest/index.ts'
import type { Outages } from './log.ts'
import type { ObjectStore } from './storage/index.ts'
import type { Writer } from './stream/commit.ts'
import type { VisitorPool } from './visitor-pool.ts'

/** What app.ts passes to the transports. Opened and closed once. */
export interface Services {
  config: Config
  /** The connection pool for reads. */
  sql: TelemetryPool
  /** The small connection pool for reads of callers without a credential. */
  visitorSql: TelemetryPool
  /** What of their work runs at a time. */
  visitors: VisitorPool
  /** The cost of what callers may read over time. */
  budget: CostBudget
  /** The replica that may serve long reads. */
  replica: Replica<TelemetryPool> | undefined
  /** Reads entities for GraphQL; writes are refused. */
  prisma: PrismaClient
  /** What `commit` writes through. */
  writer: Writer
  ingest: Ingest
  /** Bytes of runs: where they are, and what receives them. */
  files: Receiver & { open(): Promise<ObjectStore> }
  /** Small copies of images. */
  thumbnails: Thumbnails
  /** Who may follow which channels, and the hub that sends changes. */
  live: Live
  /** Cached sums of the dashboard. */
  dashboardCache: DashboardCache
  /** Sends server-sent events to clients. */
  sse: Sse
  now: () => Date
  /**
   * Since when events could be received without interruption; silence before that proves nothing (domain/liveness.ts).
   */
  startedAt: Date
  log: Logger
  /** Whether the database is available, judging by logged errors. */
  outages: Outages
  /** Where the embedded PostgreSQL keeps its data; undefined with an external database. */
  dataFolder: string | undefined
  /** Whether traces and metrics go to the OpenTelemetry SDK. */
  telemetry?: boolean | undefined
  /** Names of migrations that the database lacks. */
  pendingMigrations: () => Promise<string[]>
}

/** The time of a request, with the thresholds of liveness. */
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

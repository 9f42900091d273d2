import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { type Config, openRegistrationWarning } from './config.ts'
import { type CostBudget, createCostBudget } from './cost-budget.ts'
import { followDatabaseClock } from './db/clock.ts'
import { prepareTables } from './db/cluster.ts'
import { warnOfFewConnections } from './db/connection-limit.ts'
import { type EmbeddedPostgres, startEmbedded } from './db/embedded.ts'
import { MIGRATIONS, migrationNames, pendingMigrations } from './db/migrate.ts'
import { openPipeline } from './db/pipeline.ts'
import { refusePooler } from './db/pooler.ts'
import { openGraph } from './db/prisma.ts'
import { openSql, PAGED_READS, POINT_LOOKUPS, type Sql, STREAM_READS } from './db/sql.ts'
import { settleArtifacts } from './domain/artifacts/index.ts'
import { type Caller, payerOf } from './domain/caller.ts'
import { createRestore } from './domain/cold/index.ts'
import { createDashboardCache, type DashboardCache } from './domain/dashboard/index.ts'
import { createReceiver, createThumbnails } from './domain/files/index.ts'
import { createLive, type Live } from './domain/live/index.ts'
import type { Clock } from './domain/liveness.ts'
import { fillNameKeys } from './domain/projects/index.ts'
import { openReadReplica } from './domain/replica.ts'
import { cutoffsOf } from './domain/retention/index.ts'
import { type Restore, type Telemetry, telemetryOf } from './domain/telemetry.ts'
import { createContext } from './graphql/context.ts'
import { createGraphql } from './graphql/handlers.ts'
import { schemaText, servedSchema } from './graphql/schema.ts'
import { createSse } from './graphql/sse.ts'
import { isSubscription } from './graphql/sse-sources.ts'
import type { Following, SseTimes } from './graphql/sse-stream.ts'
import { mcpRoutes } from './http/mcp/mcp.ts'
import { drain } from './http/server/drain.ts'
import { buildServer } from './http/server.ts'
import { graphqlRoutes } from './http/streams/graphql.ts'
import { createIngest, type Ingest, LANES_ON_CLUSTER, storeOwnEvents } from './ingest/index.ts'
import { createLog, type ServiceLog } from './log.ts'
import { shareOfMemory } from './memory.ts'
import { clockOf, type Services } from './services.ts'
import { openStoreLater } from './storage/index.ts'
import { createWriter, type Writer } from './stream/commit.ts'
import type { Gate } from './stream/hub.ts'
import { createTurns } from './turns.ts'
import { createVisitorPool, VISITORS_AT_ONCE, type VisitorPool } from './visitor-pool.ts'
import type { ArchiverOptions } from './workers/archiver.ts'
import { startStoringFields } from './workers/batch-fields.ts'
import { startPacking } from './workers/pack.ts'
import { startRest } from './workers/rest.ts'
import { createSweeper, type Sweeper, type SweepOptions, sweepExclusively } from './workers/sweeper.ts'
import { startTasks } from './workers/tasks.ts'

export interface App {
  /** Its URL, such as http://127.0.0.1:8080. */
  address: string
  /** Where its data is: a folder, or `an external database`. */
  data: string
  /** For tests, and for writing the OpenAPI document. */
  server: FastifyInstance
  /** Whether anyone has registered yet. */
  hasUsers: () => Promise<boolean>
  /** Runs a background task now (workers/background.ts), for tests. */
  runTask: (name: string) => Promise<void>
  /** Drains requests, then closes the listener, the pools and the embedded database. */
  stop: () => Promise<void>
}

/** An embedded database that the caller is starting already. */
export interface StartingDatabase {
  started: Promise<EmbeddedPostgres>
  /** Redirects its messages, including earlier ones. */
  logTo(log: (message: string) => void): void
}

/**
 * Most connections that wait to be accepted, as far as the system allows (Linux: `net.core.somaxconn`). After a restart a
 * whole lab connects at once; a client that finds the queue full retries only after 1, 3 and 7 seconds.
 */
const BACKLOG = 4_096

interface AppOptions {
  now?: () => Date
  logTo?: NodeJS.WritableStream
  database?: StartingDatabase
  telemetry?: boolean
  streamTimes?: Partial<SseTimes>
  sweep?: Pick<SweepOptions, 'ranges' | 'steps'>
  archive?: Pick<ArchiverOptions, 'settleMs' | 'thawedMs' | 'replacedMs' | 'at'> & { noneForMs?: number }
}

/** The arguments of each step of `startApp`. */
interface Opening {
  config: Config
  options: AppOptions
  log: Logger
  /** Of the primary. */
  url: string
  /** Whether telemetry is distributed over a Citus cluster. */
  distributed: boolean
  /** Adds to what `stop` closes, in reverse order. */
  onStop(close: () => Promise<unknown>): void
}

/** Opens everything in order, from the database up; if a step fails, what was opened before it is closed. */
export async function startApp(config: Config, options: AppOptions = {}): Promise<App> {
  const { log, outages, watch: watchDatabase } = createLog(config, options.logTo ?? process.stderr)
  const exposed = openRegistrationWarning(config)
  if (exposed !== undefined) log.warn(exposed)
  const closers: (() => Promise<unknown>)[] = []
  const onStop: Opening['onStop'] = (close) => void closers.push(close)
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse())
      await close().catch((err) => log.warn({ err }, 'closing failed'))
  }
  try {
    const { url, dataFolder, close } = await openDatabase(config, options.database, log)
    onStop(close)
    const migrations = await migrationNames(MIGRATIONS)
    const distributed = await prepareTables(url, MIGRATIONS, { log: (message) => log.info(message) })
    const opening = { config, options, log, url, distributed, onStop }
    const { readSql, anonymousSql, writerSql } = await openPools(opening, watchDatabase)
    const visitors = createVisitorPool()
    const budget = createCostBudget(config.costPerS)
    const now = options.now ?? (await openClock(writerSql, onStop))
    let wakeLocal = (): void => {}
    const rest = startRest(log)
    onStop(async () => rest.stop())
    const writer = createWriter(writerSql, {
      wakeLocal: () => {
        rest.noteWrite()
        wakeLocal()
      },
    })
    const { store, kept, restore } = openArchive(opening, now)
    const sql = telemetryOf(readSql, restore)
    const visitorSql = telemetryOf(anonymousSql, restore)
    const replica = openReplica(opening, sql, restore)
    const files = openFiles(opening, { sql, writer, now })
    const ingest = openIngest(opening, { sql, writer, now, restore })
    const { atRest } = rest
    onStop(startPacking({ sql, writer, log, atRest }).stop)
    onStop(startStoringFields({ sql, writer, log, atRest }).stop)
    let { port } = config
    const background = await startTasks({
      url,
      config,
      sql,
      writerSql,
      writer,
      storeEvents: (user, events) => storeOwnEvents(ingest, user, events, now()),
      log,
      now,
      port: () => port,
      files: files.open,
      store,
      kept,
      sweepNow: options.now,
      sweep: options.sweep,
      archive: options.archive,
    })
    onStop(() => background.stop())
    const clock = (): Clock => clockOf({ config, now, startedAt: background.reachableSince })
    const live = await openLive(opening, { clock, visitors, restore })
    wakeLocal = live.wake
    const dashboardCache = createDashboardCache()
    const graph = openGraphql(opening, {
      sql,
      visitorSql,
      visitors,
      budget,
      clock,
      live,
      dashboardCache,
    })
    const { prisma, sse } = graph
    const services: Services = {
      config,
      sql,
      visitorSql,
      visitors,
      budget,
      replica,
      prisma,
      writer,
      ingest,
      files,
      thumbnails: createThumbnails({ log, keptBytes: shareOfMemory(0.01, 16 * 1024 * 1024) }),
      live,
      dashboardCache,
      sse,
      now,
      get startedAt() {
        return background.reachableSince
      },
      log,
      outages,
      dataFolder,
      telemetry: options.telemetry,
      pendingMigrations: () => pendingMigrations(sql, migrations),
    }
    const server = await buildServer(services)
    onStop(() => drain(server))
    graphqlRoutes(server, graph.routes, { sse, budget, log })
    mcpRoutes(server, graph.routes, services)
    const address = await server.listen({ host: config.host, port: config.port, backlog: BACKLOG })
    port = Number(new URL(address).port) || 80
    const hasUsers = async (): Promise<boolean> =>
      (await sql`/* users.any */ select 1 from users limit 1`).length > 0
    const data = dataFolder ?? 'an external database'
    return { address, data, server, hasUsers, runTask: background.runNow, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The pools of reads and of writes. */
async function openPools(
  { config, url, log, onStop }: Opening,
  watchDatabase: ServiceLog['watch'],
): Promise<{ readSql: Sql; anonymousSql: Sql; writerSql: Sql }> {
  const settings = { ...PAGED_READS, statement_timeout: String(config.timeouts.read * 1000) }
  const readSql = openSql(url, { name: 'read', max: 10, settings })
  onStop(() => readSql.end({ timeout: 1 }))
  const anonymousSql = openSql(url, { name: 'visitors', max: VISITORS_AT_ONCE, settings })
  onStop(() => anonymousSql.end({ timeout: 1 }))
  await warnOfFewConnections(readSql, log)
  const endWatch = watchDatabase(url, () => readSql`/* outage.ping */ select 1`)
  onStop(async () => endWatch())
  const writerSql = openSql(url, { name: 'write', max: 4, settings: { synchronous_commit: 'on' } })
  onStop(() => writerSql.end({ timeout: 1 }))
  await fillNameKeys(writerSql)
  return { readSql, anonymousSql, writerSql }
}

async function openClock(writerSql: Sql, onStop: Opening['onStop']): Promise<() => Date> {
  const databaseClock = await followDatabaseClock(writerSql)
  onStop(async () => databaseClock.stop())
  return databaseClock.now
}

/** The archive's store, if there is one, and what restores archived batches when they are read. */
function openArchive({ config, options, url, log, onStop }: Opening, now: () => Date) {
  const archive = config.archive && openStoreLater(config.archive)
  onStop(async () => archive?.close())
  const kept = () => cutoffsOf(config.retention, now())
  const thawSql = openSql(url, {
    name: 'thaw',
    max: 2,
    settings: { ...PAGED_READS, synchronous_commit: 'on' },
  })
  onStop(() => thawSql.end({ timeout: 1 }))
  const restore = createRestore({ sql: thawSql, store: archive?.open, kept, log, ...options.archive })
  return { store: archive?.open, kept, restore }
}

/** The store of files, and what receives them. */
function openFiles(
  { config, onStop }: Opening,
  { sql, writer, now }: { sql: Sql; writer: Writer; now: () => Date },
): Services['files'] {
  const { open, close } = openStoreLater(config.files)
  onStop(close)
  const receiver = createReceiver({ sql, writer, open, limits: config.files, settle: settleArtifacts, now })
  return Object.assign(receiver, { open })
}

function openReplica({ config, distributed, log, onStop }: Opening, primary: Sql, restore: Restore) {
  if (config.replica === undefined) return undefined
  if (distributed) {
    log.warn('SVC_DATABASE_READ_URL is not used over a Citus cluster')
    return undefined
  }
  const replica = openReadReplica(config.replica, {
    primary,
    readTimeoutS: config.timeouts.read,
    restore,
    archives: config.archive !== undefined,
    log,
  })
  onStop(async () => replica.close())
  return replica
}

function openIngest(
  { config, url, distributed, onStop }: Opening,
  { sql, writer, now, restore }: { sql: Sql; writer: Writer; now: () => Date; restore: Restore },
): Ingest {
  const lanes = distributed ? LANES_ON_CLUSTER : 1
  const ingestSql = openSql(url, { name: 'ingest', max: lanes, settings: POINT_LOOKUPS })
  onStop(() => ingestSql.end({ timeout: 1 }))
  const pipeline = distributed ? undefined : openPipeline(url, { name: 'ingest', settings: POINT_LOOKUPS })
  onStop(async () => pipeline?.end())
  const ingest = createIngest({
    sql,
    writer: { ...writer, sql: ingestSql },
    ...(pipeline && { pipeline }),
    lanes,
    now,
    rateLimit: config.rateLimit,
    staleAfterMin: config.stallTimeoutMin,
    autocreate: config.projectAutocreate,
    maxProjects: config.quotas.projects,
    maxSeries: config.maxSeriesPerJob,
    restore: async (batches) => void (await restore({ batches })),
  })
  onStop(() => ingest.group.drain())
  return ingest
}

async function openLive(
  { url, log, onStop }: Opening,
  { clock, visitors, restore }: { clock: () => Clock; visitors: VisitorPool; restore: Restore },
): Promise<Live> {
  const streamSql = telemetryOf(openSql(url, { name: 'stream', max: 3, settings: STREAM_READS }), restore)
  onStop(() => streamSql.end({ timeout: 1 }))
  const gateOf = (caller: Caller, closed: () => boolean): Gate | undefined =>
    caller.kind === 'anonymous' ? (work) => visitors.run(payerOf(caller).key, work, closed) : undefined
  const live = createLive({ sql: streamSql, listenUrl: url, clock, log, gateOf })
  onStop(() => live.stop())
  await live.start()
  return live
}

/** The schema with its reads through Prisma, its subscriptions, and the handlers of its routes. */
function openGraphql(
  { config, options, url, log, onStop }: Opening,
  services: {
    sql: Telemetry
    visitorSql: Telemetry
    visitors: VisitorPool
    budget: CostBudget
    clock: () => Clock
    live: Live
    dashboardCache: DashboardCache
  },
) {
  const { sql, visitorSql, visitors, budget, clock, live, dashboardCache } = services
  const { prisma, close } = openGraph(url, { max: 5, readTimeoutS: config.timeouts.read })
  onStop(close)
  const schema = servedSchema()
  const contextFor = (caller: Caller, following: Following) =>
    createContext({
      caller,
      db: caller.kind === 'anonymous' ? visitorSql : sql,
      turns: createTurns(caller.kind === 'anonymous' ? visitors.pass : undefined),
      prisma,
      clock: clock(),
      live: following,
      dashboardCache,
      mailConfigured: config.smtp !== undefined,
    })
  const sse = createSse({
    schema,
    live,
    contextFor,
    budget,
    visitors,
    log,
    times: options.streamTimes,
  })
  onStop(async () => sse.stop())
  const handlers = createGraphql({
    schema,
    contextFor: (caller) => contextFor(caller, live),
    budget,
    visitors,
    log,
  })
  return { prisma, sse, routes: { ...handlers, schemaText: () => schemaText(schema), isSubscription } }
}

/** The database of the settings, or the embedded one, whose data is in `dataFolder`. */
async function openDatabase(
  config: Config,
  begun: StartingDatabase | undefined,
  log: Logger,
): Promise<{ url: string; dataFolder: string | undefined; close: () => Promise<void> }> {
  if (config.databaseUrl !== undefined) {
    await refusePooler(config.databaseUrl)
    return { url: config.databaseUrl, dataFolder: undefined, close: async () => {} }
  }
  const logTo = (message: string) => log.info(message)
  const starting = begun?.started ?? startEmbedded({ home: config.dataDir, log: logTo })
  const embedded = await starting.finally(() => begun?.logTo(logTo))
  return { url: embedded.url('postgres'), dataFolder: embedded.home, close: () => embedded.stop() }
}

/**
 * The sweeper without a server, for the command line; it logs to standard error.
 * @returns `sweep`, which returns how many of each kind were deleted, or undefined if a server is sweeping
 */
export function openSweeper(
  config: Config,
  url: string,
): Pick<Sweeper, 'survey' | 'close'> & { sweep(signal: AbortSignal): ReturnType<typeof sweepExclusively> } {
  const { log } = createLog(config, process.stderr)
  const { open, close } = openStoreLater(config.files)
  const sweeper = createSweeper({ url, log, days: config.retention, files: open })
  return {
    survey: sweeper.survey,
    sweep: (signal) => sweepExclusively(sweeper, { url, log }, signal),
    close: async () => {
      await sweeper.close()
      await close()
    },
  }
}

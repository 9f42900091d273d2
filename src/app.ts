import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { type Config, openRegistrationWarning } from './config.ts'
import { followDatabaseClock } from './db/clock.ts'
import { prepareTables } from './db/cluster.ts'
import { type EmbeddedPostgres, startEmbedded } from './db/embedded.ts'
import { pendingMigrations } from './db/migrate.ts'
import { openPipeline } from './db/pipeline.ts'
import { openGraph } from './db/prisma.ts'
import { openSql, PAGED_READS, POINT_LOOKUPS, STREAM_READS } from './db/sql.ts'
import type { Caller } from './domain/caller.ts'
import { createWarmer, openStoreLater } from './domain/cold/index.ts'
import { createDashboardCache } from './domain/dashboard/index.ts'
import { createLive } from './domain/live/index.ts'
import type { Clock } from './domain/liveness.ts'
import { fillNameKeys } from './domain/projects/index.ts'
import { openReadReplica } from './domain/replica.ts'
import { cutoffsOf } from './domain/retention/index.ts'
import { readWarmed } from './domain/warm.ts'
import { createContext } from './graphql/context.ts'
import { createGraphql } from './graphql/handlers.ts'
import { schemaPage } from './graphql/page.ts'
import { servedSchemas } from './graphql/schema.ts'
import { createSse } from './graphql/sse.ts'
import { isSubscription } from './graphql/sse-sources.ts'
import type { Following, SseTimes } from './graphql/sse-stream.ts'
import { drain } from './http/server/drain.ts'
import { buildServer } from './http/server.ts'
import { graphqlRoutes } from './http/streams/graphql.ts'
import { createIngest, LANES_ON_CLUSTER } from './ingest/index.ts'
import { createLog } from './log.ts'
import { clockOf } from './services.ts'
import { createWriter } from './stream/commit.ts'
import type { ArchiverOptions } from './workers/archiver.ts'
import { startStoringFields } from './workers/batch-fields.ts'
import { startPacking } from './workers/pack.ts'
import { createSweeper, type Sweeper, type SweepOptions, sweepExclusively } from './workers/sweeper.ts'
import { startTasks } from './workers/tasks.ts'

export interface App {
  /** The URL it serves, such as http://127.0.0.1:8080. */
  address: string
  /** Where its data is: a folder, or `an external database`. */
  data: string
  /** The HTTP server, for tests and for generating the OpenAPI document. */
  server: FastifyInstance
  /** Whether there is any account yet. */
  hasUsers: () => Promise<boolean>
  /** Runs a background task now (workers/background.ts), for tests. */
  runTask: (name: string) => Promise<void>
  /** Drains requests, then closes the listener, the connection pools and the embedded database. */
  stop: () => Promise<void>
}

/** An embedded database that the caller is already starting. */
export interface StartingDatabase {
  started: Promise<EmbeddedPostgres>
  /** Redirects its messages, including those so far. */
  logTo(log: (message: string) => void): void
}

/**
 * The backlog of the listening socket, limited by the system (Linux: `net.core.somaxconn`). Connections that do not fit
 * are retried by the client after 1, 3 and 7 seconds; after a restart or under load, all clients connect at the same
 * moment.
 */
const BACKLOG = 4_096

const MIGRATIONS = join(import.meta.dirname, '..', 'prisma', 'migrations')

/** Opens all components in order, from the database up. If one fails, those already open are closed. */
export async function startApp(
  config: Config,
  options: {
    now?: () => Date
    logTo?: NodeJS.WritableStream
    database?: StartingDatabase
    telemetry?: boolean
    streamTimes?: Partial<SseTimes>
    sweep?: Pick<SweepOptions, 'ranges' | 'steps'>
    archive?: Pick<ArchiverOptions, 'settleMs' | 'thawedMs' | 'replacedMs' | 'at'> & { noneForMs?: number }
  } = {},
): Promise<App> {
  const { log, outages, watch: watchDatabase } = createLog(config, options.logTo ?? process.stderr)
  const exposed = openRegistrationWarning(config)
  if (exposed !== undefined) log.warn(exposed)
  const closers: (() => Promise<unknown>)[] = []
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse())
      await close().catch((err) => log.error({ err }, 'closing failed'))
  }
  try {
    const { url, dataFolder, close } = await openDatabase(config, options.database, log)
    closers.push(close)
    const distributed = await prepareTables(url, MIGRATIONS, { log: (message) => log.info(message) })
    const sql = openSql(url, {
      name: 'read',
      max: 10,
      settings: { ...PAGED_READS, statement_timeout: String(config.timeouts.read * 1000) },
    })
    closers.push(() => sql.end({ timeout: 1 }))
    closers.push(async () => endWatch())
    const endWatch = watchDatabase(url, () => sql`/* outage.ping */ select 1`)
    const writerSql = openSql(url, { name: 'write', max: 4, settings: { synchronous_commit: 'on' } })
    closers.push(() => writerSql.end({ timeout: 1 }))
    await fillNameKeys(writerSql)

    let now = options.now
    if (now === undefined) {
      const databaseClock = await followDatabaseClock(writerSql)
      closers.push(async () => databaseClock.stop())
      now = databaseClock.now
    }
    const clockNow = now
    let wakeLocal = (): void => {}
    const writer = createWriter(writerSql, { wakeLocal: () => wakeLocal() })
    const archive = config.archive && openStoreLater(config.archive)
    closers.push(async () => archive?.close())
    const kept = () => cutoffsOf(config.retention, clockNow())
    const thawSql = openSql(url, {
      name: 'thaw',
      max: 2,
      settings: { ...PAGED_READS, synchronous_commit: 'on' },
    })
    closers.push(() => thawSql.end({ timeout: 1 }))
    const warmer = createWarmer({ sql: thawSql, store: archive?.open, kept, log, ...options.archive })
    readWarmed(sql, warmer)
    if (distributed && config.replica) log.warn('SVC_DATABASE_READ_URL is not used over a Citus cluster')
    const replica =
      distributed || config.replica === undefined
        ? undefined
        : openReadReplica(config.replica, {
            primary: sql,
            readTimeoutS: config.timeouts.read,
            warmer,
            archives: archive !== undefined,
            log,
          })
    closers.push(async () => replica?.close())
    const lanes = distributed ? LANES_ON_CLUSTER : 1
    const ingestSql = openSql(url, { name: 'ingest', max: lanes, settings: POINT_LOOKUPS })
    closers.push(() => ingestSql.end({ timeout: 1 }))
    const pipeline = distributed ? undefined : openPipeline(url, { name: 'ingest', settings: POINT_LOOKUPS })
    closers.push(async () => pipeline?.end())
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
      warm: (batches) => warmer.warm({ batches }),
    })
    closers.push(() => ingest.group.drain())
    closers.push(startPacking({ sql, writer, log }).stop)
    closers.push(startStoringFields({ sql, writer, log }).stop)
    let { port } = config
    const background = await startTasks({
      url,
      config,
      sql,
      writerSql,
      writer,
      log,
      now,
      port: () => port,
      store: archive?.open,
      kept,
      sweepNow: options.now,
      sweep: options.sweep,
      archive: options.archive,
    })
    closers.push(() => background.stop())
    function clock(): Clock {
      return clockOf({ config, now: clockNow, startedAt: background.reachableSince })
    }
    const streamSql = openSql(url, { name: 'stream', max: 3, settings: STREAM_READS })
    closers.push(() => streamSql.end({ timeout: 1 }))
    const live = createLive({ sql: streamSql, listenUrl: url, clock, log })
    closers.push(() => live.stop())
    await live.start()
    wakeLocal = live.wake
    const graph = openGraph(url, { max: 5, readTimeoutS: config.timeouts.read })
    closers.push(() => graph.close())
    const { schema, executable } = servedSchemas()
    const dashboardCache = createDashboardCache()
    const contextFor = (caller: Caller, following: Following) =>
      createContext({
        caller,
        db: sql,
        prisma: graph.prisma,
        clock: clock(),
        live: following,
        dashboardCache,
        mailConfigured: config.smtp !== undefined,
      })
    const sse = createSse({ schema, live, contextFor, log, times: options.streamTimes })
    closers.push(async () => sse.stop())
    const server = await buildServer({
      config,
      sql,
      replica,
      prisma: graph.prisma,
      writer,
      ingest,
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
      pendingMigrations: () => pendingMigrations(sql, MIGRATIONS),
    })
    closers.push(() => drain(server))
    const graphql = createGraphql({
      schema,
      executable,
      contextFor: (caller) => contextFor(caller, live),
      log,
    })
    graphqlRoutes(server, { ...graphql, page: schemaPage(schema), isSubscription }, { sse, log })
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

/** The configured database, or the embedded one; `dataFolder` is where the latter keeps its data. */
async function openDatabase(
  config: Config,
  begun: StartingDatabase | undefined,
  log: Logger,
): Promise<{ url: string; dataFolder: string | undefined; close: () => Promise<void> }> {
  if (config.databaseUrl !== undefined)
    return { url: config.databaseUrl, dataFolder: undefined, close: async () => {} }
  const logTo = (message: string) => log.info(message)
  const starting = begun?.started ?? startEmbedded({ home: config.dataDir, log: logTo })
  const embedded = await starting.finally(() => begun?.logTo(logTo))
  return { url: embedded.url('postgres'), dataFolder: embedded.home, close: () => embedded.stop() }
}

/**
 * A sweeper for the command line, outside of a server; it logs to standard error.
 * @returns a `sweep` that returns how many of each kind were removed, or undefined while a server sweeps
 */
export function openSweeper(
  config: Config,
  url: string,
): Pick<Sweeper, 'survey' | 'close'> & { sweep(signal: AbortSignal): ReturnType<typeof sweepExclusively> } {
  const { log } = createLog(config, process.stderr)
  const sweeper = createSweeper({ url, log, days: config.retention })
  return {
    survey: sweeper.survey,
    sweep: (signal) => sweepExclusively(sweeper, { url, log }, signal),
    close: sweeper.close,
  }
}

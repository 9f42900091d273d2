import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Sql } from '../db/sql.ts'
import type { Kept } from '../domain/cold/index.ts'
import type { TelemetryPool } from '../domain/telemetry.ts'
import { clockOf } from '../services.ts'
import type { ObjectStore } from '../storage/index.ts'
import type { Writer } from '../stream/commit.ts'
import { pruneChanges } from '../stream/prune.ts'
import { ARCHIVE_TASK, type ArchiverOptions, createArchiver } from './archiver.ts'
import { type Background, startBackground } from './background.ts'
import { sendDigests } from './digests.ts'
import { createOutboxTasks } from './outbox.ts'
import { REBUILD_TASK, rebuildBloatedIndexes } from './rebuild-indexes.ts'
import { createSweeper, SWEEP_TASK, type SweepOptions } from './sweeper.ts'
import { type StoreEvents, watch } from './watch.ts'

/**
 * Starts all background work of a server: mail, rules, retention, the archive.
 * @param options.writerSql the connection pool that the queue uses
 * @param options.store where finished batches are archived; without it none are
 * @param options.sweepNow replaces the database's clock in tests
 */
export async function startTasks(options: {
  url: string
  config: Config
  sql: TelemetryPool
  writerSql: Sql
  writer: Writer
  storeEvents: StoreEvents
  log: Logger
  now: () => Date
  port: () => number
  /** Where files are. */
  files: () => Promise<ObjectStore>
  store: (() => Promise<ObjectStore>) | undefined
  kept: () => Kept
  sweepNow: (() => Date) | undefined
  sweep: Pick<SweepOptions, 'ranges' | 'steps'> | undefined
  archive: Pick<ArchiverOptions, 'settleMs' | 'thawedMs' | 'replacedMs' | 'at'> | undefined
}): Promise<Background> {
  const { url, config, sql, writer, log, now, sweepNow } = options
  const sweeper = createSweeper({
    url,
    log,
    days: config.retention,
    files: options.files,
    ...(sweepNow && { now: sweepNow }),
    ...options.sweep,
  })
  const archiver = openArchiver(options)
  const close = async (): Promise<void> => {
    await archiver?.close()
    await sweeper.close()
  }
  const clock = () => clockOf({ config, now, startedAt: background.reachableSince })
  const mailing = { config, sql, writer, now, log, port: options.port }
  let background: Background
  try {
    background = await startBackground({
      url,
      sql: options.writerSql,
      log,
      now,
      tasks: createOutboxTasks(mailing),
      // The queue knows the machine's time alone: beside another clock it would run tasks at any moment of a test.
      timed: sweepNow === undefined,
      cron: {
        prune_changes: { at: '*/10 * * * *', run: async () => void (await pruneChanges(writer)) },
        mail_digests: { at: '*/5 * * * *', run: (signal) => sendDigests(mailing, signal) },
        [SWEEP_TASK]: { at: '7 * * * *', run: async (signal) => void (await sweeper.sweep(signal)) },
        ...(archiver && {
          [ARCHIVE_TASK]: { at: archiver.at, run: async (signal) => void (await archiver.round(signal)) },
        }),
        [REBUILD_TASK]: {
          at: '37 * * * *',
          run: async (signal) => void (await rebuildBloatedIndexes({ url, log }, signal)),
        },
        watch: {
          at: '* * * * *',
          run: (signal) => watch({ sql, writer, log, clock, store: options.storeEvents }, signal),
        },
      },
    })
  } catch (error) {
    await close()
    throw error
  }
  return {
    get reachableSince() {
      return background.reachableSince
    },
    runNow: background.runNow,
    stop: () => background.stop().finally(close),
  }
}

function openArchiver({ url, log, config, store, kept, now, archive }: Parameters<typeof startTasks>[0]) {
  const afterDays = config.archive?.afterDays
  if (store === undefined) return undefined
  return createArchiver({ url, log, store, afterDays, kept, now, ...archive })
}

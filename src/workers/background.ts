import { setTimeout as sleep } from 'node:timers/promises'
import {
  Logger,
  type ParsedCronItem,
  parseCronItems,
  type Runner,
  type RunnerOptions,
  run,
  runMigrations,
  type Task,
} from 'graphile-worker'
import type { Pool } from 'pg'
import type { Logger as Pino } from 'pino'
import { findPrimary } from '../db/hosts.ts'
import { openPool } from '../db/pool.ts'
import { databaseFault, type Sql, transaction } from '../db/sql.ts'
import { inSpan } from '../tracing.ts'
import { type ServerHeartbeat, startServerHeartbeat } from './server-heartbeat.ts'

/**
 * Background work through the queue of graphile-worker in the same database: jobs that transactions enqueue with
 * `graphile_worker.add_job`, and cron tasks. Any number of servers share the queue; each job and each run of a cron task
 * is done by one of them.
 */
export interface Background {
  /** Since when events could be received without interruption, by the servers' clocks (server-heartbeat.ts). */
  readonly reachableSince: Date
  /** Runs a cron task in this process, once no other server runs it; for tests and the command line. */
  runNow(task: string): Promise<void>
  /** Waits some seconds for running jobs; another server repeats those that have not ended. */
  stop(): Promise<void>
}

export interface CronTask {
  /** Cron syntax with five fields, in UTC. */
  at: string
  /** Should check `signal` between its steps. An error is logged; the task runs again at its next time. */
  run: (signal: AbortSignal) => Promise<void>
}

/** Jobs that one server runs at once. */
const JOBS = 4
/** Each running cron task holds a connection for its lock; one listens; the others fetch and finish jobs. */
const CONNECTIONS = JOBS + 3
const RETRY_MS = 2_000
/**
 * How often to look for jobs that became due; new ones are announced. With a pool that closes idle connections sooner, a
 * server at rest holds one connection fewer.
 */
const POLL_MS = 5_000
const IDLE_MS = 1_000
/** The share of background work in the ten seconds of a shutdown. */
const TIMEOUT_MS = 3_000
/** Advisory locks of two numbers: this, and a hash of the task's name. */
const TASK_LOCKS = 7_041_779
const MIGRATION_LOCK = 7_041_780

/**
 * Migrates the queue's own tables, then runs jobs and cron tasks until it is stopped. A job that throws is repeated as
 * its options say and affects nothing else. If the queue ends because the database was unreachable, it is started again.
 * @param options.tasks by name, the tasks of jobs that transactions enqueue
 * @param options.timed false if only `runNow` runs cron tasks, and their times do not
 */
export async function startBackground(options: {
  url: string
  sql: Sql
  log: Pino
  now: () => Date
  tasks: Record<string, Task>
  cron: Record<string, CronTask>
  timed?: boolean
}): Promise<Background> {
  const { sql, cron } = options
  const log = options.log.child({ part: 'background' })
  const stopping = new AbortController()
  let abandoned = false
  const failed = (err: unknown): void => {
    if (!abandoned) log.warn({ err }, 'a connection of background work broke')
  }
  const pool = openPool(options.url, { name: 'background', max: CONNECTIONS, idleMs: IDLE_MS, failed })
  const logger = loggerOf(log, () => abandoned)
  let heartbeat: ServerHeartbeat | undefined
  try {
    await findPrimary(options.url)
    await migrateQueue(sql, pool, logger)
    heartbeat = await startServerHeartbeat({ url: options.url, now: options.now, log })
  } catch (error) {
    await pool.end()
    throw error
  }
  const queue = runQueue({
    runner: {
      pgPool: pool,
      taskList: {
        ...traced(options.tasks),
        ...cronTasks(cron, pool, stopping.signal),
      },
      parsedCronItems: options.timed === false ? [] : cronItems(cron),
      logger,
      ...(heartbeat.poolEvents !== undefined && { events: heartbeat.poolEvents }),
    },
    log,
    stopping: stopping.signal,
  })

  return {
    get reachableSince() {
      return heartbeat.reachableSince
    },
    async runNow(name) {
      const task = cron[name]
      if (task === undefined) throw new Error(`there is no cron task ${name}`)
      await runExclusively(pool, { name, wait: true }, stopping.signal, noted(pool, name, task.run))
    },
    async stop() {
      stopping.abort()
      const clean = await Promise.race([queue.ended().then(() => true), sleep(TIMEOUT_MS, false)])
      abandoned = !clean
      await heartbeat.stop({ clean })
      if (clean) await pool.end()
      else abandon(pool)
    },
  }
}

/** Each task in a span of its own. */
function traced(tasks: Record<string, Task>): Record<string, Task> {
  return Object.fromEntries(
    Object.entries(tasks).map(([name, task]): [string, Task] => [
      name,
      (payload, helpers) => inSpan(`task ${name}`, {}, async () => task(payload, helpers)),
    ]),
  )
}

/** Cron tasks as tasks of the queue, each on one server at a time. */
function cronTasks(cron: Record<string, CronTask>, pool: Pool, stopping: AbortSignal): Record<string, Task> {
  return Object.fromEntries(
    Object.entries(cron).map(([name, { run: work }]): [string, Task] => [
      name,
      async () =>
        void (await runExclusively(
          pool,
          { name, wait: false },
          stopping,
          noted(pool, name, (signal) => inSpan(`task ${name}`, {}, () => work(signal))),
        )),
    ]),
  )
}

/** Records when a cron task starts, because graphile-worker keeps that in a private table. */
const noted =
  (pool: Pool, name: string, work: CronTask['run']): CronTask['run'] =>
  async (signal) => {
    await pool.query(
      `/* background.note_run */ insert into cron_runs (task, started_at) values ($1, clock_timestamp())
      on conflict (task) do update set started_at = excluded.started_at`,
      [name],
    )
    await work(signal)
  }

const cronItems = (cron: Record<string, CronTask>): ParsedCronItem[] =>
  parseCronItems(
    Object.entries(cron).map(([task, { at: match }]) => ({
      task,
      match,
      identifier: task,
      // With the key, the next run replaces one that failed, or whose server died during it.
      options: { backfillPeriod: 0, maxAttempts: 1, jobKey: `cron:${task}`, jobKeyMode: 'replace' as const },
    })),
  )

/** Runs the queue until `stopping`, and starts it again if it ends before. */
function runQueue({
  runner: options,
  log,
  stopping,
}: {
  runner: RunnerOptions
  log: Pino
  stopping: AbortSignal
}) {
  let runner: Runner | undefined
  async function runOnce(): Promise<void> {
    runner = await run({
      ...options,
      concurrency: JOBS,
      noHandleSignals: true,
      preset: {
        worker: {
          pollInterval: POLL_MS,
          gracefulShutdownAbortTimeout: TIMEOUT_MS / 3,
          // Batches, though of one job: graphile-worker awaits only these. Otherwise a connection that breaks while a
          // job is marked as done is an unhandled rejection, which ends the process.
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
    })
    // `ended` may have been called before there was a runner to stop.
    if (stopping.aborted) await runner.stop()
    await runner.promise
  }
  async function runUntilStopped(): Promise<void> {
    while (!stopping.aborted) {
      await runOnce().catch((err) => {
        if (!stopping.aborted) log.warn({ err }, 'background work was interrupted; it is started again')
      })
      runner = undefined
      await sleep(RETRY_MS, undefined, { signal: stopping }).catch(() => {})
    }
  }
  const running = runUntilStopped()
  return {
    /** After `stopping`: resolves once all jobs have ended. */
    async ended(): Promise<void> {
      await runner?.stop().catch(() => {})
      await running
    },
  }
}

/**
 * Closes a pool that jobs still use. Another server repeats these jobs. Their further queries are never answered, because
 * graphile-worker does not handle a refused connection everywhere.
 */
function abandon(pool: Pool): void {
  pool.connect = (() => new Promise<never>(() => {})) as Pool['connect']
  void pool.end()
}

/** Runs the queue's own migrations, on one server at a time: two at once may both fail. */
async function migrateQueue(sql: Sql, pgPool: Pool, logger: Logger): Promise<void> {
  await transaction(sql, async (tx) => {
    await tx`/* background.migration_lock */ select pg_advisory_xact_lock(${MIGRATION_LOCK})`
    await runMigrations({ pgPool, logger })
  })
}

/**
 * Runs `work` while no other server does. The lock belongs to a connection, so it is released if the server dies. The
 * queue alone would run a task twice at once if it takes longer than its interval.
 * @returns false if another server runs it and `wait` is false
 */
export async function runExclusively(
  pool: Pool,
  { name, wait }: { name: string; wait: boolean },
  stopping: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const lost = new AbortController()
  const client = await pool.connect()
  const lose = (): void => lost.abort()
  client.once('error', lose)
  client.once('end', lose)
  let mayHoldLock = true
  try {
    const lock = [TASK_LOCKS, name]
    if (wait) await client.query('/* background.alone */ select pg_advisory_lock($1, hashtext($2))', lock)
    else {
      const { rows } = await client.query(
        '/* background.try_alone */ select pg_try_advisory_lock($1, hashtext($2)) mine',
        lock,
      )
      mayHoldLock = rows[0]?.mine === true
      if (!mayHoldLock) return false
    }
    await work(AbortSignal.any([stopping, lost.signal]))
    await client.query('/* background.not_alone */ select pg_advisory_unlock($1, hashtext($2))', lock)
    mayHoldLock = false
    return true
  } finally {
    client.off('error', lose)
    client.off('end', lose)
    // Closes a connection that may still hold the lock.
    client.release(mayHoldLock)
  }
}

/** The queue's log in ours. Its messages about every job are of level debug. */
function loggerOf(log: Pino, over: () => boolean): Logger {
  const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'debug' } as const
  return new Logger((scope) => (level, message, meta) => {
    if (over()) return
    const error = meta?.error
    // Repeated by itself: a task that has attempts left, and one whose statement lost a conflict or its connection.
    const { attempts = 1, max_attempts: most = 1 } = (meta?.job ?? {}) as {
      attempts?: number
      max_attempts?: number
    }
    const fault = error instanceof Error ? databaseFault(error) : 'other'
    const passes = fault === 'retry' || fault === 'timeout' || (attempts < most && fault === 'other')
    log[level === 'error' && passes ? 'warn' : levels[level]](
      { ...scope, ...(error instanceof Error && { err: error }) },
      message,
    )
  })
}

import { setTimeout as sleep } from 'node:timers/promises'
import { Logger, parseCronItems, type Runner, run, runMigrations, type Task } from 'graphile-worker'
import type { Pool } from 'pg'
import type { Logger as Pino } from 'pino'
import { findPrimary } from '../db/hosts.ts'
import { openPool } from '../db/pool.ts'
import { type Sql, transaction } from '../db/sql.ts'
import { inSpan } from '../tracing.ts'
import { type ServerHeartbeat, startServerHeartbeat } from './server-heartbeat.ts'

/**
 * Work in the background, over the queue of graphile-worker in the same database: jobs that transactions enqueue with
 * `graphile_worker.add_job`, and cron tasks. Any number of servers share it; each job and each tick of a cron task is
 * taken by one of them.
 */
export interface Background {
  /** Since when events could come in without a break, in the servers' own time (server-heartbeat.ts). */
  readonly reachableSince: Date
  /** Runs a cron task in this process, after a run that is under way anywhere; for tests and the command line. */
  runNow(task: string): Promise<void>
  /** Lets jobs under way end, for some seconds; what is cut off is done again. */
  stop(): Promise<void>
}

export interface CronTask {
  /** Five fields, in UTC. */
  at: string
  /** Should look at `signal` between its steps. What it throws is logged; the next tick comes all the same. */
  run: (signal: AbortSignal) => Promise<void>
}

/** Jobs of one server at a time. */
const JOBS = 4
/** Each running cron task holds one to be alone; one listens; the rest fetch and finish jobs. */
const CONNECTIONS = JOBS + 3
const RETRY_MS = 2_000
/** Of the ten seconds of a drain. */
const TIMEOUT_MS = 3_000
/** Advisory locks of two numbers: this, and a hash of the task's name. */
const TASK_LOCKS = 7_041_779
const MIGRATION_LOCK = 7_041_780

/**
 * Brings the queue's own tables up to date, then runs jobs and cron tasks until it is stopped. A task that throws is
 * tried again as its job says, and harms nothing else; a queue that ends because the database was away is started
 * again.
 * @param options.tasks by name, what jobs of transactions do
 */
export async function startBackground(options: {
  url: string
  sql: Sql
  log: Pino
  now: () => Date
  tasks: Record<string, Task>
  cron: Record<string, CronTask>
}): Promise<Background> {
  const { sql, cron } = options
  const log = options.log.child({ part: 'background' })
  const stopping = new AbortController()
  let abandoned = false
  const failed = (err: unknown): void => {
    if (!abandoned) log.warn({ err }, 'a connection of background work broke')
  }
  const pool = openPool(options.url, { name: 'background', max: CONNECTIONS, failed })
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

  const taskList: Record<string, Task> = {}
  for (const [name, task] of Object.entries(options.tasks))
    taskList[name] = (payload, helpers) => inSpan(`task ${name}`, {}, async () => task(payload, helpers))
  for (const [name, { run: work }] of Object.entries(cron)) {
    taskList[name] = async () =>
      void (await runAlone(pool, { name, wait: false }, stopping.signal, (signal) =>
        inSpan(`task ${name}`, {}, () => work(signal)),
      ))
  }
  const parsedCronItems = parseCronItems(
    Object.entries(cron).map(([task, { at: match }]) => ({
      task,
      match,
      identifier: task,
      // The key lets the next tick take the place of one that failed, or whose server died over it.
      options: { backfillPeriod: 0, maxAttempts: 1, jobKey: `cron:${task}`, jobKeyMode: 'replace' as const },
    })),
  )

  let runner: Runner | undefined
  async function runOnce(): Promise<void> {
    runner = await run({
      pgPool: pool,
      taskList,
      parsedCronItems,
      concurrency: JOBS,
      logger,
      noHandleSignals: true,
      preset: {
        worker: {
          gracefulShutdownAbortTimeout: TIMEOUT_MS / 3,
          // In batches, though of one: only those are awaited. Else a connection that breaks over the mark of a job that
          // is over would be an unhandled rejection, which ends the process.
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
        },
      },
      ...(heartbeat?.poolEvents !== undefined && { events: heartbeat.poolEvents }),
    })
    // Who stops while it starts has no runner to stop yet.
    if (stopping.signal.aborted) await runner.stop()
    await runner.promise
  }
  async function runOn(): Promise<void> {
    while (!stopping.signal.aborted) {
      await runOnce().catch((err) => {
        if (!stopping.signal.aborted)
          log.warn({ err }, 'background work was interrupted; it is started again')
      })
      runner = undefined
      await sleep(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const running = runOn()

  return {
    get reachableSince() {
      return heartbeat.reachableSince
    },
    async runNow(name) {
      const task = cron[name]
      if (task === undefined) throw new Error(`there is no cron task ${name}`)
      await runAlone(pool, { name, wait: true }, stopping.signal, task.run)
    },
    async stop() {
      stopping.abort()
      const ended = (async () => {
        await runner?.stop().catch(() => {})
        await running
        return true
      })()
      const clean = await Promise.race([ended, sleep(TIMEOUT_MS, false)])
      abandoned = !clean
      await heartbeat.stop({ clean })
      if (clean) await pool.end()
      else abandon(pool)
    },
  }
}

/**
 * Closes a pool that jobs still use. They are given to another server, so what they ask from here on is not answered
 * at all: a refusal would be theirs to handle, and graphile-worker does not handle it everywhere.
 */
function abandon(pool: Pool): void {
  pool.connect = (() => new Promise<never>(() => {})) as Pool['connect']
  void pool.end()
}

/** The queue has migrations of its own. They run in turn, because two that run at once may both give up. */
async function migrateQueue(sql: Sql, pgPool: Pool, logger: Logger): Promise<void> {
  await transaction(sql, async (tx) => {
    await tx`/* background.migration_lock */ select pg_advisory_xact_lock(${MIGRATION_LOCK})`
    await runMigrations({ pgPool, logger })
  })
}

/**
 * Runs `work` while no other server does: a lock of a connection, which falls with its server. The queue alone would
 * let a task that outlasts its tick run twice at once.
 * @returns false when another server is at it and that is not waited for
 */
export async function runAlone(
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
  let kept = true
  try {
    const lock = [TASK_LOCKS, name]
    if (wait) await client.query('/* background.alone */ select pg_advisory_lock($1, hashtext($2))', lock)
    else {
      const { rows } = await client.query(
        '/* background.try_alone */ select pg_try_advisory_lock($1, hashtext($2)) mine',
        lock,
      )
      kept = rows[0]?.mine === true
      if (!kept) return false
    }
    await work(AbortSignal.any([stopping, lost.signal]))
    await client.query('/* background.not_alone */ select pg_advisory_unlock($1, hashtext($2))', lock)
    kept = false
    return true
  } finally {
    client.off('error', lose)
    client.off('end', lose)
    // A connection that may still hold the lock goes, and the lock with it.
    client.release(kept)
  }
}

/** The queue's log as ours: what it tells of every job is of use only when looking for a fault. */
function loggerOf(log: Pino, over: () => boolean): Logger {
  const levels = { error: 'error', warning: 'warn', info: 'debug', debug: 'debug' } as const
  return new Logger((scope) => (level, message, meta) => {
    if (over()) return
    const error = meta?.error
    log[levels[level]]({ ...scope, ...(error instanceof Error && { err: error }) }, message)
  })
}

import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { openSql, PAGED_READS, type Sql, type Tx } from '../db/sql.ts'
import {
  batchesToArchive,
  batchesToDrop,
  batchesWithDue,
  ChangedMeanwhile,
  copyUnexpired,
  dropRows,
  dueRemovals,
  faultOf,
  type Kept,
  newLocation,
  noteCopied,
  noteCopying,
  noteOutdated,
  noteProblem,
  noteRemoved,
  noteVerified,
  noteWriting,
  writeArchive,
} from '../domain/cold/index.ts'
import type { ObjectStore } from '../storage/index.ts'
import { commit, createWriter, type Writer } from '../stream/commit.ts'

/**
 * Moves finished batches into the archive, one at a time: write the archive, verify it by reading it back, record that,
 * and some minutes later drop the rows. Each step is atomic, so after a crash there are the rows, or a verified
 * archive, or both, and the next round continues from there.
 */
export interface Archiver {
  /** The schedule of rounds, in cron syntax. */
  readonly at: string
  round(signal: AbortSignal): Promise<ArchiverRound>
  close(): Promise<void>
}

export interface ArchiverRound {
  written: number
  dropped: number
  removed: number
  failed: number
}

export interface ArchiverOptions {
  url: string
  log: Logger
  store: () => Promise<ObjectStore>
  /** Days after its end that a batch stays in the tables; undefined: no further batches are archived. */
  afterDays: number | undefined
  kept: () => Kept
  now: () => Date
  /** How long rows stay after their archive was verified, because reads that started before may still use them. */
  settleMs?: number
  /** How long a batch stays in the tables after it was restored from the archive. */
  thawedMs?: number
  /** How long replaced objects are kept, because a backup of the database may refer to them. */
  replacedMs?: number
  /** The schedule of rounds, in cron syntax. */
  at?: string
}

/** The name of the cron task, and of the lock that a round holds. */
export const ARCHIVE_TASK = 'archive'
const EVERY_10_MINUTES = '*/10 * * * *'
const DAY_MS = 86_400_000
/** Less than the time between rounds, so that the next round deletes the rows, unless the one before took longer than a minute. */
const SETTLE_MS = 9 * 60_000
const REPLACED_MS = 35 * DAY_MS
const BATCHES_AT_ONCE = 50
const ROUND_MS = 8 * 60_000
const MAX_PAUSE_MS = 30_000

export function createArchiver(options: ArchiverOptions): Archiver {
  const sql = openSql(options.url, {
    name: 'archive',
    max: 2,
    settings: { ...PAGED_READS, synchronous_commit: 'on' },
  })
  const writer = createWriter(sql)
  return {
    at: options.at ?? EVERY_10_MINUTES,
    round: async (signal) => new Round(options, { sql, writer, store: await options.store() }, signal).run(),
    close: () => sql.end({ timeout: 5 }),
  }
}

class Round {
  readonly #log: Logger
  readonly #sql: Sql
  readonly #writer: Writer
  readonly #store: ObjectStore
  readonly #signal: AbortSignal
  readonly #begun = performance.now()
  readonly #afterMs: number | undefined
  readonly #kept: () => Kept
  readonly #now: () => Date
  readonly #settleMs: number
  readonly #thawedMs: number
  readonly #replacedMs: number
  readonly #done: ArchiverRound = { written: 0, dropped: 0, removed: 0, failed: 0 }
  /** Batches that failed in this round; they are not tried again until the next one. */
  readonly #failedKeys = new Set<number>()

  constructor(
    options: ArchiverOptions,
    { sql, writer, store }: { sql: Sql; writer: Writer; store: ObjectStore },
    signal: AbortSignal,
  ) {
    this.#log = options.log
    this.#sql = sql
    this.#writer = writer
    this.#store = store
    this.#signal = signal
    this.#afterMs = options.afterDays === undefined ? undefined : options.afterDays * DAY_MS
    this.#kept = options.kept
    this.#now = options.now
    this.#settleMs = options.settleMs ?? SETTLE_MS
    this.#thawedMs = options.thawedMs ?? DAY_MS
    this.#replacedMs = options.replacedMs ?? REPLACED_MS
  }

  async run(): Promise<ArchiverRound> {
    await this.#dropArchivedRows()
    await this.#applyRetention()
    if (this.#afterMs !== undefined) await this.#writeArchives(this.#afterMs)
    if (this.#settleMs === 0) await this.#dropArchivedRows()
    await this.#removeReplacedObjects()
    if (Object.values(this.#done).some((n) => n > 0))
      this.#log.info({ ...this.#done }, 'archive: a round is over')
    return this.#done
  }

  async #dropArchivedRows(): Promise<void> {
    // Compared by the database's clock, which also set the time of verification.
    for (const batch of await batchesToDrop(this.#sql, await this.#databaseTimeAgo(this.#settleMs))) {
      if (this.#signal.aborted) return
      await this.#attempt(batch.key, 'dropping', async () => {
        try {
          // After a restore of the database, objects that it names may be missing.
          const fault = await faultOf(this.#store, batch)
          if (fault !== undefined) throw new ChangedMeanwhile(fault)
          if (await this.#commit((tx) => dropRows(tx, batch.key))) this.#done.dropped++
        } catch (error) {
          if (!(error instanceof ChangedMeanwhile)) throw error
          await noteOutdated(this.#sql, batch.key)
        }
      })
    }
  }

  async #applyRetention(): Promise<void> {
    const until = new Date(Date.now() + Math.min(this.#replacedMs, DAY_MS)).toISOString()
    for (const batch of await batchesWithDue(this.#sql, this.#kept())) {
      if (this.#isOver()) return
      await this.#attempt(batch.key, 'applying retention', async () => {
        const location = newLocation(batch, this.#now())
        await this.#commit((tx) => noteCopying(tx, location))
        const copy = await copyUnexpired(this.#store, batch, location, this.#kept())
        await this.#commit((tx) => noteCopied(tx, batch, copy, until))
      })
    }
  }

  async #writeArchives(afterMs: number): Promise<void> {
    for (;;) {
      const due = await batchesToArchive(this.#sql, {
        ended: this.#timeAgo(afterMs),
        thawed: this.#timeAgo(this.#thawedMs),
        limit: BATCHES_AT_ONCE + this.#failedKeys.size,
      })
      const next = due.filter(({ key }) => !this.#failedKeys.has(key))
      if (next.length === 0) return
      for (const batch of next) {
        if (this.#isOver()) return
        await this.#attempt(batch.key, 'writing', () => this.#writeArchive(batch))
      }
    }
  }

  /** Whether the rest is left to the next round. */
  #isOver(): boolean {
    return this.#signal.aborted || performance.now() - this.#begun > ROUND_MS
  }

  async #writeArchive(batch: { key: number; project: string; id: string }): Promise<void> {
    const location = newLocation(batch, this.#now())
    const until = new Date(Date.now() + this.#replacedMs).toISOString()
    await this.#commit((tx) => noteWriting(tx, batch.key, location, until))
    const written = await writeArchive(this.#sql, this.#store, batch.key, location, this.#now())
    await this.#commit((tx) => noteVerified(tx, batch.key, written))
    this.#done.written++
  }

  async #removeReplacedObjects(): Promise<void> {
    for (const { location } of await dueRemovals(this.#sql)) {
      if (this.#signal.aborted) return
      await this.#store.removeFolder(location)
      await noteRemoved(this.#sql, location)
      this.#done.removed++
    }
  }

  /**
   * Runs a step for one batch, and pauses for as long as it took: after an upgrade there may be thousands. An error is
   * logged and recorded, and the round continues with the next batch.
   */
  async #attempt(batchKey: number, what: string, work: () => Promise<void>): Promise<void> {
    const begun = performance.now()
    try {
      await work()
    } catch (error) {
      this.#done.failed++
      this.#failedKeys.add(batchKey)
      this.#log.warn(
        { err: error, batchKey },
        `archive: ${what} failed; nothing was dropped, and it is tried again`,
      )
      await noteProblem(this.#sql, batchKey, `${what}: ${(error as Error).message}`).catch(() => {})
    }
    const pause = Math.min(performance.now() - begun, MAX_PAUSE_MS)
    await sleep(pause, undefined, { signal: this.#signal }).catch(() => {})
  }

  #commit<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return commit(this.#writer, async (tx) => ({ result: await work(tx), changes: [] }))
  }

  #timeAgo(ms: number): string {
    return new Date(this.#now().getTime() - ms).toISOString()
  }

  async #databaseTimeAgo(ms: number): Promise<string> {
    const [row] = await this.#sql<
      { at: string }[]
    >`/* cold.clock */ select now() - ${ms}::float8 * interval '1 millisecond' "at"`
    return (row as { at: string }).at
  }
}

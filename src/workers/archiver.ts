import type { Logger } from 'pino'
import { openSql, PAGED_READS } from '../db/sql.ts'
import {
  batchesToArchive,
  batchesToDrop,
  batchesWithDue,
  ChangedMeanwhile,
  dropRows,
  dueRemovals,
  type Kept,
  newLocation,
  noteOutdated,
  noteProblem,
  noteRemoved,
  noteRewrite,
  noteVerified,
  noteWriting,
  type ObjectStore,
  thaw,
  writeArchive,
} from '../domain/cold/index.ts'
import { commit, createWriter } from '../stream/commit.ts'

/**
 * Moves finished batches into the archive, one at a time: write, read back, note, and some minutes later drop the rows.
 * Each step is complete by itself, so a kill at any moment leaves the rows, or a verified archive, or both; the next
 * round goes on from there.
 */
export interface Archiver {
  /** When a round is due. */
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
  /** Days after its end that a batch stays. */
  afterDays: number
  kept: () => Kept
  now: () => Date
  /** How long rows stay after their archive was verified: a read that began before may still run. */
  settleMs?: number
  /** How long a batch stays after it was brought back. */
  thawedMs?: number
  /** How long objects stay that were replaced: a backup of the database may refer to them. */
  replacedMs?: number
  /** When a round is due, as cron writes it. */
  at?: string
}

/** The cron task, and the lock that a round holds. */
export const ARCHIVE_TASK = 'archive'
const EVERY_20_MINUTES = '*/20 * * * *'
const DAY_MS = 86_400_000
const SETTLE_MS = 10 * 60_000
const REPLACED_MS = 35 * DAY_MS
const BATCHES_AT_ONCE = 50

export function createArchiver(options: ArchiverOptions): Archiver {
  const { log, afterDays, kept, now } = options
  const settleMs = options.settleMs ?? SETTLE_MS
  const thawedMs = options.thawedMs ?? DAY_MS
  const replacedMs = options.replacedMs ?? REPLACED_MS
  const sql = openSql(options.url, {
    name: 'archive',
    max: 2,
    settings: { ...PAGED_READS, synchronous_commit: 'on' },
  })
  const writer = createWriter(sql)
  const ago = (ms: number): string => new Date(now().getTime() - ms).toISOString()

  return {
    at: options.at ?? EVERY_20_MINUTES,
    async round(signal) {
      const done: ArchiverRound = { written: 0, dropped: 0, removed: 0, failed: 0 }
      const store = await options.store()
      const refused = new Set<number>()

      async function attempt(batchKey: number, what: string, work: () => Promise<void>): Promise<void> {
        try {
          await work()
        } catch (error) {
          done.failed++
          refused.add(batchKey)
          log.error(
            { err: error, batchKey },
            `archive: ${what} failed; nothing was dropped, and it is tried again`,
          )
          await noteProblem(sql, batchKey, `${what}: ${(error as Error).message}`).catch(() => {})
        }
      }

      async function drop(): Promise<void> {
        // By the database's clock, as they were marked.
        for (const { key } of await batchesToDrop(sql, await databaseAgo(settleMs))) {
          if (signal.aborted) return
          await attempt(key, 'dropping', async () => {
            try {
              if (await commit(writer, async (tx) => ({ result: await dropRows(tx, key), changes: [] })))
                done.dropped++
            } catch (error) {
              if (!(error instanceof ChangedMeanwhile)) throw error
              await noteOutdated(sql, key)
            }
          })
        }
      }

      async function databaseAgo(ms: number): Promise<string> {
        const [row] = await sql<
          { at: string }[]
        >`/* cold.clock */ select now() - ${ms}::float8 * interval '1 millisecond' "at"`
        return (row as { at: string }).at
      }

      async function write(): Promise<void> {
        for (;;) {
          const due = await batchesToArchive(sql, {
            ended: ago(afterDays * DAY_MS),
            thawed: ago(thawedMs),
            limit: BATCHES_AT_ONCE + refused.size,
          })
          const next = due.filter(({ key }) => !refused.has(key))
          if (next.length === 0) return
          for (const batch of next) {
            if (signal.aborted) return
            await attempt(batch.key, 'writing', async () => {
              const location = newLocation(batch, now())
              const until = new Date(Date.now() + replacedMs).toISOString()
              await commit(writer, async (tx) => ({
                result: await noteWriting(tx, batch.key, location, until),
                changes: [],
              }))
              const written = await writeArchive(sql, store, batch.key, location, now())
              await commit(writer, async (tx) => ({
                result: await noteVerified(tx, batch.key, written),
                changes: [],
              }))
              done.written++
            })
          }
        }
      }

      async function expire(): Promise<void> {
        for (const { key } of await batchesWithDue(sql, kept())) {
          if (signal.aborted) return
          await attempt(key, 'applying retention', async () => {
            await thaw(sql, store, key, kept())
            await commit(writer, async (tx) => ({ result: await noteRewrite(tx, key), changes: [] }))
          })
        }
      }

      async function remove(): Promise<void> {
        for (const { location } of await dueRemovals(sql)) {
          if (signal.aborted) return
          await store.removeFolder(location)
          await noteRemoved(sql, location)
          done.removed++
        }
      }

      await drop()
      await expire()
      await write()
      if (settleMs === 0) await drop()
      await remove()
      if (Object.values(done).some((n) => n > 0)) log.info({ ...done }, 'archive: a round is over')
      return done
    },
    close: () => sql.end({ timeout: 5 }),
  }
}

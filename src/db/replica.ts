import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../thrown.ts'
import { openSql, type Sql } from './sql.ts'

/**
 * A standby of the database that serves reads which may be long (`SVC_DATABASE_READ_URL`). A read goes there once the
 * standby has replayed all that was committed when the read was asked, so it sees its own writes; where that takes too
 * long, or the standby cannot be used, the primary answers.
 */
export interface Replica {
  /** Its connections. */
  sql: Sql
  /**
   * Waits until it holds all that is committed on the primary by now.
   * @param withinMs how long to wait at any rate; when undefined, as long as the settings say; a tenth of that once it was
   * found to be too far behind, until it has caught up
   * @returns false where it does not in that time, or cannot be used
   */
  holdsAll(withinMs?: number): Promise<boolean>
  /** A read there failed: it is left alone for a moment. */
  failed(error: unknown): void
  /** How far it is behind now. @throws an error whose message says why it cannot be used */
  lag(): Promise<Lag>
  /** Reads that it answered, and those that it was to answer and the primary did. */
  counts: { replica: number; primary: number }
  close(): Promise<void>
}

export interface Lag {
  /** Bytes of the write-ahead log that it has yet to replay. */
  bytes: number
  /** Seconds since the last commit that it has replayed; 0 when it has replayed all, null when that is not known. */
  seconds: number | null
}

/** Where the primary is. */
interface Position {
  lsn: string
  system: string
  timeline: number
}

/** It is asked again so often while it is waited for. */
const POLL_MS = 10
/** How long one answer of it may take, at least. */
const ANSWER_MS = 1_000
/** After a failure it is not asked for so long. */
const LEFT_ALONE_MS = 2_000

/**
 * @param options.primary the database that it follows
 * @param options.waitMs how long a read waits for it
 * @param options.said is called when it can no longer be used, why, and when it can again
 */
export function openReplica(
  url: string,
  options: {
    primary: Sql
    waitMs: number
    settings: Record<string, string>
    said: (usable: boolean, message: string) => void
  },
): Replica {
  const { primary, waitMs, said } = options
  const sql = openSql(url, { name: 'replica', max: 5, settings: options.settings })
  // Apart, so that the question does not wait for the reads.
  const watcher = openSql(url, { name: 'replica-lag', max: 1 })
  let leftAloneUntil = Number.NEGATIVE_INFINITY
  let usable = true

  const note = (can: boolean, why: string): void => {
    if (can !== usable) said(can, why)
    usable = can
  }

  const lagBehind = async ({ lsn, system, timeline }: Position): Promise<Lag> => {
    const [row] = await watcher<
      { standby: boolean; system: string; timeline: number; bytes: number; seconds: number | null }[]
    >`/* replica.lag */
      select pg_is_in_recovery() standby, (select system_identifier::text from pg_control_system()) system,
        (select greatest(c.timeline_id, r.min_recovery_end_timeline) from pg_control_checkpoint() c, pg_control_recovery() r) timeline,
        pg_wal_lsn_diff(${lsn}::pg_lsn, pg_last_wal_replay_lsn())::float8 bytes,
        greatest(0, extract(epoch from now() - pg_last_xact_replay_timestamp()))::float8 seconds`
    // Positions of another database, or of another line of this one's history, say nothing of what it holds.
    if (row === undefined || !row.standby) throw new Error('it is not a standby')
    if (row.system !== system) throw new Error('it is a standby of another database')
    if (row.timeline !== timeline) throw new Error('it does not follow the primary since that took over')
    const bytes = Math.max(0, row.bytes)
    return { bytes, seconds: bytes === 0 ? 0 : row.seconds }
  }

  const failed = (error: unknown): void => {
    leftAloneUntil = performance.now() + LEFT_ALONE_MS
    note(false, `the replica cannot be used; the primary answers until it can: ${messageOf(error)}`)
  }

  return {
    sql,
    counts: { replica: 0, primary: 0 },
    failed,
    async holdsAll(withinMs) {
      if (withinMs === undefined && performance.now() < leftAloneUntil) return false
      const until = performance.now() + (withinMs ?? (usable ? waitMs : waitMs / 10))
      try {
        const position = await positionOf(primary)
        for (;;) {
          const { bytes } = await inTime(lagBehind(position), Math.max(waitMs, ANSWER_MS))
          if (bytes === 0) {
            note(true, 'the replica can be used again')
            return true
          }
          if (performance.now() + POLL_MS > until) {
            note(
              false,
              `the replica is behind by ${bytes} bytes of log; the primary answers until it has caught up`,
            )
            return false
          }
          await sleep(POLL_MS)
        }
      } catch (error) {
        failed(error)
        return false
      }
    },
    async lag() {
      return inTime(positionOf(primary).then(lagBehind), ANSWER_MS)
    },
    async close() {
      await Promise.all([sql.end({ timeout: 1 }), watcher.end({ timeout: 1 })])
    },
  }
}

/** All that was acknowledged lies before it. */
async function positionOf(primary: Sql): Promise<Position> {
  const [row] = await primary<Position[]>`/* replica.position */
    select pg_current_wal_flush_lsn()::text lsn, (select system_identifier::text from pg_control_system()) system,
      ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int timeline`
  if (row === undefined) throw new Error('the database gave no answer')
  return row
}

/** A server that takes a question and leaves it unanswered cannot be used either. */
async function inTime<T>(answer: Promise<T>, ms: number): Promise<T> {
  const late = new AbortController()
  try {
    return await Promise.race([
      answer,
      sleep(ms, undefined, { signal: late.signal }).then(() => {
        throw new Error(`no answer within ${ms} ms`)
      }),
    ])
  } finally {
    late.abort()
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../thrown.ts'
import { PoolerError, refusePooler } from './pooler.ts'
import { openSql, type Sql } from './sql.ts'

/**
 * A standby of the database that serves reads that may take long (`SVC_DATABASE_READ_URL`). A read uses it once it has
 * replayed everything that was committed before the read was requested, so clients see their own writes. If that takes
 * too long, or the standby cannot be used, the read goes to the primary.
 */
export interface Replica<Pool = Sql> {
  /** The connection pool of the standby. */
  sql: Pool
  /**
   * Waits until the standby has replayed everything that the primary has committed so far.
   * @param withinMs how long to wait in any case. Without it: `waitMs`, or a tenth of that while the standby was last
   * found too far behind
   * @returns false when it has not caught up in that time, or cannot be used
   */
  hasCaughtUp(withinMs?: number): Promise<boolean>
  /** Call this when a read on the standby failed. It is not used for a moment. */
  failed(error: unknown): void
  /**
   * The current replication lag.
   * @throws Error whose message says why the standby cannot be used
   */
  lag(): Promise<Lag>
  /** Reads that the standby answered, and reads meant for it that the primary answered. */
  counts: { replica: number; primary: number }
  close(): Promise<void>
}

export interface Lag {
  /** Bytes of the write-ahead log that are not replayed yet. */
  bytes: number
  /** Seconds since the last replayed commit; 0 if everything is replayed, null if unknown. */
  seconds: number | null
}

/** A position in the write-ahead log of the primary. */
interface Position {
  lsn: string
  system: string
  timeline: number
}

/** Polling interval while waiting for the standby to catch up. */
const POLL_MS = 10
/** Minimum timeout of one lag query. */
const MIN_QUERY_TIMEOUT_MS = 1_000
/** How long the standby is not used after a failure. */
const PAUSE_AFTER_FAILURE_MS = 2_000

/**
 * @param options.primary the database that the standby follows
 * @param options.waitMs how long a read waits for the standby to catch up
 * @param options.onStateChange called with the reason when the standby becomes unusable, and when it can be used again
 */
export function openReplica(
  url: string,
  options: {
    primary: Sql
    waitMs: number
    settings: Record<string, string>
    onStateChange: (usable: boolean, message: string) => void
  },
): Replica {
  const { primary, waitMs, onStateChange } = options
  const sql = openSql(url, { name: 'replica', max: 5, settings: options.settings })
  // A separate connection, so that the lag query does not wait for reads.
  const lagSql = openSql(url, { name: 'replica-lag', max: 1 })
  let pausedUntil = Number.NEGATIVE_INFINITY
  let usable = true

  const setUsable = (can: boolean, why: string): void => {
    if (can !== usable) onStateChange(can, why)
    usable = can
  }

  const lagSince = async ({ lsn, system, timeline }: Position): Promise<Lag> => {
    const [row] = await lagSql<
      { standby: boolean; system: string; timeline: number; bytes: number; seconds: number | null }[]
    >`/* replica.lag */
      select pg_is_in_recovery() standby, (select system_identifier::text from pg_control_system()) system,
        (select greatest(c.timeline_id, r.min_recovery_end_timeline) from pg_control_checkpoint() c, pg_control_recovery() r) timeline,
        pg_wal_lsn_diff(${lsn}::pg_lsn, pg_last_wal_replay_lsn())::float8 bytes,
        greatest(0, extract(epoch from now() - pg_last_xact_replay_timestamp()))::float8 seconds`
    // The position of another database, or of another timeline, says nothing about what this standby has replayed.
    if (row === undefined || !row.standby) throw new Error('it is not a standby')
    if (row.system !== system) throw new Error('it is a standby of another database')
    if (row.timeline !== timeline) throw new Error('it does not follow the primary since that took over')
    const bytes = Math.max(0, row.bytes)
    return { bytes, seconds: bytes === 0 ? 0 : row.seconds }
  }

  const failed = (error: unknown): void => {
    pausedUntil = performance.now() + PAUSE_AFTER_FAILURE_MS
    setUsable(false, `the replica cannot be used; the primary answers until it can: ${messageOf(error)}`)
  }

  // A pooler that shares connections would mix up the answers of reads: it is found out once, before the first of them.
  let sessions: Promise<void> | undefined
  const needsSessions = (): Promise<void> => {
    sessions ??= refusePooler(url, 'SVC_DATABASE_READ_URL').catch((error) => {
      sessions = undefined
      throw error
    })
    return sessions
  }
  needsSessions().catch((error) => {
    if (error instanceof PoolerError) failed(error)
  })

  return {
    sql,
    counts: { replica: 0, primary: 0 },
    failed,
    async hasCaughtUp(withinMs) {
      if (withinMs === undefined && performance.now() < pausedUntil) return false
      const until = performance.now() + (withinMs ?? (usable ? waitMs : waitMs / 10))
      try {
        await withTimeout(needsSessions(), Math.max(waitMs, MIN_QUERY_TIMEOUT_MS))
        const position = await positionOf(primary)
        for (;;) {
          const { bytes } = await withTimeout(lagSince(position), Math.max(waitMs, MIN_QUERY_TIMEOUT_MS))
          if (bytes === 0) {
            setUsable(true, 'the replica can be used again')
            return true
          }
          if (performance.now() + POLL_MS > until) {
            setUsable(
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
      const position = Promise.all([positionOf(primary), needsSessions()])
      return withTimeout(
        position.then(([one]) => lagSince(one)),
        MIN_QUERY_TIMEOUT_MS,
      )
    },
    async close() {
      await Promise.all([sql.end({ timeout: 1 }), lagSql.end({ timeout: 1 })])
    },
  }
}

/** Every acknowledged commit is before this position. */
async function positionOf(primary: Sql): Promise<Position> {
  const [row] = await primary<Position[]>`/* replica.position */
    select pg_current_wal_flush_lsn()::text lsn, (select system_identifier::text from pg_control_system()) system,
      ('x' || left(pg_walfile_name(pg_current_wal_flush_lsn()), 8))::bit(32)::int timeline`
  if (row === undefined) throw new Error('the database gave no answer')
  return row
}

/** A server that accepts a query and never answers cannot be used either. */
async function withTimeout<T>(answer: Promise<T>, ms: number): Promise<T> {
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

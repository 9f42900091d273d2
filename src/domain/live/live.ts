import type { Logger } from 'pino'
import { Problem } from '../../problem.ts'
import type { Frame } from '../../stream/frame.ts'
import { createHub, type Gate } from '../../stream/hub.ts'
import { newestCompleteChange } from '../../stream/log.ts'
import { newestOnly } from '../../stream/newest.ts'
import { filtered, type Subscription } from '../../stream/subscription.ts'
import type { Caller } from '../caller.ts'
import type { Clock } from '../liveness.ts'
import type { TelemetryPool } from '../telemetry.ts'
import { readChannels } from './channel.ts'
import { authorizeChannels, type Viewer } from './follow.ts'
import { type Grant, revokedGrants } from './grants.ts'
import { ACCESS_CHANGES, payloadLoaders } from './payloads.ts'

/** The stream as the transports use it: who may follow what, for how long, and the hub behind it. */
export interface Live {
  /**
   * A cursor that joins reads and the stream without a gap: take it first,
   * then read, then follow from it. Changes in between are in both, so merge messages by key (batch, job, epoch, db_id).
   */
  readonly cursor: number
  /**
   * Follows channels until the stream is closed, or what permits it no longer holds.
   * @param channels names, as in contract §6
   * @param options.after the cursor to continue from; without one the stream starts now
   * @param options.until when the credential ends by itself
   * @param options.accept which messages are wanted; all without it
   * @param options.merge makes one message of two while the reader is busy; without it every message is sent
   * @throws Problem invalid_query, channel_forbidden naming the channel, forbidden, overloaded
   */
  follow(
    caller: Caller,
    channels: readonly string[],
    options?: {
      after?: number | undefined
      until?: Date | undefined
      accept?: (frame: Frame) => boolean
      merge?: (earlier: Frame, later: Frame) => Frame
    },
  ): Promise<Subscription>
  /** How long, in seconds, an open commit of any server has held the stream back; usually 0. */
  readonly delayS: number
  readonly counts: { streams: number; frames: number; failed: number }
  start(): Promise<void>
  /** This server wrote something: its streams get it soon. */
  wake(): void
  /** Ends every stream. */
  stop(): Promise<void>
}

/** Streams of one process. Each costs a socket and some kilobytes. */
const MAX_STREAMS = 10_000
/** Interval between checks of every stream's permission. A change of access is checked at once. */
const POLL_MS = 2_000
/**
 * A stream ends at this age, and the client reconnects with its cursor. That renews the session of a page that is only
 * watched.
 */
export const MAX_AGE_MS = 6 * 3_600_000

/** The database was restored from a backup (db/dump): followers reconnect and get a reset. */
const RESTORED = 'restored'

/** Followers of a deleted batch still learn that it was deleted. */
const LAST_WORD_MS = 1_000

interface OpenStream {
  grant: Grant
  subscription: Subscription
  until: number
}

/** @param options.gateOf what a caller's reads of the change log have to wait for, as long as its stream is open */
export function createLive(options: {
  sql: TelemetryPool
  listenUrl: string
  clock: () => Clock
  log: Logger
  gateOf?: (caller: Caller, closed: () => boolean) => Gate | undefined
}): Live {
  const { sql, clock, log } = options
  const now = (): Date => clock().now
  const streams = new Set<OpenStream>()
  let checking: Promise<void> | null = null
  /** The check that begins when the current one has ended: that one may have read before the latest change. */
  let nextCheck: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined

  const hub = createHub<Viewer>({
    sql,
    listenUrl: options.listenUrl,
    loaders: payloadLoaders(sql, clock),
    onControl: (changes) => {
      if (!changes.some(({ type }) => type === RESTORED)) return check()
      closeAll()
      return Promise.resolve()
    },
    controlTypes: new Set([...ACCESS_CHANGES, RESTORED]),
    failed: (err, what) => log.warn({ err }, `${what} failed; it is tried again`),
    now,
  })

  function closeAll(): void {
    for (const { subscription } of [...streams]) void subscription.return()
  }

  /** Closes the streams whose permission has ended. Resolves once a check that began after this call has ended. */
  function check(): Promise<void> {
    if (checking !== null) {
      nextCheck ??= checking.then(() => {
        nextCheck = null
        return check()
      })
      return nextCheck
    }
    checking = closeLapsed()
      .catch((err) => log.warn({ err }, 'checking the permissions of the streams failed; it is tried again'))
      .finally(() => {
        checking = null
      })
    return checking
  }

  async function closeLapsed(): Promise<void> {
    if (streams.size === 0) return
    const at = now()
    const open = [...streams]
    const lapsed = await revokedGrants(
      sql,
      open.map(({ grant }) => grant),
      at,
    )
    for (const { grant, until, subscription } of open) {
      const why = until <= at.getTime() ? 'forbidden' : lapsed.get(grant)
      if (why === 'forbidden') await subscription.return()
      else if (why === 'gone') setTimeout(() => void subscription.return(), LAST_WORD_MS).unref()
    }
  }

  return {
    get cursor() {
      return hub.cursor
    },
    get delayS() {
      return hub.delayS
    },
    get counts() {
      return hub.counts
    },
    async follow(caller, names, { after, until, accept, merge } = {}) {
      if (streams.size >= MAX_STREAMS) throw new Problem('overloaded', { retryAfterS: 5 })
      const at = now()
      // "Now" is the newest committed change: the hub may be a moment behind it. Read before the permission, so that
      // a change of access after the check is beyond it.
      const since = after === undefined ? await newestCompleteChange(sql) : undefined
      const { followings, grant } = await authorizeChannels(sql, caller, readChannels(names), at)
      const oldest = at.getTime() + MAX_AGE_MS
      const stream: OpenStream = {
        grant,
        subscription: hub.subscribe(followings, {
          after,
          since,
          gate: options.gateOf?.(caller, () => !streams.has(stream)),
          closed: () => streams.delete(stream),
        }),
        until: Math.min(oldest, until?.getTime() ?? oldest),
      }
      streams.add(stream)
      const wanted = accept === undefined ? stream.subscription : filtered(stream.subscription, accept)
      return merge === undefined ? wanted : newestOnly(wanted, merge)
    },
    wake: hub.wake,
    async start() {
      await hub.start()
      timer = setInterval(() => void check(), POLL_MS)
      timer.unref()
    },
    async stop() {
      clearInterval(timer)
      await checking
      await hub.stop()
    },
  }
}

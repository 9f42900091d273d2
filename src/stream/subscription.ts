import { lastOf } from '../checked.ts'
import { type Frame, resetFrame } from './frame.ts'
import { changesOfChannels, type LoggedChange, logBounds } from './log.ts'
import type { ChangeMessages, Following, MessageFactory } from './payloads.ts'

/**
 * One stream's share of the changes, in the three phases of every follower:
 *
 *  backfill   It brings a cursor, so what it missed is read from the log, page by page, up to the head of the tail.
 *  cutover    When nothing is left up to the head, it goes live. Between looking at the head and going live nothing
 *             else can run, and everything that the tail sends from then on lies beyond the head: no gap, no repeat.
 *  live       The tail pushes into its queue. A queue that is full is no longer pushed into: when its reader has
 *             emptied it, the stream is back at backfill. So a slow reader costs a bounded queue, and the log is the
 *             buffer.
 *
 * A cursor from before the log, or one that was never given, is answered by a reset: the follower must read its
 * state again, and continues from the cursor of the reset.
 */

/** What a queue holds at most; one frame always has room. */
const MAX_FRAMES = 64
const MAX_BYTES = 64 * 1024
/** Between two looks for a change of a batch whose worker is away. */
const AWAY_PAUSE_MS = 1_000
/** Rows of the log that a backfill reads at once: they are small, the text is made in slices. */
const ROWS = 200

export interface Subscription extends AsyncIterableIterator<Frame, undefined> {
  next(): Promise<IteratorResult<Frame, undefined>>
  /** Ends it: a waiting `next` is answered, and nothing more comes. Idempotent. */
  return(): Promise<IteratorResult<Frame, undefined>>
  throw(error: unknown): Promise<IteratorResult<Frame, undefined>>
  /** A cursor before which nothing is left to tell once every frame handed out was; undefined while there is. */
  readonly caughtUpTo: number | undefined
}

/** The same subscription without the frames that are not wanted. */
export const filtered = (source: Subscription, wanted: (frame: Frame) => boolean): Subscription => ({
  [Symbol.asyncIterator]() {
    return this
  },
  async next() {
    for (;;) {
      const result = await source.next()
      if (result.done === true || wanted(result.value)) return result
    }
  },
  return: () => source.return(),
  throw: (error) => source.throw(error),
  get caughtUpTo() {
    return source.caughtUpTo
  },
})

/** What the hub keeps of a subscription. */
export interface Subscriber<V> {
  /** By channel of the log, as whom it follows it. */
  readonly followings: ReadonlyMap<string, Following<V>>
  /**
   * Is handed every change of its channels in order. `changeMessages` is undefined if there was no listener yet, or if the
   * worker of the change's batch is away: the stream then reads it from the log, and the others do not wait for it.
   */
  deliver(change: LoggedChange, changeMessages: ChangeMessages<V> | null | undefined): void
  close(): void
}

export interface SubscriptionOptions<V> {
  sql: Parameters<typeof changesOfChannels>[0]
  factory: MessageFactory<V>
  head: () => number
  /** Lets few through at a time, so that a thousand streams that come back do not take every connection. */
  gate: <T>(work: () => Promise<T>) => Promise<T>
  now: () => Date
}

export function createSubscription<V>(
  around: SubscriptionOptions<V>,
  followings: ReadonlyMap<string, Following<V>>,
  { after, since = 0 }: { after: number | undefined; since?: number | undefined },
  closed: () => void,
): { subscription: Subscription; subscriber: Subscriber<V> } {
  const { sql, factory, head, gate } = around
  const channels = [...followings.keys()]
  const queue: Frame[] = []
  let queued = 0
  /** Everything up to here is in the queue, was handed out, or is not for this stream. */
  let tail = after ?? Math.max(head(), since)
  let live = after === undefined
  let checked = after === undefined
  let done = false
  let wake: (() => void) | null = null
  /** Changes that were read from the log and are not told yet. */
  let rows: LoggedChange[] = []
  /** Up to where reading went on from `rows`. */
  let readTo = tail
  let averageSize = 1_000

  const hasRoomFor = (frame: Frame): boolean =>
    queue.length === 0 || (queue.length < MAX_FRAMES && queued + frame.size <= MAX_BYTES)

  function enqueue(frame: Frame): void {
    queue.push(frame)
    queued += frame.size
    averageSize += (frame.size - averageSize) / 8
  }

  function frameOf(changeMessages: ChangeMessages<V>): Frame | undefined {
    const following = followings.get(changeMessages.change.channel)
    return following && changeMessages.frameFor(following)
  }

  /** One step of the backfill; goes live when there is none to take. */
  async function backfill(): Promise<void> {
    if (rows.length === 0 && tail >= head() && checked) {
      live = true
      return
    }
    if (rows.length === 0) {
      const upTo = Math.max(head(), tail)
      const page = await gate(() => changesOfChannels(sql, channels, { after: tail, upTo, limit: ROWS }))
      // Looked at after the page: what is in the log now was there when the page was read.
      const bounds = await logBounds(sql)
      const lost = bounds === null ? (tail === 0 ? undefined : UNKNOWN) : lossOf(tail, bounds)
      if (lost !== undefined) {
        // Told and gone live in one moment, as at the cutover.
        tail = head()
        enqueue(resetFrame(tail, lost, around.now()))
        checked = true
        live = true
        return
      }
      checked = true
      rows = page
      readTo = page.length < ROWS ? upTo : lastOf(page).seq
    }
    const slice = rows.slice(0, Math.max(1, Math.min(MAX_FRAMES, Math.floor(MAX_BYTES / averageSize))))
    const messages = slice.length === 0 ? [] : await gate(() => factory.messagesOf(slice))
    let told = 0
    for (const changeMessages of messages) {
      if (changeMessages === undefined) break
      const frame = changeMessages === null ? undefined : frameOf(changeMessages)
      if (frame !== undefined) enqueue(frame)
      told++
    }
    rows = rows.slice(told)
    tail = rows.length === 0 ? readTo : (slice[told - 1]?.seq ?? tail)
    if (told < slice.length && queue.length === 0) await pause(AWAY_PAUSE_MS)
  }

  /** Ends when the stream is closed, too. */
  async function pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    wake = null
  }

  function close(): void {
    if (done) return
    done = true
    queue.length = 0
    rows = []
    wake?.()
    closed()
  }

  const over = { done: true, value: undefined } as const
  const subscription: Subscription = {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      for (;;) {
        if (done) return over
        const frame = queue.shift()
        if (frame !== undefined) {
          queued -= frame.size
          return { done: false, value: frame }
        }
        if (!live) await backfill()
        else {
          await new Promise<void>((resolve) => {
            wake = resolve
          })
          wake = null
        }
      }
    },
    async return() {
      close()
      return over
    },
    async throw(error) {
      close()
      throw error
    },
    get caughtUpTo() {
      return live && wake !== null && queue.length === 0 ? Math.max(head(), tail) : undefined
    },
  }

  const subscriber: Subscriber<V> = {
    followings,
    deliver(change, changeMessages) {
      // What is not live reads it from the log; what another server had told already is not told again.
      if (!live || done || change.seq <= tail) return
      if (changeMessages === undefined) {
        live = false
        wake?.()
        return
      }
      const frame = changeMessages === null ? undefined : frameOf(changeMessages)
      if (frame !== undefined) {
        if (!hasRoomFor(frame)) {
          live = false
          return
        }
        enqueue(frame)
      }
      tail = change.seq
      wake?.()
    },
    close,
  }
  return { subscription, subscriber }
}

const UNKNOWN = 'cursor_unknown' as const

/** What is wrong with a cursor: older than the log, or from beyond it (another database, or one put back). */
function lossOf(cursor: number, bounds: { first: number; last: number }) {
  if (cursor < bounds.first - 1) return 'cursor_too_old' as const
  return cursor > bounds.last ? UNKNOWN : undefined
}

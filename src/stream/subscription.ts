import { lastOf } from '../checked.ts'
import { type Frame, resetFrame } from './frame.ts'
import { createFrameQueue, type FrameQueue, MAX_QUEUED_BYTES, MAX_QUEUED_FRAMES } from './frame-queue.ts'
import { changesOfChannels, type LoggedChange, logBounds } from './log.ts'
import type { ChangeMessages, Following, MessageFactory } from './payloads.ts'

/**
 * One stream of changes. It is in one of two modes:
 *
 *  backfill   The stream starts at a cursor. It reads what it missed from the log, page by page, up to the head of the
 *             tail.
 *  live       The tail pushes changes into the stream's queue. If the queue is full, the stream returns to backfill
 *             once its reader has emptied the queue. So a slow reader costs a bounded queue, and the log is the buffer.
 *
 * The switch to live cannot skip or repeat a change: nothing else runs between the check that the stream has reached the
 * head and the switch, and everything that the tail sends afterwards is beyond the head.
 *
 * If the log no longer holds what follows the cursor, or the cursor was never issued, the stream sends a reset: the
 * client must load its state again and continue from the cursor of the reset.
 */

/** Pause between two reads of a change whose batch is on an unreachable worker. */
const UNREACHABLE_PAUSE_MS = 1_000
/** Rows of the log that one page of a backfill reads. Rows are small; messages are made in slices of a page. */
const PAGE_ROWS = 200

export interface Subscription extends AsyncIterableIterator<Frame, undefined> {
  next(): Promise<IteratorResult<Frame, undefined>>
  /** Ends the stream: resolves a pending `next`; no frame follows. Idempotent. */
  return(): Promise<IteratorResult<Frame, undefined>>
  throw(error: unknown): Promise<IteratorResult<Frame, undefined>>
  /** A cursor up to which every frame was handed out; undefined while frames are pending. */
  readonly caughtUpTo: number | undefined
}

/** The same subscription, with only the frames that `wanted` accepts. */
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

/** The hub's side of a subscription. */
export interface Subscriber<V> {
  /** What it follows, by channel of the log. */
  readonly followings: ReadonlyMap<string, Following<V>>
  /**
   * Called with every change of its channels, in order. `messages` is undefined if no stream followed the channel when
   * messages were made, or if the worker of the change's batch is unreachable: the stream then reads the change from
   * the log, and other streams do not wait for it. It is null if no one gets a message of this change.
   */
  deliver(change: LoggedChange, messages: ChangeMessages<V> | null | undefined): void
  close(): void
}

export interface SubscriptionOptions<V> {
  sql: Parameters<typeof changesOfChannels>[0]
  factory: MessageFactory<V>
  /** The newest change that the tail has handed out. */
  head: () => number
  /** Limits how many backfills read at once, so that a thousand reconnecting streams do not take every connection. */
  gate: <T>(work: () => Promise<T>) => Promise<T>
  now: () => Date
}

/**
 * @param cursors.after the cursor to continue from; without it the stream starts live
 * @param cursors.since where a stream without a cursor starts if that is beyond the head
 * @param closed called once, when the stream has ended
 */
export function createSubscription<V>(
  options: SubscriptionOptions<V>,
  followings: ReadonlyMap<string, Following<V>>,
  cursors: { after: number | undefined; since?: number | undefined },
  closed: () => void,
): { subscription: Subscription; subscriber: Subscriber<V> } {
  const stream = new Stream(options, followings, cursors, closed)
  return { subscription: stream, subscriber: stream }
}

class Stream<V> implements Subscription, Subscriber<V> {
  readonly followings: ReadonlyMap<string, Following<V>>
  readonly #options: SubscriptionOptions<V>
  readonly #closed: () => void
  readonly #queue: FrameQueue = createFrameQueue()
  readonly #backlog: Backlog
  /** Every change up to here is in the queue, was handed out, or is not for this stream. */
  #position: number
  #live: boolean
  #done = false
  /** Ends the wait of `next`, if there is one. */
  #wake: (() => void) | null = null

  constructor(
    options: SubscriptionOptions<V>,
    followings: ReadonlyMap<string, Following<V>>,
    { after, since = 0 }: { after: number | undefined; since?: number | undefined },
    closed: () => void,
  ) {
    this.#options = options
    this.followings = followings
    this.#closed = closed
    this.#live = after === undefined
    this.#position = after ?? Math.max(options.head(), since)
    this.#backlog = new Backlog(options, [...followings.keys()], this.#live)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Frame, undefined>> {
    for (;;) {
      if (this.#done) return OVER
      const frame = this.#queue.shift()
      if (frame !== undefined) return { done: false, value: frame }
      if (this.#live) await this.#wait()
      // A read that is cancelled because the stream is closed is not a failure.
      else await this.#backfill().catch((error) => this.#done || Promise.reject(error))
    }
  }

  async return(): Promise<IteratorResult<Frame, undefined>> {
    this.close()
    return OVER
  }

  async throw(error: unknown): Promise<IteratorResult<Frame, undefined>> {
    this.close()
    throw error
  }

  get caughtUpTo(): number | undefined {
    const idle = this.#live && this.#wake !== null && this.#queue.empty
    return idle ? Math.max(this.#options.head(), this.#position) : undefined
  }

  deliver(change: LoggedChange, messages: ChangeMessages<V> | null | undefined): void {
    // In backfill the stream reads the change from the log. Below the position it has been sent already.
    if (!this.#live || this.#done || change.seq <= this.#position) return
    if (messages === undefined) {
      this.#live = false
      this.#wake?.()
      return
    }
    const frame = messages === null ? undefined : this.#frameOf(messages)
    if (frame !== undefined) {
      if (!this.#queue.hasRoomFor(frame)) {
        this.#live = false
        return
      }
      this.#queue.push(frame)
    }
    this.#position = change.seq
    this.#wake?.()
  }

  close(): void {
    if (this.#done) return
    this.#done = true
    this.#queue.clear()
    this.#backlog.clear()
    this.#wake?.()
    this.#closed()
  }

  /** One step of the backfill: sends a slice of the log, or goes live at the head. */
  async #backfill(): Promise<void> {
    const { head, gate, factory, now } = this.#options
    if (this.#backlog.empty) {
      if (this.#position >= head() && this.#backlog.checked) {
        this.#live = true
        return
      }
      const loss = await this.#backlog.read(this.#position)
      if (loss !== undefined) {
        this.#position = head()
        this.#queue.push(resetFrame(this.#position, loss, now()))
        this.#live = true
        return
      }
    }
    const slice = this.#backlog.first(this.#sliceLength())
    const messages = slice.length === 0 ? [] : await gate(() => factory.messagesOf(slice))
    // Messages are undefined from the first change whose worker is unreachable: order is kept, so the stream waits.
    const unreachable = messages.indexOf(undefined)
    const made = unreachable === -1 ? slice.length : unreachable
    for (const changeMessages of messages.slice(0, made)) {
      const frame = changeMessages && this.#frameOf(changeMessages)
      if (frame) this.#queue.push(frame)
    }
    this.#position = this.#backlog.drop(made) ?? this.#position
    if (made < slice.length && this.#queue.empty) await this.#wait(UNREACHABLE_PAUSE_MS)
  }

  /** As many changes as should fill the queue, by the size of earlier frames. */
  #sliceLength(): number {
    const bySize = Math.floor(MAX_QUEUED_BYTES / this.#queue.averageSize)
    return Math.max(1, Math.min(MAX_QUEUED_FRAMES, bySize))
  }

  #frameOf(messages: ChangeMessages<V>): Frame | undefined {
    const following = this.followings.get(messages.change.channel)
    return following && messages.frameFor(following)
  }

  /** Until a change is delivered, the stream is closed, or the time is over. */
  async #wait(ms?: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      if (ms !== undefined) timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
    this.#wake = null
  }
}

const OVER = { done: true, value: undefined } as const

/** The page of the log that a stream in backfill works on. */
class Backlog {
  readonly #options: Pick<SubscriptionOptions<unknown>, 'sql' | 'head' | 'gate'>
  readonly #channels: readonly string[]
  #rows: LoggedChange[] = []
  /** Everything up to here was read with this page. */
  #readTo = 0
  /** Whether the stream's first cursor was compared with what the log holds. */
  checked: boolean

  constructor(
    options: Pick<SubscriptionOptions<unknown>, 'sql' | 'head' | 'gate'>,
    channels: readonly string[],
    checked: boolean,
  ) {
    this.#options = options
    this.#channels = channels
    this.checked = checked
  }

  get empty(): boolean {
    return this.#rows.length === 0
  }

  /**
   * Reads the next page after `after`, up to the head.
   * @returns why the stream cannot continue from `after`; undefined if it can
   */
  async read(after: number): Promise<Loss | undefined> {
    const { sql, head, gate } = this.#options
    const upTo = Math.max(head(), after)
    const page = await gate(() => changesOfChannels(sql, this.#channels, { after, upTo, limit: PAGE_ROWS }))
    // Read after the page: what the log holds now, it held when the page was read.
    const bounds = await logBounds(sql)
    this.checked = true
    const loss = lossOf(after, bounds)
    if (loss !== undefined) return loss
    this.#rows = page
    this.#readTo = page.length < PAGE_ROWS ? upTo : lastOf(page).seq
    return undefined
  }

  first(count: number): readonly LoggedChange[] {
    return this.#rows.slice(0, count)
  }

  /**
   * Drops the first `count` changes.
   * @returns the position after them; undefined if nothing was dropped
   */
  drop(count: number): number | undefined {
    const dropped = this.#rows.splice(0, count)
    return this.#rows.length === 0 ? this.#readTo : dropped.at(-1)?.seq
  }

  clear(): void {
    this.#rows = []
  }
}

type Loss = 'cursor_too_old' | 'cursor_unknown'

/** Why the log cannot continue from a cursor: pruned since, or issued by another database or before a restore. */
function lossOf(cursor: number, bounds: { first: number; last: number } | null): Loss | undefined {
  if (bounds === null) return cursor === 0 ? undefined : 'cursor_unknown'
  if (cursor < bounds.first - 1) return 'cursor_too_old'
  return cursor > bounds.last ? 'cursor_unknown' : undefined
}

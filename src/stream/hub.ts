import { createBoundedQueue } from '../bounded-queue.ts'
import { isWorkerUnreachable, type Sql } from '../db/sql.ts'
import { startListening } from './listen.ts'
import type { LoggedChange } from './log.ts'
import { createMessageFactory, type Following, type PayloadLoaders } from './payloads.ts'
import { createSubscription, type Subscriber, type Subscription } from './subscription.ts'
import { createTail } from './tail.ts'

/**
 * Sends every change to the streams that follow it (contract §6; docs/decisions/0005-the-live-stream.md). The process
 * follows the log once (tail.ts), makes one message of each change (payloads.ts), and delivers it to every stream
 * through the stream's own queue (subscription.ts). A cursor is a `seq` of the log, so it is valid on every server of the
 * database.
 */
export interface Hub<V> {
  /**
   * A cursor that joins reads and the stream without a gap: take the cursor first, then read, then subscribe from it.
   * Changes in between are in both, so merge messages by key; do not append.
   */
  readonly cursor: number
  /**
   * @param followings by channel of the log: under which name, and for which viewer
   * @param options.after the cursor to continue from; without one the stream starts now
   * @param options.since without a cursor: the newest committed change, which the tail may not have reached
   * @param options.gate what its reads of the log wait for, besides those of other streams
   * @param options.closed called once, when the stream has ended, from either side
   */
  subscribe(
    followings: ReadonlyMap<string, Following<V>>,
    options: {
      after?: number | undefined
      since?: number | undefined
      gate?: Gate | undefined
      closed: () => void
    },
  ): Subscription
  /** How long, in seconds, an open commit has held the stream back; usually 0 (tail.ts). */
  readonly delayS: number
  /** Open streams; frames sent, and changes without a message because of an error, since the start. */
  readonly counts: { streams: number; frames: number; failed: number }
  start(): Promise<void>
  /** This server wrote something: the log is read soon. */
  wake(): void
  /** Ends every subscription, then the tail. */
  stop(): Promise<void>
}

/** Runs the work when it may. */
export type Gate = <T>(work: () => Promise<T>) => Promise<T>

/** Backfills that read at once. */
const BACKFILLS = 2

export function createHub<V>(options: {
  /** The stream's own pool, so that neither exports nor page loads delay it. */
  sql: Sql
  listenUrl: string
  loaders: PayloadLoaders<V>
  /**
   * Called with changes that are not sent to clients but affect who may follow. No change of the same page or of later
   * ones is delivered until it resolves.
   */
  onControl: (changes: readonly LoggedChange[]) => Promise<void>
  /** Types of change that `onControl` gets. */
  controlTypes: ReadonlySet<string>
  failed: (error: unknown, what: string) => void
  now: () => Date
  pollMs?: number
  paceMs?: number
}): Hub<V> {
  const { sql, onControl, controlTypes, failed, now } = options
  const counts = { streams: 0, frames: 0, failed: 0 }
  const subscribers = createSubscriberIndex<V>()
  const backfills = createBoundedQueue({ atOnce: BACKFILLS, lanes: { backfill: {} } })
  const gate: Gate = (work) => backfills.run('backfill', work)
  const factory = createMessageFactory<V>({
    loaders: options.loaders,
    failed: (error, change) => {
      counts.failed++
      failed(error, `making the message of change ${change.seq} of type ${change.type}`)
    },
    workerUnreachable: (error) => isWorkerUnreachable(sql, error),
  })
  const tail = createTail({
    url: options.listenUrl,
    hasSubscribers: () => subscribers.all.size > 0,
    publish,
    failed: (error) => failed(error, 'following the change log'),
    pollMs: options.pollMs ?? 1_000,
    paceMs: options.paceMs ?? 10,
  })
  let listener: ReturnType<typeof startListening> | undefined

  async function publish(page: readonly LoggedChange[]): Promise<() => void> {
    const control = page.filter((change) => controlTypes.has(change.type))
    if (control.length > 0) await onControl(control)
    const followed = page.filter((change) => subscribers.of(change.channel) !== undefined)
    const messages = await factory.messagesOf(followed)
    const bySeq = new Map(followed.map((change, i) => [change.seq, messages[i]]))
    return () => {
      for (const change of page) {
        const followers = subscribers.of(change.channel)
        if (followers === undefined) continue
        const changeMessages = bySeq.get(change.seq)
        for (const follower of followers) follower.deliver(change, changeMessages)
        counts.frames += followers.size
      }
    }
  }

  return {
    get cursor() {
      return tail.head
    },
    get delayS() {
      return tail.delayS
    },
    counts,
    subscribe(followings, { after, since, gate: own = (work) => work(), closed }) {
      const both: Gate = (work) => own(() => gate(work))
      const shared = { sql, factory, head: () => tail.head, gate: both, now }
      const { subscription, subscriber } = createSubscription(shared, followings, { after, since }, () => {
        subscribers.remove(subscriber)
        counts.streams = subscribers.all.size
        closed()
      })
      subscribers.add(subscriber)
      counts.streams = subscribers.all.size
      return subscription
    },
    wake: tail.wake,
    async start() {
      await tail.start()
      listener = startListening({
        url: options.listenUrl,
        notified: tail.wake,
        failed: (error) => failed(error, 'listening for changes'),
      })
    },
    async stop() {
      for (const subscriber of [...subscribers.all]) subscriber.close()
      await listener?.stop()
      await tail.stop()
    },
  }
}

/** The open subscriptions, by channel. */
function createSubscriberIndex<V>() {
  const all = new Set<Subscriber<V>>()
  const byChannel = new Map<string, Set<Subscriber<V>>>()
  return {
    all: all as ReadonlySet<Subscriber<V>>,
    of: (channel: string): ReadonlySet<Subscriber<V>> | undefined => byChannel.get(channel),
    add(subscriber: Subscriber<V>): void {
      all.add(subscriber)
      for (const channel of subscriber.followings.keys()) {
        const followers = byChannel.get(channel)
        if (followers === undefined) byChannel.set(channel, new Set([subscriber]))
        else followers.add(subscriber)
      }
    },
    remove(subscriber: Subscriber<V>): void {
      all.delete(subscriber)
      for (const channel of subscriber.followings.keys()) {
        const followers = byChannel.get(channel)
        followers?.delete(subscriber)
        if (followers?.size === 0) byChannel.delete(channel)
      }
    },
  }
}

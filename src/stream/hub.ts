import { createBoundedQueue } from '../bounded-queue.ts'
import { isWorkerAway, type Sql } from '../db/sql.ts'
import { startListening } from './listen.ts'
import type { LoggedChange } from './log.ts'
import { createMessageFactory, type Following, type PayloadLoaders } from './payloads.ts'
import { createSubscription, type Subscriber, type Subscription } from './subscription.ts'
import { createTail } from './tail.ts'

/**
 * Tells every change as it happens (contract §6; docs/decisions/0005-the-live-stream.md): the log is followed once for the
 * whole process (tail.ts), each change is made into a message once (payloads.ts), and every stream gets it through a
 * queue of its own (subscription.ts). Cursors are `seq` of the log, so they hold at every server of the database.
 */
export interface Hub<V> {
  /**
   * A cursor that joins reads and the stream without a gap: take it
   * first, then read, then follow from it. Changes in between are in both, so merge messages by key; do not append.
   */
  readonly cursor: number
  /**
   * Follows channels of the log, by name as whom.
   * @param options.after the cursor to go on from; from now on without one
   * @param options.since without a cursor: what is committed already, even if not yet sent
   * @param options.closed called once when it has ended, from either side
   */
  subscribe(
    followings: ReadonlyMap<string, Following<V>>,
    options: { after?: number | undefined; since?: number | undefined; closed: () => void },
  ): Subscription
  /** For how many seconds a commit under way has held the stream back; 0 mostly (tail.ts). */
  readonly delayS: number
  /** How many streams there are, and what was told since the start. */
  readonly counts: { streams: number; frames: number; failed: number }
  start(): Promise<void>
  /** Something was written here: the log is looked at soon. */
  ring(): void
  /** Ends every subscription, then the tail. */
  stop(): Promise<void>
}

/** Backfills that read at the same time. */
const BACKFILLS = 2

export function createHub<V>(options: {
  /** A pool of the stream's own, so that neither exports nor a page of readers hold up the tail. */
  sql: Sql
  listenUrl: string
  describers: PayloadLoaders<V>
  /** Called with changes that are not sent to followers but affect who may follow. */
  heed: (changes: readonly LoggedChange[]) => void
  /** Types of change that `heed` is given. */
  heeded: ReadonlySet<string>
  failed: (error: unknown, what: string) => void
  now: () => Date
  pollMs?: number
  paceMs?: number
}): Hub<V> {
  const { sql, heed, heeded, failed, now } = options
  const counts = { streams: 0, frames: 0, failed: 0 }
  const byChannel = new Map<string, Set<Subscriber<V>>>()
  const all = new Set<Subscriber<V>>()
  const backfills = createBoundedQueue({ atOnce: BACKFILLS, lanes: { backfill: {} } })
  const gate = <T>(work: () => Promise<T>): Promise<T> => backfills.through('backfill', work)
  const factory = createMessageFactory<V>({
    loaders: options.describers,
    failed: (error, change) => {
      counts.failed++
      failed(error, `making the message of change ${change.seq} of type ${change.type}`)
    },
    workerAway: (error) => isWorkerAway(sql, error),
  })
  const tail = createTail({
    url: options.listenUrl,
    wanted: () => all.size > 0,
    handOn,
    failed: (error) => failed(error, 'following the change log'),
    pollMs: options.pollMs ?? 1_000,
    paceMs: options.paceMs ?? 10,
  })
  let listener: ReturnType<typeof startListening> | undefined

  async function handOn(page: readonly LoggedChange[]): Promise<() => void> {
    const control = page.filter((change) => heeded.has(change.type))
    if (control.length > 0) heed(control)
    const followed = page.filter((change) => byChannel.has(change.channel))
    const messages = await factory.messagesOf(followed)
    const bySeq = new Map(followed.map((change, i) => [change.seq, messages[i]]))
    return () => {
      for (const change of page) {
        const subscribers = byChannel.get(change.channel)
        if (subscribers === undefined) continue
        const changeMessages = bySeq.get(change.seq)
        for (const subscriber of subscribers) subscriber.deliver(change, changeMessages)
        counts.frames += subscribers.size
      }
    }
  }

  function add(subscriber: Subscriber<V>): void {
    all.add(subscriber)
    for (const channel of subscriber.followings.keys()) {
      const followers = byChannel.get(channel)
      if (followers === undefined) byChannel.set(channel, new Set([subscriber]))
      else followers.add(subscriber)
    }
    counts.streams = all.size
  }

  function remove(subscriber: Subscriber<V>): void {
    all.delete(subscriber)
    for (const channel of subscriber.followings.keys()) {
      const followers = byChannel.get(channel)
      followers?.delete(subscriber)
      if (followers?.size === 0) byChannel.delete(channel)
    }
    counts.streams = all.size
  }

  return {
    get cursor() {
      return tail.head
    },
    get delayS() {
      return tail.delayS
    },
    counts,
    subscribe(followings, { after, since, closed }) {
      const around = { sql, factory, head: () => tail.head, gate, now }
      const { subscription, subscriber } = createSubscription(around, followings, { after, since }, () => {
        remove(subscriber)
        closed()
      })
      add(subscriber)
      return subscription
    },
    ring: tail.ring,
    async start() {
      await tail.start()
      listener = startListening({
        url: options.listenUrl,
        ring: tail.ring,
        failed: (error) => failed(error, 'listening for changes'),
      })
    },
    async stop() {
      for (const subscriber of [...all]) subscriber.close()
      await listener?.stop()
      await tail.stop()
    },
  }
}

import { databaseFault } from '../db/sql.ts'
import { type Frame, makeFrame } from './frame.ts'
import type { LoggedChange } from './log.ts'

/**
 * Makes messages of changes: loads the current state of what changed from the domain, once for all streams, and shares
 * the bytes. Messages are cached for a while, because clients that reconnect after an outage ask for the same changes
 * at the same time.
 *
 * A message may be sent later than its change. Its content is then newer than the change, never older, and later
 * changes bring the rest. So a client that applies every message in order ends with the current state.
 */

/** What one viewer gets of a change. Equal keys mean equal text. */
export interface Payload {
  key: string
  text: () => string
}

/** The current state of what changed. `V` describes a viewer to the domain: who it is, and how much it may see. */
export interface ChangePayloads<V> {
  /** @returns undefined if the viewer gets no message */
  payloadFor(viewer: V): Payload | undefined
}

/**
 * Loads the current state for changes of one type, by position; null if it no longer exists. The domain passes loaders
 * in, because the stream does not import the domain.
 */
export type LoadPayloads<V> = (
  changes: readonly LoggedChange[],
) => Promise<readonly (ChangePayloads<V> | null)[]>
/** By type of change. An unknown type, written by a newer server, is not sent. */
export type PayloadLoaders<V> = Readonly<Record<string, LoadPayloads<V>>>

/** How a stream follows a channel of the log: under which name, as which kind of event, for which viewer. */
export interface Following<V> {
  channel: string
  kind: string
  viewer: V
}

export interface ChangeMessages<V> {
  readonly change: LoggedChange
  /** The message for this stream; undefined if it gets none. */
  frameFor(following: Following<V>): Frame | undefined
}

export interface MessageFactory<V> {
  /**
   * The messages of each change, by position; null for a change that is not sent; undefined if the worker of its batch is
   * unreachable: ask again later.
   * @throws the database's error while it is unreachable: ask again for all changes
   */
  messagesOf(changes: readonly LoggedChange[]): Promise<(ChangeMessages<V> | null | undefined)[]>
}

/** Size of the cache, in bytes. */
const MAX_CACHED_BYTES = 8 * 1024 * 1024
/** A message is held as the domain's text and as bytes. */
const COPIES = 2
/** What an entry of the cache takes beside its text. */
const OVERHEAD_BYTES = 300

export function createMessageFactory<V>(options: {
  loaders: PayloadLoaders<V>
  failed: (error: unknown, change: LoggedChange) => void
  /** Whether the error means that a worker of the database's cluster is unreachable. */
  workerUnreachable: (error: unknown) => boolean
}): MessageFactory<V> {
  const { loaders, failed, workerUnreachable } = options
  const cache = createMessageCache<V>()

  async function load(
    type: string,
    changes: readonly LoggedChange[],
  ): Promise<readonly (ChangePayloads<V> | null | undefined)[]> {
    const loader = Object.hasOwn(loaders, type) ? loaders[type] : undefined
    if (loader === undefined) return changes.map(() => null)
    try {
      return await loader(changes)
    } catch (error) {
      if (workerUnreachable(error)) return loadByBatch(type, changes)
      const fault = databaseFault(error)
      if (fault === 'unavailable' || fault === 'retry') throw error
      const [only] = changes
      if (changes.length === 1 && only !== undefined) {
        // A change that always fails must not hold up those after it.
        failed(error, only)
        return [null]
      }
      const alone: (ChangePayloads<V> | null | undefined)[] = []
      for (const change of changes) alone.push(...(await load(type, [change])))
      return alone
    }
  }

  /** Batch by batch, so that a batch on an unreachable worker does not hold up the others. */
  async function loadByBatch(
    type: string,
    changes: readonly LoggedChange[],
  ): Promise<readonly (ChangePayloads<V> | null | undefined)[]> {
    const batches = [...new Set(changes.map((change) => change.batchKey))]
    if (batches.length === 1) return changes.map(() => undefined)
    const found = new Map<LoggedChange, ChangePayloads<V> | null | undefined>()
    await Promise.all(
      batches.map(async (batchKey) => {
        const own = changes.filter((change) => change.batchKey === batchKey)
        const payloads = await load(type, own)
        for (const [i, change] of own.entries()) found.set(change, payloads[i])
      }),
    )
    return changes.map((change) => found.get(change))
  }

  return {
    async messagesOf(changes) {
      const made = new Map<number, ChangeMessages<V> | null>()
      const byType = new Map<string, LoggedChange[]>()
      for (const change of changes) {
        const known = cache.get(change.seq)
        if (known !== undefined) made.set(change.seq, known)
        else {
          const ofType = byType.get(change.type)
          if (ofType === undefined) byType.set(change.type, [change])
          else ofType.push(change)
        }
      }
      await Promise.all(
        [...byType].map(async ([type, ofType]) => {
          const payloads = await load(type, ofType)
          for (const [i, change] of ofType.entries()) {
            const found = payloads[i]
            if (found !== undefined) made.set(change.seq, cache.add(change, found))
          }
        }),
      )
      return changes.map(({ seq }) => made.get(seq))
    },
  }
}

/** Messages by seq. It holds the most recently used ones, up to MAX_CACHED_BYTES. */
function createMessageCache<V>() {
  /** The least recently used first. */
  const entries = new Map<number, { messages: ChangeMessages<V> | null; size: number }>()
  let size = 0

  function grow(seq: number, by: number): void {
    const entry = entries.get(seq)
    if (entry === undefined) return
    entry.size += by
    size += by
    for (const [oldest, { size: freed }] of entries) {
      if (size <= MAX_CACHED_BYTES) break
      entries.delete(oldest)
      size -= freed
    }
  }

  return {
    /** undefined if the cache has no entry; null if it knows that the change is not sent. */
    get(seq: number): ChangeMessages<V> | null | undefined {
      const entry = entries.get(seq)
      if (entry === undefined) return undefined
      entries.delete(seq)
      entries.set(seq, entry)
      return entry.messages
    },
    add(change: LoggedChange, payloads: ChangePayloads<V> | null): ChangeMessages<V> | null {
      const messages =
        payloads && createMessages(change, payloads, (frame) => grow(change.seq, frame.size * COPIES))
      // Two streams may have asked at the same time: the first entry stays.
      if (!entries.has(change.seq)) {
        entries.set(change.seq, { messages, size: 0 })
        grow(change.seq, OVERHEAD_BYTES)
      }
      return messages
    },
  }
}

function createMessages<V>(
  change: LoggedChange,
  payloads: ChangePayloads<V>,
  made: (frame: Frame) => void,
): ChangeMessages<V> {
  const frames = new Map<string, Frame>()
  return {
    change,
    frameFor({ channel, kind, viewer }) {
      const payload = payloads.payloadFor(viewer)
      if (payload === undefined) return undefined
      // Channel names hold no newline.
      const key = `${channel}\n${payload.key}`
      let frame = frames.get(key)
      if (frame === undefined) {
        const { seq, type, at } = change
        frame = makeFrame({ seq, channel, kind, type, at, payload: payload.text() })
        frames.set(key, frame)
        made(frame)
      }
      return frame
    },
  }
}

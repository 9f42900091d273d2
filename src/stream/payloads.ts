import { databaseFault } from '../db/sql.ts'
import { type Frame, makeFrame } from './frame.ts'
import type { LoggedChange } from './log.ts'

/**
 * Makes messages of changes ("materialises" them): asks the domain how what changed looks now, once for all who are
 * to be told, and shares the bytes. What was made is kept for a while, because followers that come back after a cut
 * ask for the same changes at the same time.
 *
 * A message may be sent later than its change. Its content is then newer than the change, never older, and the
 * later changes say the rest; so a client that applies every message in order ends with the current state.
 */

/** What a follower is shown of a change. Equal keys mean equal text. */
export interface Payload {
  key: string
  text: () => string
}

/** A change as it looks now. `V` is what the domain knows of a follower: who it is, how much it is shown. */
export interface ChangePayloads<V> {
  /** @returns undefined if the follower gets no message */
  payloadFor(viewer: V): Payload | undefined
}

/**
 * How the changes of one type look now, by position; null for what is no longer there to be told. Handed in by
 * app.ts, because the stream does not import the domain.
 */
export type LoadPayloads<V> = (
  changes: readonly LoggedChange[],
) => Promise<readonly (ChangePayloads<V> | null)[]>
/** By type of change. An unknown type, as a newer server may write, is not sent. */
export type PayloadLoaders<V> = Readonly<Record<string, LoadPayloads<V>>>

/** Under which name, and as whom, a stream follows a channel of the log. */
export interface Following<V> {
  channel: string
  kind: string
  viewer: V
}

export interface ChangeMessages<V> {
  readonly change: LoggedChange
  /** The message for this follower; undefined if it gets none. */
  frameFor(following: Following<V>): Frame | undefined
}

export interface MessageFactory<V> {
  /**
   * A payload per change, by position; null for changes that are not sent; undefined for those of a batch whose worker is
   * away: they are to be asked for again.
   * @throws what the database throws while it is away: then nothing was told, and it is to be asked again
   */
  messagesOf(changes: readonly LoggedChange[]): Promise<(ChangeMessages<V> | null | undefined)[]>
}

/** Text that is kept to be told again, in bytes. */
const MAX_CACHED_BYTES = 8 * 1024 * 1024
/** A text is kept as the domain made it and as bytes. */
const COPIES = 2
/** What a telling takes beside its text. */
const OVERHEAD_BYTES = 300

export function createMessageFactory<V>(options: {
  loaders: PayloadLoaders<V>
  failed: (error: unknown, change: LoggedChange) => void
  /** Whether the error says that a worker of the database's cluster is away. */
  workerAway: (error: unknown) => boolean
}): MessageFactory<V> {
  const { loaders, failed, workerAway } = options
  /** By seq, the least recently wanted first. */
  const entries = new Map<number, { messages: ChangeMessages<V> | null; size: number }>()
  let size = 0

  function cached(seq: number): ChangeMessages<V> | null | undefined {
    const entry = entries.get(seq)
    if (entry === undefined) return undefined
    entries.delete(seq)
    entries.set(seq, entry)
    return entry.messages
  }

  function cache(change: LoggedChange, payloads: ChangePayloads<V> | null): ChangeMessages<V> | null {
    const messages =
      payloads && createMessages(change, payloads, (frame) => grow(change.seq, frame.size * COPIES))
    // Two followers may have asked at the same time; both are told the same way.
    if (!entries.has(change.seq)) {
      entries.set(change.seq, { messages, size: 0 })
      grow(change.seq, OVERHEAD_BYTES)
    }
    return messages
  }

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

  async function load(
    type: string,
    changes: readonly LoggedChange[],
  ): Promise<readonly (ChangePayloads<V> | null | undefined)[]> {
    const loader = Object.hasOwn(loaders, type) ? loaders[type] : undefined
    if (loader === undefined) return changes.map(() => null)
    try {
      return await loader(changes)
    } catch (error) {
      if (workerAway(error)) return loadByBatch(type, changes)
      const fault = databaseFault(error)
      if (fault === 'away' || fault === 'retry') throw error
      const [only] = changes
      if (changes.length === 1 && only !== undefined) {
        // A change that cannot be told must not hold up all that come after it.
        failed(error, only)
        return [null]
      }
      const alone: (ChangePayloads<V> | null | undefined)[] = []
      for (const change of changes) alone.push(...(await load(type, [change])))
      return alone
    }
  }

  /** Those of a batch whose worker is away hold up no others. */
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
        const known = cached(change.seq)
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
            if (found !== undefined) made.set(change.seq, cache(change, found))
          }
        }),
      )
      return changes.map(({ seq }) => made.get(seq))
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
      // No channel has a line break in its name.
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

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
export interface Shown {
  key: string
  payload: () => string
}

/** A change as it looks now. `V` is what the domain knows of a follower: who it is, how much it is shown. */
export interface Told<V> {
  /** @returns undefined if the follower gets no message */
  show(viewer: V): Shown | undefined
}

/**
 * How the changes of one type look now, by position; null for what is no longer there to be told. Handed in by
 * app.ts, because the stream does not import the domain.
 */
export type Describe<V> = (changes: readonly LoggedChange[]) => Promise<readonly (Told<V> | null)[]>
/** By type of change. An unknown type, as a newer server writes it, is sent to nobody. */
export type Describers<V> = Readonly<Record<string, Describe<V>>>

/** Under which name, and as whom, a stream follows a channel of the log. */
export interface Following<V> {
  channel: string
  kind: string
  viewer: V
}

export interface Telling<V> {
  readonly change: LoggedChange
  /** The message for this follower; undefined if it gets none. */
  frameFor(following: Following<V>): Frame | undefined
}

export interface Teller<V> {
  /**
   * A telling per change, by position; null for changes that are told to nobody.
   * @throws what the database throws while it is away: then nothing was told, and it is to be asked again
   */
  tell(changes: readonly LoggedChange[]): Promise<(Telling<V> | null)[]>
}

/** Text that is kept to be told again, in bytes. */
const MAX_KEPT = 8 * 1024 * 1024
/** A text is kept as the domain made it and as bytes. */
const MADE_OF = 2
/** What a telling takes beside its text. */
const BARE = 300

export function createTeller<V>(options: {
  describers: Describers<V>
  failed: (error: unknown, change: LoggedChange) => void
}): Teller<V> {
  const { describers, failed } = options
  /** By seq, the least recently wanted first. */
  const kept = new Map<number, { telling: Telling<V> | null; size: number }>()
  let size = 0

  function recall(seq: number): Telling<V> | null | undefined {
    const entry = kept.get(seq)
    if (entry === undefined) return undefined
    kept.delete(seq)
    kept.set(seq, entry)
    return entry.telling
  }

  function keep(change: LoggedChange, told: Told<V> | null): Telling<V> | null {
    const telling = told && createTelling(change, told, (frame) => grow(change.seq, frame.size * MADE_OF))
    // Two followers may have asked at the same time; both are told the same way.
    if (!kept.has(change.seq)) {
      kept.set(change.seq, { telling, size: 0 })
      grow(change.seq, BARE)
    }
    return telling
  }

  function grow(seq: number, by: number): void {
    const entry = kept.get(seq)
    if (entry === undefined) return
    entry.size += by
    size += by
    for (const [oldest, { size: freed }] of kept) {
      if (size <= MAX_KEPT) break
      kept.delete(oldest)
      size -= freed
    }
  }

  async function describe(
    type: string,
    changes: readonly LoggedChange[],
  ): Promise<readonly (Told<V> | null)[]> {
    const describeThem = Object.hasOwn(describers, type) ? describers[type] : undefined
    if (describeThem === undefined) return changes.map(() => null)
    try {
      return await describeThem(changes)
    } catch (error) {
      const fault = databaseFault(error)
      if (fault === 'away' || fault === 'retry') throw error
      const [only] = changes
      if (changes.length === 1 && only !== undefined) {
        // A change that cannot be told must not hold up all that come after it.
        failed(error, only)
        return [null]
      }
      const alone: (Told<V> | null)[] = []
      for (const change of changes) alone.push(...(await describe(type, [change])))
      return alone
    }
  }

  return {
    async tell(changes) {
      const tellings = new Map<number, Telling<V> | null>()
      const byType = new Map<string, LoggedChange[]>()
      for (const change of changes) {
        const known = recall(change.seq)
        if (known !== undefined) tellings.set(change.seq, known)
        else {
          const ofType = byType.get(change.type)
          if (ofType === undefined) byType.set(change.type, [change])
          else ofType.push(change)
        }
      }
      await Promise.all(
        [...byType].map(async ([type, ofType]) => {
          const told = await describe(type, ofType)
          for (const [i, change] of ofType.entries()) tellings.set(change.seq, keep(change, told[i] ?? null))
        }),
      )
      return changes.map(({ seq }) => tellings.get(seq) ?? null)
    },
  }
}

function createTelling<V>(change: LoggedChange, told: Told<V>, made: (frame: Frame) => void): Telling<V> {
  const frames = new Map<string, Frame>()
  return {
    change,
    frameFor({ channel, kind, viewer }) {
      const shown = told.show(viewer)
      if (shown === undefined) return undefined
      // No channel has a line break in its name.
      const key = `${channel}\n${shown.key}`
      let frame = frames.get(key)
      if (frame === undefined) {
        const { seq, type, at } = change
        frame = makeFrame({ seq, channel, kind, type, at, payload: shown.payload() })
        frames.set(key, frame)
        made(frame)
      }
      return frame
    },
  }
}

import { databaseFault } from '../db/sql.ts'
import type { Trips } from '../db/trip.ts'
import { Problem } from '../problem.ts'
import { commit, type Writer } from '../stream/commit.ts'
import { applyGroup } from './apply.ts'
import { createMemory } from './memory.ts'
import { createOneTrip } from './one-trip.ts'
import type { Item, Outcome } from './outcome.ts'

/**
 * Group commit: requests that arrive while a transaction runs wait together and become the next one. There is one
 * transaction at a time (docs/decisions/0002). A group of what this server knows goes in one trip, any other the long way
 * (0010).
 */
const MOST_EVENTS = 1_000
const MOST_CHARACTERS = 8 * 1024 * 1024
/** Past this much waiting work new requests are told to come back (503), so that memory stays bounded. */
const MOST_WAITING_CHARACTERS = 64 * 1024 * 1024
/**
 * The same for time: what would wait for longer is refused before it is read. A burst of so many events is always let
 * in, and until large groups tell how fast this machine is, it is taken for a quick one.
 */
const MOST_WAITING_S = 2.5
const BURST_EVENTS = 20_000
const PER_S_AT_FIRST = 20_000
const LARGE_GROUP = 500
const MOST_ATTEMPTS = 8
/** Of the requests seen last, how many a group waits for, and for how long at most. */
const SHARE = 0.5
const GATHER_MS = 2

export interface WrittenGroup {
  events: number
  seconds: number
}

export interface GroupCommit {
  /**
   * Stores events. Answers once they are durable.
   * @returns an outcome per item, by position
   * @throws Problem overloaded; unavailable (then it is unknown whether they were kept: repeat with the same ids)
   */
  submit(items: Item[]): Promise<Outcome[]>
  /** Whether there is too much to do to begin with another request: @throws Problem overloaded */
  refuseIfFull(): void
  /** Waits until nothing is waiting or being written. */
  drain(): Promise<void>
  readonly waiting: { events: number; characters: number }
}

interface Submission {
  items: Item[]
  characters: number
  resolve: (outcomes: Outcome[]) => void
  reject: (error: unknown) => void
}

export function createGroupCommit(
  writer: Writer,
  trips: Trips | undefined,
  options: { autocreate: boolean; now: () => Date; wrote?: (group: WrittenGroup) => void },
): GroupCommit {
  const memory = createMemory()
  const oneTrip = trips && createOneTrip(trips, memory, { autocreate: options.autocreate, wake: writer.wake })
  let queue: Submission[] = []
  const waiting = { events: 0, characters: 0 }
  let writing: Promise<void> | null = null
  let gathering: { requests: number; enough: () => void } | null = null
  /** What large groups store a second, lately. */
  let perS = PER_S_AT_FIRST

  async function writeAll(): Promise<void> {
    let last = 0
    while (queue.length > 0) {
      await gather(Math.ceil((last + queue.length) * SHARE))
      const group = takeGroup()
      last = group.length
      try {
        const begun = performance.now()
        const items = group.flatMap((s) => s.items)
        const outcomes = (await oneTrip?.attempt(items)) ?? (await write(items))
        const seconds = (performance.now() - begun) / 1000
        options.wrote?.({ events: outcomes.length, seconds })
        if (outcomes.length >= LARGE_GROUP) perS += (outcomes.length / seconds - perS) / 5
        let at = 0
        for (const s of group) {
          s.resolve(outcomes.slice(at, at + s.items.length))
          at += s.items.length
        }
      } catch (error) {
        for (const s of group) s.reject(error)
      }
    }
  }

  /**
   * Senders that wait for their answers fall into two groups, of which one is written while the other sends; and once
   * one is much the smaller, it stays so, at the price of a whole transaction for a few events. So a group waits for a
   * moment until half of those that were seen last are there again.
   */
  function gather(requests: number): Promise<void> | undefined {
    if (queue.length >= requests || waiting.events >= MOST_EVENTS) return undefined
    return new Promise((resolve) => {
      const timer = setTimeout(enough, GATHER_MS)
      gathering = { requests, enough }
      function enough(): void {
        clearTimeout(timer)
        gathering = null
        resolve()
      }
    })
  }

  function takeGroup(): Submission[] {
    let events = 0
    let characters = 0
    let n = 0
    for (const s of queue) {
      if (n > 0 && (events + s.items.length > MOST_EVENTS || characters + s.characters > MOST_CHARACTERS))
        break
      events += s.items.length
      characters += s.characters
      n++
    }
    const group = queue.slice(0, n)
    queue = queue.slice(n)
    waiting.events -= events
    waiting.characters -= characters
    return group
  }

  /** A value that the database refuses spoils its transaction: halves find it, and its neighbours are kept. */
  async function write(items: Item[]): Promise<Outcome[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const { outcomes, remember } = await commit(writer, (tx) =>
          applyGroup(tx, items, { ...options, memory }),
        )
        remember()
        return outcomes
      } catch (error) {
        const fault = databaseFault(error)
        const repeated = (error as { code?: string }).code === '23505'
        if ((fault === 'retry' || repeated) && attempt < MOST_ATTEMPTS) continue
        if (fault === 'bad_value' && !repeated) {
          if (items.length === 1) return [{ problem: refusedByDatabase(error) }]
          const half = items.length >> 1
          return [...(await write(items.slice(0, half))), ...(await write(items.slice(half)))]
        }
        throw error
      }
    }
  }

  return {
    waiting,
    submit(items) {
      const characters = items.reduce((sum, i) => sum + i.checked.json.length, 0)
      if (waiting.characters > 0 && waiting.characters + characters > MOST_WAITING_CHARACTERS) {
        return Promise.reject(new Problem('overloaded', { retryAfterS: 1 }))
      }
      return new Promise((resolve, reject) => {
        queue.push({ items, characters, resolve, reject })
        waiting.events += items.length
        waiting.characters += characters
        if (gathering !== null && (queue.length >= gathering.requests || waiting.events >= MOST_EVENTS))
          gathering.enough()
        writing ??= writeAll().finally(() => {
          writing = null
        })
      })
    },
    refuseIfFull() {
      if (waiting.events >= Math.max(BURST_EVENTS, perS * MOST_WAITING_S))
        throw new Problem('overloaded', { retryAfterS: 1 })
    },
    async drain() {
      while (writing !== null) await writing
    },
  }
}

const refusedByDatabase = (error: unknown): Problem =>
  new Problem('invalid_event_data', {
    detail: 'A value of the event cannot be stored',
    // What the database said names our tables, not the sender's fields.
    errors: [{ path: 'data', message: 'holds a value that cannot be stored' }],
    cause: error,
  })

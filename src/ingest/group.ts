import { databaseFault } from '../db/sql.ts'
import { Problem } from '../problem.ts'
import { commit, type Writer } from '../stream/commit.ts'
import { applyGroup } from './apply.ts'
import { createJobMemory } from './memory.ts'
import type { Item, Outcome } from './outcome.ts'

/**
 * Group commit: requests that arrive while a transaction runs wait together and become the next one. There is one
 * transaction at a time, started as soon as the writer is free (docs/decisions/0002).
 */
const MOST_EVENTS = 1_000
const MOST_CHARACTERS = 8 * 1024 * 1024
/** Past this much waiting work new requests are told to come back (503), so that memory stays bounded. */
const MOST_WAITING_CHARACTERS = 64 * 1024 * 1024
const MOST_ATTEMPTS = 8

export interface GroupCommit {
  /**
   * Stores events. Answers once they are durable.
   * @returns an outcome per item, by position
   * @throws Problem overloaded; unavailable (then it is unknown whether they were kept: repeat with the same ids)
   */
  submit(items: Item[]): Promise<Outcome[]>
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
  options: { autocreate: boolean; now: () => Date },
): GroupCommit {
  const memory = createJobMemory()
  let queue: Submission[] = []
  const waiting = { events: 0, characters: 0 }
  let writing: Promise<void> | null = null

  async function writeAll(): Promise<void> {
    while (queue.length > 0) {
      const group = takeGroup()
      try {
        const outcomes = await write(group.flatMap((s) => s.items))
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
        writing ??= writeAll().finally(() => {
          writing = null
        })
      })
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

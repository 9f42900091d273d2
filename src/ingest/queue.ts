import type { Item, Outcome } from './outcome.ts'

const MAX_EVENTS = 1_000
const MAX_CHARACTERS = 8 * 1024 * 1024
/** The share of recently outstanding requests that a group waits for. */
const SHARE = 0.5
/** Weight of the previous group's number of outstanding requests. */
const KEPT = 0.75

/** The events of a request, which are stored together. */
export interface Submission {
  items: Item[]
  userId: string
  characters: number
  resolve: (outcomes: Outcome[]) => void
  reject: (error: unknown) => void
}

/** Requests that wait to be written, first in, first out. */
export interface Queue {
  readonly length: number
  readonly waiting: { readonly events: number; readonly characters: number }
  push(submission: Submission): void
  /** The next group: at least one request, at most 1,000 events or 8M characters unless one request has more. */
  take(): Submission[]
  /** So many of the taken requests have been answered. */
  answered(requests: number): void
  /**
   * Waits until half of the recently outstanding requests are in the queue. Reason: senders that wait for their answers
   * form two groups, of which one is written while the other sends. Without the wait, one of them may stay small, and a
   * transaction is spent on few events.
   * @param limit the longest wait: in ms, or until this resolves (it must not reject)
   * @returns whether enough requests are there
   */
  gathered(limit: number | Promise<unknown>): Promise<boolean>
}

export function createQueue(): Queue {
  let queue: Submission[] = []
  const waiting = { events: 0, characters: 0 }
  /** Taken and not yet answered. */
  let taken = 0
  let outstanding = 0
  /** Called when enough requests are there. */
  let onEnough = doNothing
  const enough = (): boolean =>
    queue.length > 0 && (queue.length >= Math.ceil(outstanding * SHARE) || waiting.events >= MAX_EVENTS)
  return {
    waiting,
    get length() {
      return queue.length
    },
    push(submission) {
      queue.push(submission)
      waiting.events += submission.items.length
      waiting.characters += submission.characters
      if (enough()) onEnough()
    },
    take() {
      outstanding = Math.max(queue.length + taken, outstanding * KEPT)
      let events = 0
      let characters = 0
      let n = 0
      for (const s of queue) {
        if (n > 0 && (events + s.items.length > MAX_EVENTS || characters + s.characters > MAX_CHARACTERS))
          break
        events += s.items.length
        characters += s.characters
        n++
      }
      const group = queue.slice(0, n)
      queue = queue.slice(n)
      waiting.events -= events
      waiting.characters -= characters
      taken += n
      return group
    },
    answered(requests) {
      taken -= requests
    },
    gathered(limit) {
      if (enough()) return Promise.resolve(true)
      return new Promise((resolve) => {
        const end = (found: boolean): void => {
          if (onEnough !== mine) return
          onEnough = doNothing
          clearTimeout(timer)
          resolve(found)
        }
        const mine = (): void => end(true)
        onEnough = mine
        let timer: NodeJS.Timeout | undefined
        if (typeof limit === 'number') timer = setTimeout(end, limit, false)
        else limit.then(() => end(false))
      })
    },
  }
}

const doNothing = (): void => {}

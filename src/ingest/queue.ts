import type { Item, Outcome } from './outcome.ts'

const MAX_EVENTS = 1_000
const MAX_CHARACTERS = 8 * 1024 * 1024
/** Of the requests that were outstanding lately, how many a group waits for. */
const SHARE = 0.5
/** How much of what was seen a group ago is still counted on. */
const KEPT = 0.75

/** A request's events, which are stored together. */
export interface Submission {
  items: Item[]
  /** Who sent them. */
  userId: string
  characters: number
  resolve: (outcomes: Outcome[]) => void
  reject: (error: unknown) => void
}

/** Requests that wait to be written, in the order in which they came. */
export interface Queue {
  readonly length: number
  readonly waiting: { readonly events: number; readonly characters: number }
  push(submission: Submission): void
  /** The next group: at least one request, at most 1,000 events or 8M characters unless one request has more. */
  take(): Submission[]
  /** Tells that so many of the requests that were taken have their answers. */
  answered(requests: number): void
  /**
   * Senders that wait for their answers fall into two groups, of which one is written while the other sends; and once
   * one is much the smaller, it stays so, at the price of a whole transaction for a few events. So a group waits until
   * half of the requests that were outstanding lately are there.
   * @param patience how long at most: in ms, or until this resolves (it may not reject)
   * @returns whether they are there
   */
  gathered(patience: number | Promise<unknown>): Promise<boolean>
}

export function createQueue(): Queue {
  let queue: Submission[] = []
  const waiting = { events: 0, characters: 0 }
  /** Taken and not answered. */
  let taken = 0
  let outstanding = 0
  /** Waits for enough to be there. */
  let heed = doNothing
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
      if (enough()) heed()
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
    gathered(patience) {
      if (enough()) return Promise.resolve(true)
      return new Promise((resolve) => {
        const end = (there: boolean): void => {
          if (heed !== mine) return
          heed = doNothing
          clearTimeout(timer)
          resolve(there)
        }
        const mine = (): void => end(true)
        heed = mine
        let timer: NodeJS.Timeout | undefined
        if (typeof patience === 'number') timer = setTimeout(end, patience, false)
        else patience.then(() => end(false))
      })
    },
  }
}

const doNothing = (): void => {}

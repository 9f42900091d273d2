import { shareOfHeap } from '../memory.ts'
import { createFairShare } from './fair-share.ts'

/**
 * Characters of waiting events above which requests are refused (503), so that memory stays bounded: at once from users
 * with more than their share, at twice as much from all (fair-share.ts).
 */
const MAX_WAITING_CHARACTERS = shareOfHeap(1 / 32, 64 * 1024 * 1024)
/** The same limit as a time: work that would wait for longer is refused. A burst of BURST_EVENTS is always accepted. */
const MAX_WAITING_S = 1.2
const BURST_EVENTS = 20_000
/** Throughput that is assumed until large groups were measured, in events per second. */
const ASSUMED_PER_S = 20_000
/** Events of a group that is large enough to measure the throughput. */
const LARGE_GROUP = 500
/** Weight that earlier measurements keep after each new one. */
const DECAY = 0.8

interface Load {
  events: number
  characters: number
}

/** A request's work, as the queue holds it. */
interface Work {
  userId: string
  items: readonly unknown[]
  characters: number
}

/** How much work may wait, in all and by user (specification §4.1 step 2, contract §1 "Rate"). */
export interface LoadLimit {
  refuses(userId: string, load: Load): boolean
  take(work: Work): void
  giveBack(work: Work): void
  /** A group of so many events took so long. */
  measure(events: number, seconds: number): void
}

export function createLoadLimit(): LoadLimit {
  /** Sums over recent large groups, not a mean of rates: two groups may be answered at the same moment. */
  const recent = { events: ASSUMED_PER_S, seconds: 1 }
  const maxEvents = (): number => Math.max(BURST_EVENTS, (recent.events / recent.seconds) * MAX_WAITING_S)
  const events = createFairShare(maxEvents)
  const characters = createFairShare(() => MAX_WAITING_CHARACTERS)
  return {
    refuses: (userId, load) =>
      (load.characters > 0 && characters.refuses(userId, load.characters)) ||
      events.refuses(userId, load.events),
    take(work) {
      events.take(work.userId, work.items.length)
      characters.take(work.userId, work.characters)
    },
    giveBack(work) {
      events.giveBack(work.userId, work.items.length)
      characters.giveBack(work.userId, work.characters)
    },
    measure(count, seconds) {
      if (count < LARGE_GROUP) return
      recent.events = recent.events * DECAY + count
      recent.seconds = recent.seconds * DECAY + seconds
    },
  }
}

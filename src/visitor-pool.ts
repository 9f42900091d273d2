import { performance } from 'node:perf_hooks'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createBoundedQueue } from './bounded-queue.ts'
import { createTokenBuckets } from './token-buckets.ts'

/**
 * Work for visitors, that is callers without a credential: little of it runs at a time, and in the long run it has a
 * share of the event loop. So visitors, however many, slow down only each other.
 */
export interface VisitorPool {
  /**
   * Runs the work when it is the network's turn.
   * @param gone whether its client has gone when it is its turn: then it is not run
   * @throws Problem too_many_requests when much work of the network waits, overloaded when much work of all does
   */
  run<T>(network: string, work: () => Promise<T>, gone?: () => boolean): Promise<T>
  /** Within such work: lets others run, for as long as visitors have used more than their share. */
  pass(): Promise<void>
  readonly counts: { running: number; waiting: number; refused: number }
}

/** How much work of visitors runs at a time. As many connections to the database are theirs. */
export const VISITORS_AT_ONCE = 2
/** How much work of one network, and of all together, may wait. */
const WAITING_OF_NETWORK = 60
const WAITING = 200
/** The share of the event loop that visitors have in the long run, and for how long they may have all of it. */
const SHARE = 0.25
const BURST_MS = 500
const MAX_SLEEP_MS = 1_000

export function createVisitorPool(): VisitorPool {
  /** Milliseconds in which work of visitors ran and the event loop was busy with any work. */
  const busy = createTokenBuckets({ perS: SHARE * 1000, burst: BURST_MS })
  const pauseMs = (): number => busy.owesS('') * 1000
  const queue = createBoundedQueue<string>({
    atOnce: VISITORS_AT_ONCE,
    lanes: {},
    otherLanes: { waiting: WAITING_OF_NETWORK, together: WAITING, code: 'too_many_requests' },
    pauseMs,
  })
  let working = 0
  let measured = performance.eventLoopUtilization()
  function measure(): void {
    const now = performance.eventLoopUtilization()
    if (working > 0) busy.spend('', now.active - measured.active)
    measured = now
  }
  const begin = (): void => {
    measure()
    working++
  }
  const end = (): void => {
    measure()
    working--
  }
  return {
    counts: queue.counts,
    run: (network, work, gone) =>
      queue.run(
        network,
        async () => {
          begin()
          try {
            return await work()
          } finally {
            end()
          }
        },
        gone,
      ),
    async pass() {
      end()
      const ms = pauseMs()
      await (ms > 0 ? sleep(Math.min(ms, MAX_SLEEP_MS)) : nextTurn())
      begin()
    },
  }
}

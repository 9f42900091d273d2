import type { Frame } from './frame.ts'
import type { Subscription } from './subscription.ts'

/**
 * The same subscription for a reader that needs the newest state and not each step to it: while the reader is busy, the
 * frames that arrive become one. So a reader that is slow skips, and never has more than one frame before it.
 * @param merge one frame in the place of two
 */
export function newestOnly(
  source: Subscription,
  merge: (earlier: Frame, later: Frame) => Frame,
): Subscription {
  let pending: Frame | undefined
  let wake: (() => void) | undefined
  let reading: Promise<void> | undefined
  let ended = false

  async function read(): Promise<void> {
    try {
      for (;;) {
        const { done, value } = await source.next()
        if (done === true) return
        pending = pending === undefined ? value : merge(pending, value)
        wake?.()
      }
    } finally {
      ended = true
      wake?.()
    }
  }
  function end(): void {
    pending = undefined
    ended = true
    wake?.()
  }
  const over = { done: true, value: undefined } as const

  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      if (reading === undefined) {
        reading = read()
        // Its error is thrown below.
        reading.catch(() => {})
      }
      while (pending === undefined) {
        if (ended) {
          await reading
          return over
        }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        wake = undefined
      }
      const value = pending
      pending = undefined
      return { done: false, value }
    },
    async return() {
      end()
      return source.return()
    },
    async throw(error) {
      end()
      return source.throw(error)
    },
    get caughtUpTo() {
      return pending === undefined && wake !== undefined ? source.caughtUpTo : undefined
    },
  }
}

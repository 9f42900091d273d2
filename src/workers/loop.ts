/** Repeats work until it is stopped; one round at a time. */
export interface Loop {
  /** Aborts the pause or the running round, and waits for it. */
  stop(): Promise<void>
}

/** Rounds that are left out at rest, after each that takes place. */
const ROUNDS_AT_REST = 11

/**
 * @param work one round; should check `signal` between its steps
 * @param failed called with an error of a round; the loop continues
 */
export function startLoop(options: {
  everyMs: number
  /** Whether nothing happens on this server: then only every twelfth round takes place. */
  atRest?: () => boolean
  work: (signal: AbortSignal) => Promise<void>
  failed: (error: unknown) => void
}): Loop {
  const stopping = new AbortController()
  let wake: () => void = () => {}
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, options.everyMs)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  let left = 0
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await pause()
      if (stopping.signal.aborted) break
      if (options.atRest?.() === true && left-- > 0) continue
      left = ROUNDS_AT_REST
      await options.work(stopping.signal).catch((error) => {
        if (!stopping.signal.aborted) options.failed(error)
      })
    }
  }
  const running = run()
  return {
    async stop() {
      stopping.abort()
      wake()
      await running
    },
  }
}

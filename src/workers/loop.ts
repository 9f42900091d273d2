/** Repeats work until it is stopped; one round at a time. */
export interface Loop {
  /** Aborts the pause or the running round, and waits for it. */
  stop(): Promise<void>
}

/**
 * @param work one round; should check `signal` between its steps
 * @param failed called with an error of a round; the loop continues
 */
export function startLoop(options: {
  everyMs: number
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
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await pause()
      if (stopping.signal.aborted) break
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

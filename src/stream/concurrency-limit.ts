/** Lets `most` pieces of work run at a time; the others wait in the order they came. */
export function createConcurrencyLimit(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      // The slot goes to the caller that has waited longest.
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}

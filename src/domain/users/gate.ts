import { Problem } from '../../problem.ts'

export interface Gate {
  /** Runs the work when it is its turn, first come first served. Throws `overloaded` when too many wait already. */
  through<T>(work: () => Promise<T>): Promise<T>
  readonly counts: { running: number; waiting: number; refused: number }
}

/** Lets at most `atOnce` pieces of work run and at most `waiting` wait; more are refused at once. */
export function createGate(limits: { atOnce: number; waiting: number }): Gate {
  const queue: (() => void)[] = []
  const counts = { running: 0, waiting: 0, refused: 0 }
  return {
    counts,
    async through(work) {
      if (counts.running < limits.atOnce) counts.running++
      else {
        if (queue.length >= limits.waiting) {
          counts.refused++
          throw new Problem('overloaded')
        }
        counts.waiting++
        // Whoever leaves hands its place over, so `running` stays as it is.
        await new Promise<void>((enter) => queue.push(enter))
        counts.waiting--
      }
      try {
        return await work()
      } finally {
        const next = queue.shift()
        if (next === undefined) counts.running--
        else next()
      }
    },
  }
}

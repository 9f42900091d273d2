import { Problem } from './problem.ts'

export interface Lane {
  /** How many tasks of this lane run at once; by default as many as the queue allows. */
  atOnce?: number
  /** How many tasks may wait; more are refused at once. Unlimited by default. */
  waiting?: number
}

export interface BoundedQueue<Name extends string> {
  /**
   * Runs the task when it is its turn, in order of arrival within a lane.
   * @throws Problem `overloaded` when too many tasks wait in that lane
   */
  run<T>(lane: Name, work: () => Promise<T>): Promise<T>
  readonly counts: { running: number; waiting: number; refused: number }
}

/**
 * Runs at most `atOnce` tasks at a time. A free slot goes to the lane with the fewest running tasks, so that one busy
 * lane cannot starve another; among equal lanes the one declared first wins.
 */
export function createBoundedQueue<Name extends string>(limits: {
  atOnce: number
  lanes: Record<Name, Lane>
}): BoundedQueue<Name> {
  const lanes = new Map<string, Required<Lane> & { running: number; queue: (() => void)[] }>(
    Object.entries<Lane>(limits.lanes).map(
      ([name, { atOnce = limits.atOnce, waiting = Number.POSITIVE_INFINITY }]) => [
        name,
        { atOnce, waiting, running: 0, queue: [] },
      ],
    ),
  )
  const counts = { running: 0, waiting: 0, refused: 0 }
  const startNext = (): void => {
    while (counts.running < limits.atOnce) {
      const [next] = [...lanes.values()]
        .filter((lane) => lane.queue.length > 0 && lane.running < lane.atOnce)
        .sort((a, b) => a.running - b.running)
      const enter = next?.queue.shift()
      if (next === undefined || enter === undefined) return
      next.running++
      counts.running++
      counts.waiting--
      enter()
    }
  }
  return {
    counts,
    async run(name, work) {
      const lane = lanes.get(name)
      if (lane === undefined) throw new Error(`there is no lane ${name}`)
      const free = counts.running < limits.atOnce && lane.running < lane.atOnce
      if (!free && lane.queue.length >= lane.waiting) {
        counts.refused++
        throw new Problem('overloaded', { retryAfterS: 1 })
      }
      await new Promise<void>((enter) => {
        lane.queue.push(enter)
        counts.waiting++
        startNext()
      })
      try {
        return await work()
      } finally {
        lane.running--
        counts.running--
        startNext()
      }
    },
  }
}

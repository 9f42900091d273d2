import { Problem, type ProblemCode } from './problem.ts'

export interface Lane {
  /** How many tasks of this lane run at once; by default as many as the queue allows. */
  atOnce?: number
  /** How many tasks may wait; more are refused at once. Unlimited by default. */
  waiting?: number
}

export interface BoundedQueue<Name extends string> {
  /**
   * Runs the task when it is its turn, in order of arrival within a lane.
   * @param gone whether the task is no longer needed when it is its turn; it then takes no place
   * @throws Problem `overloaded` when too many tasks wait in that lane, or when the task is no longer needed
   */
  run<T>(lane: Name, work: () => Promise<T>, gone?: () => boolean): Promise<T>
  readonly counts: { running: number; waiting: number; refused: number }
}

interface Waiting {
  enter: () => void
  leave: (reason: Problem) => void
  gone: () => boolean
}

interface OpenLane extends Required<Lane> {
  running: number
  queue: Waiting[]
  /** Whether the lane was not declared. It exists while it has tasks. */
  passing: boolean
}

/**
 * Runs at most `atOnce` tasks at a time. A free slot goes to the lane with the fewest running tasks, so that one busy
 * lane cannot starve another; among equal lanes the one declared first wins, and of those not declared the one that has
 * waited longest.
 * @param limits.otherLanes of lanes that are not declared, such as one a client; without it there are none. At most
 *   `together` of their tasks wait; a lane that is full is refused with `code`
 * @param limits.pauseMs asked before a task starts: how long none may
 */
export function createBoundedQueue<Name extends string>(limits: {
  atOnce: number
  lanes: Partial<Record<Name, Lane>>
  otherLanes?: Lane & { together: number; code: ProblemCode }
  pauseMs?: () => number
}): BoundedQueue<Name> {
  const { otherLanes, pauseMs = () => 0 } = limits
  const opened = (lane: Lane, passing: boolean): OpenLane => {
    const { atOnce = limits.atOnce, waiting = Number.POSITIVE_INFINITY } = lane
    return { atOnce, waiting, running: 0, queue: [], passing }
  }
  const lanes = new Map<string, OpenLane>(
    Object.entries<Lane | undefined>(limits.lanes).map(([name, lane = {}]) => [name, opened(lane, false)]),
  )
  const counts = { running: 0, waiting: 0, refused: 0 }
  let pausing: NodeJS.Timeout | undefined

  function dropGone(): void {
    for (const [name, lane] of lanes) {
      const left = lane.queue.filter(({ gone }) => gone())
      if (left.length === 0) continue
      lane.queue = lane.queue.filter((one) => !left.includes(one))
      counts.waiting -= left.length
      for (const { leave } of left) leave(new Problem('overloaded'))
      closeIfEmpty(name, lane)
    }
  }
  function closeIfEmpty(name: string, lane: OpenLane): void {
    if (lane.passing && lane.running === 0 && lane.queue.length === 0) lanes.delete(name)
  }
  const startNext = (): void => {
    if (otherLanes !== undefined) dropGone()
    while (counts.running < limits.atOnce && counts.waiting > 0 && pausing === undefined) {
      const ms = pauseMs()
      if (ms > 0) {
        pausing = setTimeout(() => {
          pausing = undefined
          startNext()
        }, ms)
        return
      }
      const [next] = [...lanes]
        .filter(([, lane]) => lane.queue.length > 0 && lane.running < lane.atOnce)
        .sort(([, a], [, b]) => a.running - b.running)
      const [name, lane] = next ?? []
      const task = lane?.queue.shift()
      if (name === undefined || lane === undefined || task === undefined) return
      if (lane.passing) {
        lanes.delete(name)
        lanes.set(name, lane)
      }
      lane.running++
      counts.running++
      counts.waiting--
      task.enter()
    }
  }
  function laneOf(name: string): OpenLane {
    const known = lanes.get(name)
    if (known !== undefined) return known
    if (otherLanes === undefined) throw new Error(`there is no lane ${name}`)
    return opened(otherLanes, true)
  }
  return {
    counts,
    async run(name, work, gone = () => false) {
      const lane = laneOf(name)
      const free = counts.running < limits.atOnce && lane.running < lane.atOnce && pausing === undefined
      const full =
        lane.queue.length >= lane.waiting || (lane.passing && counts.waiting >= (otherLanes?.together ?? 0))
      if (!free && full) {
        counts.refused++
        const ownFault = lane.queue.length >= lane.waiting && lane.passing
        throw new Problem(ownFault ? (otherLanes?.code ?? 'overloaded') : 'overloaded', { retryAfterS: 1 })
      }
      lanes.set(name, lane)
      await new Promise<void>((enter, leave) => {
        lane.queue.push({ enter, leave, gone })
        counts.waiting++
        startNext()
      })
      try {
        return await work()
      } finally {
        lane.running--
        counts.running--
        closeIfEmpty(name, lane)
        startNext()
      }
    },
  }
}

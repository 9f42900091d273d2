import { createHash } from 'node:crypto'
import { itemAt } from '../checked.ts'
import type { GroupCommit } from './group.ts'
import type { Item } from './outcome.ts'

/** Groups of events that a server writes at a time on a cluster, where each waits for a worker. */
export const LANES_ON_CLUSTER = 4

/**
 * Several groups at a time, where each waits for a worker of a cluster and not for the one disk. A request is one commit
 * here too, in the lane of its first batch. So requests of one batch alone, which is what reporters send, always take the
 * same lane, and one that has to wait for its worker holds up those of its own lane only. Two lanes that write to the same
 * batch are as two servers that do.
 */
export function createLanes(count: number, create: () => GroupCommit): GroupCommit {
  if (count === 1) return create()
  const lanes = Array.from({ length: count }, create)
  const laneOf = ({ checked }: Item): GroupCommit =>
    itemAt(lanes, createHash('sha1').update(checked.event.batch_id).digest().readUInt32BE() % count)
  const sum = (of: (lane: GroupCommit) => number): number =>
    lanes.reduce((total, lane) => total + of(lane), 0)
  return {
    get waiting() {
      return { events: sum((l) => l.waiting.events), characters: sum((l) => l.waiting.characters) }
    },
    submit: (items) => laneOf(itemAt(items, 0)).submit(items),
    refuseIfFull(userId) {
      for (const lane of lanes) lane.refuseIfFull(userId)
    },
    async drain() {
      await Promise.all(lanes.map((lane) => lane.drain()))
    },
  }
}

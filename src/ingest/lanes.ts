import { createHash } from 'node:crypto'
import { itemAt } from '../checked.ts'
import type { GroupCommit } from './group.ts'
import type { Item } from './outcome.ts'

/** Groups that a server writes at once on a cluster. */
export const LANES_ON_CLUSTER = 4

/**
 * Writes several groups at once. This pays on a cluster, where a group waits for a worker and not for the only disk. A
 * request is still one commit; it uses the lane of its first batch. Reporters send requests about a single batch, so a
 * batch always uses the same lane, and a slow worker delays only the lanes of its batches. Two lanes that write to the
 * same batch are like two servers that do.
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

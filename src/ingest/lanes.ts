import { createHash } from 'node:crypto'
import { itemAt } from '../checked.ts'
import type { GroupCommit } from './group.ts'
import type { Item, Outcome } from './outcome.ts'

/** Groups of events that a server writes at a time on a cluster, where each waits for a worker. */
export const LANES_ON_CLUSTER = 4

/**
 * Several groups at a time, where each waits for a worker of a cluster and not for the one disk. Events of one batch always
 * take the same lane, so that within a batch everything is as with one; a batch that has to wait for its worker holds up
 * those of its own lane only.
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
    async submit(items) {
      const positions = new Map<GroupCommit, number[]>()
      for (const [i, item] of items.entries()) {
        const lane = laneOf(item)
        const own = positions.get(lane)
        if (own === undefined) positions.set(lane, [i])
        else own.push(i)
      }
      const outcomes = new Array<Outcome>(items.length)
      const settled = await Promise.allSettled(
        [...positions].map(async ([lane, own]) => {
          const found = await lane.submit(own.map((i) => itemAt(items, i)))
          for (const [n, i] of own.entries()) outcomes[i] = itemAt(found, n)
        }),
      )
      // What one lane kept and another did not is answered as not kept: sent again, it is recognised.
      for (const one of settled) if (one.status === 'rejected') throw one.reason
      return outcomes
    },
    refuseIfFull(userId) {
      for (const lane of lanes) lane.refuseIfFull(userId)
    },
    async drain() {
      await Promise.all(lanes.map((lane) => lane.drain()))
    },
  }
}

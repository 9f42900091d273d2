import type { GroupCommit } from './group.ts'
import type { Item, Outcome } from './outcome.ts'

/**
 * Several group commits side by side, each with the batches that fall to it: where telemetry is distributed, a
 * transaction waits for a worker, and those of other batches need not wait for it too.
 */
export function createLanes(create: () => GroupCommit, count: number): GroupCommit {
  const lanes = Array.from({ length: count }, create)
  const sum = (of: 'events' | 'characters'): number =>
    lanes.reduce((total, lane) => total + lane.waiting[of], 0)
  return {
    waiting: {
      get events() {
        return sum('events')
      },
      get characters() {
        return sum('characters')
      },
    },
    async submit(items) {
      const parts = new Map<number, { item: Item; position: number }[]>()
      for (const [position, item] of items.entries()) {
        const lane = laneOf(item.checked.event.batch_id, count)
        parts.set(lane, [...(parts.get(lane) ?? []), { item, position }])
      }
      const outcomes: Outcome[] = []
      await Promise.all(
        [...parts].map(async ([lane, part]) => {
          const found = await (lanes[lane] as GroupCommit).submit(part.map(({ item }) => item))
          for (const [i, { position }] of part.entries()) outcomes[position] = found[i] as Outcome
        }),
      )
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

function laneOf(batchId: string, count: number): number {
  let hash = 0
  for (let i = 0; i < batchId.length; i++) hash = (hash * 31 + batchId.charCodeAt(i)) | 0
  return Math.abs(hash) % count
}

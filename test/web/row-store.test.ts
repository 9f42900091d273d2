import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Batch, Job } from '../../web/src/lib/api/batches.ts'
import { batchStore, createJobStore } from '../../web/src/lib/live/batches.ts'
import { createRowStore } from '../../web/src/lib/live/row-store.ts'

interface Row {
  id: string
  n: number
}
const storeOf = () => {
  const store = createRowStore<Row>(
    (row) => row.id,
    (old, fresh) => (old !== undefined && old.n >= fresh.n ? old : fresh),
  )
  const told: string[] = []
  store.onIds(() => told.push('ids'))
  store.onAny(() => told.push('any'))
  for (const id of ['a', 'b']) store.onRow(id, () => told.push(id))
  return { store, told }
}

test('changes within one interval are one notification per row; new rows are added at once', async () => {
  const { store, told } = storeOf()
  store.put([{ id: 'a', n: 1 }])
  expect(told).toEqual(['ids'])
  store.put([{ id: 'a', n: 2 }])
  store.put([{ id: 'b', n: 1 }])
  expect(told).toEqual(['ids', 'ids'])
  expect(store.get('a')?.n).toBe(2)
  await sleep(120)
  expect(told).toEqual(['ids', 'ids', 'a', 'b', 'any'])
})

test('a row that changes all the time sends at most twenty notifications a second, always with its latest state', async () => {
  const { store, told } = storeOf()
  const begun = performance.now()
  let n = 0
  while (performance.now() - begun < 500) {
    store.put([{ id: 'a', n: ++n }])
    await sleep(2)
  }
  await sleep(120)
  const times = told.filter((one) => one === 'a').length
  expect(times).toBeGreaterThan(2)
  expect(times).toBeLessThanOrEqual(Math.ceil((performance.now() - begun) / 50) + 1)
  const before = told.length
  expect(store.all()).toEqual([{ id: 'a', n }])
  await sleep(120)
  expect(told.length).toBe(before)
})

test('the list of all rows is the same object until a row changes; an older state changes nothing', async () => {
  const { store, told } = storeOf()
  store.put([
    { id: 'a', n: 2 },
    { id: 'b', n: 1 },
  ])
  await sleep(120)
  const all = store.all()
  const before = told.length
  store.put([{ id: 'a', n: 1 }])
  await sleep(120)
  expect(store.all()).toBe(all)
  expect(told.length).toBe(before)
  store.put([{ id: 'a', n: 3 }])
  expect(store.all()).toEqual([
    { id: 'a', n: 3 },
    { id: 'b', n: 1 },
  ])
})

test('a lost job that reports again is shown, an older message of one that has ended is not', () => {
  const store = createJobStore()
  const job = (id: string, status: string, ended_at: string | null) =>
    ({ id, status, ended_at, epochs: 3 }) as Job
  store.put([job('lost', 'lost', '2026-03-01T10:00:00Z'), job('done', 'completed', '2026-03-01T10:00:00Z')])
  store.put([job('lost', 'running', null), job('done', 'running', null)])
  expect([store.get('lost')?.status, store.get('done')?.status]).toEqual(['running', 'completed'])
})

test('an answer that is older than a message changes nothing, also if both events have one time', () => {
  const at = (second: number): string => `2026-01-15T14:00:0${second}Z`
  const of = (n_running: number, seen: number, received: number | null): Batch =>
    ({
      id: 'raced',
      n_running,
      last_seen_at: at(seen),
      ...(received !== null && { last_received_at: at(received) }),
    }) as Batch
  const known = (batch: Batch): unknown => {
    batchStore.put([batch])
    return batchStore.get('raced')?.n_running
  }
  expect(known(of(3, 1, 2))).toBe(3)
  expect(known(of(2, 2, 3))).toBe(2)
  expect(known(of(3, 1, 2))).toBe(2)
  // The event of a late replay has an earlier time than the last one.
  expect(known(of(1, 2, 4))).toBe(1)
  expect(known(of(2, 2, 3))).toBe(1)
  // Without a new event, such as after a change of tags, and where no time of receipt is shown.
  expect(known(of(5, 2, 4))).toBe(5)
  expect(known(of(6, 2, null))).toBe(6)
})

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Job } from '../../web/src/lib/api/batches.ts'
import { createJobStore } from '../../web/src/lib/live/batches.ts'
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

import { expect, test } from 'vitest'
import type { Item } from '../../src/ingest/outcome.ts'
import { createQueue, type Queue } from '../../src/ingest/queue.ts'

const submit = (queue: Queue, events = 1, characters = 100): void =>
  queue.push({
    items: Array.from({ length: events }, () => ({}) as Item),
    userId: 'a',
    characters,
    resolve: () => {},
    reject: () => {},
  })
const never = new Promise<void>(() => {})

test('a group consists of whole requests in order, at most 1,000 events and 8M characters, and at least one request', () => {
  const queue = createQueue()
  for (const events of [400, 500, 200, 500]) submit(queue, events)
  expect(queue.waiting).toEqual({ events: 1_600, characters: 400 })
  expect(queue.take().map((s) => s.items.length)).toEqual([400, 500])
  expect(queue.take().map((s) => s.items.length)).toEqual([200, 500])
  expect(queue.waiting).toEqual({ events: 0, characters: 0 })
  for (const characters of [9_000_000, 5_000_000, 4_000_000]) submit(queue, 1, characters)
  expect(queue.take().map((s) => s.characters)).toEqual([9_000_000])
  expect(queue.take().map((s) => s.characters)).toEqual([5_000_000])
  expect(queue.length).toBe(1)
})

test('after 64 requests at once a group waits for 32, and then for fewer and fewer', async () => {
  const queue = createQueue()
  for (let i = 0; i < 64; i++) submit(queue)
  expect(await queue.gathered(never)).toBe(true)
  queue.answered(queue.take().length)
  let there = false
  const waiting = queue.gathered(never).then((enough) => {
    there = enough
  })
  for (let i = 0; i < 31; i++) submit(queue)
  await Promise.resolve()
  expect(there).toBe(false)
  submit(queue)
  await waiting
  expect(there).toBe(true)
  const needed: number[] = []
  for (let group = 0; group < 20; group++) {
    queue.answered(queue.take().length)
    let n = 0
    for (; !(await queue.gathered(Promise.resolve())); n++) submit(queue)
    needed.push(n)
  }
  expect(needed[0]).toBe(24)
  expect(needed.at(-1)).toBe(1)
  expect(needed).toEqual([...needed].sort((a, b) => b - a))
})

test('a group waits no longer than its limit, and a request that ends late does not end the next wait', async () => {
  const queue = createQueue()
  expect(await queue.gathered(1)).toBe(false)
  let end = (): void => {}
  const late = new Promise<void>((resolve) => {
    end = resolve
  })
  const first = queue.gathered(late)
  submit(queue)
  expect(await first).toBe(true)
  queue.take()
  const second = queue.gathered(never)
  end()
  expect(await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 20, 'waits'))])).toBe(
    'waits',
  )
  submit(queue)
  expect(await second).toBe(true)
})

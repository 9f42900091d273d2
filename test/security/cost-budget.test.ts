import { expect, test } from 'vitest'
import { createBoundedQueue } from '../../src/bounded-queue.ts'
import { createCostBudget, type Payer } from '../../src/cost-budget.ts'
import { Problem } from '../../src/problem.ts'
import { createTokenBuckets } from '../../src/token-buckets.ts'

// The budget of cost over time, with a clock of the test's own.

const visitor = (key: string): Payer => ({ kind: 'visitor', key })

function refusalOf(work: () => void): Problem | undefined {
  try {
    work()
  } catch (error) {
    if (error instanceof Problem) return error
    throw error
  }
  return undefined
}

test('a network has 40 seconds of its rate at once, then its rate; refusals say when the cost is covered', () => {
  let now = 0
  const budget = createCostBudget({ visitor: 100, credential: 1_000 }, () => now)
  const one = visitor('192.0.2.1')
  budget.take(one, 4_000)
  const refusal = refusalOf(() => budget.take(one, 250))
  expect([refusal?.status, refusal?.code, refusal?.retryAfterS]).toEqual([429, 'budget_exceeded', 3])
  now += 2_499
  expect(refusalOf(() => budget.take(one, 250))?.retryAfterS).toBe(1)
  now += 1
  budget.take(one, 250)
  // Another network, and a credential of the same name, have budgets of their own.
  budget.take(visitor('192.0.2.2'), 4_000)
  budget.take({ kind: 'credential', key: '192.0.2.1' }, 40_000)
  expect(budget.refused).toEqual({ visitor: 2, credential: 0 })
})

test('a cost above the burst is covered once the bucket is full, so nothing is refused forever', () => {
  let now = 0
  const budget = createCostBudget({ visitor: 100, credential: 1_000 }, () => now)
  budget.take(visitor('a'), 150_000)
  now += 39_999
  expect(refusalOf(() => budget.take(visitor('a'), 150_000))?.retryAfterS).toBe(1)
  now += 1
  budget.take(visitor('a'), 150_000)
})

test('costs that are known afterwards are owed, at most one burst', () => {
  let now = 0
  const buckets = createTokenBuckets({ perS: 10, burst: 100 }, () => now)
  buckets.spend('a', 150)
  expect(buckets.owesS('a')).toBe(5)
  buckets.spend('a', 1e9)
  expect(buckets.owesS('a')).toBe(10)
  now += 10_000
  expect([buckets.owesS('a'), buckets.take('a', 1).waitS]).toEqual([0, 0.1])
})

test('a stream waits for its budget, and stops waiting when its client has gone', async () => {
  let now = 0
  const budget = createCostBudget({ visitor: 100, credential: 100 }, () => now)
  budget.take(visitor('a'), 4_000)
  const patient = budget.wait(visitor('a'), 1, () => false)
  let here = true
  const leaving = budget.wait(visitor('a'), 4_000, () => !here)
  here = false
  now += 10
  expect(await patient).toBe(true)
  now += 1e6
  expect(await leaving).toBe(false)
})

test('buckets are bounded: the one that was not used for longest is dropped', () => {
  const buckets = createTokenBuckets({ perS: 1, burst: 10 }, () => 0)
  buckets.take('first', 10)
  for (let n = 0; n < 10_000; n++) buckets.take(`other ${n}`, 1)
  expect(buckets.take('first', 10).waitS).toBe(0)
  expect(buckets.take('other 9999', 10).waitS).toBeGreaterThan(0)
})

const later = () => {
  let done = (): void => {}
  const promise = new Promise<void>((resolve) => {
    done = resolve
  })
  return { promise, done }
}

test('networks take turns for places; one that waits for too much is refused, and tasks of clients that left take none', async () => {
  const queue = createBoundedQueue<string>({
    atOnce: 1,
    lanes: {},
    otherLanes: { waiting: 3, together: 5, code: 'too_many_requests' },
  })
  const order: string[] = []
  const first = later()
  const tasks = [queue.run('a', () => first.promise)]
  const gone = new Set<string>()
  const add = (lane: string, name: string) =>
    queue.run(
      lane,
      async () => {
        order.push(name)
      },
      () => gone.has(name),
    )
  for (const name of ['a1', 'a2', 'a3']) tasks.push(add('a', name))
  tasks.push(add('b', 'b1'))
  await expect(add('a', 'a4')).rejects.toMatchObject({ code: 'too_many_requests' })
  const left = add('b', 'b2')
  await expect(add('c', 'c1')).rejects.toMatchObject({ code: 'overloaded' })
  gone.add('b2')
  first.done()
  await expect(left).rejects.toBeInstanceOf(Problem)
  await Promise.all(tasks)
  expect(order).toEqual(['a1', 'b1', 'a2', 'a3'])
  expect(queue.counts).toEqual({ running: 0, waiting: 0, refused: 2 })
})

test('no task starts during a pause', async () => {
  let pauseMs = 30
  const queue = createBoundedQueue<string>({
    atOnce: 2,
    lanes: { one: { waiting: 1 } },
    pauseMs: () => pauseMs,
  })
  let ran = false
  const task = queue.run('one', async () => {
    ran = true
  })
  await expect(queue.run('one', async () => {})).rejects.toMatchObject({ code: 'overloaded' })
  expect(ran).toBe(false)
  pauseMs = 0
  await task
  expect(ran).toBe(true)
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairShare } from '../../src/ingest/fair-share.ts'

test('a single user may use the whole limit, and no more', () => {
  const share = createFairShare(() => 100)
  expect(share.refuses('a', 100)).toBe(false)
  share.take('a', 100)
  expect(share.refuses('a', 1)).toBe(true)
  share.giveBack('a', 1)
  expect(share.refuses('a', 1)).toBe(false)
})

test('a request larger than the limit is accepted when nothing else waits', () => {
  expect(createFairShare(() => 100).refuses('a', 500)).toBe(false)
})

test('once the limit is reached, users above an equal share are refused and users below it are not', () => {
  const share = createFairShare(() => 100)
  share.take('flood', 100)
  expect(share.refuses('small', 50)).toBe(false)
  expect(share.refuses('small', 51)).toBe(true)
  share.take('small', 50)
  expect(share.refuses('flood', 1)).toBe(true)
  expect(share.refuses('third', 33)).toBe(false)
})

test('in any order of requests and releases, at most twice the limit is held, and a new user gets its share', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          user: fc.integer({ min: 0, max: 4 }),
          amount: fc.integer({ min: 1, max: 25 }),
          back: fc.boolean(),
        }),
      ),
      (steps) => {
        const share = createFairShare(() => 100)
        const own = new Map<string, number>()
        for (const { user, amount, back } of steps) {
          const name = `user ${user}`
          const has = own.get(name) ?? 0
          if (back) {
            const returned = Math.min(has, amount)
            if (returned > 0) share.giveBack(name, returned)
            own.set(name, has - returned)
          } else if (!share.refuses(name, amount)) {
            share.take(name, amount)
            own.set(name, has + amount)
          }
          const held = [...own.values()].reduce((sum, n) => sum + n, 0)
          expect(share.held).toBe(held)
          expect(held).toBeLessThanOrEqual(200)
          const users = [...own.values()].filter((n) => n > 0).length
          if (held <= 150) expect(share.refuses('newcomer', Math.floor(100 / (users + 1)))).toBe(false)
        }
      },
    ),
  )
})

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFairShare } from '../../src/ingest/fair-share.ts'

test('one user alone may take all of it, and no more', () => {
  const share = createFairShare(() => 100)
  expect(share.refuses('a', 100)).toBe(false)
  share.take('a', 100)
  expect(share.refuses('a', 1)).toBe(true)
  share.giveBack('a', 1)
  expect(share.refuses('a', 1)).toBe(false)
})

test('what is larger than the whole is let in where nothing else waits', () => {
  expect(createFairShare(() => 100).refuses('a', 500)).toBe(false)
})

test('once it is full, those above an equal part are refused and those below it are not', () => {
  const share = createFairShare(() => 100)
  share.take('flood', 100)
  expect(share.refuses('small', 50)).toBe(false)
  expect(share.refuses('small', 51)).toBe(true)
  share.take('small', 50)
  expect(share.refuses('flood', 1)).toBe(true)
  expect(share.refuses('third', 33)).toBe(false)
})

test('in any order of takes and releases, at most twice the bound is held, and a newcomer gets its share', () => {
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

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { highOf, isStep, lowOf, stepFrom } from '../../src/domain/step.ts'

const step = fc.maxSafeInteger()
const parts = (n: number): [high: number, low: number] => [highOf(n), lowOf(n)]

test('a step is an integer that a double holds exactly', () => {
  const steps = [0, -1, 2 ** 53 - 1, -(2 ** 53 - 1)]
  const others = [2 ** 53, -(2 ** 53), 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1', 1n, null, undefined]
  expect(steps.map(isStep)).toEqual(steps.map(() => true))
  expect(others.map(isStep)).toEqual(others.map(() => false))
})

test('a step of 32 bits has no high part, and any other is restored from its two integers', () => {
  expect([0, 1, -1, 2 ** 31 - 1, -(2 ** 31)].map(highOf)).toEqual([0, 0, 0, 0, 0])
  fc.assert(
    fc.property(step, (n) => {
      const [high, low] = parts(n)
      expect(Math.abs(low)).toBeLessThanOrEqual(2 ** 31)
      expect(Math.abs(high)).toBeLessThanOrEqual(2 ** 21)
      // -0 and 0 are one step.
      expect(stepFrom(high, low) === n).toBe(true)
    }),
  )
})

test('the high part and then the low part order as the steps do', () => {
  fc.assert(
    fc.property(step, step, (a, b) => {
      const [[highA, lowA], [highB, lowB]] = [parts(a), parts(b)]
      expect(Math.sign(highA - highB || lowA - lowB)).toBe(Math.sign(a - b))
    }),
  )
})

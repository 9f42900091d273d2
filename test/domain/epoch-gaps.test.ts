import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldEpoch, mayExist, newProgress } from '../../src/domain/metrics/index.ts'

const event = (epoch: number) => ({
  epoch,
  at: '2026-01-01T00:00:00.000000Z',
  dbId: 1,
  stamp: '',
  series: { names: ['loss'], values: [1] },
})

test('a stored epoch is never reported as missing', () => {
  const epochs = fc.array(fc.integer({ min: -5, max: 60 }), { minLength: 1, maxLength: 300 })
  fc.assert(
    // How many stood before the job was remembered: of those below the highest nothing is known.
    fc.property(epochs, fc.nat({ max: 5 }), (numbers, before) => {
      const progress = newProgress()
      const standing = new Set(numbers.slice(0, before))
      if (standing.size > 0) progress.maxEpoch = Math.max(...standing)
      for (const epoch of numbers) {
        if (!standing.has(epoch)) foldEpoch(progress, { batchKey: 1, jobKey: 1 }, undefined, event(epoch))
        standing.add(epoch)
        for (const stood of standing) expect(mayExist(progress, stood)).toBe(true)
      }
    }),
  )
})

test('epochs before a later one are known to be missing until they arrive', () => {
  const progress = newProgress()
  for (const epoch of [3, 10, 6]) foldEpoch(progress, { batchKey: 1, jobKey: 1 }, undefined, event(epoch))
  const missing = Array.from({ length: 13 }, (_, i) => i).filter((epoch) => !mayExist(progress, epoch))
  expect(missing).toEqual([0, 1, 2, 4, 5, 7, 8, 9, 11, 12])
})

test('of a job that was read from the database only later epochs are known', () => {
  const progress = Object.assign(newProgress(), { maxEpoch: 10 })
  foldEpoch(progress, { batchKey: 1, jobKey: 1 }, undefined, event(13))
  expect([9, 10, 11, 12, 13].map((epoch) => mayExist(progress, epoch))).toEqual([
    true,
    true,
    false,
    false,
    true,
  ])
})

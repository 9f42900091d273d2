import { expect, test } from 'vitest'
import type { Trial } from '../../web/src/lib/api/sweeps.ts'
import { bestSteps, editsOf, pointsOf, spanOf } from '../../web/src/sweeps/best-points.ts'

const trial = (number: number, value: unknown, minute: number | null, state = 'completed'): Trial =>
  ({
    number,
    value,
    state,
    started_at: minute === null ? null : new Date(minute * 60_000).toISOString(),
    ended_at: minute === null ? null : new Date((minute + 1) * 60_000).toISOString(),
  }) as Trial

const trials = [
  trial(0, 3, 5),
  trial(1, 2, 1),
  trial(2, Number.NaN, 2),
  trial(3, 1, 3, 'failed'),
  trial(4, 2.5, 2),
  trial(7, null, null, 'waiting'),
]

test('only finite values of completed trials are points, in the order of the axis', () => {
  expect(pointsOf(trials, 'trials').map(({ n }) => n)).toEqual([0, 1, 4])
  expect(pointsOf(trials, 'time').map(({ value }) => value)).toEqual([2, 2.5, 3])
})

test('the axis of trials begins at 0 and ends at the last one, the axis of time with the first start', () => {
  expect(spanOf(trials, pointsOf(trials, 'trials'), 'trials')).toEqual([0, 7])
  expect(spanOf(trials, pointsOf(trials, 'time'), 'time')).toEqual([60_000, 360_000])
})

test('an edit is between two trials, or at its time', () => {
  const edits = [{ from_number: 2, at: '1970-01-01T00:01:00Z' }] as Parameters<typeof editsOf>[0]
  expect(editsOf(edits, 'trials')).toEqual([1.5])
  expect(editsOf(edits, 'time')).toEqual([60_000])
})

test('a step is a point that is better than all before it', () => {
  const points = [3, 4, 2, 2, 1].map((value, n) => ({ n, value }))
  expect(bestSteps(points, 'minimize').map(({ n }) => n)).toEqual([0, 2, 4])
  expect(bestSteps(points, 'maximize').map(({ n }) => n)).toEqual([0, 1])
})

import { expect, test } from 'vitest'
import { MAX_POINTS, withPoints } from '../../web/src/pages/home/spark.ts'

// The curve of a running batch on Home.

const points = (...given: [job: string, epoch: number, value: number][]) =>
  given.map(([job_id, epoch, val_loss]) => ({ job_id, epoch, values: { val_loss } }))

test('the curve of jobs in parallel is that of one of them', () => {
  const a = withPoints(
    null,
    points(
      ['a', 0, 3],
      ['b', 0, 9],
      ['c', 0, 8],
      ['a', 1, 2],
      ['b', 1, 7],
      ['c', 1, 6],
      ['b', 2, 6],
      ['a', 2, 1],
    ),
  )
  expect(a).toMatchObject({ job: 'a', key: 'val_loss', curve: { steps: [0, 1, 2], values: [3, 2, 1] } })
})

test('the next job takes over when the one before is silent', () => {
  const a = withPoints(null, points(['a', 0, 3], ['a', 1, 2]))
  const waits = withPoints(a, points(['b', 0, 9], ['b', 1, 8]))
  expect(waits).toMatchObject({ job: 'a', curve: { values: [3, 2] } })
  const b = { job: 'b', key: 'val_loss', curve: { steps: [0, 1, 2], values: [9, 8, 7] } }
  expect(withPoints(waits, points(['b', 2, 7]))).toEqual(b)
})

test('a long curve keeps its first and its last point and few between them', () => {
  const many = Array.from({ length: 5_000 }, (_, n): [string, number, number] => ['a', n, 5_000 - n])
  const { steps = [], values = [] } = withPoints(null, points(...many))?.curve ?? {}
  expect(steps.length).toBeLessThanOrEqual(2 * MAX_POINTS)
  expect([steps[0], values[0]]).toEqual([0, 5_000])
  expect([steps.at(-1), values.at(-1)]).toEqual([4_999, 1])
  expect(steps.every((step, i) => step > (steps[i - 1] ?? -1) && values[i] === 5_000 - step)).toBe(true)
})

test('a job that begins again continues there; points without the metric add nothing', () => {
  const a = withPoints(null, points(['a', 0, 3], ['a', 1, 2], ['a', 2, 1], ['a', 1, 5]))
  expect(a?.curve).toEqual({ steps: [0, 1], values: [3, 5] })
  const without = [{ job_id: 'a', epoch: 0, values: { acc: 1 } }]
  expect(withPoints(null, without)).toBeNull()
  expect(withPoints(a, without)).toEqual(a)
})

import { expect, test } from 'vitest'
import { MAX_POINTS, withPoints } from '../../web/src/pages/home/spark.ts'

// The curve of a running batch on Home.

const points = (...given: [job: string, value: number][]) =>
  given.map(([job_id, val_loss]) => ({ job_id, values: { val_loss } }))

test('the curve of jobs in parallel is that of one of them', () => {
  const a = withPoints(
    null,
    points(['a', 3], ['b', 9], ['c', 8], ['a', 2], ['b', 7], ['c', 6], ['b', 6], ['a', 1]),
  )
  expect(a).toMatchObject({ job: 'a', key: 'val_loss', values: [3, 2, 1] })
})

test('the next job takes over when the one before is silent', () => {
  const a = withPoints(null, points(['a', 3], ['a', 2]))
  const waits = withPoints(a, points(['b', 9], ['b', 8]))
  expect(waits).toMatchObject({ job: 'a', values: [3, 2] })
  expect(withPoints(waits, points(['b', 7]))).toEqual({ job: 'b', key: 'val_loss', values: [9, 8, 7] })
})

test('the curve is as long as its space, and points without its metric add nothing', () => {
  const many = Array.from({ length: MAX_POINTS + 5 }, (_, n): [string, number] => ['a', n])
  const a = withPoints(null, [...points(...many), { job_id: 'a', values: { acc: 1 } }])
  expect(a?.values).toHaveLength(MAX_POINTS)
  expect(a?.values.at(-1)).toBe(MAX_POINTS + 4)
  expect(withPoints(null, [{ job_id: 'a', values: { acc: 1 } }])).toBeNull()
})

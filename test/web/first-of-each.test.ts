import { expect, test } from 'vitest'
import type { Compared } from '../../web/src/charts/compared-jobs.ts'
import { firstOfEach } from '../../web/src/pages/compare/first-of-each.ts'

const rows = (counts: Record<string, number>): Compared[] =>
  Object.entries(counts).flatMap(([batch, n]) =>
    Array.from({ length: n }, (_, i) => ({ name: `${batch} / ${i}`, batch: { id: batch } }) as Compared),
  )
const drawn = (counts: Record<string, number>, most: number) => {
  const found: Record<string, number> = {}
  for (const { batch } of firstOfEach(rows(counts), most)) found[batch.id] = (found[batch.id] ?? 0) + 1
  return found
}

test('the curves that a comparison draws first are of every batch', () => {
  expect(drawn({ a: 24, b: 16, c: 16, d: 12, e: 12 }, 20)).toEqual({ a: 4, b: 4, c: 4, d: 4, e: 4 })
  expect(drawn({ a: 24, b: 1, c: 2 }, 20)).toEqual({ a: 17, b: 1, c: 2 })
  expect(drawn({ a: 3, b: 4 }, 20)).toEqual({ a: 3, b: 4 })
  const first = firstOfEach(rows({ a: 30, b: 30 }), 4).map((row) => row.name)
  expect(first).toEqual(['a / 0', 'a / 1', 'b / 0', 'b / 1'])
})

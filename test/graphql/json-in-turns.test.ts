import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonOf } from '../../src/graphql/json-in-turns.ts'
import { createTurns } from '../../src/turns.ts'

test('the JSON is that of JSON.stringify', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), async (value) => {
      expect(await jsonOf(value, createTurns())).toBe(JSON.stringify(value))
    }),
    { numRuns: 200 },
  )
})

test.each<[string, unknown]>([
  ['a long column', Array.from({ length: 5_001 }, (_, i) => i / 3)],
  ['a column beside nested values', { a: [[1, 2], []], b: {}, c: [null, 'x', Array(2_500).fill('NaN')] }],
  ['a member without a value', { a: undefined, b: [{ c: [1] }] }],
  ['nothing', null],
])('%s', async (_name, value) => {
  expect(await jsonOf(value, createTurns())).toBe(JSON.stringify(value))
})

test('a large answer is written in many turns', async () => {
  const series = Array.from({ length: 300 }, (_, job) => ({
    job,
    values: Array.from({ length: 2_000 }, (_, i) => i / 7),
  }))
  let turns = 0
  const text = await jsonOf({ series }, { due: true, pass: async () => void turns++ })
  expect(text).toBe(JSON.stringify({ series }))
  expect(turns).toBeGreaterThan(300)
})

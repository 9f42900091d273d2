import { expect, test } from 'vitest'
import { explore, type ReaderStep } from './append-order-model.ts'

/** The proposal of docs/decisions/0020, tried in every interleaving; each control changes one thing and loses changes. */
const writers = [
  { batch: 'a', rows: 2 },
  { batch: 'a', rows: 1 },
  { batch: 'b', rows: 1 },
]
const look: ReaderStep[] = ['newest', 'announced', 'page']
const proposal = { writers, look, looks: 2, announce: 'before the draw' } as const

test('a reader bounded by what writers announced loses nothing, repeats nothing and keeps the order of a batch', () => {
  const { states, ...amiss } = explore(proposal)
  expect(amiss).toEqual({ lost: 0, repeated: 0, outOfOrder: 0 })
  expect(states).toBeGreaterThan(10_000)
})

test.each([
  ['nobody announces and the reader has no bound', { ...proposal, announce: 'never', look: ['page'] }],
  ['writers announce after they drew their numbers', { ...proposal, announce: 'after the draw' }],
  ['the page is read before the announcements', { ...proposal, look: ['newest', 'page', 'announced'] }],
  ['the page is read before both bounds', { ...proposal, look: ['page', 'newest', 'announced'] }],
  ['the newest number is read after the announcements', { ...proposal, look: ['announced', 'newest', 'page'] }],
] as const)('control: changes are lost where %s', (_, rules) => {
  expect(explore(rules).lost).toBeGreaterThan(0)
})

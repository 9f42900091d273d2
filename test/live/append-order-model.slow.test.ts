import { expect, test } from 'vitest'
import { explore, type ReaderStep, type Rules } from './append-order-model.ts'

/** The protocol of docs/decisions/0020 in every interleaving; each control changes one thing and loses changes. */
const writers = [
  { batch: 'a', rows: 2 },
  { batch: 'a', rows: 1 },
  { batch: 'b', rows: 1 },
]
const look: ReaderStep[] = ['newest', 'announced', 'page']
const protocol: Rules = { writers, look, looks: 2, announce: 'before the draw', joins: 'shared' }
const NOTHING_AMISS = { lost: 0, repeated: 0, outOfOrder: 0 }

test('a reader that stops before announced appends gets every change once, in the order of each batch', () => {
  const { states, ...amiss } = explore(protocol)
  expect(amiss).toEqual(NOTHING_AMISS)
  expect(states).toBeGreaterThan(10_000)
})

test('the same holds if a writer aborts and leaves a gap in the numbers', () => {
  const { states, ...amiss } = explore({
    ...protocol,
    writers: [{ batch: 'a', rows: 1, aborts: true }, ...writers.slice(1)],
  })
  expect(amiss).toEqual(NOTHING_AMISS)
  expect(states).toBeGreaterThan(5_000)
})

test.each<[string, Rules]>([
  ['no writer announces and the reader has no bound', { ...protocol, announce: 'never', look: ['page'] }],
  ['writers announce after they drew their numbers', { ...protocol, announce: 'after the draw' }],
  ['the page is read before the announcements', { ...protocol, look: ['newest', 'page', 'announced'] }],
  ['the page is read before both bounds', { ...protocol, look: ['page', 'newest', 'announced'] }],
  [
    'the newest number is read after the announcements',
    { ...protocol, look: ['announced', 'newest', 'page'] },
  ],
])('control: changes are lost where %s', (_, rules) => {
  expect(explore(rules).lost).toBeGreaterThan(0)
})

// During a rolling upgrade: one of the writers is of a release that announces nothing.
const upgrade: Rules = {
  ...protocol,
  writers: [
    { batch: 'a', rows: 2, earlier: true },
    { batch: 'a', rows: 1 },
    { batch: 'b', rows: 1 },
  ],
}

test.each<[string, Rules]>([
  ['this release, whose writers share the lock', upgrade],
  ['this release, whose writers take the lock alone', { ...upgrade, joins: 'alone' }],
  [
    'an earlier release, while writers of this one take the lock alone',
    { ...upgrade, joins: 'alone', look: ['page'] },
  ],
])('a reader of %s loses nothing beside a writer of an earlier release', (_, rules) => {
  const { states, ...amiss } = explore(rules)
  expect(amiss).toEqual(NOTHING_AMISS)
  expect(states).toBeGreaterThan(100)
})

test.each<[string, Rules]>([
  ['this release, if its writers left the lock out', { ...upgrade, joins: 'never' }],
  ['an earlier release, if writers of this one shared the lock', { ...upgrade, look: ['page'] }],
])('control: beside a writer of an earlier release changes are lost by a reader of %s', (_, rules) => {
  expect(explore(rules).lost).toBeGreaterThan(0)
})

import { expect, test } from 'vitest'
import { offsetAfter } from '../../src/db/clock.ts'

test.each([
  ['keeps 0 on one host, whose answer is between question and arrival', 0, 1_040, 100, 0],
  ['keeps 0 however slow the answer was', 0, 4_990, 4_000, 0],
  ['keeps 0 where the clock of the database has finer steps than this one', 0, 1_000.9, 0.1, 0],
  ['moves forward to the least that the answer allows', 0, 61_000, 200, 59_799],
  ['moves back to the most that the answer allows', 0, -59_000, 200, -60_000],
  ['keeps an earlier offset that the answer allows', 59_900, 61_000, 200, 59_900],
])('the offset to the clock of the database %s', (_, before, databaseMs, tookMs, after) => {
  expect(offsetAfter(before, { databaseMs, askedAtMs: 1_000, tookMs })).toBe(after)
})

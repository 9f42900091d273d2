import { expect, test } from 'vitest'
import { isQuiet, quietShape } from '../../src/domain/notifications/index.ts'

const NIGHT = { from: '22:00', to: '07:00', time_zone: 'Europe/Berlin' }
const DAY = { from: '09:30', to: '17:00', time_zone: 'America/New_York' }

test.each([
  // Berlin is an hour ahead of UTC in winter, and two in summer.
  [NIGHT, '2026-01-10T20:59:59Z', false],
  [NIGHT, '2026-01-10T21:00:00Z', true],
  [NIGHT, '2026-01-11T05:59:59Z', true],
  [NIGHT, '2026-01-11T06:00:00Z', false],
  [NIGHT, '2026-07-10T20:00:00Z', true],
  [NIGHT, '2026-07-10T23:00:00Z', true],
  [DAY, '2026-01-10T14:29:00Z', false],
  [DAY, '2026-01-10T14:30:00Z', true],
  [DAY, '2026-01-10T21:59:00Z', true],
  [DAY, '2026-01-10T22:00:00Z', false],
])('%o at %s: %s', (quiet, at, expected) => {
  expect(isQuiet(quiet, new Date(at))).toBe(expected)
  expect(isQuiet(null, new Date(at))).toBe(false)
})

test.each([
  [{ ...NIGHT, from: '24:00' }, 'from'],
  [{ ...NIGHT, to: '7:00' }, 'to'],
  [{ ...NIGHT, to: '22:00' }, 'to'],
  [{ ...NIGHT, time_zone: 'Mars/Olympus' }, 'time_zone'],
])('%o is refused', (quiet, path) => {
  expect(quietShape.safeParse(quiet).error?.issues[0]?.path).toEqual([path])
})

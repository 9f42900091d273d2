import { expect, test } from 'vitest'
import { type EpochRow, foldEpoch, newProgress } from '../../src/domain/metrics/index.ts'

const VALUES = [-1, 0, 0.5, 2, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

/** As PostgreSQL recomputes them: of finite values, else of infinite ones. */
function extremesOf(rows: Iterable<EpochRow>): { min: number; max: number } {
  const values = [...rows].flatMap(({ vals: [value] }) =>
    value === undefined || Number.isNaN(value) ? [] : value,
  )
  const finite = values.filter(Number.isFinite)
  const counted = finite.length > 0 ? finite : values
  if (counted.length === 0) return { min: Number.NaN, max: Number.NaN }
  return { min: Math.min(...counted), max: Math.max(...counted) }
}

test('a replaced value has the extremes of a job recomputed only if one of them may be gone', () => {
  let seed = 7
  const below = (n: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * n)
  }
  let recomputed = 0
  for (let round = 0; round < 500; round++) {
    const progress = newProgress()
    const rows = new Map<number, EpochRow>()
    for (let i = 0; i < 30; i++) {
      const epoch = below(6)
      const stamp = String(i).padStart(4, '0')
      const series = { names: ['loss'], values: [VALUES[below(VALUES.length)] as number] }
      const event = { epoch, at: '2026-03-01T10:00:00.000000Z', dbId: i, stamp, series }
      const row = foldEpoch(progress, { batchKey: 1, jobKey: 1 }, rows.get(epoch), event)
      if (row !== null) rows.set(epoch, row)
      const { min, max } = extremesOf(rows.values())
      if (progress.changed.extremes) {
        recomputed++
        progress.min[0] = min
        progress.max[0] = max
        progress.changed.extremes = false
      }
      expect([progress.min[0], progress.max[0]]).toEqual([min, max])
    }
  }
  expect(recomputed).toBeGreaterThan(500)
  expect(recomputed).toBeLessThan(9_000)
})

test('epochs that are sent again with the same values change no extreme', () => {
  const progress = newProgress()
  const send = (stamp: string, row?: EpochRow): EpochRow | null =>
    foldEpoch(progress, { batchKey: 1, jobKey: 1 }, row, {
      epoch: 0,
      at: '2026-03-01T10:00:00.000000Z',
      dbId: 1,
      stamp,
      series: { names: ['loss'], values: [2] },
    })
  send('2', send('1') ?? undefined)
  expect(progress.changed.extremes).toBe(false)
})

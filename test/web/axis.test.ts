import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Ticks, type XKind, xTicks, yTicks } from '../../web/src/charts/plot-axes.ts'
import { xRangeOf, yRangeOf, zoomOf } from '../../web/src/charts/plot-range.ts'
import type { Axis } from '../../web/src/columns/axes.ts'
import { shareOf, valueAt } from '../../web/src/columns/axes.ts'
import { axisLabels } from '../../web/src/columns/axis-labels.ts'
import { drawable, shareIn, valueIn } from '../../web/src/lib/charts/axis-range.ts'
import { MAX_TICKS } from '../../web/src/lib/charts/axis-ticks.ts'

// The range and the ticks of every axis, for all finite numbers: steps end, labels differ, nothing is cut off.

/** A bound on a label's width: the digits of the chart's font are narrower. */
const measure = (text: string): number => text.length * 7

const size = fc
  .tuple(fc.double({ min: 1, max: 9.999, noNaN: true }), fc.integer({ min: -320, max: 307 }))
  .map(([digits, exponent]) => Number(`${digits}e${exponent}`))
const finite = fc.oneof(
  fc.tuple(size, fc.boolean()).map(([value, negative]) => (negative ? -value : value)),
  fc.constantFrom(0, -0, 1.7e308, -1.7e308, 1e-320, -1e-320, Number.MIN_VALUE, Number.MAX_VALUE, 2 ** 53 - 1),
)
/** Two values far apart, close together, or equal. */
const pair = fc.oneof(
  fc.tuple(finite, finite),
  fc.tuple(finite, fc.integer({ min: -60, max: 0 })).map(([value, bits]): [number, number] => {
    const other = value * (1 + 2 ** bits)
    return [value, Number.isFinite(other) ? other : value * (1 - 2 ** bits)]
  }),
)
const sorted = pair.map(([a, b]): [number, number] => (a <= b ? [a, b] : [b, a]))
const positive = sorted
  .map(([a, b]): [number, number] => {
    const [c, d] = [Math.abs(a), Math.abs(b)]
    return c <= d ? [c, d] : [d, c]
  })
  .filter(([a]) => a > 0)

function expectReadable(ticks: Ticks, [low, high]: readonly [number, number]): void {
  const { places, texts } = ticks
  expect(places.length).toBeGreaterThan(0)
  expect(places.length).toBeLessThanOrEqual(MAX_TICKS)
  for (const [i, place] of places.entries()) {
    expect(place >= low && place <= high).toBe(true)
    if (i > 0) expect(place > (places[i - 1] as number)).toBe(true)
  }
  expect(new Set(texts).size).toBe(places.length)
  expect(texts.every((text) => text !== '' && !/NaN|Inf|undefined/.test(text))).toBe(true)
}
function expectRange([low, high]: readonly [number | null, number | null]): void {
  expect(Number.isFinite(low) && Number.isFinite(high)).toBe(true)
  expect((low as number) < (high as number)).toBe(true)
  expect(Number.isFinite((high as number) - (low as number))).toBe(true)
}
const RUNS = { numRuns: 2_000 }

test.each([
  ['linear', false],
  ['logarithmic', true],
] as const)('a %s y-axis of any finite values includes them and has different labels', (_, log) => {
  fc.assert(
    fc.property(log ? positive : sorted, ([low, high]) => {
      const range = yRangeOf([low, high], [null, null], log) as [number, number]
      expectRange(range)
      // Values that span more than the largest number leave the plot at both ends.
      if (Number.isFinite(high - low)) expect(range[0] <= low && range[1] >= high).toBe(true)
      const ticks = yTicks(log, range, 180)
      expectReadable(ticks, range)
      for (const text of ticks.texts) expect(text.length).toBeLessThanOrEqual(10)
      const shares = ticks.places.map((place) => shareIn(range, place, log))
      for (const [i, share] of shares.entries())
        if (i > 0) expect((share - (shares[i - 1] as number)) * 180).toBeGreaterThanOrEqual(14)
    }),
    RUNS,
  )
})

test.each([
  'epoch',
  'relative',
  'wall',
  'time',
  'metric',
] as const)('labels of an x-axis of kind %s differ and do not overlap, for any finite values', (x: XKind) => {
  const log = x === 'metric' ? [false, true] : [false]
  for (const one of log)
    fc.assert(
      fc.property(one ? positive : sorted, ([low, high]) => {
        const range = xRangeOf([low, high], undefined, { log: one, x })
        expectRange(range)
        const ticks = xTicks({ x, log: one }, range, 400, measure)
        expectReadable(ticks, range)
        let end = Number.NEGATIVE_INFINITY
        for (const [i, place] of ticks.places.entries()) {
          const [middle, half] = [shareIn(range, place, one) * 400, measure(ticks.texts[i] ?? '') / 2]
          expect(middle - half).toBeGreaterThan(end)
          end = middle + half
        }
      }),
      RUNS,
    )
})

test.each([false, true])('positions and labels of compared jobs stay on their axis; log: %s', (log) => {
  fc.assert(
    fc.property(log ? positive : sorted, fc.double({ min: 0, max: 1, noNaN: true }), ([low, high], part) => {
      const axis: Axis = { id: 'param.a', title: 'a', words: null, at: () => low, low, high, log }
      for (const value of [low, high, valueAt(axis, part)]) {
        const share = shareOf(axis, value)
        if (Number.isFinite(high - low) && low !== high && value <= high)
          expect(share >= -1e-9 && share <= 1 + 1e-9).toBe(true)
        expect(Number.isFinite(share)).toBe(true)
      }
      const { labels } = axisLabels(axis, 6)
      expect(labels.length).toBeLessThanOrEqual(MAX_TICKS)
      expect(labels.length).toBeGreaterThan(0)
      expect(new Set(labels.map(({ text }) => text)).size).toBe(labels.length)
    }),
    RUNS,
  )
})

test('a parameter with few values is labelled with them, where they have space', () => {
  const axis = (values: number[], log = false): Axis => ({
    id: 'param.width',
    title: 'width',
    words: null,
    values,
    at: () => values[0],
    low: Math.min(...values),
    high: Math.max(...values),
    log,
  })
  const texts = (of: Axis) => axisLabels(of, 6).labels.map(({ text }) => text)
  expect(texts(axis([0, 1]))).toEqual(['0', '1'])
  expect(texts(axis([64, 128, 256, 512]))).toEqual(['64', '128', '256', '512'])
  expect(texts(axis([0, 1e-4, 5e-4]))).toEqual(['0', '1e−4', '5e−4'])
  expect(texts(axis([0.001, 0.01, 0.1], true))).toEqual(['0.001', '0.01', '0.1'])
  // 1 and 2 would cover each other.
  expect(texts(axis([1, 2, 1000]))).toEqual(['1', '1,000'])
})

test.each([
  [1e-5, 0.000010000001192092897],
  [0.1, 0.1 * (1 + 2 ** -31)],
  [3e300, 3e300 * (1 + 2 ** -30)],
  [5e-320, 1e308],
])('a position on the log axis from %d to %d has a value on it', (low, high) => {
  for (const share of [0, Number.MIN_VALUE, 1e-12, 0.5, 1 - 2 ** -53, 1]) {
    const value = valueIn([low, high], share, true)
    expect(value >= low && value <= high).toBe(true)
    expect(shareIn([low, high], value, true)).toBeCloseTo(share, 5)
  }
})

test('a range and its positions are inverse', () => {
  fc.assert(
    fc.property(sorted, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (ends, share) => {
      const range = drawable(ends)
      expect(shareIn(range, valueIn(range, share))).toBeCloseTo(share, 2)
    }),
    RUNS,
  )
})

const yOf = (values: readonly number[], log = false): Ticks => {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return yTicks(log, yRangeOf([low, high], [null, null], log) as [number, number], 180)
}

test.each([
  ['float noise', [1, 0.99999994], ['−6e−8', '−4e−8', '−2e−8', '0'], '1'],
  ['large', [1e34, 3e34], ['1e34', '1.5e34', '2e34', '2.5e34', '3e34'], null],
  ['tiny', [1e-38, 3e-38], ['1e−38', '1.5e−38', '2e−38', '2.5e−38', '3e−38'], null],
  ['close together', [1, 1 + 59e-12], ['0', '+2e−11', '+4e−11', '+6e−11'], '1'],
  ['far from 0', [1.7e9, 1.7e9 + 59], ['0', '+20', '+40', '+60'], '1,700,000,000'],
  ['constant', [5, 5], ['0', '2', '4', '6', '8', '10'], null],
  ['zero', [0, 0], ['0.0', '0.2', '0.4', '0.6', '0.8', '1.0'], null],
] as const)('%s values have an axis that shows them', (_, values, texts, offset) => {
  expect(yOf(values)).toMatchObject({ texts, offset })
})

test('a time axis says the day where hours repeat, and the year where days do', () => {
  const at = (...parts: [number, number, number, number]): number => new Date(...parts).getTime() / 1000
  const texts = (from: number, to: number): readonly string[] =>
    xTicks({ x: 'wall', log: false }, [from, to], 420, measure).texts
  expect(texts(at(2026, 2, 4, 9), at(2026, 2, 4, 15))).toEqual([
    ...['09:00', '10:00', '11:00', '12:00', '13:00', '14:00', '15:00'],
  ])
  expect(texts(at(2026, 2, 4, 18), at(2026, 2, 5, 16))).toContain('5 Mar')
  expect(texts(at(2020, 0, 1, 0), at(2026, 0, 1, 0))).toEqual([
    ...['2020', '2021', '2022', '2023', '2024', '2025', '2026'],
  ])
})

test('the zoom of a narrow selection keeps its ends apart', () => {
  expect(zoomOf('metric', 1 + 1e-12, 1 + 5e-12)).toEqual([1.000000000001, 1.000000000005])
  expect(zoomOf('metric', 0.1, 0.30000000000000004)).toEqual([0.1, 0.30002])
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { m4, sample } from '../../src/domain/metrics/m4.ts'

const finite = fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(0, -0, 1, 1e300))
const any = fc.oneof({ weight: 6, arbitrary: finite }, fc.constantFrom(Number.NaN, Infinity, -Infinity))

/** Increasing epochs with gaps, and a value each. */
const seriesOf = (value: fc.Arbitrary<number>) =>
  fc
    .tuple(
      fc.integer({ min: -2_000_000_000, max: 1_000_000_000 }),
      fc.array(fc.record({ gap: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 9_000 })), value }), {
        minLength: 1,
        maxLength: 400,
      }),
    )
    .map(([start, points]) => {
      let step = start
      return {
        steps: Float64Array.from(points, ({ gap }) => (step += gap)),
        values: Float64Array.from(points, (p) => p.value),
      }
    })

/** The positions of the points of each bucket that has any. */
function bucketsOf(steps: Float64Array, buckets: number): number[][] {
  const from = steps[0] as number
  const span = (steps.at(-1) as number) - from + 1
  const members = new Map<number, number[]>()
  for (const [i, step] of steps.entries()) {
    const bucket = Math.floor(((step - from) * buckets) / span)
    members.set(bucket, [...(members.get(bucket) ?? []), i])
  }
  return [...members.values()]
}

describe('m4', () => {
  const buckets = fc.integer({ min: 1, max: 60 })

  test('keeps first, last, minimum and maximum of every bucket, in at most four points', () => {
    fc.assert(
      fc.property(seriesOf(finite), buckets, ({ steps, values }, buckets) => {
        const from = steps[0] as number
        const to = steps.at(-1) as number
        const kept = [...m4(steps, values, { buckets, from, to })]
        for (const all of bucketsOf(steps, buckets)) {
          const here = kept.filter((i) => all.includes(i))
          const value = (i: number) => values[i] as number
          expect(here.length).toBeLessThanOrEqual(4)
          expect(here[0]).toBe(all[0])
          expect(here.at(-1)).toBe(all.at(-1))
          // Zero has two signs, which are one height.
          expect(Math.min(...here.map(value)) + 0).toBe(Math.min(...all.map(value)) + 0)
          expect(Math.max(...here.map(value)) + 0).toBe(Math.max(...all.map(value)) + 0)
        }
        expect(kept).toEqual([...new Set(kept)].toSorted((a, b) => a - b))
      }),
      { numRuns: 500 },
    )
  })

  test('keeps NaN and infinities of every bucket', () => {
    const kind = (v: number) => (Number.isFinite(v) ? 'finite' : String(v))
    fc.assert(
      fc.property(seriesOf(any), buckets, ({ steps, values }, buckets) => {
        const from = steps[0] as number
        const to = steps.at(-1) as number
        const kept = [...m4(steps, values, { buckets, from, to })]
        for (const all of bucketsOf(steps, buckets)) {
          const here = kept.filter((i) => all.includes(i))
          expect(here.length).toBeLessThanOrEqual(7)
          expect(here).toContain(all[0])
          expect(here).toContain(all.at(-1))
          const kinds = (list: number[]) => new Set(list.map((i) => kind(values[i] as number)))
          expect(kinds(here)).toEqual(kinds(all))
          const least = (list: number[]) =>
            Math.min(...list.map((i) => values[i] as number).filter(Number.isFinite))
          expect(least(here) + 0).toBe(least(all) + 0)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('sample', () => {
  test('has at most the requested number of points, and all points if they suffice', () => {
    fc.assert(
      fc.property(seriesOf(any), fc.integer({ min: 7, max: 500 }), ({ steps, values }, points) => {
        const result = sample(steps, values, points)
        expect(result.returnedPoints).toBeLessThanOrEqual(points)
        expect(result.steps.length).toBe(result.returnedPoints)
        expect(result.values.length).toBe(result.returnedPoints)
        expect(result.totalPoints).toBe(steps.length)
        expect(result.sampled).toBe(steps.length > points)
        expect(result.nonFinite).toBe(values.filter((v) => !Number.isFinite(v)).length)
        if (!result.sampled) expect(result.values).toEqual(values)
        for (let i = 0; i < result.steps.length; i++) {
          expect(result.values[i]).toBe(values[steps.indexOf(result.steps[i] as number)])
        }
      }),
    )
  })

  test('series with the same bounds share one grid', () => {
    const long = Float64Array.from({ length: 1_000 }, (_, i) => i)
    const short = Float64Array.from({ length: 300 }, (_, i) => i)
    const values = (steps: Float64Array) => Float64Array.from(steps, (s) => (s * 7919) % 1000)
    const bounds = { from: 0, to: 999 }
    const a = sample(long, values(long), 100, bounds)
    const b = sample(short, values(short), 100, bounds)
    const common = [...a.steps].filter((s) => s < 280)
    expect([...b.steps].filter((s) => s < 280)).toEqual(common)
  })

  test('a sample of a million points keeps the one spike', () => {
    const steps = Float64Array.from({ length: 1_000_000 }, (_, i) => i)
    const values = new Float64Array(1_000_000)
    values[777_777] = 9
    const { steps: kept, values: shown } = sample(steps, values, 400)
    expect(shown[kept.indexOf(777_777)]).toBe(9)
  })
})

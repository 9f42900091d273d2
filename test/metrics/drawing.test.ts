import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPercentiles, type Drawing, drawSeries } from '../../src/domain/metrics/index.ts'

const finite = fc.double({ noNaN: true, min: -1e6, max: 1e6 })
const value = fc.oneof({ weight: 8, arbitrary: finite }, fc.constantFrom(Number.NaN, Infinity, -Infinity))
const START = Date.UTC(2026, 2, 1)

/** Epochs with gaps; times mostly increasing, as clocks are set back and epochs are reported again. */
const series = fc
  .array(
    fc.record({
      gap: fc.integer({ min: 1, max: 9 }),
      value,
      ms: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 5_000 }) }, fc.constant(-3_000)),
    }),
    { minLength: 1, maxLength: 300 },
  )
  .map((points) => {
    let step = -4
    let ms = START
    return {
      startedAt: START - 1_000,
      steps: Float64Array.from(points, ({ gap }) => (step += gap)),
      times: Float64Array.from(points, (p) => (ms += p.ms)),
      values: Float64Array.from(points, (p) => p.value),
    }
  })
type Given = typeof series extends fc.Arbitrary<infer T> ? T : never

const drawing: fc.Arbitrary<Drawing> = fc.record({
  points: fc.option(fc.integer({ min: 9, max: 300 }), { nil: undefined }),
  x: fc.constantFrom('epoch', 'relative', 'wall'),
  smooth: fc.constantFrom(undefined, 0.3, 0.9, 0.99),
  xLog: fc.boolean(),
  yLog: fc.boolean(),
})

/** By the definition: at each finite point the weighted mean of every finite point up to it. */
function naiveMean({ values }: Given, weight: number): number[] {
  const before: number[] = []
  return Array.from(values, (v) => {
    if (!Number.isFinite(v)) return Number.NaN
    before.push(v)
    const weights = before.map((_, i) => weight ** (before.length - 1 - i))
    const sum = before.reduce((all, one, i) => all + one * (weights[i] as number), 0)
    return sum / weights.reduce((all, one) => all + one, 0)
  })
}
const axisOf = (given: Given, x: Drawing['x']): number[] =>
  x === 'epoch'
    ? [...given.steps]
    : Array.from(given.times, (ms) => (x === 'relative' ? ms - given.startedAt : ms))

describe('a drawn series', () => {
  test('keeps every extreme of each bucket of its axis, also of the mean, and each value belongs to its epoch', () => {
    fc.assert(
      fc.property(series, drawing, (given, drawing) => {
        const axis = axisOf(given, drawing.x)
        const order = axis.map((_, i) => i).filter((i) => !drawing.xLog || (axis[i] as number) >= 1)
        order.sort((a, b) => (axis[a] as number) - (axis[b] as number) || a - b)
        const shown = drawSeries(given, drawing)
        if (order.length === 0) {
          expect(shown).toBeUndefined()
          return
        }
        if (shown === undefined) throw new Error('nothing was drawn')
        expect(shown.totalPoints).toBe(order.length)
        expect(shown.returnedPoints).toBeLessThanOrEqual(drawing.points ?? order.length)
        const mean = drawing.smooth === undefined ? undefined : naiveMean(given, drawing.smooth)
        const at = Array.from(shown.steps, (step) => given.steps.indexOf(step))
        expect([...shown.values]).toEqual(at.map((i) => given.values[i]))
        if (drawing.x !== 'epoch')
          expect(Array.from(shown.times as Float64Array, (s) => Math.round(s * 1000))).toEqual(
            at.map((i) => axis[i]),
          )
        if (mean !== undefined) {
          for (const [n, i] of at.entries()) {
            const [is, should] = [shown.smoothed?.[n] as number, mean[i] as number]
            if (Number.isNaN(should)) expect(is).toBeNaN()
            else expect(Math.abs(is - should)).toBeLessThan(1e-6 * Math.max(1, Math.abs(should), 1e4))
          }
        }
        if (!shown.sampled) return
        const perBucket = (shown.nonFinite === 0 && !drawing.yLog ? 4 : 7) + (mean === undefined ? 0 : 2)
        const buckets = Math.max(1, Math.floor((drawing.points as number) / perBucket))
        const from = axis[order[0] as number] as number
        const to = axis[order.at(-1) as number] as number
        const bucketOf = (i: number): number =>
          drawing.xLog
            ? Math.min(
                buckets - 1,
                Math.floor((Math.log((axis[i] as number) / from) * buckets) / Math.log((to + 1) / from)),
              )
            : Math.floor((((axis[i] as number) - from) * buckets) / (to - from + 1))
        // On a logarithmic axis a point may lie on an edge to the last bit: neighbours are looked at together.
        const reach = drawing.xLog ? 1 : 0
        for (let bucket = 0; bucket < buckets; bucket++) {
          const all = order.filter((i) => bucketOf(i) === bucket)
          const kept = at.filter((i) => Math.abs(bucketOf(i) - bucket) <= reach)
          for (const column of mean === undefined ? [[...given.values]] : [[...given.values], mean]) {
            const heights = (list: number[]) =>
              list
                .map((i) => column[i] as number)
                .filter((v) => Number.isFinite(v) && (!drawing.yLog || v > 0))
            const here = heights(all)
            if (here.length === 0) continue
            // The service computes the mean as it goes, which rounds differently from the definition.
            const slack = column === mean ? 1e-6 * Math.max(1, ...here.map(Math.abs)) : 0
            expect(Math.max(...heights(kept))).toBeGreaterThanOrEqual(Math.max(...here) - slack)
            expect(Math.min(...heights(kept))).toBeLessThanOrEqual(Math.min(...here) + slack)
          }
        }
      }),
      { numRuns: 600 },
    )
  })

  test('a range has the points in it, and the mean does not depend on the range', () => {
    fc.assert(
      fc.property(
        series,
        drawing,
        fc.integer({ min: 0, max: 299 }),
        fc.integer({ min: 0, max: 299 }),
        (given, drawing, a, b) => {
          const axis = axisOf(given, drawing.x)
          const scale = drawing.x === 'epoch' ? 1 : 1000
          const ends = [axis[a % axis.length] as number, axis[b % axis.length] as number].toSorted(
            (x, y) => x - y,
          )
          const [from = 0, to = 0] = ends
          const shown = drawSeries(given, {
            ...drawing,
            points: undefined,
            from: from / scale,
            to: to / scale,
          })
          const whole = drawSeries(given, { ...drawing, points: undefined })
          const inside = axis.filter((x) => x >= from && x <= to && (!drawing.xLog || x >= 1))
          expect(shown?.totalPoints ?? 0).toBe(inside.length)
          if (shown?.smoothed === undefined || whole?.smoothed === undefined) return
          for (const [n, step] of shown.steps.entries())
            expect(shown.smoothed[n]).toBe(whole.smoothed[whole.steps.indexOf(step)])
        },
      ),
      { numRuns: 300 },
    )
  })

  test('continues from a saved state as if there had been no break', () => {
    fc.assert(
      fc.property(series, finite, fc.constantFrom(0.3, 0.9), (given, next, smooth) => {
        const { mean, mass } = drawSeries(given, { smooth })?.smoothing ?? { mean: 0, mass: 0 }
        const last = given.steps.at(-1) as number
        const longer = drawSeries(
          {
            steps: Float64Array.of(...given.steps, last + 1),
            values: Float64Array.of(...given.values, next),
          },
          { smooth },
        )
        const fresh = 1 - smooth
        expect((mean * smooth + next * fresh) / (mass * smooth + fresh)).toBe(longer?.smoothed?.at(-1))
      }),
    )
  })
})

describe('percentiles', () => {
  test('leave out at most the allowed share at either end, and count exactly what they leave out', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 400 }), fc.constantFrom(0.01, 0.05, 0.2), (given, share) => {
        const percentiles = createPercentiles()
        percentiles.add(Float64Array.from(given.slice(0, 100)))
        percentiles.add(Float64Array.from(given.slice(100)))
        const { low, high, hidden } = percentiles.clip(share)
        const all = given.filter(Number.isFinite)
        if (low === null || high === null) {
          expect([all, low, high, hidden]).toEqual([[], null, null, 0])
          return
        }
        const [below, above] = [all.filter((v) => v < low).length, all.filter((v) => v > high).length]
        expect(below + above).toBe(hidden)
        expect(Math.max(below, above)).toBeLessThanOrEqual(share * all.length)
        // The next value beyond the range would have been one too many, but for what shares its bin.
        const sorted = all.toSorted((a, b) => a - b)
        const edge = sorted[Math.floor(share * all.length)] as number
        expect(low).toBeGreaterThanOrEqual(edge - Math.abs(edge) * 0.008 - 1e-300)
        expect(low).toBeLessThanOrEqual(edge + 0)
      }),
      { numRuns: 500 },
    )
  })
})

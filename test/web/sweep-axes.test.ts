import { expect, test } from 'vitest'
import type { Compared } from '../../web/src/charts/compared-jobs.ts'
import {
  type Axis,
  axesOf,
  byImportance,
  shareOf,
  standardAxes,
  suitsLog,
  valueAt,
  withScales,
} from '../../web/src/columns/axes.ts'
import { drawLines, heightsOf, nearestLine, pathOf } from '../../web/src/columns/parallel-lines.ts'
import { metricColour } from '../../web/src/sweeps/metric-colour.ts'
import { viridis } from '../../web/src/sweeps/viridis.ts'
import { labOf, SIGHTS } from './colour-difference.ts'

const jobs = (params: readonly Record<string, unknown>[], loss = (i: number): unknown => i): Compared[] =>
  params.map(
    (one, i) =>
      ({
        name: `job ${i}`,
        batch: { id: 'b' },
        job: {
          ...{ id: `job ${i}`, model: null, dataset: null, params: one, metrics: {} },
          ...{
            latest: { epoch: 1, loss: loss(i) },
            best: { loss: loss(i) },
            status: 'completed',
            epochs: 1,
            elapsed_s: i,
          },
        },
      }) as unknown as Compared,
  )

test('an axis of positive values over two orders of magnitude is logarithmic by default, others are linear', () => {
  expect(suitsLog([0.1, 0.01, 0.001])).toBe(true)
  expect(suitsLog([1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 1e-2])).toBe(true)
  expect(suitsLog([16, 32, 64, 128])).toBe(false)
  expect(suitsLog([0, 0.001, 0.1])).toBe(false)
  expect(suitsLog([-1, 0.001, 1])).toBe(false)
  expect(suitsLog([])).toBe(false)
  // One small value among values of one decade would squeeze all others together.
  expect(suitsLog([0.0001, 50, 55, 60, 65, 70, 75, 80, 85, 90])).toBe(false)
})

test('the default axes are the parameters that vary, then the metric; a scale can be changed', () => {
  const axes = axesOf(
    jobs([
      { lr: 0.1, depth: 2 },
      { lr: 0.01, depth: 2 },
      { lr: 0.001, depth: 2 },
    ]),
  )
  expect(standardAxes(axes, 'loss')).toEqual(['param.lr', 'best.loss'])
  const lr = axes.find((axis) => axis.id === 'param.lr')
  expect(lr?.log).toBe(true)
  const [linear] = withScales(lr ? [lr] : [], { 'param.lr': 'linear' })
  expect(linear?.log).toBe(false)
  // A log scale that the address asks for and the data cannot have stays linear.
  const zero = axesOf(jobs([{ wd: 0 }, { wd: 1 }])).filter((axis) => axis.id === 'param.wd')
  expect(withScales(zero, { 'param.wd': 'log' })[0]?.log).toBe(false)
})

test('positions and values of a log axis are inverse, and its ends are exact', () => {
  const axis = axesOf(jobs([{ lr: 0.1 }, { lr: 0.01 }, { lr: 0.0003 }])).find(({ id }) => id === 'param.lr')
  if (axis === undefined) throw new Error('no axis of lr')
  expect([valueAt(axis, 0), valueAt(axis, 1)]).toEqual([0.0003, 0.1])
  for (const share of [0.1, 0.5, 0.9]) expect(shareOf(axis, valueAt(axis, share))).toBeCloseTo(share, 9)
  expect(shareOf(axis, Number.NaN)).toBeNaN()
  expect(shareOf(axis, undefined)).toBeNaN()
})

test('a line has a gap where a job has no number, and the pointer finds the nearest visible line', () => {
  const rows = jobs([{ a: 0 }, { a: 1 }, { a: 0.5 }], (i) => (i === 2 ? 'NaN' : i))
  const axes = axesOf(rows).filter(({ id }) => id === 'param.a' || id === 'last.loss')
  const kept = new Set(rows.map((row) => row.name))
  const lines = { rows, kept, heights: heightsOf(rows, axes), xs: [0, 100] }
  expect(pathOf(lines, 0)).toBe('M0,238.0L100,238.0')
  expect(pathOf(lines, 2)).toBe('M0,132.0')
  expect(nearestLine(lines, 50, 236)).toBe(0)
  expect(nearestLine(lines, 50, 28)).toBe(1)
  expect(nearestLine(lines, 50, 132)).toBe(-1)
  expect(nearestLine({ ...lines, kept: new Set(['job 1']) }, 50, 236)).toBe(-1)
})

test('10,000 lines over eight axes are drawn with one stroke each', () => {
  const rows = jobs(
    Array.from({ length: 10_000 }, (_, i) =>
      Object.fromEntries(Array.from({ length: 7 }, (_, k) => [`p${k}`, (i * (k + 3)) % 101])),
    ),
  )
  const axes = axesOf(rows).filter(({ id }) => id.startsWith('param.') || id === 'last.loss')
  expect(axes).toHaveLength(8)
  const heights = heightsOf(rows, axes)
  let [strokes, points] = [0, 0]
  const context = new Proxy({} as Record<string, unknown>, {
    get: (_, name) => () => {
      if (name === 'stroke') strokes++
      if (name === 'lineTo' || name === 'moveTo') points++
    },
    set: () => true,
  })
  const canvas = { width: 0, height: 0, getContext: () => context } as unknown as HTMLCanvasElement
  Object.assign(globalThis, { devicePixelRatio: 1 })
  const kept = new Set(rows.slice(0, 6_000).map((row) => row.name))
  const lines = { rows, kept, heights, xs: axes.map((_, i) => i * 100) }
  drawLines(canvas, 800, lines, { of: () => 'red', faint: 'grey' })
  expect([strokes, points]).toEqual([10_000, 80_000])
})

test.each([
  'light',
  'dark',
] as const)('the colours of a metric have evenly increasing lightness, for all kinds of colour vision, in the %s theme', (theme) => {
  const hex = (share: number): string =>
    `#${(viridis(share, theme).match(/\d+/g) ?? []).map((one) => Number(one).toString(16).padStart(2, '0')).join('')}`
  for (const sight of Object.keys(SIGHTS) as (keyof typeof SIGHTS)[]) {
    const lightness = Array.from({ length: 11 }, (_, i) => labOf(hex(i / 10), SIGHTS[sight])[0] ?? 0)
    for (let i = 1; i < lightness.length; i++)
      expect((lightness[i] ?? 0) - (lightness[i - 1] ?? 0)).toBeGreaterThan(2)
  }
})

test.each([
  ['light', 'last.val_loss'],
  ['light', 'last.val_acc'],
  ['dark', 'last.val_loss'],
  ['dark', 'last.val_acc'],
] as const)('in the %s theme the best %s has the bright end of the colours', (theme, id) => {
  const metric = { id } as Axis
  const sum = (share: number): number =>
    (metricColour(metric, share, theme).match(/\d+/g) ?? []).reduce((total, one) => total + Number(one), 0)
  const [best, worst] = id.endsWith('loss') ? [sum(0), sum(1)] : [sum(1), sum(0)]
  expect(best).toBeGreaterThan(worst)
})

test('axes can be ordered by importance; those without one stay last, in their order', () => {
  const shown = ['param.model', 'param.lr', 'param.seed', 'best.val_loss']
  expect(byImportance(shown, ['param.lr', 'param.dropout', 'param.model'])).toEqual([
    'param.lr',
    'param.model',
    'param.seed',
    'best.val_loss',
  ])
})

import { expect, test } from 'vitest'
import type { Compared } from '../../web/src/charts/compared-jobs.ts'
import { axesOf } from '../../web/src/columns/axes.ts'
import {
  complete,
  fitLine,
  groupsAlong,
  heatMapOf,
  histogramOf,
  placed,
} from '../../web/src/columns/custom-data.ts'
import { readCustomCharts } from '../../web/src/lib/custom-charts.ts'

// What custom charts draw, on data whose right answer is known.

const row = (params: object, loss: number | string | undefined, i: number): Compared =>
  ({
    name: `job ${i}`,
    batch: { id: 'b' },
    job: {
      params,
      model: null,
      dataset: null,
      best: loss === undefined ? {} : { loss },
      latest: {},
      metrics: {},
      status: 'completed',
      epochs: 1,
      elapsed_s: 1,
    },
  }) as unknown as Compared

const rows = [
  row({ opt: 'sgd', lr: 0.1 }, 1, 0),
  row({ opt: 'adam', lr: 0.1 }, 2, 1),
  row({ opt: 'sgd', lr: 0.01 }, 3, 2),
  row({ opt: 'adam', lr: 0.01 }, 6, 3),
  row({ opt: 'sgd', lr: 0.01 }, 5, 4),
  row({ opt: 'adam', lr: 0.1 }, 'NaN', 5),
  row({ opt: 'adam', lr: 0.1 }, undefined, 6),
]
const axes = axesOf(rows)
const axis = (id: string) => {
  const found = axes.find((one) => one.id === id)
  if (found === undefined) throw new Error(id)
  return found
}
const whole = complete(rows, [axis('best.loss')])

test('jobs without a finite value are left out and counted', () => {
  expect([whole.rows.length, whole.missing]).toEqual([5, 2])
})

test('groups have mean, error and quartiles, in the order of their column', () => {
  const groups = groupsAlong(whole.rows, axis('param.lr'), axis('best.loss'))
  expect(groups.map(({ label, n, mean, median }) => [label, n, mean, median])).toEqual([
    ['0.01', 3, expect.closeTo(14 / 3), 5],
    ['0.1', 2, expect.closeTo(1.5), 1.5],
  ])
})

test('a heat map has the mean of each pair of values', () => {
  const map = heatMapOf(whole.rows, axis('param.opt'), axis('param.lr'), axis('best.loss'))
  expect([map.columns, map.rows]).toEqual([
    ['adam', 'sgd'],
    ['0.01', '0.1'],
  ])
  expect([...map.cells].sort((a, b) => a.mean - b.mean)).toEqual([
    { column: 1, row: 1, mean: 1, n: 1 },
    { column: 0, row: 1, mean: 2, n: 1 },
    { column: 1, row: 0, mean: 4, n: 2 },
    { column: 0, row: 0, mean: 6, n: 1 },
  ])
})

test('an axis of texts labels those that are drawn', () => {
  const texts = (low: number, high: number) =>
    placed(axis('param.opt'), [low, high], [0, 100], 6).labels.map(({ text }) => text)
  expect([texts(0, 0), texts(0, 1)]).toEqual([['adam'], ['adam', 'sgd']])
})

test('a line is fitted by least squares, also to large values; without a spread of x there is none', () => {
  const points = [0, 1, 2, 3].map((x) => [x + 1e6, 2 * x + (x === 1 ? 1 : 0)] as const)
  const fit = fitLine(points)
  expect(fit?.slope).toBeCloseTo(1.9, 6)
  expect(fit?.r2).toBeCloseTo(0.9627, 3)
  expect(
    fitLine([
      [1, 2],
      [1, 3],
      [1, 4],
    ]),
  ).toBeUndefined()
  expect(
    fitLine([
      [1, 2],
      [2, 3],
    ]),
  ).toBeUndefined()
})

test('every value is in one bin, on linear and log scales', () => {
  const values = Array.from({ length: 100 }, (_, i) => i)
  const bins = histogramOf(values, false)
  expect(bins.reduce((sum, { n }) => sum + n, 0)).toBe(100)
  expect([bins[0]?.from, bins.at(-1)?.to, bins.length]).toEqual([0, 99, 5])
  const decades = histogramOf([1, 10, 100, 1000, 1000], true)
  expect(decades.reduce((sum, { n }) => sum + n, 0)).toBe(5)
  expect(decades.at(-1)?.to).toBeCloseTo(1000)
  expect(histogramOf([3, 3, 3], false)).toEqual([{ from: 3, to: 3, n: 3 }])
  expect(histogramOf([], false)).toEqual([])
})

test('charts of an address are read, and what is none is ignored', () => {
  const charts = [
    { kind: 'bar', x: 'param.lr', of: 'best.loss' },
    { kind: 'pie', x: 'a' },
    { kind: 'heat' },
    null,
  ]
  expect(readCustomCharts(charts)).toEqual([{ kind: 'bar', x: 'param.lr', of: 'best.loss' }])
  expect(readCustomCharts('x')).toBeUndefined()
})

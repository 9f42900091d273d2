import fc from 'fast-check'
import { expect, test } from 'vitest'
import { groupNames, groupsOf } from '../../web/src/charts/chart-groups.ts'
import type { Compared } from '../../web/src/charts/compared-jobs.ts'
import { axesOf } from '../../web/src/columns/axes.ts'
import { groupingAxes, jobGroups, spreadOf } from '../../web/src/columns/job-groups.ts'
import { propertyBounds } from '../kit/effort.ts'

const job = (n: number, params: Record<string, unknown>, loss: number | undefined): Compared =>
  ({
    name: `job${n}`,
    batch: { id: 'sweep' },
    job: {
      id: `job${n}`,
      model: null,
      dataset: null,
      params,
      latest: loss === undefined ? {} : { loss },
      metrics: {},
      status: 'completed',
      epochs: 1,
      elapsed_s: 1,
    },
  }) as unknown as Compared

const axis = (rows: Compared[], id: string) => {
  const found = axesOf(rows).find((one) => one.id === id)
  if (found === undefined) throw new Error(`there is no axis ${id}`)
  return found
}

test('the name of a group is its value in six digits, or as many as distinguish it from the others; integers have all digits', () => {
  const named = (values: unknown[]): string[] => {
    const jobs = values.map((lr, n) => job(n, { lr }, 1).job)
    const names = groupNames(jobs, 'param.lr')
    expect(groupsOf(jobs, names).map(({ name }) => name)).toEqual(
      values.toSorted((a, b) => Number(a) - Number(b)).map((lr) => names.of(String(lr))),
    )
    return values.map((lr) => names.of(String(lr)).replace('lr = ', ''))
  }
  expect(named([0.0003745401188473625])).toEqual(['0.00037454'])
  expect(named(['1e-3'])).toEqual(['0.001'])
  expect(named([123456789])).toEqual(['123456789'])
  expect(named([0.1, 0.30000000000000004, 0.3])).toEqual(['0.1', '0.30000000000000004', '0.3'])
  expect(named([0.12345612, 0.12345637, 0.5000001])).toEqual(['0.1234561', '0.1234564', '0.5'])
})

test('texts that are equal as numbers, such as versions, are separate groups', () => {
  const jobs = ['2.1', '2.10', '2.1'].map((torch, n) => job(n, { torch }, 1).job)
  expect(groupsOf(jobs, groupNames(jobs, 'param.torch'))).toEqual([
    { name: 'torch = 2.1', jobs: 2 },
    { name: 'torch = 2.10', jobs: 1 },
  ])
})

test('different numbers have different names, even if they are close', () => {
  const near = fc.tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer({ min: -3, max: 3 }))
  fc.assert(
    fc.property(fc.array(near, { maxLength: 20 }), (pairs) => {
      const values = pairs
        .map(([value, steps]) => value * (1 + steps * Number.EPSILON))
        .filter(Number.isFinite)
      const jobs = values.map((lr, n) => job(n, { lr }, 1).job)
      const groups = groupsOf(jobs, groupNames(jobs, 'param.lr'))
      expect(groups.length).toBe(new Set(values.map((value) => value + 0)).size)
      expect(new Set(groups.map(({ name }) => name)).size).toBe(groups.length)
    }),
    propertyBounds('names of groups', { runs: 200, seconds: 5 }),
  )
})

test('jobs are grouped by the values of parameters, the best mean first, with its standard error', () => {
  const rows = [
    job(1, { optimizer: 'adam', depth: 2 }, 0.2),
    job(2, { optimizer: 'adam', depth: 2 }, 0.4),
    job(3, { optimizer: 'sgd', depth: 2 }, 0.9),
    job(4, { optimizer: 'sgd', depth: 4 }, undefined),
    job(5, { depth: 4 }, 0.1),
  ]
  const by = groupingAxes(rows, axesOf(rows))
  expect(by.map((one) => one.id)).toEqual(['param.depth', 'param.optimizer'])
  const groups = jobGroups(rows, [axis(rows, 'param.optimizer')], axis(rows, 'last.loss'))
  expect(groups.map(({ values, rows: of, spread }) => [values, of.length, spread?.mean])).toEqual([
    [['not set'], 1, 0.1],
    [['adam'], 2, expect.closeTo(0.3, 12)],
    [['sgd'], 2, 0.9],
  ])
  expect(groups[1]?.spread?.error).toBeCloseTo(0.1, 12)
  expect(groups[0]?.spread?.error).toBe(undefined)
  const both = jobGroups(rows, by, axis(rows, 'last.loss'))
  expect(both.map(({ values }) => values.join())).toEqual(['4,not set', '2,adam', '2,sgd', '4,sgd'])
  expect(both.at(-1)?.spread).toBe(undefined)
})

test('numbers that are equal in four digits are separate groups', () => {
  const rows = [0.12341, 0.12344, 0.12341].map((lr, n) => job(n, { lr }, n))
  const groups = jobGroups(rows, [axis(rows, 'param.lr')], axis(rows, 'last.loss'))
  expect(groups.map(({ values, rows }) => [values, rows.length])).toEqual([
    [['0.12341'], 2],
    [['0.12344'], 1],
  ])
})

test('a parameter with many values is grouped into bins, of equal ratios on a logarithmic axis', () => {
  const even = Array.from({ length: 20 }, (_, i) => job(i, { dropout: i / 19 }, i))
  expect(
    jobGroups(even, [axis(even, 'param.dropout')], axis(even, 'last.loss')).map(({ values }) => values[0]),
  ).toEqual(['0 to 0.2', '0.2 to 0.4', '0.4 to 0.6', '0.6 to 0.8', '0.8 to 1'])
  const rates = Array.from({ length: 11 }, (_, i) => job(i, { lr: 10 ** (-5 + i / 2) }, i))
  const groups = jobGroups(rates, [axis(rates, 'param.lr')], axis(rates, 'last.loss'))
  expect(groups.map(({ values }) => values[0])[0]).toBe('1e−5 to 1e−4')
  expect(groups.map(({ rows }) => rows.length)).toEqual([2, 2, 2, 2, 3])
})

test('groups contain every job once, and quartiles are in order between minimum and maximum', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          lr: fc.option(fc.double({ min: 1e-6, max: 10, noNaN: true })),
          loss: fc.option(fc.double({ noDefaultInfinity: true, min: -1e6, max: 1e6 })),
        }),
        { minLength: 1, maxLength: 40 },
      ),
      (given) => {
        const rows = given.map(({ lr, loss }, i) => job(i, lr === null ? {} : { lr }, loss ?? undefined))
        const axes = axesOf([...rows, job(99, { lr: 1 }, 1)])
        const [lr, loss] = ['param.lr', 'last.loss'].map((id) => axes.find((one) => one.id === id))
        if (lr === undefined || loss === undefined) throw new Error('an axis is missing')
        const groups = jobGroups(rows, [lr], loss)
        expect(groups.flatMap((group) => group.rows.map((row) => row.name)).sort()).toEqual(
          rows.map((row) => row.name).sort(),
        )
        for (const { spread } of groups) {
          if (spread === undefined) continue
          const { low, lowerQuartile, median, upperQuartile, high } = spread
          const inOrder = [low, lowerQuartile, median, upperQuartile, high]
          expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b))
        }
      },
    ),
    propertyBounds('job groups', { runs: 100, seconds: 5 }),
  )
})

test('quartiles are those of NumPy', () => {
  expect(spreadOf([4, 1, Number.NaN, 3, 2, undefined])).toMatchObject({
    n: 4,
    lowerQuartile: 1.75,
    median: 2.5,
    upperQuartile: 3.25,
  })
})

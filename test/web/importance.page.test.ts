import { expect, test } from 'vitest'
import { randomFrom } from '../../src/domain/random.ts'
import { type Column, importanceOf } from '../../web/src/sweeps/forest.ts'
import { tellSeed } from '../kit/effort.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

const JOBS = 60
const OPTIMIZERS = ['adam', 'lamb', 'sgd'] as const

const web = pageFixture(async ({ app, reporter }) => {
  const draw = randomFrom(3)
  for (const [batch, jobs] of [
    ['sixty', JOBS],
    ['six', 6],
  ] as const) {
    const of = eventsOf(batch)
    await send(app, reporter, [
      of('batch_start', 900, { experiment_type: 'sweep', n_total: jobs }),
      ...Array.from({ length: jobs }, (_, i) => {
        const lr = 10 ** (-1 - 3 * draw())
        const optimizer = OPTIMIZERS[i % 3] as string
        const loss = (Math.log10(lr) + 4) ** 2 + (optimizer === 'sgd' ? 4 : 0)
        return [
          of('job_start', 800 - i, { lr, optimizer, seed: Math.floor(draw() * 1e6) }, `job${i}`),
          // A job that diverged has no number to explain.
          of('job_epoch', 500 - i, { epoch: 0, val_loss: i === 7 ? 'NaN' : loss }, `job${i}`),
        ]
      }).flat(),
    ])
  }
})

const table = (n: number, columns: [(i: number) => number, categories?: boolean][]): Column[] =>
  columns.map(([at, categories = false]) => ({
    values: Float64Array.from({ length: n }, (_, i) => at(i)),
    categories,
  }))
const orderOf = (columns: readonly { importance: number }[]): number[] =>
  [...columns.keys()].sort((a, b) => (columns[b]?.importance ?? 0) - (columns[a]?.importance ?? 0))

test('in a sweep of thirty jobs with different learning rates, the learning rate is found', () => {
  const draw = randomFrom(tellSeed('importance of few'))
  for (let round = 0; round < 6; round++) {
    const columns = table(30, [
      [() => draw()],
      [() => 10 ** (-5 * draw())],
      [(i) => (i < 2 ? Number.NaN : Math.floor(draw() * 4))],
    ])
    const target = Float64Array.from(columns[1]?.values ?? [], (rate) => Math.abs(Math.log10(rate) + 2))
    const found = importanceOf(columns, target)
    expect(orderOf(found.columns)[0]).toBe(1)
    expect(found.r2).toBeGreaterThan(0.4)
  }
})

test('parameters that a result depends on come first, others have importance 0', () => {
  const draw = randomFrom(tellSeed('importance'))
  for (let round = 0; round < 6; round++) {
    const n = 150 + Math.floor(draw() * 150)
    const columns = table(n, [
      [() => draw()],
      [() => Math.floor(draw() * 4), true],
      [() => 10 ** (-5 * draw())],
      [() => (draw() < 0.2 ? Number.NaN : draw())],
    ])
    const [noise, category, rate] = columns as [Column, Column, Column]
    const offsets = [0, 12, 4, 2]
    const target = Float64Array.from(
      { length: n },
      (_, i) => 4 * Math.log10(rate.values[i] as number) + (offsets[category.values[i] as number] as number),
    )
    const found = importanceOf(columns, target)
    expect(found.r2).toBeGreaterThan(0.6)
    expect(orderOf(found.columns).slice(0, 2).sort()).toEqual([1, 2])
    expect(found.columns[2]?.correlation).toBeGreaterThan(0.4)
    expect(found.columns[1]?.correlation).toBe(null)
    for (const other of [0, 3]) expect(found.columns[other]?.importance).toBeLessThan(0.15)
    expect(noise.values).toHaveLength(n)
    // A scale that keeps the order, and one job that diverged, change nothing.
    const scaled = target.map((value) => Math.exp(value))
    const best = scaled.indexOf(Math.max(...scaled))
    scaled[best] = 1e300
    expect(importanceOf(columns, scaled)).toEqual(found)
  }
})

test('for a random result the forest explains nothing, and it works without jobs or columns', () => {
  const draw = randomFrom(tellSeed('chance'))
  const columns = table(200, [[() => draw()], [() => Math.floor(draw() * 50), true]])
  expect(importanceOf(columns, Float64Array.from({ length: 200 }, draw)).r2).toBeLessThan(0.1)
  expect(importanceOf([], Float64Array.from([1, 2, 3]))).toMatchObject({ columns: [] })
  expect(importanceOf(table(0, [[() => 0]]), new Float64Array())).toMatchObject({
    r2: 0,
    columns: [{ importance: 0, correlation: null }],
  })
  expect(importanceOf(table(30, [[(i) => i]]), new Float64Array(30).fill(2))).toMatchObject({ r2: 0 })
})

test('the Sweep tab shows which parameters matter, how certain that is, and which jobs were left out', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/sixty/sweep')
  const rows = page.locator('[data-parameter]')
  await expect.poll(() => rows.count()).toBe(3)
  expect(await rows.evaluateAll((all) => all.map((one) => one.getAttribute('data-parameter')))).toEqual([
    'lr',
    'optimizer',
    'seed',
  ])
  expect(await rows.first().textContent()).toMatch(/^lr\d\d% ± /)
  const sure = page.locator('[data-sure]')
  expect(await sure.textContent()).toMatch(
    /^The parameters explain \d\d% of the differences between 59 jobs\. /,
  )
  expect(await page.locator('[data-left-out]').first().textContent()).toMatch(
    /^1 job left out of importance, groups and plots: 1 (failed|diverged)\./,
  )
  expect(await seriousFindings(page)).toEqual([])
  await page.goto('/b/six/sweep')
  await sure.getByText('Too few jobs to tell: 6 have a result, at least 20 are needed.').waitFor()
  expect(await rows.count()).toBe(0)
  expect(complaints).toEqual([])
  await context.close()
})

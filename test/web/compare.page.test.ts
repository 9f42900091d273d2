import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, settled } from './ran-batch.ts'
import { recordedSweep, send } from './visit.ts'

const LARGE = 1_200

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, recordedSweep('first'))
  await send(
    app,
    reporter,
    recordedSweep('second').map((event) => ({
      ...event,
      source: { ...(event.source as object), host: 'box9' },
    })),
  )
  const of = eventsOf('large')
  await send(app, reporter, [
    of('batch_start', 3600, { experiment_type: 'sweep', n_total: LARGE }),
    // More than are compared at once; the newest come first.
    ...Array.from({ length: LARGE }, (_, n) => of('job_start', 3590 - n, { lr: n / 1000 }, `job-${n}`)),
  ])
})
const { asAda } = web

const address = (search: Record<string, unknown> = {}): string =>
  `/compare?${Object.entries({ batches: ['first', 'second'], ...search })
    .map(([name, value]) => `${name}=${encodeURIComponent(JSON.stringify(value))}`)
    .join('&')}`
const ready = (page: Page) => page.getByRole('heading', { name: 'Compare 16 jobs of 2 batches' }).waitFor()

test('a brush over an axis limits every chart and table to its jobs, is in the address, and a link restores it', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(address())
  await ready(page)
  await page.locator('[data-kept]', { hasText: '16 of 16 jobs' }).waitFor()
  // Nothing above it grows any more.
  await settled(page)
  await page.locator('[data-parallel]').scrollIntoViewIfNeeded()
  const axis = await page.locator('[data-axis="param.hidden"]').boundingBox()
  if (axis === null) throw new Error('the axis has no place')
  // The upper half: the wide networks.
  await page.mouse.move(axis.x + axis.width / 2, axis.y + 1)
  await page.mouse.down()
  await page.mouse.move(axis.x + axis.width / 2, axis.y + axis.height * 0.4, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/brush=/)
  const said = async () => (await page.locator('[data-kept]').textContent()) ?? ''
  await expect.poll(said).not.toBe('16 of 16 jobs')
  const kept = await said()
  const n = Number(kept.split(' ')[0])
  expect(n).toBeGreaterThan(0)
  expect(n).toBeLessThan(16)
  await expect.poll(() => page.locator('[data-best]').count()).toBe(n)
  await expect.poll(() => page.locator('[data-point]').count()).toBeLessThanOrEqual(n)
  const other = await asAda()
  await other.page.goto(page.url())
  await other.page.locator('[data-kept]', { hasText: kept }).waitFor()
  await other.page.getByRole('button', { name: 'Clear the brush' }).click()
  await other.page.locator('[data-kept]', { hasText: '16 of 16 jobs' }).waitFor()
  expect([...complaints, ...other.complaints]).toEqual([])
  await context.close()
  await other.context.close()
})

test('curves of both batches share one chart, and the best epoch of each job is exact', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(address())
  await ready(page)
  await page.locator('[data-chart="val_loss"] [data-points]', { hasText: '596 of 596 points' }).waitFor()
  const cells = () => page.locator('[data-best]').first().locator('td').allTextContents()
  const { body } = await web.app.call('GET', '/api/batches/first/metrics?key=val_loss', {
    token: web.ada.token,
  })
  const points = (body.series as { steps: number[]; values: (number | string)[] }[]).flatMap(
    ({ steps, values }) =>
      values.flatMap((value, i) => (typeof value === 'number' ? { value, epoch: steps[i] } : [])),
  )
  const least = points.reduce((a, b) => (b.value < a.value ? b : a))
  await expect
    .poll(async () => (await cells()).slice(4, 6))
    .toEqual([String(Number(least.value.toPrecision(4))), String(least.epoch)])
  await page.getByRole('group', { name: 'Series' }).getByRole('button', { name: 'train_loss' }).click()
  await page.locator('[data-chart="train_loss"] [data-points]', { hasText: 'points' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the scatter plot can show any two columns and log axes, and says how many jobs it leaves out', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(address())
  await ready(page)
  const scatter = page.getByRole('region', { name: 'Scatter plot' })
  const figure = page.locator('figure', { has: page.locator('[data-scatter]') })
  await scatter.getByLabel('X', { exact: true }).selectOption('param.lr')
  await scatter.getByLabel('Y', { exact: true }).selectOption('last.val_loss')
  // Jobs that ended with NaN are left out of every plot, until they are counted too.
  await page.locator('[data-left-out]', { hasText: 'diverged' }).waitFor()
  expect(await figure.locator('figcaption').textContent()).not.toContain('NaN')
  await page.locator('[data-left-out]').getByRole('checkbox').check()
  await page.waitForURL(/crashed=true/)
  await figure.getByText('with NaN or Inf in one of the two').waitFor()
  await scatter.getByLabel('log x').check()
  await page.waitForURL(/logx=true/)
  await expect.poll(() => page.locator('[data-point]').count()).toBeGreaterThan(5)
  await scatter.getByLabel('Y', { exact: true }).selectOption('param.lr_schedule')
  await expect.poll(() => scatter.getByLabel('log y').isDisabled()).toBe(true)
  expect(complaints).toEqual([])
  await context.close()
})

test('the table of differences has only parameters that differ; a missing batch is named', async () => {
  const { page, context } = await asAda()
  await page.goto(address({ batches: ['first', 'second', 'never-was'] }))
  await ready(page)
  await page.getByText('1 batch not available: never-was').waitFor()
  const table = page.getByRole('region', { name: 'What differs' }).last()
  const names = () => table.locator('tbody tr td:first-child').allTextContents()
  await expect.poll(names).toContain('host')
  expect(await names()).not.toContain('parameter hidden')
  // Two batches: one column each, the machine of the second is its own.
  expect(await table.locator('th').allTextContents()).toEqual(['Field', 'first', 'second'])
  const host = table.locator('tbody tr', { has: page.getByText('host', { exact: true }) })
  expect((await host.locator('td').allTextContents()).at(-1)).toBe('box9')
  await page.getByLabel('Show equal fields too').check()
  await expect.poll(names).toContain('parameter hidden')
  await expect.poll(names).toContain('host (differs)')
  await page.waitForURL(/same=true/)
  await page.getByRole('link', { name: 'Leave out second' }).click()
  await page.getByRole('heading', { name: 'Compare 8 jobs of 1 batch' }).waitFor()
  // Of one batch its jobs are compared.
  await expect.poll(names).toContain('parameter hidden (differs)')
  await context.close()
})

test('every selected job is compared, however many newer jobs its batch has', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(address({ batches: ['large', 'first'], ids: ['job-0', 'job-1', `job-${LARGE - 1}`] }))
  // Of the batch without selected jobs, all.
  await page.getByRole('heading', { name: 'Compare 11 jobs of 2 batches' }).waitFor()
  await page.goto(address({ batches: ['large'], ids: ['job-1', 'job-0', `job-${LARGE - 1}`] }))
  await page.getByRole('heading', { name: 'Compare 3 jobs of 1 batch' }).waitFor()
  const heads = page.getByRole('region', { name: 'What differs' }).last().locator('th')
  expect(await heads.allTextContents()).toEqual(['Field', 'job-1', 'job-0', `job-${LARGE - 1}`])
  await page.getByRole('button', { name: 'Compare the newest 1,000 jobs' }).click()
  await page.getByRole('heading', { name: 'Compare 1,000 jobs of 1 batch' }).waitFor()
  await page.getByText('Only the newest 1,000 jobs are compared.').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('on a very wide screen the parts below the curves stand two in a row', async () => {
  const { page, context } = await asAda({ width: 2560 })
  await page.goto(address())
  await ready(page)
  await page.locator('[data-best]').first().waitFor()
  await settled(page)
  const place = async (title: string) => {
    const box = await page.getByRole('heading', { name: title, exact: true }).boundingBox()
    if (box === null) throw new Error(`${title} has no place`)
    return box
  }
  const [scatter, groups] = [await place('Scatter plot'), await place('best.val_loss by parameter')]
  expect(groups.x).toBeGreaterThan(scatter.x + 1_000)
  expect(groups.y).toBe(scatter.y)
  // The differences are the second part, right after the curves.
  const order = ['Curves', 'What differs', 'Parameters and results', 'Scatter plot', 'Best epochs']
  const places = await Promise.all(order.map(place))
  expect(places.map(({ y }) => y)).toEqual(places.map(({ y }) => y).sort((a, b) => a - b))
  await context.close()
})

test('a run has the colour of its own batch, in the legend of Compare and in the heads of its tables', async () => {
  const { page, context } = await asAda()
  const colourOf = (job: string) =>
    page
      .getByRole('button', { name: `Colour of ${job}`, exact: true })
      .locator('span')
      .evaluate((dot) => (dot as HTMLElement).style.borderColor)
  const names = ['h256-lr0.005-seed0', 'h32-lr0.005-seed0']
  await page.goto('/b/first')
  const before = [await colourOf('h256-lr0.005-seed0'), await colourOf('h32-lr0.005-seed0')]
  expect(before[0]).not.toBe(before[1])
  await page.goto(address({ batches: ['first'], ids: names }))
  await page.getByRole('list', { name: 'Runs' }).waitFor()
  expect([await colourOf('first / h256-lr0.005-seed0'), await colourOf('first / h32-lr0.005-seed0')]).toEqual(
    before,
  )
  const heads = page.getByRole('region', { name: 'What differs' }).last().locator('th [data-colour]')
  expect(await heads.evaluateAll((all) => all.map((one) => (one as HTMLElement).style.background))).toEqual(
    before,
  )
  await context.close()
})

test('outliers are counted over all batches together, and hiding them is in the address', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(address({ keys: ['val_loss'] }))
  await ready(page)
  await page.getByLabel('Outliers').selectOption('0.01')
  const { body } = await web.app.call('GET', '/api/jobs?limit=100', { token: web.ada.token })
  const keys = (body.items as { key: string }[]).map((job) => job.key).join()
  const { body: clip } = await web.app.call(
    'GET',
    `/api/jobs/metrics/clip?key=val_loss&clip=0.01&job_keys=${keys}`,
    { token: web.ada.token },
  )
  expect(clip.hidden).toBeGreaterThan(0)
  const said = (on: Page) =>
    on
      .locator('[data-chart="val_loss"] [data-hidden]', { hasText: `${clip.hidden} outliers outside` })
      .waitFor()
  await said(page)
  await page.waitForURL(/clip=0.01/)
  const other = await asAda()
  await other.page.goto(page.url())
  await said(other.page)
  expect([...complaints, ...other.complaints]).toEqual([])
  await context.close()
  await other.context.close()
})

test('jobs of several batches can be grouped by a parameter or by batch', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(address({ keys: ['train_loss'] }))
  await ready(page)
  const groups = async () =>
    (await page.getByRole('list', { name: 'Groups' }).locator('li').allTextContents()).sort()
  await page.getByLabel('Group by').selectOption('batch')
  await expect.poll(groups).toEqual(['first8 jobs', 'second8 jobs'])
  await page
    .locator('[data-chart="train_loss"] [data-points]', { hasText: '596 points, all counted' })
    .waitFor()
  await page.getByLabel('Group by').selectOption('param.hidden')
  await expect
    .poll(groups)
    .toEqual(['hidden = 12810 jobs', 'hidden = 2562 jobs', 'hidden = 322 jobs', 'hidden = 642 jobs'])
  await page
    .locator('[data-chart="train_loss"] [data-points]', { hasText: '596 points, all counted' })
    .waitFor()
  const dots = await page
    .getByRole('list', { name: 'Groups' })
    .locator('button span')
    .evaluateAll((all) => all.map((dot) => (dot as HTMLElement).style.borderColor))
  expect(new Set(dots).size).toBe(4)
  await page.getByLabel('Band').selectOption('range')
  await page.waitForURL(/band=range/)
  await page.reload()
  await ready(page)
  await expect.poll(groups).toHaveLength(4)
  expect(await page.getByLabel('Band').inputValue()).toBe('range')
  expect(complaints).toEqual([])
  await context.close()
})

test('a comparison is saved under a name and opened from the menu', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(address({ axes: ['param.lr', 'epochs'] }))
  await ready(page)
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByLabel('Name').fill('The two sweeps')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.goto('/')
  await page.getByRole('link', { name: 'The two sweeps' }).click()
  await ready(page)
  await expect.poll(() => page.locator('[data-axis]').count()).toBe(2)
  expect(complaints).toEqual([])
  await context.close()
})

test('on a phone nothing is wider than it', async () => {
  const { page, context } = await asAda({ width: 390 })
  await page.goto(address())
  await ready(page)
  await page.locator('[data-best]').first().waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
  await context.close()
})

test('batches of one job are compared by their names, in curves and tables', async () => {
  for (const [id, name] of [
    ['run-1', 'baseline'],
    ['run-2', 'wide'],
  ] as const) {
    const of = eventsOf(id)
    await send(web.app, web.reporter, [
      of('batch_start', 60, { experiment_type: 'run', n_total: 1, name }),
      of('job_start', 59, { lr: name === 'wide' ? 0.2 : 0.1, step_unit: 'step' }, 'main'),
      of('job_epoch', 58, { epoch: 0, val_loss: 1 }, 'main'),
      of('job_epoch', 57, { epoch: 1, val_loss: 0.5 }, 'main'),
    ])
  }
  const { page, context, complaints } = await asAda()
  await page.goto(address({ batches: ['run-1', 'run-2'] }))
  const rows = page.locator('[data-best]')
  await expect.poll(() => rows.count()).toBe(2)
  const names = await rows.evaluateAll((all) => all.map((one) => one.getAttribute('data-best')))
  expect(names.toSorted()).toEqual(['baseline', 'wide'])
  const differences = page.locator('section', { has: page.getByRole('heading', { name: 'What differs' }) })
  await differences.getByRole('columnheader', { name: 'baseline' }).waitFor()
  expect(await page.getByRole('combobox', { name: 'x-axis' }).locator('option').first().textContent()).toBe(
    'steps',
  )
  expect(complaints).toEqual([])
  await context.close()
})

test('differences to a run follow running batches, and no arriving value is taken for one', async () => {
  for (const id of ['live-base', 'live-other']) {
    const of = eventsOf(id)
    await send(web.app, web.reporter, [
      of('batch_start', 60, { n_total: 1 }),
      of('job_start', 59, {}, 'main'),
    ])
  }
  const epoch = (id: string, n: number, value: number) =>
    send(web.app, web.reporter, [eventsOf(id)('job_epoch', 50 - n, { epoch: n, val_loss: value }, 'main')])
  for (const n of [0, 1]) {
    await epoch('live-base', n, 1)
    await epoch('live-other', n, 3)
  }
  const { page, context, complaints } = await asAda({ width: 1440 })
  await page.goto(address({ batches: ['live-base', 'live-other'], minus: 'live-base' }))
  const chart = page.locator('[data-chart="val_loss"]')
  await chart.locator('[data-points]', { hasText: '4 of 4 points' }).waitFor()
  await epoch('live-other', 2, 9)
  await epoch('live-base', 2, 5)
  // Read again: the difference at a step that both have.
  await chart.locator('[data-points]', { hasText: '6 of 6 points' }).waitFor()
  const csv = page.waitForEvent('download')
  await chart.hover()
  await chart.getByRole('button', { name: 'Menu of val_loss' }).click()
  await page.getByRole('menuitem', { name: 'Save as CSV' }).click()
  const text = readFileSync(await (await csv).path(), 'utf8')
  expect(text.match(/^live-other.*/gm)).toEqual(['live-other,0,2', 'live-other,1,2', 'live-other,2,4'])
  expect(complaints).toEqual([])
  await context.close()
})

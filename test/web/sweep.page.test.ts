import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, settled } from './ran-batch.ts'
import { recordedSweep, send, seriousFindings } from './visit.ts'

const RATES = [0.1, 0.03, 0.01, 0.003, 0.001, 0.0003]
const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, recordedSweep('recorded'))
  const rates = eventsOf('rates')
  await send(app, reporter, [
    rates('batch_start', 100, { experiment_type: 'sweep', n_total: RATES.length }),
    ...RATES.flatMap((lr, i) => [
      rates('job_start', 90 - i, { lr, layers: 2 }, `job${i}`),
      rates('job_epoch', 50 - i, { epoch: 0, val_loss: 1 / lr }, `job${i}`),
    ]),
  ])
  // The loss depends on the rate alone. Twelve jobs crashed after a step, some at rates that would be good.
  const planted = eventsOf('planted')
  const losses = (i: number): number[] =>
    i >= 48 ? [0.01, 5] : [2, 0.1 + Math.abs(i - 24) / 24, 1 - i / 100]
  await send(app, reporter, [
    planted('batch_start', 300, { experiment_type: 'sweep', n_total: 60 }),
    ...Array.from({ length: 60 }, (_, i) => [
      planted('job_start', 290, { lr: 10 ** (-4 + (i % 48) / 16), seed: (i * 7) % 10 }, `run${i}`),
      ...losses(i).map((val_loss, epoch) =>
        planted('job_epoch', 200 - epoch, { epoch, val_loss }, `run${i}`),
      ),
      i < 48
        ? planted('job_done', 100, {}, `run${i}`)
        : planted('job_failed', 100, { reason: 'CUDA out of memory' }, `run${i}`),
    ]).flat(),
  ])
  const few = eventsOf('few')
  await send(app, reporter, [
    few('batch_start', 100, { experiment_type: 'sweep', n_total: 3 }),
    ...[1, 2, 3].map((seed) => few('job_start', 90, { seed }, `job${seed}`)),
  ])
})
const { asAda } = web

const axesShown = (page: Page) =>
  page.locator('[data-axis]').evaluateAll((all) => all.map((one) => one.getAttribute('data-axis')))
const views = (page: Page) => page.getByRole('navigation', { name: 'Views of the batch' })

test('a batch of more than three jobs has a Sweep tab with the parameters that vary, then the metric, on fitting scales', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/b/few')
  await views(page).getByRole('link', { name: 'Jobs' }).waitFor()
  expect(await views(page).getByRole('link', { name: 'Sweep' }).count()).toBe(0)
  await page.goto('/b/rates')
  await views(page).getByRole('link', { name: 'Sweep' }).click()
  await page.locator('canvas[data-lines="6"]').waitFor()
  expect(await axesShown(page)).toEqual(['param.lr', 'best.val_loss'])
  const lr = page.getByTitle('Scale and place of lr', { exact: true })
  expect(await lr.innerText()).toBe('lr, log')
  await lr.click()
  await page.getByRole('button', { name: 'Linear scale' }).click()
  await page.waitForURL(/scales=/)
  await page.reload()
  await page.locator('canvas[data-lines="6"]').waitFor()
  expect(await lr.innerText()).toBe('lr')
  // The best job is first: the loss decreases with the rate.
  expect(await page.locator('tr[data-job]').first().getAttribute('data-job')).toBe('job0')
  await page
    .locator('main')
    .getByText(/^Best job0 /)
    .waitFor()
  // It is in the order of the metric, and shows it without an axis of it too.
  await page.goto(`/b/rates/sweep?axes=${encodeURIComponent('["param.lr","epochs"]')}`)
  const table = page.getByRole('region', { name: 'Selected jobs' })
  await expect
    .poll(() => table.getByRole('columnheader').allInnerTexts())
    .toEqual(['Job', 'Status', 'lr', 'epochs', 'best.val_loss'])
  expect(complaints).toEqual([])
  await context.close()
})

test('a brush selects jobs, Show only keeps the brush in the address, and a link restores it', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/b/rates/sweep')
  await page.locator('canvas[data-lines="6"]').waitFor()
  await settled(page)
  const line = page.locator('[data-axis="param.lr"]')
  // Waits until the axis has stopped moving.
  await line.hover({ position: { x: 12, y: 1 } })
  const axis = await line.boundingBox()
  if (axis === null) throw new Error('the axis has no place')
  const x = axis.x + axis.width / 2
  await page.mouse.down()
  // On the log axis the upper 45 % hold the three great rates; on a linear one they would hold one.
  await page.mouse.move(x, axis.y + axis.height * 0.45, { steps: 4 })
  await page.mouse.up()
  await page.locator('[data-kept]', { hasText: '3 of 6 jobs' }).waitFor()
  await page.locator('canvas[data-lines="3"]').waitFor()
  await expect.poll(() => page.locator('tr[data-job]').count()).toBe(3)
  await page.getByRole('button', { name: 'Show only 3 jobs' }).click()
  await page.waitForURL(/only=true/)
  expect(page.url()).toContain('brush=')
  expect(page.url()).not.toContain('job0')
  const other = await asAda()
  await other.page.goto(page.url())
  await other.page.locator('[data-kept]', { hasText: '3 of 3 jobs' }).waitFor()
  expect((await other.page.locator('tr[data-job]').allTextContents()).length).toBe(3)
  await other.page.getByRole('button', { name: 'Show all jobs' }).click()
  await other.page.locator('[data-kept]', { hasText: '6 of 6 jobs' }).waitFor()
  expect([...complaints, ...other.complaints]).toEqual([])
  await context.close()
  await other.context.close()
})

test('jobs can be grouped by parameters with mean, standard error and range; a group can be shown alone', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/b/rates/sweep')
  const groups = page.locator('tr[data-group]')
  await expect.poll(() => groups.count()).toBe(RATES.length)
  expect(await groups.first().getAttribute('data-group')).toBe('0.1')
  await page.goto('/b/recorded/sweep')
  await page.getByText('2 jobs left out of importance, groups and plots: ').waitFor()
  await page.getByLabel('Count them').check()
  const chosen = page.getByRole('group', { name: 'Parameters of the groups' })
  await chosen.getByRole('button').first().waitFor()
  const names = await chosen.getByRole('button').allTextContents()
  const [first = '', second = ''] = names
  await groups.first().locator('[data-box]').waitFor()
  const one = await groups.count()
  await chosen.getByRole('button', { name: second, exact: true }).click()
  await page.waitForURL(/groups=/)
  await expect.poll(() => groups.count()).toBeGreaterThanOrEqual(one)
  const heads = page.getByRole('region', { name: 'Groups of jobs' }).getByRole('columnheader')
  expect((await heads.allTextContents()).slice(0, 4)).toEqual([
    first,
    second,
    'Jobs',
    'Mean ± standard error',
  ])
  const jobs = async (column: number) =>
    (await groups.locator(`td:nth-child(${column})`).allTextContents()).map((text) =>
      Number.parseInt(text, 10),
    )
  expect((await jobs(3)).reduce((sum, n) => sum + n, 0)).toBe(8)
  await chosen.getByRole('button', { name: second, exact: true }).click()
  await expect.poll(() => groups.count()).toBe(one)
  const show = groups.getByRole('button', { name: 'show only these' }).first()
  const n = Number.parseInt((await show.textContent()) ?? '', 10)
  expect(n).toBe(Math.max(...(await jobs(2))))
  await show.click()
  await page.locator('[data-kept]', { hasText: `${n} of ${n} jobs` }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the scatter plot shows each job by two columns, on fitting scales, and a link restores it', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/b/rates/sweep')
  await expect.poll(() => page.locator('[data-point]').count()).toBe(RATES.length)
  const plot = page.locator('[data-scatter]')
  expect(await plot.getAttribute('aria-label')).toBe('best.val_loss against lr, 6 jobs')
  const logX = page.getByLabel('Log x')
  expect(await logX.isChecked()).toBe(true)
  await logX.uncheck()
  await page.waitForURL(/logx=false/)
  await page.getByRole('combobox', { name: 'Y', exact: true }).selectOption('elapsed')
  await page.waitForURL(/sy=elapsed/)
  await page.reload()
  await expect.poll(() => logX.isChecked()).toBe(false)
  await expect.poll(() => plot.getAttribute('aria-label')).toBe('elapsed (s) against lr, 6 jobs')
  expect(complaints).toEqual([])
  await context.close()
})

test.each([
  ['light', 390],
  ['dark', 1440],
] as const)('axe finds nothing serious on the Sweep tab in %s colours at %i pixels, and it does not scroll sideways', async (theme, width) => {
  const { page, context, complaints } = await asAda({ theme, width })
  await page.goto('/b/recorded/sweep')
  await page.locator('canvas[data-lines="8"]').waitFor()
  await settled(page)
  expect(await seriousFindings(page)).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
  expect(complaints).toEqual([])
  await context.close()
})

test('the best run is the one with the best step, on every page, and crashed jobs are no results unless counted', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/b/planted/sweep')
  const left = page.locator('[data-left-out]')
  await left.getByText('12 jobs left out of importance, groups and plots: 12 failed.').waitFor()
  await page.getByText(/The parameters explain \d+% of the differences between 48 jobs/).waitFor()
  expect(await page.locator('[data-parameter]').first().getAttribute('data-parameter')).toBe('lr')
  await expect.poll(() => page.locator('[data-point]').count()).toBe(48)
  // By the last value run47 would be the best, and with those that crashed run48.
  await page
    .locator('main')
    .getByText(/^Best run24 /)
    .waitFor()
  await left.getByLabel('Count them').check()
  await page.waitForURL(/crashed=true/)
  await page.getByText(/The parameters explain \d+% of the differences between 60 jobs/).waitFor()
  await expect.poll(() => page.locator('[data-point]').count()).toBe(60)
  // A brush holds for the importance too.
  const brush = encodeURIComponent('{"param.lr":[0.00009,0.00101]}')
  await page.goto(`/b/planted/sweep?brush=${brush}`)
  await page.getByText('Too few jobs to tell: 17 have a result').waitFor()
  await page.goto('/compare?batches=%5B"planted"%5D&ids=%5B"run24"%2C"run47"%2C"run30"%5D')
  await page.locator('[data-best]').first().waitFor()
  expect(await page.locator('[data-best]').first().getAttribute('data-best')).toMatch(/run24$/)
  expect(complaints).toEqual([])
  await context.close()
})

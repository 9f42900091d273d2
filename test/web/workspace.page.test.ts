import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import {
  mainLosses,
  LOSSES as SERVICE_LOSSES,
  LEARNING_RATES as SERVICE_RATES,
} from '../../src/domain/metrics/main-series.ts'
import { seriesNames } from '../../web/src/charts/series-names.ts'
import { LEARNING_RATES, LOSSES, mainSeries } from '../../web/src/lib/main-series.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

// The charts of a project beside its list of batches.

const EPOCHS = 10

/** A run as `svc_reporter.init` makes it: a batch with one job. */
function run(id: string, agoS: number, { ends = true, jobs = ['main'] } = {}) {
  const of = eventsOf(id)
  return [
    of('batch_start', agoS, { experiment_type: 'run', n_total: jobs.length }),
    ...jobs.flatMap((job) => [
      of('job_start', agoS, { lr: 0.1 }, job),
      ...Array.from({ length: EPOCHS }, (_, epoch) =>
        of(
          'job_epoch',
          agoS - epoch,
          { epoch, 'train/loss': 1 / (epoch + 1), 'train/lr': 0.1, 'eval/acc': 0.5 },
          job,
        ),
      ),
      ...(ends ? [of('job_done', agoS - EPOCHS, {}, job)] : []),
    ]),
    ...(ends
      ? [of('batch_done', agoS - EPOCHS, { n_done: jobs.length, n_failed: 0, total_elapsed_s: 10 })]
      : []),
  ]
}

const web = pageFixture(async ({ app, reporter }) => {
  const events = ['a', 'b', 'c'].flatMap((id, i) => run(`run-${id}`, 4000 - i * 100))
  for (const some of [events, run('run-live', 60, { ends: false })]) await send(app, reporter, some)
})

async function onPage(
  path: string,
  see: (page: Page, metricsRequests: () => URL[]) => Promise<void>,
  width = 1440,
): Promise<void> {
  const { page, context, complaints } = await web.asAda({ width })
  const asked: URL[] = []
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (/\/metrics(\/groups)?$/.test(url.pathname)) asked.push(url)
  })
  await page.goto(path)
  await see(page, () => asked)
  expect(complaints).toEqual([])
  await context.close()
}
const chart = (page: Page, name: string) => page.locator(`[data-chart="${name}"]`)
const points = (page: Page, name: string) => chart(page, name).locator('[data-points]')
const pointsText = (curves: number, more = 0): string => {
  const n = curves * EPOCHS + more
  return `${n} of ${n} points`
}

test('the main loss comes first, then validation, then losses of parts of a model and the rest by section', () => {
  const latest = {
    acc: 1,
    'mlp/loss': 1,
    'eval/acc': 1,
    'adam/norm': 1,
    'train/loss': 1,
    lr: 1,
    epoch: 1,
    'eval/loss': 1,
    val_loss: 1,
  }
  expect(seriesNames([{ latest }])).toEqual([
    'train/loss',
    'val_loss',
    'eval/loss',
    'eval/acc',
    'mlp/loss',
    'acc',
    'adam/norm',
    'lr',
  ])
  const trainer = { epoch: 1, learning_rate: 1, grad_norm: 1, loss: 1, eval_loss: 1 }
  expect(seriesNames([{ latest: trainer }])).toEqual(['loss', 'eval_loss', 'grad_norm', 'learning_rate'])
})

test('the main series is the loss by the names that libraries log; service and page know the same names', () => {
  expect(mainSeries(['acc', 'loss', 'eval_loss', 'train_loss'])).toBe('eval_loss')
  expect(mainSeries(['acc', 'loss', 'learning_rate'])).toBe('loss')
  expect(mainSeries(['acc', 'mlp/loss'])).toBe('mlp/loss')
  expect(mainSeries(['acc', 'f1'])).toBe('acc')
  expect(mainSeries([])).toBeUndefined()
  expect({ LOSSES, LEARNING_RATES }).toEqual({ LOSSES: SERVICE_LOSSES, LEARNING_RATES: SERVICE_RATES })
  expect(mainLosses(['loss', 'eval_loss', 'grad_norm', 'train_loss'])).toEqual(['train_loss', 'eval_loss'])
  expect(mainLosses(['grad_norm', 'loss'])).toEqual(['loss'])
})

test('one click shows the batches of a project beside their charts, with one curve each, in one read', () =>
  onPage('/p/digits', async (page, metricsRequests) => {
    await page.getByRole('link', { name: 'Charts', exact: true }).click()
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(4))
    const names = await page
      .getByRole('list', { name: 'Batches of the project' })
      .getByRole('link')
      .allTextContents()
    expect(names).toEqual(['run-live', 'run-c', 'run-b', 'run-a'])
    await expect.poll(() => points(page, 'eval/acc').textContent()).toBe(pointsText(4))
    const sections = await page.getByRole('heading', { level: 2 }).allTextContents()
    expect(sections).toEqual(['train2 charts', 'eval1 chart', 'Your charts'])
    // However many batches: one request for a series.
    const loss = metricsRequests().filter((url) => url.searchParams.get('key') === 'train/loss')
    expect(loss).toHaveLength(1)
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('link', { name: 'Charts', exact: true }).click()
    await page.getByRole('table', { name: 'Batches' }).waitFor()
    expect(new URL(page.url()).searchParams.has('charts')).toBe(false)
  }))

test('only selected batches are drawn, the eye hides a curve, and both are in the address', () =>
  onPage('/p/digits?charts=%7B%7D', async (page) => {
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(4))
    await page.getByLabel('Select run-a').check()
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(1))
    await page.getByLabel('Select run-b').check()
    await page.getByLabel('Select run-c').check()
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(3))
    await page.getByRole('button', { name: 'Draw run-b' }).click()
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(2))
    await page.getByRole('button', { name: 'eval 1 chart' }).click()
    await expect.poll(() => chart(page, 'eval/acc').count()).toBe(0)
    await page.reload()
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(2))
    expect(await page.getByLabel('Select run-b').isChecked()).toBe(true)
    expect(await page.getByRole('button', { name: 'Draw run-b' }).getAttribute('aria-pressed')).toBe('false')
    expect(await chart(page, 'eval/acc').count()).toBe(0)
    await page.getByRole('button', { name: 'Clear' }).click()
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(3))
  }))

test('a new point of a running batch is drawn without a reload', () =>
  onPage('/p/digits?charts=%7B%7D', async (page) => {
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(4))
    await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
    await send(web.app, web.reporter, [
      eventsOf('run-live')('job_epoch', 0, { epoch: EPOCHS, 'train/loss': 0.05 }, 'main'),
    ])
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(4, 1))
  }))

test('the curve of a batch with several jobs is their mean, and one click shows each job', async () => {
  await send(web.app, web.reporter, run('run-sweep', 30, { jobs: ['j1', 'j2', 'j3'] }))
  await onPage('/p/digits?charts=%7B%22sel%22%3A%5B%22run-sweep%22%2C%22run-a%22%5D%7D', async (page) => {
    await expect
      .poll(() => points(page, 'train/loss').textContent())
      .toBe(`${4 * EPOCHS} points, all counted`)
    await page.getByText('Each curve is the mean over the jobs of a batch.').waitFor()
    await page.getByLabel('Band').selectOption({ label: 'Mean ± std' })
    await expect.poll(() => page.url()).toContain('std')
    await page.getByLabel('Group by').selectOption({ label: 'No grouping' })
    await expect.poll(() => points(page, 'train/loss').textContent()).toBe(pointsText(4))
  })
})

test('on a phone the charts are first, and the list opens above them', () =>
  onPage(
    '/p/digits?charts=%7B%7D',
    async (page) => {
      await expect.poll(() => points(page, 'train/loss').count()).toBe(1)
      const list = page.getByRole('list', { name: 'Batches of the project' })
      expect(await list.isVisible()).toBe(false)
      await page.getByRole('button', { name: '5 batches' }).click()
      await list.getByText('run-a').waitFor()
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
      expect(await seriousFindings(page)).toEqual([])
    },
    390,
  ))

import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

// A run with a name, a configuration, printed lines and a failure, as people see it (contract §10 "More of a run").

const ID = '20261123-101500-ab12'
const TRACE = [
  'Traceback (most recent call last):',
  '  File "train.py", line 9, in <module>',
  '    train(model)',
  'ValueError: the loss is <NaN>',
].join('\n')

const web = pageFixture(async ({ app, reporter }) => {
  const of = eventsOf(ID)
  await send(app, reporter, [
    of('batch_start', 600, {
      n_total: 1,
      name: 'resnet18-baseline',
      group: 'night',
      config: { optimizer: { lr: 0.1 }, seed: 7 },
    }),
    of('job_start', 599, { step_unit: 'tokens', step_units: { 'val/*': 'pass' }, lr: 0.1 }, 'train'),
    ...Array.from({ length: 30 }, (_, n) =>
      of('job_epoch', 590 - n, { epoch: n * 1000, train_loss: 1 / (n + 1), 'val/acc': n / 30 }, 'train'),
    ),
    of('log_line', 580, { line: 'loading 50,000 images', level: 'info', stream: 'stdout' }, 'train'),
    of('log_line', 579, { line: '100%|##########| 50000/50000', level: 'info', stream: 'stderr' }, 'train'),
    of(
      'job_failed',
      500,
      { reason: 'ValueError: the loss is <NaN>', elapsed_s: 99, traceback: TRACE },
      'train',
    ),
    of('job_start', 598, {}, 'tuned'),
    of('job_done', 550, { pruned: true }, 'tuned'),
    of('batch_failed', 499, {
      reason: 'ValueError: the loss is <NaN>',
      total_elapsed_s: 101,
      traceback: TRACE,
      summary: { best_acc: 0.93 },
    }),
  ])
})
const { asAda: open } = web

test('a failed batch opens its traceback, its job shows it first, as text, and the name in place of the id', async () => {
  const { page, context, complaints } = await open()
  await page.goto(`/b/${ID}`)
  await page.getByRole('heading', { name: 'resnet18-baseline' }).waitFor()
  await expect.poll(() => page.title()).toContain('resnet18-baseline')
  await page.locator('[data-failures]').click()
  expect((await page.getByRole('region', { name: /^Traceback of/ }).innerText()).trim()).toBe(TRACE)
  expect(await page.locator('header code', { hasText: ID }).count()).toBe(1)
  await page.goto(`/b/${ID}/j/train`)
  const trace = page.getByRole('region', { name: 'Traceback of train' })
  await trace.waitFor()
  expect((await trace.innerText()).trim()).toBe(TRACE)
  const box = await trace.boundingBox()
  const reason = await page.getByText('ValueError: the loss is <NaN>', { exact: true }).last().boundingBox()
  expect(box?.y).toBeLessThan(reason?.y ?? 0)
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('charts of a job whose steps count tokens say so, and no epochs', async () => {
  const { page, context, complaints } = await open()
  await page.goto(`/b/${ID}/j/train`)
  await page.locator('[data-chart="train_loss"][data-unit="tokens"] canvas').waitFor()
  await page.getByText('lines of tokens').waitFor()
  await page.locator('[data-chart="train_loss"] .u-over').hover()
  await expect.poll(() => page.locator('[data-tip="train_loss"]').innerText()).toMatch(/^tokens [\d,]+/)
  // A chart over the values of another series is named after that; a section is drawn once it is near the viewport.
  await page.getByRole('main').evaluate((main) => main.scrollTo(0, main.scrollHeight))
  await page.locator('[data-chart="val/acc"][data-unit="pass"] canvas').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('printed lines have their stream and can be filtered by it; a pruned job is marked', async () => {
  const { page, context, complaints } = await open()
  await page.goto(`/b/${ID}/logs`)
  const lines = page.getByRole('log').locator('[data-line]')
  await expect.poll(() => lines.count()).toBe(2)
  await page.getByLabel('Stream').selectOption('stderr')
  await page.waitForURL(/stream=stderr/)
  await expect.poll(() => lines.allInnerTexts()).toEqual([expect.stringContaining('100%|###')])
  await page.goto(`/b/${ID}/jobs`)
  await page.locator('[data-job="tuned"]').getByText('pruned').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the environment lists configuration and summary by their paths', async () => {
  const { page, context, complaints } = await open()
  await page.goto(`/b/${ID}/environment`)
  const config = page.getByRole('region', { name: 'Configuration' })
  await config.getByText('optimizer/lr').waitFor()
  await config.getByText('seed').waitFor()
  await page.getByRole('region', { name: 'Summary' }).getByText('best_acc').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a batch can be renamed, starred and archived on its page', async () => {
  const { page, context, complaints } = await open()
  await page.goto(`/b/${ID}`)
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await page.getByLabel('Name').fill('the one that diverged')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'the one that diverged' }).waitFor()
  await page.getByRole('button', { name: 'Star', pressed: false }).click()
  await page.getByRole('button', { name: 'Star', pressed: true }).waitFor()
  const { body } = await web.app.call('GET', `/api/batches/${ID}`, { token: web.ada.token })
  expect(body).toMatchObject({
    name: 'the one that diverged',
    starred: true,
    group: 'night',
    archived: false,
  })
  await page.goto('/p/digits')
  const row = page.locator('[data-row]', { hasText: 'the one that diverged' })
  await row.getByRole('img', { name: 'Starred' }).waitFor()
  await page.goto(`/b/${ID}`)
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitemcheckbox', { name: 'Archive: hide from lists' }).click()
  await page.locator('header').getByText('archived').waitFor()
  await page.goto('/p/digits')
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await expect.poll(() => row.count()).toBe(0)
  expect(complaints).toEqual([])
  await context.close()
})

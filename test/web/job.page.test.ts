import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, sendRanBatch } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

const RAN = 'night-sweep'

const web = pageFixture(async ({ app, reporter }) => {
  await sendRanBatch(app, reporter, RAN)
})

const open = async (path: string) => {
  const one = await web.asAda()
  await one.page.goto(path)
  return one
}

test('a job shows its values, its parameters, its charts, and why it failed', async () => {
  const { page, context, complaints } = await open(`/b/${RAN}/j/bad`)
  await page.getByText('CUDA out of memory').first().waitFor()
  await page.locator('[data-chart="val_loss"] [data-points]', { hasText: '8 of 8 points' }).waitFor()
  const params = async () => (await page.getByRole('region', { name: 'Parameters' }).innerText()).split('\n')
  await expect.poll(async () => (await params()).slice(1, 3)).toEqual(['lr', '0.2'])
  await page.getByRole('link', { name: 'Previous job: good' }).click()
  await page.waitForURL(`/b/${RAN}/j/good`)
  await page.getByRole('region', { name: 'Results' }).getByText('0.91').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a browser with an unknown language draws charts', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.addInitScript(() =>
    Object.defineProperty(Navigator.prototype, 'language', { get: () => 'en-US@posix' }),
  )
  await page.goto(`/b/${RAN}/j/bad`)
  await page.locator('[data-chart="val_loss"] [data-points]', { hasText: '8 of 8 points' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a log line links to its epoch, and an epoch to its log lines', async () => {
  const { page, context, complaints } = await open(`/b/${RAN}/j/good`)
  const line = page.locator('[data-line]', { hasText: 'lr dropped' })
  // The epochs came every 10 seconds, the eleventh 5 seconds after the line.
  await line.getByRole('button', { name: 'epoch 11' }).click()
  await page.waitForURL(/zoom=/)
  await page.getByRole('button', { name: 'epochs 9 to 13' }).waitFor()
  await page.getByLabel('lines of epoch').fill('1')
  await page.getByRole('button', { name: 'Go' }).click()
  await page.waitForURL(/line=\d+/)
  await page.locator('[data-line][aria-current]', { hasText: 'begun' }).waitFor()
  await page.getByLabel('lines of epoch').fill('5')
  await page.getByRole('button', { name: 'Go' }).click()
  await page.getByText('nothing was logged in epoch 5').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a line of the batch log links to its job, where it is shown with its epoch', async () => {
  const { page, context, complaints } = await open(`/b/${RAN}/logs`)
  await page.locator('[data-line]', { hasText: 'lr dropped' }).getByRole('link', { name: 'good' }).click()
  await page.waitForURL(new RegExp(`/b/${RAN}/j/good\\?line=\\d+`))
  const line = page.locator('[data-line][aria-current]', { hasText: 'lr dropped' })
  await line.getByRole('button', { name: 'epoch 11' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a running job is updated live', async () => {
  const of = eventsOf('still-running')
  const epoch = (n: number) => of('job_epoch', 10 - n, { epoch: n, val_loss: 1 / (n + 1) }, 'one')
  await send(web.app, web.reporter, [
    of('batch_start', 20, { n_total: 1 }),
    of('job_start', 19, {}, 'one'),
    epoch(0),
    epoch(1),
  ])
  const { page, context, complaints } = await open('/b/still-running/j/one')
  await page.locator('[data-chart="val_loss"] [data-points]', { hasText: '2 of 2 points' }).waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await send(web.app, web.reporter, [epoch(2), of('log_line', 0, { line: 'going well' }, 'one')])
  await page.locator('[data-chart="val_loss"] [data-points]', { hasText: '3 of 3 points' }).waitFor()
  await page.getByText('going well').waitFor()
  await send(web.app, web.reporter, [of('job_done', 0, { metrics: { acc: 0.5 } }, 'one')])
  await page.getByRole('region', { name: 'Results' }).getByText('0.5').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a job that was restarted lists its attempts, and can draw an earlier one faded', async () => {
  const of = eventsOf('restarted')
  const again = eventsOf('rerun of it')
  const epochs = (from: number, to: number, ago: number, loss: number) =>
    Array.from({ length: to - from + 1 }, (_, i) =>
      of('job_epoch', ago - i, { epoch: from + i, val_loss: loss }, 'one'),
    )
  await send(web.app, web.reporter, [
    of('batch_start', 900, { n_total: 1 }),
    of('job_start', 899, {}, 'one'),
    ...epochs(0, 9, 890, 3),
    of('job_start', 600, {}, 'one'),
    ...epochs(6, 11, 590, 1),
    of('job_done', 500, {}, 'one'),
    again('batch_start', 400, { n_total: 1, rerun_of: 'restarted' }),
    again('job_start', 399, {}, 'one'),
  ])
  const { page, context, complaints } = await open('/b/restarted/j/one')
  const chart = page.locator('[data-chart="val_loss"]')
  await chart.locator('[data-points]', { hasText: '12 of 12 points' }).waitFor()
  const table = page.getByRole('region', { name: 'Attempts' })
  const rows = async () =>
    (await table.locator('tbody tr').allInnerTexts())
      .map((text) => text.split(/\s*[\t\n]\s*/))
      .map((cells) => cells.filter((cell) => !/ago|just now/.test(cell)))
  await expect.poll(rows).toEqual([
    ['1', 'superseded', '18\u00a0s', '10 (0 to 9)', 'epochs 6 to 9', 'Show attempt 1'],
    ['2', 'completed', '1\u00a0min\u00a040\u00a0s', '6 (6 to 11)', 'none', 'current'],
    ['1 in rerun of it', 'running', expect.any(String), 'none', 'none', ''],
  ])
  /** The drawn plot. */
  const drawn = (): Promise<string> =>
    chart.locator('canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL())
  const alone = await drawn()
  await table.getByRole('button', { name: 'Show attempt 1' }).click()
  await page.getByText('Faded: attempt 1, 10 epochs; superseded since: epochs 6 to 9.').waitFor()
  await chart.locator('[data-points]', { hasText: '22 of 22 points' }).waitFor()
  await expect.poll(async () => (await drawn()) === alone).toBe(false)
  await page.waitForURL(/attempt=1/)
  await page.reload()
  await page.getByText('Faded: attempt 1, 10 epochs').waitFor()
  await chart.locator('[data-points]', { hasText: '22 of 22 points' }).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await table.getByRole('button', { name: 'Hide attempt 1' }).click()
  await chart.locator('[data-points]', { hasText: '12 of 12 points' }).waitFor()
  await table.getByRole('link', { name: '1 in rerun of it' }).click()
  await page.waitForURL('/b/rerun%20of%20it/j/one')
  await page.getByRole('region', { name: 'Attempts' }).getByRole('link', { name: '2 in restarted' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a job that does not exist shows a message with a link to the jobs of the batch', async () => {
  const { page, context } = await open(`/b/${RAN}/j/never`)
  await page.getByText('There is no job never in this batch').waitFor()
  await page.getByRole('link', { name: 'All jobs' }).click()
  await page.waitForURL(`/b/${RAN}/jobs`)
  await context.close()
})

test('charts of a job can have any x-axis, several metrics and resources, with a shared cursor', async () => {
  const of = eventsOf('one-gpu')
  const steps = Array.from({ length: 10 }, (_, i) => i)
  await send(web.app, web.reporter, [
    of('batch_start', 900, { n_total: 1 }),
    of('job_start', 899, {}, 'one'),
    ...steps.map((i) =>
      of('job_epoch', 800 - 10 * i, { epoch: i, val_loss: 1 / (i + 1), acc: i / 10, tokens: 512 * i }, 'one'),
    ),
    ...steps.map((i) =>
      of(
        'resource_snapshot',
        796 - 10 * i,
        { gpus: [{ index: 0, util_pct: 80 + i, mem_mb: 1024 * 40, mem_total_mb: 1024 * 80 }] },
        'one',
      ),
    ),
  ])
  const { page, context, complaints } = await open('/b/one-gpu/j/one')
  const loss = page.locator('[data-chart="val_loss"]')
  const drawn = (chart: typeof loss, points: string) =>
    chart.locator('[data-points]', { hasText: `${points} of ${points} points` }).waitFor()
  await drawn(loss, '10')
  await page.getByLabel('The x-axis').selectOption('metric.tokens')
  await expect.poll(() => loss.getAttribute('data-unit')).toBe('tokens')
  await page.getByLabel('The x-axis').selectOption('epoch')
  await page.getByRole('button', { name: 'Add a metric to val_loss' }).click()
  await page.getByRole('checkbox', { name: 'acc', exact: true }).check()
  await page.getByRole('checkbox', { name: 'GPU 0 utilisation (%)', exact: true }).check()
  // What has another unit has the axis on the right.
  expect(await page.getByLabel('Right axis for GPU 0 utilisation (%)').isChecked()).toBe(true)
  await page.keyboard.press('Escape')
  // Of its ten samples the last came after the last epoch.
  await drawn(loss, '29')
  await page.getByLabel('The x-axis').selectOption('wall')
  await page.waitForURL(/x=wall/)
  await page.reload()
  await drawn(loss, '30')
  // A chart outside of the viewport is only a placeholder.
  const gpus = page.getByRole('region', { name: 'GPUs', exact: true })
  const utilisation = page.locator('[data-chart="GPU utilisation"]')
  await gpus.scrollIntoViewIfNeeded()
  await drawn(utilisation, '10')
  const plot = await utilisation.locator('.u-over').boundingBox()
  if (plot === null) throw new Error('the plot has no place')
  await page.mouse.move(plot.x + plot.width / 2, plot.y + plot.height / 2)
  await expect.poll(() => page.locator('[data-tip="GPU utilisation"]').isVisible()).toBe(true)
  await page.mouse.move(0, 0)
  await page.getByLabel('The x-axis').scrollIntoViewIfNeeded()
  const over = await loss.locator('.u-over').boundingBox()
  if (over === null) throw new Error('the plot has no place')
  await page.mouse.move(over.x + over.width * 0.3, over.y + 40)
  await page.mouse.down()
  await page.mouse.move(over.x + over.width * 0.6, over.y + 40, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/zoom=/)
  // The zoom is one for both.
  await gpus.scrollIntoViewIfNeeded()
  await expect
    .poll(async () => Number((await utilisation.locator('[data-points]').innerText()).split(' ')[0]))
    .toBeLessThan(10)
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

import { readFileSync } from 'node:fs'
import type { Locator, Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { xRangeOf } from '../../web/src/charts/plot-range.ts'
import { isolated } from '../../web/src/lib/charts/align.ts'
import { tickTexts } from '../../web/src/lib/charts/tick-text.ts'
import { stepUnit } from '../../web/src/lib/step-unit.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { type Event, send, seriousFindings } from './visit.ts'

// The axes of charts: the values of a metric as x, several metrics in one chart, names, and pictures of them.

const EPOCHS = 40
const JOBS = ['one', 'two'] as const

const tokensAt = (job: number, epoch: number): number => 1_000 * (job + 1) * (epoch + 1)
const epochs = (id: string, from: number, to: number): Event[] =>
  Array.from({ length: to - from }, (_, i) => from + i).flatMap((epoch) =>
    JOBS.map((job, j) =>
      eventsOf(id)(
        'job_epoch',
        900 - epoch,
        {
          epoch,
          loss: 1 / (epoch + 1) + j,
          acc: epoch / 50,
          lr: 0.1 / (epoch + 1),
          tokens: tokensAt(j, epoch),
        },
        job,
      ),
    ),
  )
const run = (id: string): Event[] => [
  eventsOf(id)('batch_start', 1_000, { experiment_type: 'sweep', n_total: 2 }),
  ...JOBS.map((job) => eventsOf(id)('job_start', 990, {}, job)),
  ...epochs(id, 0, EPOCHS),
]

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, run('axes'))
})

async function onCharts(
  path: string,
  what: (page: Page, loss: Locator) => Promise<void>,
  width = 1440,
): Promise<void> {
  const { page, context, complaints } = await web.asAda({ width })
  await page.goto(path)
  const loss = page.locator('[data-chart="loss"]')
  await loss.locator('[data-points]', { hasText: 'points' }).waitFor()
  await what(page, loss)
  expect(complaints).toEqual([])
  await context.close()
}
async function saved(page: Page, chart: string, how: string): Promise<Buffer> {
  await page.getByRole('button', { name: `Menu of ${chart}` }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: how }).click(),
  ])
  return readFileSync(await file.path())
}
async function csv(page: Page, chart: string): Promise<Record<string, string>[]> {
  const [heads = '', ...rows] = String(await saved(page, chart, 'Save as CSV'))
    .trim()
    .split('\r\n')
  const names = heads.split(',')
  return rows.map((row) => Object.fromEntries(row.split(',').map((cell, i) => [names[i] ?? '', cell])))
}
async function addMetric(page: Page, chart: string, ...labels: string[]): Promise<void> {
  await page.getByRole('button', { name: `Add a metric to ${chart}` }).click()
  for (const label of labels) await page.getByRole('checkbox', { name: label, exact: true }).check()
  await page.keyboard.press('Escape')
}

test('any metric can be the x-axis; the choice is in the address, and the zoom has its values', () =>
  onCharts('/b/axes', async (page, loss) => {
    const picker = page.getByLabel('The x-axis')
    expect(await picker.locator('option').allTextContents()).toEqual([
      ...['epochs', 'Relative time', 'Wall time', 'loss', 'acc', 'tokens', 'lr'],
    ])
    await picker.selectOption('metric.tokens')
    await page.waitForURL(/x=metric\.tokens/)
    await expect.poll(async () => Object.keys((await csv(page, 'loss'))[0] ?? {})).toContain('tokens')
    const rows = await csv(page, 'loss')
    expect(rows).toHaveLength(2 * EPOCHS)
    for (const row of rows)
      expect(Number(row.tokens)).toBe(tokensAt(row.job_id === 'one' ? 0 : 1, Number(row.step)))
    const box = await loss.locator('.u-over').boundingBox()
    if (box === null) throw new Error('the plot has no place')
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
    await page.locator('[data-list-head]', { hasText: /^loss @ tokens [\d,]+, epoch \d+/ }).waitFor()
    await page.mouse.down()
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2, { steps: 5 })
    await page.mouse.up()
    await page.waitForURL(/zoom=/)
    await loss.locator('[data-points]', { hasText: '19 of 19 points' }).waitFor()
    await page.getByRole('button', { name: /^tokens 40,?\d{3}.* to 79/ }).waitFor()
    await page.reload()
    await loss.locator('[data-points]', { hasText: '19 of 19 points' }).waitFor()
    expect(await picker.inputValue()).toBe('metric.tokens')
    await picker.selectOption('epoch')
    await loss.locator('[data-points]', { hasText: '80 of 80 points' }).waitFor()
  }))

test('new points are placed on the axis of a metric without another read', async () => {
  await send(web.app, web.reporter, run('arriving'))
  await onCharts('/b/arriving?x=metric.tokens&more=%7B"loss"%3A%5B"acc"%5D%7D', async (page, loss) => {
    await loss.locator('[data-points]', { hasText: '160 of 160 points' }).waitFor()
    await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
    const asked: string[] = []
    page.on('request', (request) => {
      if (/\/metrics\?.*key=loss/.test(request.url())) asked.push(request.url())
    })
    await send(web.app, web.reporter, epochs('arriving', EPOCHS, EPOCHS + 5))
    await loss.locator('[data-points]', { hasText: '180 of 180 points' }).waitFor()
    const rows = (await csv(page, 'loss')).filter((row) => Number(row.step) >= EPOCHS)
    expect(rows).toHaveLength(20)
    for (const row of rows)
      expect(Number(row.tokens)).toBe(tokensAt(row.job_id === 'one' ? 0 : 1, Number(row.step)))
    expect(asked).toEqual([])
  })
})

test('a chart can show several metrics, on one or two axes, and a link restores this', () =>
  onCharts('/b/axes', async (page, loss) => {
    await addMetric(page, 'loss', 'acc', 'lr', 'Right axis for lr')
    await loss.locator('[data-points]', { hasText: '240 of 240 points' }).waitFor()
    const legend = loss.getByRole('list', { name: 'Metrics' })
    expect(await legend.getByRole('listitem').allTextContents()).toEqual(['loss', 'acc', 'lr, right'])
    const rows = await csv(page, 'loss')
    expect([...new Set(rows.map((row) => row.series))]).toEqual(['loss', 'acc', 'lr'])
    const box = await loss.locator('.u-over').boundingBox()
    if (box === null) throw new Error('the plot has no place')
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
    const tip = page.locator('[data-tip="loss"]')
    for (const name of ['one · loss', 'two · acc', 'one · lr']) await tip.getByText(name).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.reload()
    await loss.locator('[data-points]', { hasText: '240 of 240 points' }).waitFor()
    const drawing = String(await saved(page, 'loss', 'Save as SVG'))
    // Title, names of three axes, and every curve by name.
    for (const text of ['loss', 'loss, acc', 'lr', 'epoch', 'one · loss', 'two · lr'])
      expect(drawing).toContain(`>${text}</text>`)
    expect(drawing.match(/<path [^>]*stroke-dasharray/g)).toHaveLength(4)
    await page.getByRole('button', { name: 'Add a metric to loss' }).click()
    for (const key of ['acc', 'lr']) await page.getByRole('checkbox', { name: key, exact: true }).uncheck()
    await page.keyboard.press('Escape')
    await loss.locator('[data-points]', { hasText: '80 of 80 points' }).waitFor()
    await expect.poll(() => page.url()).not.toMatch(/more=|right=/)
  }))

test('a saved picture has twice the size of the drawing, and its content', () =>
  onCharts('/b/axes?more=%7B"loss"%3A%5B"acc"%5D%7D&right=%7B"loss"%3A%5B"acc"%5D%7D', async (page, loss) => {
    await loss.locator('[data-points]', { hasText: '160 of 160 points' }).waitFor()
    const drawing = String(await saved(page, 'loss', 'Save as SVG'))
    const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(drawing) ?? []
    expect(drawing).toContain(`width="${2 * Number(width)}" height="${2 * Number(height)}"`)
    const png = await saved(page, 'loss', 'Save as PNG')
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([
      Math.round(2 * Number(width)),
      Math.round(2 * Number(height)),
    ])
    // What is drawn in it is in it: not one colour alone.
    const colours = await page.evaluate(async (base64) => {
      const image = new Image()
      image.src = `data:image/png;base64,${base64}`
      await image.decode()
      const canvas = document.createElement('canvas')
      canvas.width = image.width
      canvas.height = image.height
      const ctx = canvas.getContext('2d')
      ctx?.drawImage(image, 0, 0)
      const { data } = ctx?.getImageData(0, 0, image.width, image.height) ?? { data: [] }
      const found = new Set<string>()
      for (let i = 0; i < data.length; i += 4) found.add(`${data[i]},${data[i + 1]},${data[i + 2]}`)
      return found.size
    }, png.toString('base64'))
    expect(colours).toBeGreaterThan(20)
  }))

test('the charts of a project, with one mean curve per batch, have the same choice of axes, and a saved view keeps it', () =>
  onCharts('/p/digits?charts=%7B%7D', async (page, loss) => {
    await page.getByLabel('The x-axis').selectOption('metric.tokens')
    await addMetric(page, 'loss', 'acc', 'Right axis for acc')
    await loss.getByRole('list', { name: 'Metrics' }).getByText('acc, right').waitFor()
    const rows = await csv(page, 'loss')
    expect([...new Set(rows.map((row) => row.series))]).toEqual(['loss', 'acc'])
    await page.getByRole('button', { name: 'Views' }).click()
    await page.getByRole('dialog', { name: 'Saved views' }).getByRole('button', { name: 'Save view' }).click()
    await page.getByLabel('Name').fill('Over tokens')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const views = async () =>
      (await web.app.call('GET', '/api/views?project=digits', { token: web.ada.token })).body.items
    await expect.poll(async () => (await views()).length).toBe(1)
    const [view] = await views()
    await page.goto(`/v/${view.id}`)
    await loss.getByRole('list', { name: 'Metrics' }).getByText('acc, right').waitFor()
    expect(await page.getByLabel('The x-axis').inputValue()).toBe('metric.tokens')
  }))

test.each([
  [[1, 2, 3], null],
  [[1], [0]],
  [[null, 2, null], [1]],
  [[1, null, 3, 4], [0]],
  // No point of this curve at an x of another one: the line continues.
  [[1, undefined, 3], null],
  [[undefined, 2, undefined], [1]],
  [
    [null, undefined, 2, undefined, null, 5],
    [2, 5],
  ],
  [[], null],
])('points that no line reaches have a dot: %j', (column, dots) => {
  expect(isolated(column)).toEqual(dots)
})

test('around a single point the x-axis is short; a zoom goes before', () => {
  const [linear, log] = [
    { log: false, x: 'epoch' },
    { log: true, x: 'epoch' },
  ] as const
  expect(xRangeOf([0], undefined, linear)).toEqual([0, 1])
  expect(xRangeOf([1], undefined, linear)).toEqual([0, 2])
  expect(xRangeOf([-3], undefined, linear)).toEqual([-4, -2])
  expect(xRangeOf([0], undefined, { log: false, x: 'relative' })).toEqual([0, 1])
  expect(xRangeOf([1e9], undefined, { log: false, x: 'wall' })).toEqual([1e9 - 1, 1e9 + 1])
  expect(xRangeOf([0.001], undefined, { log: false, x: 'metric' })).toEqual([0, 0.002])
  expect(xRangeOf([-0.5], undefined, { log: false, x: 'metric' })).toEqual([-1, 0])
  expect(xRangeOf([8], undefined, log)).toEqual([4, 16])
  expect(xRangeOf([0, 5], undefined, linear)).toEqual([0, 5])
  expect(xRangeOf([0], [2, 4], linear)).toEqual([2, 4])
  expect(xRangeOf([1, 5], [0, 4], log)).toEqual([1, 4])
})

test.each([
  ['large', [0, 4e5, 8e5, 1.2e6], false, ['0', '4e5', '8e5', '1.2e6']],
  ['whole', [0, 400_000, 800_000], false, ['0', '400,000', '800,000']],
  ['decimal', [0, 0.5, 1], false, ['0.0', '0.5', '1.0']],
  ['close together', [0.12341, 0.12342], false, ['0.12341', '0.12342']],
  ['tiny', [0, 5e-7, 1e-6], false, ['0', '5e−7', '1e−6']],
  ['negative', [-2e6, 0], false, ['−2e6', '0']],
  ['logarithmic', [0.001, 0.1, 10], true, ['0.001', '0.1', '10']],
  ['logarithmic over many decades', [1e-7, 1], true, ['1e−7', '1e0']],
] as const)('%s numbers along one axis have one notation', (_, values, log, texts) => {
  expect(tickTexts(values, { log, most: 1e6 })).toEqual({ texts, offset: null })
})

test('a chart whose values are all NaN or infinite has marks and a sentence, and no y-axis', async () => {
  const of = eventsOf('diverged')
  await send(web.app, web.reporter, [
    of('batch_start', 1_000, { experiment_type: 'run', n_total: 1 }),
    of('job_start', 990, {}, 'one'),
    ...Array.from({ length: 12 }, (_, epoch) =>
      of(
        'job_epoch',
        900 - epoch,
        { epoch, loss: epoch < 4 ? 1 / (epoch + 1) : 'NaN', grad: epoch % 2 ? 'NaN' : 'Infinity', off: -1 },
        'one',
      ),
    ),
  ])
  await onCharts('/b/diverged', async (page) => {
    const grad = page.locator('[data-chart="grad"]')
    await grad.getByText('All 12 values are NaN or infinite. Marks show their places.').waitFor()
    const svg = (await saved(page, 'grad', 'Save as SVG')).toString()
    expect(svg.match(/>×<\/text>/g)).toHaveLength(6)
    expect(svg.match(/>▲<\/text>/g)).toHaveLength(6)
    // Labels of the y-axis stand left of it.
    expect(svg).not.toContain('text-anchor="end"')
    expect(await page.locator('[data-chart="loss"] [data-blank]').count()).toBe(0)
  })
  await onCharts('/b/diverged?zoom=%5B6%2C10%5D&log=true', async (page, loss) => {
    await loss.getByText('All 5 values in this range are NaN or infinite.').waitFor()
    await page
      .locator('[data-chart="off"]')
      .getByText('No value in this range is above 0, so a logarithmic axis shows none.')
      .waitFor()
  })
})

test('values that are huge, tiny or close together are drawn at once, with labels that differ and a shape', async () => {
  const of = eventsOf('extreme')
  const series: Record<string, (i: number) => number> = {
    loss: (i) => (i % 2 === 0 ? 1 : 0.99999994),
    huge: (i) => 1e34 * (1 + i),
    tiny: (i) => 1e-38 * (1 + i),
    subnormal: (i) => 1e-320 * (1 + i),
    largest: (i) => (i % 2 === 0 ? 1.7e308 : -1.7e308),
    far: (i) => 1.7e9 + i,
    near: (i) => 1 + i * 1e-12,
  }
  await send(web.app, web.reporter, [
    of('batch_start', 1_000, { experiment_type: 'run', n_total: 1 }),
    of('job_start', 990, {}, 'one'),
    ...Array.from({ length: 60 }, (_, epoch) =>
      of(
        'job_epoch',
        900 - epoch,
        { epoch, ...Object.fromEntries(Object.entries(series).map(([key, at]) => [key, at(epoch)])) },
        'one',
      ),
    ),
  ])
  const { page, context } = await web.asAda({ width: 1440 })
  await page.addInitScript(() => {
    const longest = { ms: 0 }
    Object.assign(globalThis, { longest })
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longest.ms = Math.max(longest.ms, duration)
    }).observe({ type: 'longtask', buffered: true })
  })
  const texts: Record<string, string[]> = {}
  await page.setViewportSize({ width: 1440, height: 2_400 })
  for (const query of ['', '?log=true']) {
    await page.goto(`/b/extreme${query}`)
    for (const key of Object.keys(series)) {
      const chart = page.locator(`[data-chart="${key}"]`)
      await chart.locator('[data-points]', { hasText: '60 of 60 points' }).waitFor()
      const svg = (await saved(page, key, 'Save as SVG')).toString()
      const labels = [...svg.matchAll(/dy="4" text-anchor="end">([^<]+)</g)].map(([, text = '']) => text)
      expect(labels.length).toBeGreaterThanOrEqual(2)
      expect(new Set(labels).size).toBe(labels.length)
      expect(svg).not.toMatch(/NaN|Infinity/)
      if (query === '') texts[key] = labels
      // From one side of the plot to the other; above 0 these are all the same.
      if (key === 'largest' && query !== '') continue
      const heights = [...(/<path d="([^"]+)" fill="none"/.exec(svg)?.[1] ?? '').matchAll(/ ([-\d.]+)/g)].map(
        ([, y]) => Number(y),
      )
      expect(Math.max(...heights) - Math.min(...heights), `${key}${query}`).toBeGreaterThan(60)
    }
  }
  expect(texts).toMatchObject({
    loss: ['−6e−8', '−4e−8', '−2e−8', '0'],
    far: ['0', '+20', '+40', '+60'],
    near: ['0', '+2e−11', '+4e−11', '+6e−11'],
  })
  expect(
    await page.evaluate(() => (globalThis as unknown as { longest: { ms: number } }).longest.ms),
  ).toBeLessThan(1_000)
  await context.close()
})

test('the unit of the steps of a series is that of the jobs which report it', () => {
  const job = (step_unit: string | null, ...series: string[]) => ({
    step_unit,
    params: {},
    latest: { epoch: 1, ...Object.fromEntries(series.map((name) => [name, 1])) },
  })
  const jobs = [job('tokens', 'loss', 'speed'), job(null, 'loss', 'acc')]
  expect(['speed', 'acc', 'loss'].map((series) => stepUnit(jobs, series))).toEqual([
    'tokens',
    'epoch',
    'step',
  ])
})

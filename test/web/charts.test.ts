import { readFileSync } from 'node:fs'
import type { Browser, Locator, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { buildPage } from './built-page.ts'
import { type Charted, chartedBatch, EPOCHS, nextEpoch, SPIKE, smoothed } from './charted-batch.ts'
import { send, visit } from './visit.ts'

let app: TestApp
let browser: Browser
let ada: { email: string; token: string; cookie: string }
let reporter: string
let charted: Charted
const JOBS = 24
const DRAWN = 20

beforeAll(async () => {
  await buildPage()
  app = await startTestApp()
  browser = await openBrowser()
  ada = await app.register('ada@example.org')
  reporter = await app.reporterToken(ada.token)
  charted = chartedBatch('sweep', JOBS)
  await send(app, reporter, charted.events)
  await send(app, reporter, chartedBatch('wide', 2, 30, 12).events)
}, 180_000)
afterAll(async () => {
  await browser?.close()
  await app?.stop()
})

/** Opens the charts of a batch, waits for the first curve, and at the end holds the page to its policy. */
async function onCharts(
  query: string,
  what: (page: Page, loss: Locator) => Promise<void>,
  options: { theme?: 'light' | 'dark'; width?: number; batch?: string } = {},
): Promise<void> {
  const { batch = 'sweep', ...look } = options
  const { page, context, complaints } = await visit(browser, {
    ...look,
    address: app.address,
    cookie: ada.cookie,
  })
  await page.goto(`/b/${batch}${query}`)
  const loss = page.locator('[data-chart="loss"]')
  await loss.locator('[data-points]', { hasText: 'points' }).waitFor()
  await what(page, loss)
  expect(complaints).toEqual([])
  await context.close()
}
const said = (chart: Locator, text: string | RegExp): Promise<void> =>
  chart.locator('[data-points]', { hasText: text }).waitFor()
/** A job's curve, in words of the legend. */
const entry = (page: Page, job: string): Locator =>
  page
    .getByRole('listitem')
    .filter({ has: page.getByRole('button', { name: `Colour of ${job}`, exact: true }) })
const listed = async (page: Page): Promise<string[]> =>
  page.locator('aside[aria-label="Jobs"] li button[title]').allTextContents()
async function saved(page: Page, chart: string, how: string): Promise<string> {
  await page.getByRole('button', { name: `Menu of ${chart}` }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: how }).click(),
  ])
  return file.path()
}
async function csv(page: Page, chart: string): Promise<Record<string, string>[]> {
  const [heads = '', ...rows] = readFileSync(await saved(page, chart, 'Save as CSV'), 'utf8')
    .trim()
    .split('\r\n')
  const names = heads.split(',')
  return rows.map((row) => Object.fromEntries(row.split(',').map((cell, i) => [names[i] as string, cell])))
}
const lossesOf = (job: string): number[] => (charted.losses.get(job) ?? []).map(Number)

async function place(chart: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await chart.locator('.u-over').boundingBox()
  if (box === null) throw new Error('the plot has no place')
  return box
}
async function drag(page: Page, chart: Locator, from: number, to: number): Promise<void> {
  const { x, y, width } = await place(chart)
  await page.mouse.move(x + width * from, y + 40)
  await page.mouse.down()
  await page.mouse.move(x + width * to, y + 60, { steps: 5 })
  await page.mouse.up()
}

describe('ranges', () => {
  test('a zoom steps in and, by double clicks, out again level by level', () =>
    onCharts('', async (page, loss) => {
      await said(loss, `2,400 of 2,400 points`)
      const labels: string[] = []
      for (let level = 0; level < 2; level++) {
        const before = page.url()
        await drag(page, loss, 0.25, 0.75)
        await expect.poll(() => page.url()).not.toBe(before)
        await expect
          .poll(() => loss.locator('[data-points]').textContent())
          .not.toBe(labels.at(-1) ?? '2,400 of 2,400 points, 2 not finite')
        labels.push((await loss.locator('[data-points]').textContent()) ?? '')
      }
      const { x, y, width } = await place(loss)
      await page.mouse.dblclick(x + width / 2, y + 40)
      await expect.poll(() => loss.locator('[data-points]').textContent()).toBe(labels[0])
      await page.mouse.dblclick(x + width / 2, y + 40)
      await said(loss, '2,400 of 2,400 points')
      await expect.poll(() => page.url()).not.toContain('zoom=')
    }))

  test('a range of epochs can be typed, and of what lies in it all points are told', () =>
    onCharts('', async (page, loss) => {
      await page.getByRole('button', { name: 'Range…' }).click()
      await page.getByLabel('Epochs, from').fill('30')
      await page.getByLabel('Epochs, to').fill('20')
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.getByRole('alert').filter({ hasText: 'must be the smaller one' }).waitFor()
      await page.getByLabel('Epochs, to').fill('39')
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await said(loss, `200 of 200 points`)
      const rows = await csv(page, 'loss')
      expect(rows.map((row) => Number(row.step)).filter((step) => step < 30 || step > 39)).toEqual([])
      expect(rows).toHaveLength(200)
    }))

  test('a range of values can be typed for one chart, and stands in the address', () =>
    onCharts('', async (page, loss) => {
      await page.getByRole('button', { name: 'Range of loss' }).click()
      await page.getByLabel('Values of loss, from').fill('0.1')
      await page.getByLabel('Values of loss, to').fill('0.5')
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await loss.getByRole('button', { name: 'Range of loss' }).filter({ hasText: 'y 0.1 to 0.5' }).waitFor()
      await page.reload()
      await loss.getByRole('button', { name: 'Range of loss' }).filter({ hasText: 'y 0.1 to 0.5' }).waitFor()
      const svg = readFileSync(await saved(page, 'loss', 'Save as SVG'), 'utf8')
      expect(svg).toContain('>0.5</text>')
      expect(svg).not.toContain('>5,000</text>')
    }))

  test('points that arrive leave the zoom alone, and those outside of it are not drawn', async () => {
    const live = chartedBatch('zoomed', 2)
    const half = live.events.length / 2
    await send(app, reporter, live.events.slice(0, half))
    await onCharts(
      '?zoom=[0,20]',
      async (page, loss) => {
        await said(loss, '42 of 42 points')
        await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
        await send(app, reporter, live.events.slice(half))
        const whole = page.getByRole('link', { name: 'Jobs' })
        await whole.waitFor()
        await page.waitForTimeout(1_500)
        await said(loss, '42 of 42 points')
        expect(page.url()).toContain('zoom=')
        await page.getByRole('button', { name: 'Show the whole range' }).click()
        await said(loss, '240 of 240 points')
      },
      { batch: 'zoomed' },
    )
  })
})

describe('smoothing', () => {
  test('one slider draws every mean over all points beside the raw values', () =>
    onCharts('?jobs=seed(0|1)$', async (page) => {
      const slider = page.getByLabel('smoothing')
      await slider.focus()
      for (let i = 0; i < 6; i++) await page.keyboard.press('PageUp')
      await page.waitForURL(/smooth=0\.6/)
      await expect.poll(async () => Object.keys((await csv(page, 'loss'))[0] ?? {})).toContain('smoothed')
      const rows = await csv(page, 'loss')
      for (const job of ['lr0.1-seed0', 'lr0.01-seed1']) {
        const mean = smoothed(lossesOf(job), 0.6)
        const mine = rows.filter((row) => row.job_id === job)
        expect(mine).toHaveLength(EPOCHS)
        for (const row of mine) {
          const should = mean[Number(row.step)] as number
          if (Number.isNaN(should)) expect(row.smoothed).toBe('NaN')
          else expect(Math.abs(Number(row.smoothed) - should)).toBeLessThan(1e-9 * Math.max(1, should) * 100)
        }
      }
    }))

  test('the mean goes on with points that arrive, from where the service left it', async () => {
    const live = chartedBatch('arriving', 1)
    const cut = Math.floor(live.events.length / 2)
    await send(app, reporter, live.events.slice(0, cut))
    await onCharts(
      '?smooth=0.9',
      async (page, loss) => {
        const asked: string[] = []
        page.on('request', (request) => {
          if (/\/metrics\?.*key=loss/.test(request.url())) asked.push(request.url())
        })
        await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
        await send(app, reporter, live.events.slice(cut))
        await said(loss, `${EPOCHS} of ${EPOCHS} points`)
        const mean = smoothed((live.losses.get('lr0.1-seed0') ?? []).map(Number), 0.9)
        const rows = await csv(page, 'loss')
        expect(rows).toHaveLength(EPOCHS)
        for (const row of rows) {
          const should = mean[Number(row.step)] as number
          expect(Math.abs(Number(row.smoothed) - should)).toBeLessThan(1e-9 * Math.max(1, SPIKE))
        }
        // Appended, never read again.
        expect(asked).toEqual([])
      },
      { batch: 'arriving' },
    )
  })
})

describe('axes', () => {
  test('outliers are left out by percentile, and counted', () =>
    onCharts('', async (page, loss) => {
      await page.getByLabel('Outliers').selectOption('0.01')
      await loss.locator('[data-hidden]', { hasText: /outliers outside/ }).waitFor()
      const first = [...charted.losses.keys()].slice(0, DRAWN)
      const query = first.map((job) => `job=${encodeURIComponent(job)}`).join('&')
      const { body } = await app.call(
        'GET',
        `/api/batches/sweep/metrics?key=loss&clip=0.01&points=4&${query}`,
        {
          token: ada.token,
        },
      )
      const [{ low, high, hidden }] = body.clips
      const all = first.flatMap(lossesOf).filter(Number.isFinite)
      expect(all.filter((value) => value < low || value > high)).toHaveLength(hidden)
      await loss.locator('[data-hidden]', { hasText: `${hidden} outliers outside` }).waitFor()
      expect(hidden).toBeGreaterThan(0)
    }))

  test('x is epochs, time since the start, or wall time; the points are the same', () =>
    onCharts('?jobs=seed3$', async (page, loss) => {
      const asked = page.waitForRequest(/x=relative/)
      await page.getByLabel('The x-axis').selectOption('relative')
      await asked
      await expect.poll(async () => (await csv(page, 'loss'))[1]?.seconds).toMatch(/^20/)
      const relative = await csv(page, 'loss')
      expect(relative.map((row) => Number(row.value))).toEqual(lossesOf('lr0.1-seed3'))
      await page.getByLabel('The x-axis').selectOption('wall')
      await expect.poll(async () => Number((await csv(page, 'loss'))[0]?.seconds)).toBeGreaterThan(1e9)
      await said(loss, `${EPOCHS} of ${EPOCHS} points`)
      await drag(page, loss, 0.5, 0.9)
      await page.waitForURL(/zoom=/)
      await expect.poll(async () => (await csv(page, 'loss')).length).toBeLessThan(EPOCHS / 2)
    }))

  test('a logarithmic x-axis leaves out epoch 0, a logarithmic y-axis says what it cannot show', () =>
    onCharts('', async (page, loss) => {
      const asked = page.waitForRequest(/x_scale=log.*y_scale=log|y_scale=log.*x_scale=log/)
      await page.getByLabel('log x').check()
      await page.getByLabel('log y').check()
      await asked
      await said(loss, '2,380 of 2,380 points')
      await page.getByLabel('Find series by regular expression').fill('extra_0')
      await page.goto('/b/wide?log=true&series=extra_0')
      await said(page.locator('[data-chart="extra_0"]'), '24 not above 0')
    }))

  test('what has no height is marked on the axis and counted', () =>
    onCharts('?jobs=seed[12]$', async (page, loss) => {
      await said(loss, '2 not finite')
      const svg = readFileSync(await saved(page, 'loss', 'Save as SVG'), 'utf8')
      expect(svg.match(/>×<\/text>/g)).toHaveLength(1)
      expect(svg.match(/>▲<\/text>/g)).toHaveLength(1)
    }))
})

describe('which curves', () => {
  test('the first 20 jobs are drawn, and all of them for the asking', () =>
    onCharts('', async (page, loss) => {
      await said(loss, '2,400 of 2,400 points')
      await page.locator('[data-cap]', { hasText: 'The first 20 of 24 jobs are drawn.' }).waitFor()
      await page.getByRole('button', { name: 'Show all 24' }).click()
      await said(loss, '2,880 of 2,880 points')
      await page.getByRole('button', { name: 'Show the first 20' }).click()
      await said(loss, '2,400 of 2,400 points')
    }))

  test('jobs are found, hidden, seen alone; pinned ones survive every filter', () =>
    onCharts('', async (page, loss) => {
      await entry(page, 'lr0.01-seed4').hover()
      await page.getByRole('button', { name: 'Pin lr0.01-seed4' }).click()
      await page.getByLabel('Find jobs by regular expression').fill('seed(7|8)$')
      await said(loss, '360 of 360 points')
      await expect.poll(() => listed(page)).toEqual(['lr0.01-seed4', 'lr0.01-seed7', 'lr0.001-seed8'])
      await page.getByTitle('Hide lr0.01-seed7').click()
      await said(loss, '240 of 240 points')
      await entry(page, 'lr0.001-seed8').hover()
      await page.getByRole('button', { name: 'Only lr0.001-seed8' }).click()
      // Alone, but for what is pinned.
      await said(loss, '240 of 240 points')
      await page.getByRole('button', { name: 'Pin lr0.01-seed4' }).click()
      await said(loss, '120 of 120 points')
      await page.getByRole('button', { name: 'Show all curves' }).click()
      await said(loss, '240 of 240 points')
    }))

  test('charts are found by their series, and pinned ones stay first', () =>
    onCharts('', async (page) => {
      await page.getByRole('button', { name: 'Menu of acc' }).click()
      await page.getByRole('menuitem', { name: 'Pin to top' }).click()
      await page.getByLabel('Find series by regular expression').fill('^lr$')
      await page.locator('[data-chart="loss"]').waitFor({ state: 'detached' })
      const names = () =>
        page.locator('[data-chart]').evaluateAll((all) => all.map((one) => one.getAttribute('data-chart')))
      await expect.poll(names).toEqual(['acc', 'lr'])
    }))

  test('jobs are put together by a param, over all of them', () =>
    onCharts('?y=%7B%22loss%22%3A%5B0%2C1%5D%7D', async (page, loss) => {
      await page.getByLabel('Group by').selectOption('param.lr')
      await said(loss, `2,880 points, all counted`)
      const groups = () => page.locator('aside[aria-label="Jobs"] li').allTextContents()
      await expect
        .poll(async () => (await groups()).toSorted())
        .toEqual(['lr = 0.0018 jobs', 'lr = 0.018 jobs', 'lr = 0.18 jobs'])
      const rows = await csv(page, 'loss')
      for (const row of rows.filter(({ group }) => group === 'lr = 0.001')) {
        const values = [...charted.losses.keys()]
          .filter((job) => job.startsWith('lr0.001-'))
          .map((job) => lossesOf(job)[Number(row.step)] as number)
          .filter(Number.isFinite)
        const mean = values.reduce((a, b) => a + b, 0) / values.length
        expect(Number(row.n)).toBe(values.length)
        expect(Math.abs(Number(row.mean) - mean)).toBeLessThan(1e-9)
        expect(Number(row.max)).toBe(Math.max(...values))
        expect(Number(row.min)).toBe(Math.min(...values))
      }
      await page.getByLabel('Band').selectOption('range')
      await page.waitForURL(/band=range/)
      const svg = readFileSync(await saved(page, 'loss', 'Save as SVG'), 'utf8')
      expect(svg.match(/<polygon/g)).toHaveLength(3)
    }))

  test('only charts that can be seen are drawn', () =>
    onCharts(
      '',
      async (page) => {
        const drawn = () => page.locator('main canvas').count()
        await expect.poll(drawn).toBeGreaterThan(2)
        expect(await drawn()).toBeLessThan(20)
        await page.locator('[data-chart]').last().scrollIntoViewIfNeeded()
        expect(await drawn()).toBeLessThan(20)
      },
      { batch: 'wide' },
    ))
})

test('the cursor goes through all charts; values are sorted, the nearest curve is marked', () =>
  onCharts('?y=%7B%22loss%22%3A%5B0%2C1%5D%7D', async (page, loss) => {
    const { x, y, width, height } = await place(loss)
    await page.mouse.move(x + width * 0.5, y + height * 0.5)
    const tip = page.locator('[data-tip="loss"]')
    await tip.locator('[data-near]').waitFor()
    const values = (await tip.locator('div:has(> span) > span:last-child').allTextContents()).map(Number)
    expect(values.length).toBeGreaterThan(5)
    expect(values).toEqual(values.toSorted((a, b) => b - a))
    const near = await tip.locator('[data-near]').getAttribute('data-near')
    await expect.poll(() => entry(page, near ?? '').getAttribute('class')).toContain('bg-hover')
    const cursor = (chart: string) =>
      page
        .locator(`[data-chart="${chart}"] .u-cursor-x`)
        .evaluate((line) => (line as HTMLElement).style.transform)
    const here = await cursor('loss')
    await expect.poll(() => cursor('acc')).toBe(here)
  }))

test('a colour that was chosen holds on every page of this browser', () =>
  onCharts('', async (page, loss) => {
    const ink = () =>
      entry(page, 'lr0.1-seed0')
        .locator('span.rounded-full')
        .first()
        .evaluate((dot) => getComputedStyle(dot).backgroundColor)
    const before = await ink()
    await page.getByRole('button', { name: 'Colour of lr0.1-seed0', exact: true }).click()
    await page.getByRole('button', { name: 'Colour 9', exact: true }).click()
    await expect.poll(ink).toBe('rgb(111, 134, 232)')
    expect(before).not.toBe('rgb(111, 134, 232)')
    await expect
      .poll(async () => readFileSync(await saved(page, 'loss', 'Save as SVG'), 'utf8'))
      .toMatch(/stroke="#6f86e8"/)
    await page.reload()
    await said(loss, 'points')
    await expect.poll(ink).toBe('rgb(111, 134, 232)')
    await page.getByRole('button', { name: 'Colour of lr0.1-seed0', exact: true }).click()
    await page.getByRole('button', { name: 'Reset colour' }).click()
    await expect.poll(ink).toBe(before)
  }))

test('a chart is saved as PNG, and a link restores what was shown in another browser', () =>
  onCharts(
    '?smooth=0.5&group=param.lr&band=none&x=relative&log=true&keep=%5B%22acc%22%5D&zoom=%5B100%2C900%5D',
    async (page, loss) => {
      await said(loss, 'all counted')
      const png = readFileSync(await saved(page, 'loss', 'Save as PNG'))
      expect(png.subarray(1, 4).toString()).toBe('PNG')
      const before = readFileSync(await saved(page, 'loss', 'Save as SVG'), 'utf8')
      const other = await visit(browser, { address: app.address, cookie: ada.cookie })
      await other.page.goto(page.url())
      await said(other.page.locator('[data-chart="loss"]'), 'all counted')
      await expect
        .poll(async () => readFileSync(await saved(other.page, 'loss', 'Save as SVG'), 'utf8'))
        .toBe(before)
      await expect.poll(() => other.page.getByLabel('The x-axis').inputValue()).toBe('relative')
      await expect
        .poll(() => other.page.locator('[data-chart]').first().getAttribute('data-chart'))
        .toBe('acc')
      await other.context.close()
    },
  ))

test('a share draws the same: means, groups and outliers come through its link', async () => {
  const made = await app.call('POST', '/api/batches/sweep/shares', {
    token: ada.token,
    body: { anonymous: true },
  })
  const { page, context, complaints } = await visit(browser, { address: app.address })
  await page.goto(`${new URL(made.body.url).pathname}?smooth=0.5&clip=0.05&x=wall&jobs=seed3$`)
  const loss = page.locator('[data-chart="loss"]')
  await said(loss, /of 120 points/)
  await loss.locator('[data-hidden]').waitFor()
  const rows = await csv(page, 'loss')
  const mean = smoothed(lossesOf('lr0.1-seed3'), 0.5)
  for (const row of rows)
    expect(Math.abs(Number(row.smoothed) - (mean[Number(row.step)] as number))).toBeLessThan(1e-9)
  await page.getByLabel('Find jobs by regular expression').fill('')
  await page.getByLabel('Group by').selectOption('param.lr')
  await said(loss, '2,880 points, all counted')
  expect(complaints).toEqual([])
  await context.close()
})

test('on a phone the controls stay within the screen', () =>
  onCharts(
    '?group=param.lr',
    async (page) => {
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect(over).toBeLessThanOrEqual(0)
      await page.getByRole('button', { name: '24 jobs' }).click()
      await page.getByText('lr = 0.01', { exact: true }).waitFor()
    },
    { width: 390 },
  ))

test('while 50 rows a second arrive, a page of twenty curves a chart stays at hand', async () => {
  const live = chartedBatch('busy', 20)
  await send(app, reporter, live.events)
  await onCharts(
    '?smooth=0.9',
    async (page, loss) => {
      await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
      const devtools = await page.context().newCDPSession(page)
      // Of the processor, so that what others take of a busy machine does not count.
      await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
      const busy = async (): Promise<number> => {
        const { metrics } = await devtools.send('Performance.getMetrics')
        return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
      }
      const [begun, before] = [performance.now(), await busy()]
      for (let i = 0; i < 12; i++) {
        await send(app, reporter, nextEpoch(live.events, EPOCHS + i))
        await page.waitForTimeout(400)
      }
      const [seconds, took] = [(performance.now() - begun) / 1000, (await busy()) - before]
      await said(loss, '2,640 of 2,640 points')
      console.info(`busy for ${took.toFixed(2)} of ${seconds.toFixed(2)} s`)
      // How long a frame takes is the machine's; that most of the time is left is not.
      expect(took).toBeLessThan(seconds / 2)
    },
    { batch: 'busy' },
  )
})

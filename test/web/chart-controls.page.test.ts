import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { chartedBatch, EPOCHS, nextEpoch, SPIKE, smoothed } from './charted-batch.ts'
import { chartsScene, csv, DRAWN, entry, place, said, savedAs } from './charts-scene.ts'
import { eventsOf } from './ran-batch.ts'
import { send } from './visit.ts'

const scene = chartsScene()

test('a range of values can be typed for one chart, and is in the address', () =>
  scene.onCharts('', async (page, loss) => {
    await page.getByRole('button', { name: 'Range of loss' }).click()
    await page.getByLabel('Values of loss, from').fill('0.1')
    await page.getByLabel('Values of loss, to').fill('0.5')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await loss.getByRole('button', { name: 'Range of loss' }).filter({ hasText: 'y 0.1 to 0.5' }).waitFor()
    await page.reload()
    await loss.getByRole('button', { name: 'Range of loss' }).filter({ hasText: 'y 0.1 to 0.5' }).waitFor()
    const svg = readFileSync(await savedAs(page, 'loss', 'Save as SVG'), 'utf8')
    expect(svg).toContain('>0.5</text>')
    expect(svg).not.toContain('>5,000</text>')
  }))

test('the smoothing continues with new points from the state that the service sent', async () => {
  const live = chartedBatch('arriving', 1)
  const cut = Math.floor(live.events.length / 2)
  await send(scene.app, scene.reporter, live.events.slice(0, cut))
  await scene.onCharts(
    '?smooth=0.9',
    async (page, loss) => {
      const asked: string[] = []
      page.on('request', (request) => {
        if (/\/metrics\?.*key=loss/.test(request.url())) asked.push(request.url())
      })
      await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
      await send(scene.app, scene.reporter, live.events.slice(cut))
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

test('outliers are hidden by percentile, and their number is shown', () =>
  scene.onCharts('', async (page, loss) => {
    await page.getByLabel('Outliers').selectOption('0.01')
    await loss.locator('[data-hidden]', { hasText: /outliers outside/ }).waitFor()
    const first = [...scene.charted.losses.keys()].slice(0, DRAWN)
    const query = first.map((job) => `job=${encodeURIComponent(job)}`).join('&')
    const { body } = await scene.app.call(
      'GET',
      `/api/batches/sweep/metrics?key=loss&clip=0.01&points=4&${query}`,
      {
        token: scene.ada.token,
      },
    )
    const [{ low, high, hidden }] = body.clips
    const all = first.flatMap(scene.lossesOf).filter(Number.isFinite)
    expect(all.filter((value) => value < low || value > high)).toHaveLength(hidden)
    await loss.locator('[data-hidden]', { hasText: `${hidden} outliers outside` }).waitFor()
    expect(hidden).toBeGreaterThan(0)
  }))

test('a logarithmic x-axis leaves out epoch 0, and a logarithmic y-axis shows the number of values it cannot show', () =>
  scene.onCharts('', async (page, loss) => {
    const asked = page.waitForRequest(/x_scale=log.*y_scale=log|y_scale=log.*x_scale=log/)
    await page.getByLabel('log x').check()
    await page.getByLabel('log y').check()
    await asked
    await said(loss, '2,380 of 2,380 points')
    await page.getByLabel('Find series by regular expression').fill('extra_0')
    await page.goto('/b/wide?log=true&series=extra_0')
    await said(page.locator('[data-chart="extra_0"]'), '24 not above 0')
  }))

test('NaN and infinities are marked on the axis and counted', () =>
  scene.onCharts('?jobs=seed[12]$', async (page, loss) => {
    await said(loss, '2 not finite')
    const svg = readFileSync(await savedAs(page, 'loss', 'Save as SVG'), 'utf8')
    expect(svg.match(/>×<\/text>/g)).toHaveLength(1)
    expect(svg.match(/>▲<\/text>/g)).toHaveLength(1)
  }))

test('charts are found by their series, and pinned ones stay first', () =>
  scene.onCharts('', async (page) => {
    await page.getByRole('button', { name: 'Menu of acc' }).click()
    await page.getByRole('menuitem', { name: 'Pin to top' }).click()
    await page.getByLabel('Find series by regular expression').fill('^lr$')
    await page.locator('[data-chart="loss"]').waitFor({ state: 'detached' })
    const names = () =>
      page.locator('[data-chart]').evaluateAll((all) => all.map((one) => one.getAttribute('data-chart')))
    await expect.poll(names).toEqual(['acc', 'lr'])
  }))

test('jobs can be grouped by a parameter, over all jobs', () =>
  scene.onCharts('?y=%7B%22loss%22%3A%5B0%2C1%5D%7D', async (page, loss) => {
    await page.getByLabel('Group by').selectOption('param.lr')
    await said(loss, `2,880 points, all counted`)
    const groups = () => page.locator('aside[aria-label="Jobs"] li').allTextContents()
    await expect
      .poll(async () => (await groups()).toSorted())
      .toEqual(['lr = 0.0018 jobs', 'lr = 0.018 jobs', 'lr = 0.18 jobs'])
    const rows = await csv(page, 'loss')
    for (const row of rows.filter(({ group }) => group === 'lr = 0.001')) {
      const values = [...scene.charted.losses.keys()]
        .filter((job) => job.startsWith('lr0.001-'))
        .map((job) => scene.lossesOf(job)[Number(row.step)] as number)
        .filter(Number.isFinite)
      const mean = values.reduce((a, b) => a + b, 0) / values.length
      expect(Number(row.n)).toBe(values.length)
      expect(Math.abs(Number(row.mean) - mean)).toBeLessThan(1e-9)
      expect(Number(row.max)).toBe(Math.max(...values))
      expect(Number(row.min)).toBe(Math.min(...values))
    }
    await page.getByLabel('Band').selectOption('range')
    await page.waitForURL(/band=range/)
    const svg = readFileSync(await savedAs(page, 'loss', 'Save as SVG'), 'utf8')
    expect(svg.match(/<polygon/g)).toHaveLength(3)
  }))

test('groups of similar numbers have different names, in the legend and on their curves', async () => {
  const lrs = [0.12345612, 0.12345637, 0.5]
  const of = eventsOf('close', { project: 'charts' })
  await send(scene.app, scene.reporter, [
    of('batch_start', 100, { n_total: lrs.length }),
    ...lrs.flatMap((lr, n) => [
      of('job_start', 99, { lr }, `job${n}`),
      ...[0, 1, 2].map((epoch) => of('job_epoch', 90, { epoch, loss: lr + epoch }, `job${n}`)),
    ]),
  ])
  await scene.onCharts(
    '?group=param.lr',
    async (page) => {
      const wanted = ['lr = 0.1234561', 'lr = 0.1234564', 'lr = 0.5']
      const groups = () =>
        page
          .locator('[data-group]:visible')
          .evaluateAll((all) => all.map((one) => one.getAttribute('data-group')))
      await expect.poll(groups).toEqual(wanted)
      const rows = await csv(page, 'loss')
      expect([...new Set(rows.map(({ group }) => group))].toSorted()).toEqual(wanted)
    },
    { batch: 'close' },
  )
})

test('only visible charts are drawn', () =>
  scene.onCharts(
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

test('the cursor is shared by all charts; the list has the values, and the nearest curve is highlighted', () =>
  scene.onCharts('?y=%7B%22loss%22%3A%5B0%2C1%5D%7D', async (page, loss) => {
    const { x, y, width, height } = await place(loss)
    await page.mouse.move(x + width * 0.5, y + height * 0.5)
    await page.locator('[data-list-head]', { hasText: 'loss @ ' }).waitFor()
    const list = page.getByRole('complementary', { name: 'Jobs' }).getByRole('listitem')
    await expect
      .poll(() => list.evaluateAll((all) => all.filter((one) => /\bbg-hover/.test(one.className)).length))
      .toBe(1)
    expect((await list.allInnerTexts()).filter((text) => /\d\.\d+/.test(text)).length).toBeGreaterThan(5)
    const cursor = (chart: string) =>
      page
        .locator(`[data-chart="${chart}"] .u-cursor-x`)
        .evaluate((line) => (line as HTMLElement).style.transform)
    const here = await cursor('loss')
    await expect.poll(() => cursor('acc')).toBe(here)
  }))

test('a chosen colour is used on every page in this browser', () =>
  scene.onCharts('', async (page, loss) => {
    const ink = () =>
      entry(page, 'lr0.1-seed0')
        .locator('span.rounded-full')
        .first()
        .evaluate((dot) => getComputedStyle(dot).backgroundColor)
    const before = await ink()
    await page.getByRole('button', { name: 'Colour of lr0.1-seed0', exact: true }).click()
    await page.getByRole('button', { name: 'Colour 9', exact: true }).click()
    await expect.poll(ink).toBe('rgb(134, 151, 16)')
    expect(before).not.toBe('rgb(134, 151, 16)')
    await expect
      .poll(async () => readFileSync(await savedAs(page, 'loss', 'Save as SVG'), 'utf8'))
      .toMatch(/stroke="#869710"/)
    await page.reload()
    await said(loss, 'points')
    await expect.poll(ink).toBe('rgb(134, 151, 16)')
    await page.getByRole('button', { name: 'Colour of lr0.1-seed0', exact: true }).click()
    await page.getByRole('button', { name: 'Reset colour' }).click()
    await expect.poll(ink).toBe(before)
  }))

test('a share link shows the same means, groups and outliers', async () => {
  const made = await scene.app.call('POST', '/api/batches/sweep/shares', {
    token: scene.ada.token,
    body: { anonymous: true },
  })
  const { page, context, complaints } = await scene.signedOut()
  await page.goto(`${new URL(made.body.url).pathname}?smooth=0.5&clip=0.05&x=wall&jobs=seed3$`)
  const loss = page.locator('[data-chart="loss"]')
  await said(loss, /of 120 points/)
  await loss.locator('[data-hidden]').waitFor()
  const rows = await csv(page, 'loss')
  const mean = smoothed(scene.lossesOf('lr0.1-seed3'), 0.5)
  for (const row of rows)
    expect(Math.abs(Number(row.smoothed) - (mean[Number(row.step)] as number))).toBeLessThan(1e-9)
  await page.getByLabel('Find jobs by regular expression').fill('')
  await page.getByLabel('Group by').selectOption('param.lr')
  await said(loss, '2,880 points, all counted')
  expect(complaints).toEqual([])
  await context.close()
})

test('on a phone the controls stay within the screen', () =>
  scene.onCharts(
    '?group=param.lr',
    async (page) => {
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect(over).toBeLessThanOrEqual(0)
      await page.getByRole('button', { name: '24 jobs' }).click()
      await page.getByText('lr = 0.01', { exact: true }).waitFor()
    },
    { width: 390 },
  ))

test('while 50 rows arrive per second, a page with twenty curves per chart stays responsive', async () => {
  const live = chartedBatch('busy', 20)
  await send(scene.app, scene.reporter, live.events)
  await scene.onCharts(
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
        await send(scene.app, scene.reporter, nextEpoch(live.events, EPOCHS + i))
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

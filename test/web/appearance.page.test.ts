import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { recordedSweep, send, seriousFindings } from './visit.ts'

const BATCH = 'looked-at'

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, recordedSweep(BATCH))
})

const open = (width: number, theme: 'light' | 'dark' = 'light') => web.asAda({ width, theme })

test('the page has its own fonts, and tables have digits of equal width', async () => {
  const { page, context, complaints } = await open(1440)
  await page.goto(`/b/${BATCH}/jobs`)
  await page.getByRole('table', { name: 'Jobs' }).waitFor()
  const loaded = () =>
    page.evaluate(() =>
      [...document.fonts].filter((font) => font.status === 'loaded').map((font) => font.family),
    )
  await expect.poll(async () => (await loaded()).join()).toContain('Inter Variable')
  const cell = page.locator('[role=cell].text-right').first()
  expect(await cell.evaluate((at) => getComputedStyle(at).fontFeatureSettings)).toContain('tnum')
  expect(complaints).toEqual([])
  await context.close()
})

test('on a phone the first chart is visible without scrolling', async () => {
  const { page, context } = await open(390)
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`/b/${BATCH}`)
  await page.locator('[data-points]').first().waitFor()
  const chart = await page.locator('[data-chart]').first().boundingBox()
  expect((chart?.y ?? 0) + (chart?.height ?? 0)).toBeLessThanOrEqual(844)
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
  await context.close()
})

test.each([
  390, 768, 1024, 1280, 1440, 2560,
])('at %i pixels the toolbar of the charts has at most two rows, and the charts use the width', async (width) => {
  const { page, context } = await open(width)
  await page.goto(`/b/${BATCH}`)
  await page.locator('[data-points]').first().waitFor()
  const bar = await page.getByRole('toolbar', { name: 'Charts' }).boundingBox()
  expect(bar?.height).toBeLessThanOrEqual(72)
  const right = await page
    .locator('[data-chart]')
    .evaluateAll((charts) => Math.max(...charts.map((chart) => chart.getBoundingClientRect().right)))
  expect(width - right).toBeLessThanOrEqual(24)
  await context.close()
})

test('all sections of charts have the same columns', async () => {
  const { page, context } = await open(2560)
  await page.goto(`/b/${BATCH}`)
  await page.getByRole('region', { name: 'Section acc' }).locator('[data-points]').first().waitFor()
  const widths = await page
    .locator('[data-chart]')
    .evaluateAll((charts) => charts.map((chart) => Math.round(chart.getBoundingClientRect().width)))
  expect(Math.max(...widths) - Math.min(...widths)).toBeLessThanOrEqual(1)
  await context.close()
})

test.each([
  390, 1440,
])('at %i pixels a table fades where more of it follows, until its end', async (width) => {
  const { page, context } = await open(width)
  await page.goto(`/b/${BATCH}/sweep`)
  const table = page.getByRole('region', { name: 'Selected jobs' })
  await table.waitFor()
  const mask = () => table.evaluate((at) => getComputedStyle(at).maskImage)
  const scrolls = await table.evaluate((at) => at.scrollWidth > at.clientWidth)
  await expect.poll(mask).toEqual(scrolls ? expect.stringContaining('linear-gradient') : 'none')
  expect(scrolls).toBe(width === 390)
  await table.evaluate((at) => at.scrollTo(at.scrollWidth, 0))
  await expect.poll(mask).toBe('none')
  await context.close()
})

test.each([
  'light',
  'dark',
] as const)('a list stays readable while it reloads, in the %s theme', async (theme) => {
  const { page, context } = await open(1280, theme)
  await page.goto('/p/digits')
  await page.locator(`a[href$="${BATCH}"]`).first().waitFor()
  let answer = () => {}
  const asked = new Promise<void>((done) => (answer = done))
  await page.route('**/graphql', (route) => asked.then(() => route.continue()))
  await page.locator('[role=columnheader][aria-sort] button').first().click()
  await page.locator('[aria-busy=true]').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  answer()
  await expect.poll(() => page.locator('[aria-busy=true]').count()).toBe(0)
  await context.close()
})

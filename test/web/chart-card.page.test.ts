import type { Locator } from '@playwright/test'
import { expect, test } from 'vitest'
import { chartedBatch } from './charted-batch.ts'
import { pageFixture } from './page-fixture.ts'
import { send, seriousFindings } from './visit.ts'

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, chartedBatch('sweep', 6).events)
})

async function place(chart: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await chart.locator('.u-over').boundingBox()
  if (box === null) throw new Error('the plot has no place')
  return box
}

test('a chart can fill the screen by button or key, shows values there, and arrow keys go to the next chart', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/sweep')
  const loss = page.locator('[data-chart="loss"]')
  await loss.locator('[data-points]', { hasText: 'points' }).waitFor()
  const small = await place(loss)
  await loss.hover()
  await page.keyboard.press('f')
  const screen = page.getByRole('dialog')
  const large = screen.locator('[data-chart="loss"]')
  await large.locator('[data-points]', { hasText: 'points' }).waitFor()
  await expect.poll(async () => (await place(large)).height).toBeGreaterThan(small.height * 2)
  const { x, y, width, height } = await place(large)
  expect(width).toBeGreaterThan(small.width)
  expect(y + height).toBeLessThan(900)
  await page.mouse.move(x + width * 0.5, y + height * 0.5)
  const curves = screen.getByRole('list', { name: 'Curves' }).getByRole('listitem')
  // The list beside the curves has their values, so that nothing covers them.
  await curves
    .first()
    .getByText(/\d\.\d+$/)
    .waitFor()
  expect(await screen.locator('[data-tip="loss"]').isVisible()).toBe(false)
  await screen.getByLabel('Log y').check()
  await page.waitForURL(/log=true/)
  await screen.getByLabel('Log y').uncheck()
  await screen.getByRole('button', { name: 'Menu of loss' }).click()
  await page.getByRole('menuitem', { name: 'Pin to top' }).waitFor()
  await page.keyboard.press('Escape')
  expect(await seriousFindings(page)).toEqual([])
  await screen.getByRole('button', { name: 'Next chart' }).focus()
  await page.keyboard.press('ArrowRight')
  await large.waitFor({ state: 'detached' })
  await screen.locator('[data-chart] [data-points]', { hasText: 'points' }).waitFor()
  await page.keyboard.press('ArrowLeft')
  await large.waitFor()
  await page.keyboard.press('Escape')
  await screen.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Full screen: loss', exact: true }).click()
  await large.waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a chart that is redrawn under a resting pointer keeps its values in the list', async () => {
  const { page, context } = await web.asAda()
  await page.goto('/b/sweep')
  const loss = page.locator('[data-chart="loss"]')
  await loss.locator('[data-points]', { hasText: 'points' }).waitFor()
  const { x, y, width, height } = await place(loss)
  await page.mouse.move(x + width * 0.5, y + height * 0.5)
  const head = page.locator('[data-list-head]', { hasText: 'loss @ ' })
  await head.waitFor()
  const before = await head.innerText()
  const canvas = await loss.locator('canvas').elementHandle()
  await page.emulateMedia({ colorScheme: 'dark' })
  await expect.poll(() => canvas?.evaluate((old) => old.isConnected)).toBe(false)
  await expect.poll(() => head.innerText()).toBe(before)
  await context.close()
})

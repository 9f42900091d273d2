import type { Locator, Page } from '@playwright/test'
import { describe, expect, test } from 'vitest'
import { chartedBatch } from './charted-batch.ts'
import { pageFixture } from './page-fixture.ts'
import { send } from './visit.ts'

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, chartedBatch('sweep', 1).events)
})

/** Opens the charts of a batch, waits for the curves of `loss`, and at the end holds the page to its policy. */
async function onCharts(what: (page: Page, loss: Locator) => Promise<void>): Promise<void> {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/sweep')
  const loss = page.locator('[data-chart="loss"]')
  await loss.locator('[data-points]', { hasText: 'points' }).waitFor()
  await what(page, loss)
  expect(complaints).toEqual([])
  await context.close()
}

async function place(chart: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await chart.locator('.u-over').boundingBox()
  if (box === null) throw new Error('the plot has no place')
  return box
}

describe('under a pointer that rests, the tooltip', () => {
  /** Rests on the chart; afterwards waits until `change` has drawn it again, and the tooltip with it. */
  const resting = (change: (page: Page, loss: Locator) => Promise<void>) =>
    onCharts(async (page, loss) => {
      const { x, y, width, height } = await place(loss)
      await page.mouse.move(x + width * 0.5, y + height * 0.5)
      const tip = page.locator('[data-tip="loss"]')
      await tip.locator('[data-near]').waitFor()
      await change(page, loss)
      await tip.locator('[data-near]').waitFor()
    })

  test('returns when the theme changes and the plot is rebuilt', () =>
    resting(async (page, loss) => {
      const old = await loss.locator('canvas').elementHandle()
      await page.emulateMedia({ colorScheme: 'dark' })
      await expect.poll(() => old?.evaluate((canvas) => canvas.isConnected)).toBe(false)
    }))

  test('stays when something else on the page scrolls', () =>
    resting(async (page) => {
      const scrolled = await page.evaluate(
        () =>
          new Promise((done) => {
            const log = document.body.appendChild(document.createElement('div'))
            log.style.cssText = 'position:fixed;left:0;bottom:0;width:40px;height:20px;overflow:auto'
            log.appendChild(document.createElement('div')).style.height = '400px'
            log.addEventListener('scroll', () => requestAnimationFrame(() => done(log.scrollTop)))
            log.scrollTop = 100
          }),
      )
      expect(scrolled).toBe(100)
    }))

  test('shows the x value under the pointer after the chart became narrower', () =>
    onCharts(async (page, loss) => {
      const { x, y, width, height } = await place(loss)
      await page.mouse.move(x + width * 0.4, y + height * 0.5)
      const tip = page.locator('[data-tip="loss"]')
      await tip.locator('[data-near]').waitFor()
      const before = Number(/[\d,]+/.exec(await tip.innerText())?.[0].replace(',', ''))
      await page.setViewportSize({ width: 1120, height: 900 })
      await expect.poll(async () => (await place(loss)).width).not.toBe(width)
      await expect
        .poll(async () => Number(/[\d,]+/.exec(await tip.innerText())?.[0].replace(',', '')))
        .not.toBe(before)
      await tip.locator('[data-near]').waitFor()
    }))
})

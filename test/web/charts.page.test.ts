import { readFileSync } from 'node:fs'
import type { Page } from '@playwright/test'
import { describe, expect, test } from 'vitest'
import { chartedBatch, EPOCHS, smoothed } from './charted-batch.ts'
import { chartsScene, csv, drag, entry, place, said, savedAs } from './charts-scene.ts'
import { send } from './visit.ts'

const scene = chartsScene()

const listed = async (page: Page): Promise<string[]> =>
  page.locator('aside[aria-label="Jobs"] li button[title]').allTextContents()

describe('ranges', () => {
  test('a zoom steps in and, by double clicks, out again level by level', () =>
    scene.onCharts('', async (page, loss) => {
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

  test('a range of epochs can be typed, and shows all points in it', () =>
    scene.onCharts('', async (page, loss) => {
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

  test('new points do not change the zoom, and points outside of it are not drawn', async () => {
    const live = chartedBatch('zoomed', 2)
    const half = live.events.length / 2
    await send(scene.app, scene.reporter, live.events.slice(0, half))
    await scene.onCharts(
      '?zoom=[0,20]',
      async (page, loss) => {
        await said(loss, '42 of 42 points')
        await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
        await send(scene.app, scene.reporter, live.events.slice(half))
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
    scene.onCharts('?jobs=seed(0|1)$', async (page) => {
      const slider = page.getByLabel('smoothing')
      await slider.focus()
      for (let i = 0; i < 6; i++) await page.keyboard.press('PageUp')
      await page.waitForURL(/smooth=0\.6/)
      await expect.poll(async () => Object.keys((await csv(page, 'loss'))[0] ?? {})).toContain('smoothed')
      const rows = await csv(page, 'loss')
      for (const job of ['lr0.1-seed0', 'lr0.01-seed1']) {
        const mean = smoothed(scene.lossesOf(job), 0.6)
        const mine = rows.filter((row) => row.job_id === job)
        expect(mine).toHaveLength(EPOCHS)
        for (const row of mine) {
          const should = mean[Number(row.step)] as number
          if (Number.isNaN(should)) expect(row.smoothed).toBe('NaN')
          else expect(Math.abs(Number(row.smoothed) - should)).toBeLessThan(1e-9 * Math.max(1, should) * 100)
        }
      }
    }))
})

describe('axes', () => {
  test('x is epochs, time since the start, or wall time; the points are the same', () =>
    scene.onCharts('?jobs=seed3$', async (page, loss) => {
      const asked = page.waitForRequest(/x=relative/)
      await page.getByLabel('The x-axis').selectOption('relative')
      await asked
      await expect.poll(async () => (await csv(page, 'loss'))[1]?.seconds).toMatch(/^20/)
      const relative = await csv(page, 'loss')
      expect(relative.map((row) => Number(row.value))).toEqual(scene.lossesOf('lr0.1-seed3'))
      await page.getByLabel('The x-axis').selectOption('wall')
      await expect.poll(async () => Number((await csv(page, 'loss'))[0]?.seconds)).toBeGreaterThan(1e9)
      await said(loss, `${EPOCHS} of ${EPOCHS} points`)
      await drag(page, loss, 0.5, 0.9)
      await page.waitForURL(/zoom=/)
      await expect.poll(async () => (await csv(page, 'loss')).length).toBeLessThan(EPOCHS / 2)
    }))
})

describe('which curves', () => {
  test('the first 20 jobs are drawn, and all jobs on request', () =>
    scene.onCharts('', async (page, loss) => {
      await said(loss, '2,400 of 2,400 points')
      await page.locator('[data-cap]', { hasText: 'The first 20 of 24 jobs are drawn.' }).waitFor()
      await page.getByRole('button', { name: 'Show all 24' }).click()
      await said(loss, '2,880 of 2,880 points')
      await page.getByRole('button', { name: 'Show the first 20' }).click()
      await said(loss, '2,400 of 2,400 points')
    }))

  test('jobs can be found, hidden and isolated; pinned ones stay with every filter', () =>
    scene.onCharts('', async (page, loss) => {
      await entry(page, 'lr0.01-seed4').hover()
      await page.getByRole('button', { name: 'Pin lr0.01-seed4' }).click()
      await page.getByLabel('Find jobs by regular expression').fill('seed(7|8)$')
      await said(loss, '360 of 360 points')
      await expect.poll(() => listed(page)).toEqual(['lr0.01-seed4', 'lr0.01-seed7', 'lr0.001-seed8'])
      await page.getByTitle('Hide lr0.01-seed7').click()
      await said(loss, '240 of 240 points')
      await entry(page, 'lr0.001-seed8').hover()
      await page.getByRole('button', { name: 'Only lr0.001-seed8' }).click()
      // Only this job and the pinned one.
      await said(loss, '240 of 240 points')
      await page.getByRole('button', { name: 'Pin lr0.01-seed4' }).click()
      await said(loss, '120 of 120 points')
      await page.getByRole('button', { name: 'Show all curves' }).click()
      await said(loss, '240 of 240 points')
    }))
})

test('a chart is saved as PNG, and a link restores what was shown in another browser', () =>
  scene.onCharts(
    '?smooth=0.5&group=param.lr&band=none&x=relative&log=true&keep=%5B%22acc%22%5D&zoom=%5B100%2C900%5D',
    async (page, loss) => {
      await said(loss, 'all counted')
      const png = readFileSync(await savedAs(page, 'loss', 'Save as PNG'))
      expect(png.subarray(1, 4).toString()).toBe('PNG')
      const before = readFileSync(await savedAs(page, 'loss', 'Save as SVG'), 'utf8')
      const other = await scene.asAda()
      await other.page.goto(page.url())
      await said(other.page.locator('[data-chart="loss"]'), 'all counted')
      await expect
        .poll(async () => readFileSync(await savedAs(other.page, 'loss', 'Save as SVG'), 'utf8'))
        .toBe(before)
      await expect.poll(() => other.page.getByLabel('The x-axis').inputValue()).toBe('relative')
      await expect
        .poll(() => other.page.locator('[data-chart]').first().getAttribute('data-chart'))
        .toBe('acc')
      await other.context.close()
    },
  ))

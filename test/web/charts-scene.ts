import { readFileSync } from 'node:fs'
import type { Locator, Page } from '@playwright/test'
import { expect } from 'vitest'
import { type Charted, chartedBatch } from './charted-batch.ts'
import { type PageFixture, pageFixture } from './page-fixture.ts'
import { send } from './visit.ts'

export const JOBS = 24
/** Of the jobs, how many the charts draw unless all are asked for. */
export const DRAWN = 20

export interface ChartsScene extends PageFixture {
  /** The batch `sweep`. */
  charted: Charted
  lossesOf: (job: string) => number[]
  /** Opens the charts of a batch, waits for the first curve, and at the end holds the page to its policy. */
  onCharts: (
    query: string,
    what: (page: Page, loss: Locator) => Promise<void>,
    options?: { width?: number; batch?: string },
  ) => Promise<void>
}

/** For all tests of a file: a service with the batches `sweep`, of JOBS jobs, and `wide`, of many series; and a browser. */
export function chartsScene(): ChartsScene {
  const charted = chartedBatch('sweep', JOBS)
  const scene = pageFixture(async ({ app, reporter }) => {
    await send(app, reporter, charted.events)
    await send(app, reporter, chartedBatch('wide', 2, 30, 12).events)
  })
  return Object.assign(scene, {
    charted,
    lossesOf: (job: string): number[] => (charted.losses.get(job) ?? []).map(Number),
    onCharts: async (
      query: string,
      what: (page: Page, loss: Locator) => Promise<void>,
      { batch = 'sweep', ...look }: { width?: number; batch?: string } = {},
    ): Promise<void> => {
      const { page, context, complaints } = await scene.asAda(look)
      await page.goto(`/b/${batch}${query}`)
      const loss = page.locator('[data-chart="loss"]')
      await loss.locator('[data-points]', { hasText: 'points' }).waitFor()
      await what(page, loss)
      expect(complaints).toEqual([])
      await context.close()
    },
  })
}

export const said = (chart: Locator, text: string | RegExp): Promise<void> =>
  chart.locator('[data-points]', { hasText: text }).waitFor()

/** A job's curve, in words of the legend. */
export const entry = (page: Page, job: string): Locator =>
  page
    .getByRole('listitem')
    .filter({ has: page.getByRole('button', { name: `Colour of ${job}`, exact: true }) })

/** @returns the path of what the menu of a chart saved */
export async function savedAs(page: Page, chart: string, how: string): Promise<string> {
  await page.getByRole('button', { name: `Menu of ${chart}` }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: how }).click(),
  ])
  return file.path()
}

export async function csv(page: Page, chart: string): Promise<Record<string, string>[]> {
  const [heads = '', ...rows] = readFileSync(await savedAs(page, chart, 'Save as CSV'), 'utf8')
    .trim()
    .split('\r\n')
  const names = heads.split(',')
  return rows.map((row) => Object.fromEntries(row.split(',').map((cell, i) => [names[i] as string, cell])))
}

export async function place(
  chart: Locator,
): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await chart.locator('.u-over').boundingBox()
  if (box === null) throw new Error('the plot has no place')
  return box
}

export async function drag(page: Page, chart: Locator, from: number, to: number): Promise<void> {
  const { x, y, width } = await place(chart)
  await page.mouse.move(x + width * from, y + 40)
  await page.mouse.down()
  await page.mouse.move(x + width * to, y + 60, { steps: 5 })
  await page.mouse.up()
}

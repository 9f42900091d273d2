import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { recordedSweep, send } from './visit.ts'

// Keyboard shortcuts, focus, and the titles of browser tabs.

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, recordedSweep('first'))
  await send(app, reporter, recordedSweep('second').slice(0, 60))
})
const { asAda } = web

test('arrow keys move between rows; Escape leaves a search field', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/b/first/jobs')
  await page.locator('[data-job]').first().waitFor()
  const focused = () => page.evaluate(() => document.activeElement?.closest('[data-row]')?.ariaRowIndex)
  await page.keyboard.press('j')
  await expect.poll(focused).toBe('2')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  await expect.poll(focused).toBe('3')

  await page.keyboard.press('/')
  const field = page.getByLabel('Find jobs')
  await page.keyboard.type('h128')
  await page.keyboard.press('Escape')
  await expect.poll(() => field.inputValue()).toBe('')
  expect(await field.evaluate((one) => one === document.activeElement)).toBe(true)
  await page.keyboard.press('Escape')
  await page.keyboard.press('j')
  await expect.poll(focused).toBe('2')
  expect(complaints).toEqual([])
  await context.close()
})

test('on a phone the menu gets the keyboard focus, and Escape closes it and restores the focus', async () => {
  const { page, context, complaints } = await asAda({ width: 390 })
  await page.goto('/')
  const menu = page.getByRole('button', { name: 'Open the menu' })
  await menu.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Close the menu' }).waitFor()
  const at = () => page.evaluate(() => document.activeElement?.textContent?.trim())
  await expect.poll(at).toBe('Home')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Close the menu' }).waitFor({ state: 'detached' })
  expect(await menu.evaluate((one) => one === document.activeElement)).toBe(true)
  expect(complaints).toEqual([])
  await context.close()
})

test('the title of the browser tab has the page and the status of the batch', async () => {
  const { page, context } = await asAda()
  const titles: string[] = []
  for (const path of [
    '/',
    '/p/digits',
    '/b/first',
    '/b/second/jobs',
    '/b/first/j/h32-lr0.005-seed0',
    '/tokens',
  ]) {
    await page.goto(path)
    await page.locator('main h1').first().waitFor({ state: 'attached' })
    titles.push(await page.title())
  }
  expect(titles).toEqual([
    'Home · Experiment monitor',
    'digits · Experiment monitor',
    '✓ first · Experiment monitor',
    '● second · Experiment monitor',
    'h32-lr0.005-seed0 · first · Experiment monitor',
    'Tokens · Experiment monitor',
  ])
  await context.close()
})

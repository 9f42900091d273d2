import { setTimeout as sleep } from 'node:timers/promises'
import type { Locator, Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

// Work in a long log: search with context, jump to the traceback, wrap lines; and the timeline.

const web = pageFixture(async ({ app, reporter }) => {
  const of = eventsOf('long')
  const line = (agoS: number, text: string) => of('log_line', agoS, { line: text, stream: 'stderr' }, 'one')
  await send(app, reporter, [
    of('batch_start', 900, { n_total: 2 }),
    of('job_start', 899, { lr: 1 }, 'one'),
    of('job_start', 898, { lr: 2 }, 'two'),
    ...Array.from({ length: 700 }, (_, n) => line(890 - n, n % 300 === 7 ? `checkpoint ${n}` : `step ${n}`)),
    line(100, 'Traceback (most recent call last):'),
    line(99, `ValueError: ${'wide '.repeat(200)}`),
    of('job_failed', 98, { reason: 'ValueError: wide' }, 'one'),
    // At the same time as the batch.
    of('job_done', 96, {}, 'two'),
    of('batch_failed', 96, { reason: 'one job failed', total_elapsed_s: 804 }),
  ])
})

test('a search shows only the matches or all lines, and steps between matches at any distance', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/long/logs?q=checkpoint')
  const lines = page.locator('[data-line]')
  await expect.poll(() => lines.count()).toBe(3)
  expect(await page.locator('mark').allTextContents()).toEqual(['checkpoint', 'checkpoint', 'checkpoint'])

  // So slow that the match is marked among the lines alone first, and then among its neighbours.
  await page.route(/log-lines/, async (route) => {
    await sleep(500)
    await route.continue()
  })
  await page.getByLabel('in context').check()
  await page.getByRole('button', { name: 'Previous match' }).click()
  const marked = page.locator('[data-line][aria-current]')
  await expect.poll(() => marked.textContent()).toContain('checkpoint 607')
  await page.getByText('step 608', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Previous match' }).click()
  await expect.poll(() => marked.textContent()).toContain('checkpoint 307')
  await page.getByRole('button', { name: 'Next match' }).click()
  await expect.poll(() => marked.textContent()).toContain('checkpoint 607')
  await page.getByRole('button', { name: 'Next match' }).click()
  await page.getByText('No later line matches.').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('a button jumps to the traceback, and long lines can be wrapped', async () => {
  const { page, context } = await web.asAda()
  await page.goto('/b/long/logs?line=1')
  await page.getByRole('button', { name: 'Traceback' }).click()
  await expect.poll(() => page.locator('[data-line][aria-current]').textContent()).toContain('Traceback')
  const box = page.getByRole('log')
  const overflow = () => box.evaluate((at) => at.scrollWidth - at.clientWidth)
  expect(await overflow()).toBeGreaterThan(200)
  await page.getByLabel('wrap').check()
  await expect.poll(overflow).toBe(0)
  const error = page.locator('[data-line]', { hasText: 'ValueError' })
  await expect.poll(async () => (await error.boundingBox())?.height ?? 0).toBeGreaterThan(39)
  await page.waitForURL(/wrap=true/)
  await context.close()
})

test('the timeline has the starts and ends of jobs, and combines consecutive ones', async () => {
  const { page, context } = await web.asAda()
  await page.goto('/b/long/timeline')
  const steps = page.locator('[data-step^="jobs-"]')
  await expect.poll(() => steps.count()).toBe(3)
  expect(await steps.nth(0).textContent()).toContain('2 jobs started')
  expect(await steps.nth(1).textContent()).toContain('1 job failed')
  expect(await steps.nth(1).textContent()).toContain('ValueError: wide')
  expect(await steps.nth(2).textContent()).toContain('1 job completed')
  expect((await page.locator('[data-step]').allTextContents()).at(-1)).toContain('Batch failed')
  expect(await seriousFindings(page)).toEqual([])
  await context.close()
})

test('a search applies although lines arrive while it is typed', async () => {
  const of = eventsOf('busy')
  const say = (text: string) => of('log_line', 0, { line: text, stream: 'stdout' }, 'one')
  await send(web.app, web.reporter, [
    of('batch_start', 900, { n_total: 1 }),
    of('job_start', 899, {}, 'one'),
    say('loss 0.5'),
    say('other'),
  ])
  const { page, context } = await web.asAda()
  await page.goto('/b/busy/logs')
  await page.getByText('other', { exact: true }).waitFor()
  await page.getByLabel('Search log lines').fill('loss')
  let lines = 0
  await expect
    .poll(async () => {
      await send(web.app, web.reporter, [say(`step ${lines++}`)])
      return new URL(page.url()).searchParams.get('q')
    })
    .toBe('loss')
  // Lines that arrived in between are not shown, as they do not match.
  await expect.poll(() => page.locator('[data-line]').count()).toBe(1)
  await context.close()
})

/** Swipes over the middle of a box by `distance` pixels, downwards if positive, and waits until scrolling has ended. */
async function swipe(page: Page, box: Locator, distance: number): Promise<void> {
  const at = await box.boundingBox()
  if (at === null) throw new Error('the box has no place')
  const x = at.x + at.width / 2
  const from = at.y + at.height / 2 - distance / 2
  const devtools = await page.context().newCDPSession(page)
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', y?: number) =>
    devtools.send('Input.dispatchTouchEvent', { type, touchPoints: y === undefined ? [] : [{ x, y }] })
  await touch('touchStart', from)
  const steps = 10
  for (let n = 1; n <= steps; n++) await touch('touchMove', from + (distance * n) / steps)
  // Scrolling continues for a while after the finger was lifted.
  const stands = await box.evaluateHandle((one) => {
    const still = new Promise((done) => one.addEventListener('scrollend', done, { once: true }))
    return { still }
  })
  await touch('touchEnd')
  await stands.evaluate(async ({ still }) => void (await still))
  await devtools.detach()
}

test.each([
  'wheel',
  'scroll bar',
  'finger',
] as const)('a followed log stops following when a %s scrolls up, and continues at its end', async (by) => {
  const of = eventsOf(`followed by ${by}`)
  const say = (agoS: number, text: string) => of('log_line', agoS, { line: text, stream: 'stdout' }, 'one')
  await send(web.app, web.reporter, [
    of('batch_start', 900, { n_total: 1 }),
    of('job_start', 899, {}, 'one'),
    ...Array.from({ length: 200 }, (_, n) => say(800 - n, `step ${n}`)),
  ])
  const { page, context } = await web.asAda()
  await page.goto(`/b/${encodeURIComponent(`followed by ${by}`)}/logs`)
  const box = page.getByRole('log')
  const top = () => box.evaluate((at) => at.scrollTop)
  const below = () => box.evaluate((at) => at.scrollHeight - at.scrollTop - at.clientHeight)
  const follow = page.getByRole('checkbox', { name: 'Follow' })
  await page.getByText('step 199', { exact: true }).waitFor()
  await send(web.app, web.reporter, [say(500, 'step 200')])
  await page.getByText('step 200', { exact: true }).waitFor()
  await expect.poll(below).toBeLessThan(2)

  const at = await box.boundingBox()
  await page.mouse.move((at?.x ?? 0) + 200, (at?.y ?? 0) + 150)
  const scroll = async (down: number): Promise<void> => {
    if (by === 'wheel') return page.mouse.wheel(0, down)
    if (by === 'finger') return swipe(page, box, -down)
    // A headless browser has no scroll bars to drag: this has the same effect, while the button is down.
    await page.mouse.down()
    await box.evaluate((one, by) => one.scrollBy(0, by), down)
    await expect.poll(() => follow.isChecked()).toBe(down > 0)
    await page.mouse.up()
  }
  await scroll(-120)
  await expect.poll(() => follow.isChecked()).toBe(false)
  await expect.poll(below).toBeGreaterThan(60)
  const [read, unread] = [await top(), await below()]
  await send(web.app, web.reporter, [say(400, 'step 201')])
  await expect.poll(below).toBeGreaterThan(unread)
  expect(await top()).toBe(read)
  expect(await follow.isChecked()).toBe(false)

  await scroll(400)
  await expect.poll(() => follow.isChecked()).toBe(true)
  await send(web.app, web.reporter, [say(300, 'step 202')])
  await page.getByText('step 202', { exact: true }).waitFor()
  await expect.poll(below).toBeLessThan(2)
  await context.close()
})

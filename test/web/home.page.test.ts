import { expect, test } from 'vitest'
import { bestFuzzy, fuzzy } from '../../web/src/lib/fuzzy.ts'
import { pageFixture } from './page-fixture.ts'
import { type Event, recordedSweep, send } from './visit.ts'

let rest: Event[]
const web = pageFixture(async ({ app, ada, reporter }) => {
  await send(app, reporter, recordedSweep('done'))
  const live = recordedSweep('live')
  await send(app, reporter, live.slice(0, 200))
  rest = live.slice(200)
  const broken = recordedSweep('broken').slice(0, 100)
  const end = {
    ...(broken.at(-1) as Event),
    event_id: crypto.randomUUID(),
    event_type: 'batch_failed',
    job_id: null,
  }
  await send(app, reporter, [
    ...broken,
    { ...end, data: { reason: 'CUDA out of memory', total_elapsed_s: 30 } },
  ])
  await app.call('POST', '/api/agents/register', {
    token: ada.token,
    body: { hostname: 'box-away', capabilities: {}, version: '1.0' },
  })
  await app.sql`/* test.away */ update agents set last_seen_at = now() - interval '4 minutes'`
})
const { asAda } = web

test('the fuzzy search finds letters in order, and whole words first', () => {
  expect(fuzzy('digits-sweep', 'dgs')).toBeGreaterThan(0)
  expect(fuzzy('digits-sweep', 'sgd')).toBe(0)
  expect(bestFuzzy(['a-long-way-to-go', 'lwg', 'lonely'], 'lwg', (one) => one, 2)).toEqual([
    'lwg',
    'a-long-way-to-go',
  ])
})

test('on a very wide screen finished batches are beside the running ones', async () => {
  const { page, context } = await asAda({ width: 2560 })
  await page.goto('/')
  const place = async (title: string) => {
    const box = await page.getByRole('heading', { name: title }).boundingBox()
    if (box === null) throw new Error(`${title} has no place`)
    return box
  }
  await page.getByRole('link', { name: 'live', exact: true }).first().waitFor()
  const [first, running, done] = [
    await place('Needs attention'),
    await place('Running now'),
    await place('Recently finished'),
  ]
  expect(running.x).toBe(first.x)
  expect(done.x).toBeGreaterThan(first.x + 1_000)
  expect(done.y).toBe(first.y)
  await context.close()
})

test('on a phone the names of found jobs are whole, and the figures are in line', async () => {
  const { page, context } = await asAda({ width: 390 })
  await page.goto('/?q=status%3Acompleted')
  const name = page.getByRole('link', { name: 'h128-lr0.02-seed0' }).first()
  await name.waitFor()
  const cut = () => name.locator('.name-head').evaluate((one) => one.scrollWidth - one.clientWidth)
  await expect.poll(cut).toBe(0)
  await page.goto('/')
  const figures = page.locator('dl dd')
  await figures.nth(2).waitFor()
  const tops = () =>
    figures.evaluateAll((all) => all.slice(0, 3).map((one) => Math.round(one.getBoundingClientRect().top)))
  await expect.poll(async () => new Set(await tops()).size).toBe(1)
  await context.close()
})

test('Home shows what runs, and what needs attention, with the reason and one action', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/')
  const running = page.locator('section', { has: page.getByRole('heading', { name: /Running now/ }) })
  await running.getByRole('link', { name: 'live' }).waitFor()
  await running.getByRole('img', { name: /val_loss of/ }).waitFor()
  const failed = page.locator('[data-need="failed"]', { hasText: 'broken' })
  await failed.getByText('CUDA out of memory').waitFor()
  await page.locator('[data-need="lost"]', { hasText: 'broken /' }).first().waitFor()
  const away = page.locator('[data-need="offline"]', { hasText: 'box-away' })
  await away.getByText('The agent was last seen 4 min ago').waitFor()
  // The host that the batches name has no agent that could be away.
  const { body } = await web.app.call('GET', '/api/hosts', { token: web.ada.token })
  expect(body.items).toContainEqual(expect.objectContaining({ hostname: 'trainer', agent_id: null }))
  expect(await page.locator('[data-need="offline"]').count()).toBe(1)
  await away.getByRole('link', { name: 'View host: box-away' }).click()
  await page.waitForURL(/\/hosts\//)
  expect(complaints).toEqual([])
  await context.close()
})

test('the side bar counts running and failed batches, and is updated live', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/')
  const project = page.getByRole('navigation', { name: 'Projects' }).getByRole('link', { name: /digits/ })
  await expect.poll(() => project.textContent()).toMatch(/digits\s*1 running\s*1 failed within a day/)
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await send(web.app, web.reporter, rest)
  await expect.poll(() => project.textContent()).not.toContain('running')
  await page
    .locator('section', { has: page.getByRole('heading', { name: 'Recently finished' }) })
    .getByRole('link', { name: 'live' })
    .waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('the command palette finds projects, batches (on the server), pages and actions by some of their letters', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/tokens')
  await page.getByRole('heading', { name: 'Tokens' }).waitFor()
  await page.keyboard.press('Control+k')
  const field = page.getByLabel('Search projects, batches, jobs, pages and actions')
  await field.fill('brokn')
  await field.fill('broken')
  await page
    .getByRole('option', { name: /^broken/ })
    .first()
    .waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('/b/broken')
  await page.keyboard.press('Control+k')
  await field.fill('aulg')
  await page.getByRole('option', { name: /Audit log/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL('/admin/audit')
  await page.keyboard.press('Control+k')
  await field.fill('dark theme')
  await page.getByRole('option', { name: /Dark theme/ }).waitFor()
  await page.keyboard.press('Enter')
  await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark')
  await page.keyboard.press('Control+k')
  await field.fill('no such thing anywhere')
  await page.getByText('No results.').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('? lists the keyboard shortcuts; / opens the command palette if the page has no search field', async () => {
  const { page, context } = await asAda()
  await page.goto('/tokens')
  await page.getByRole('heading', { name: 'Tokens' }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).getByText('Ctrl K').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await page.getByRole('dialog', { name: 'Go to' }).waitFor()
  await context.close()
})

test('an administrator can filter the audit log by the object of an action, and revoke an agent', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/admin/agents')
  await page.locator('td', { hasText: 'offline, not seen for' }).waitFor()
  await page.getByRole('button', { name: 'Revoke box-away' }).click()
  await page.getByRole('button', { name: 'Revoke it' }).click()
  await page.locator('td', { hasText: /revoked .+ ago/ }).waitFor()
  await page.goto('/admin/audit')
  const subject = page.locator('tbody a').first()
  const name = (await subject.textContent()) ?? ''
  await subject.click()
  await page.waitForURL(/subject=/)
  await expect.poll(async () => [...new Set(await page.locator('tbody a').allTextContents())]).toEqual([name])
  await page.getByRole('button', { name: 'Show everything' }).click()
  await page.waitForURL('/admin/audit')
  // The address changes first, its form a moment later.
  await page.getByRole('button', { name: 'Show everything' }).waitFor({ state: 'detached' })
  await page.getByLabel('About').fill('batch:never-was')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByText('No entry matches all filters.').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('on a phone the menu opens from the side, and Home fits the width', async () => {
  const { page, context } = await asAda({ width: 390 })
  await page.goto('/')
  await page.getByRole('heading', { name: /Recently finished/ }).waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0)
  await page.getByRole('button', { name: 'Open the menu' }).click()
  await page
    .getByRole('navigation', { name: 'Projects' })
    .getByRole('link', { name: /digits/ })
    .click()
  await page.waitForURL('/p/digits')
  await context.close()
})

test('on a tablet the menu opens from the side, reasons are whole, and all facts of a batch are in sight', async () => {
  const { page, context } = await asAda({ width: 768 })
  await page.goto('/')
  const why = page.locator('[data-need="failed"]').getByTitle('CUDA out of memory')
  await why.waitFor()
  expect(await why.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0)
  const row = page.locator('[data-row]', { hasText: '31 s' }).first()
  await row.waitFor()
  const overlaps = () =>
    row.evaluate((one) => {
      const boxes = [...one.children].map((cell) => {
        const range = document.createRange()
        range.selectNodeContents(cell)
        return range.getBoundingClientRect()
      })
      const shown = boxes.filter((box) => box.width > 0)
      return shown.some((box, i) => i > 0 && box.left < (shown[i - 1]?.right ?? 0))
    })
  await expect.poll(overlaps).toBe(false)
  await page.getByRole('button', { name: 'Open the menu' }).waitFor()
  expect(await page.getByRole('navigation', { name: 'Projects' }).isVisible()).toBe(false)
  await page.goto('/b/done')
  const facts = page.locator('dl[aria-label="Facts"] > div')
  await facts.filter({ hasText: 'Commit' }).waitFor()
  const right = () =>
    facts.evaluateAll((all) => Math.max(...all.map((one) => one.getBoundingClientRect().right)))
  await expect.poll(right).toBeLessThanOrEqual(768)
  await context.close()
})

test('a batch with more jobs than planned shows how many ended, without a total', async () => {
  const [first] = recordedSweep('generous') as [Event]
  const event = (event_type: string, job_id: string | null, data: Record<string, unknown>): Event => ({
    ...first,
    event_id: crypto.randomUUID(),
    event_type,
    job_id,
    data,
  })
  await send(web.app, web.reporter, [
    event('batch_start', null, { experiment_type: 'sweep', n_total: 1 }),
    ...['a', 'b', 'c'].map((job) => event('job_done', job, { elapsed_s: 1, metrics: {} })),
  ])
  const { page, context, complaints } = await asAda()
  await page.goto('/')
  const row = page.locator('section', { has: page.getByRole('heading', { name: /Running now/ }) })
  await row.getByRole('link', { name: 'generous' }).waitFor()
  await row.getByText('3 ended', { exact: true }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

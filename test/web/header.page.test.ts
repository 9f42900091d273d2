import { expect, test } from 'vitest'
import { isReceiving } from '../../web/src/lib/batch-facts.ts'
import { healthReasonText } from '../../web/src/pages/batch/health-reason.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send } from './visit.ts'

const web = pageFixture(async ({ app, reporter }) => {
  for (const [id, ends] of [
    ['ended', true],
    ['running', false],
  ] as const) {
    const of = eventsOf(id)
    await send(app, reporter, [
      of('batch_start', 60, { experiment_type: 'run', n_total: 2, name: `The ${id} one` }),
      ...['a', 'b'].map((job) => of('job_start', 59, { lr: job === 'a' ? 0.1 : 0.2 }, job)),
      ...['a', 'b'].map((job) => of('job_epoch', 50, { epoch: 0, val_loss: 0.25 }, job)),
      ...(ends ? [of('batch_done', 1, { n_done: 2, n_failed: 0, total_elapsed_s: 59 })] : []),
    ])
  }
})

test.each([
  'ended',
  'running',
])('on a phone the actions of a batch fit beside each other (%s)', async (id) => {
  const { page, context } = await web.asAda({ width: 390 })
  await page.goto(`/b/${id}`)
  const more = page.getByRole('button', { name: 'More' })
  await more.waitFor()
  const hidden = await more.evaluate(({ parentElement: row }) =>
    row === null ? Number.NaN : row.scrollWidth - row.clientWidth,
  )
  expect(hidden).toBe(0)
  for (const name of ['Edit', 'Share', 'Delete'])
    expect(await page.getByRole('button', { name, exact: true }).isVisible()).toBe(true)
  if (id === 'running') {
    await more.click()
    await page.getByRole('menuitem', { name: 'Mark as ended' }).click()
    await page.getByRole('dialog').waitFor()
  }
  await context.close()
})

test('on a phone all facts of a running batch are in sight', async () => {
  const { page, context } = await web.asAda({ width: 390 })
  await page.goto('/b/running')
  const facts = page.locator('header dl > div')
  await facts.filter({ hasText: 'Started' }).waitFor()
  const right = await facts.evaluateAll((all) =>
    Math.max(...all.map((one) => one.getBoundingClientRect().right)),
  )
  expect(right).toBeLessThanOrEqual(390)
  await context.close()
})

test('a batch with many tags shows the first ones, and how many more it has', async () => {
  const tags = Array.from({ length: 50 }, (_, i) => `tag-${i}`)
  await web.app.call('PATCH', '/api/batches/ended', { token: web.ada.token, body: { tags } })
  const { page, context } = await web.asAda()
  await page.goto('/b/ended')
  await page.getByText('and 38 more').waitFor()
  const wider = await page.locator('main').evaluate((main) => main.scrollWidth - main.clientWidth)
  expect(wider).toBe(0)
  await context.close()
})

test('an ended batch says how many of its events are still arriving, until they are there', async () => {
  const of = eventsOf('arriving')
  const sender = 'aaaaaaaaaaaa'
  const report = async (...events: object[]) => {
    const body = events.map((event) => ({ ...event, event_id: crypto.randomUUID().slice(0, -12) + sender }))
    const headers = { 'x-svc-sender': 'event-id' }
    const { status } = await web.app.call('POST', '/api/events/batch', { token: web.reporter, headers, body })
    expect(status).toBe(200)
  }
  await report(
    of('batch_start', 60, { n_total: 1 }),
    of('batch_done', 1, { delivery: { sender, produced: 4 } }),
  )
  const { page, context, complaints } = await web.asAda()
  await page.goto('/b/arriving')
  const header = page.locator('header')
  await header.getByText('2 events still arriving').waitFor()
  await report(of('job_epoch', 50, { epoch: 0, val_loss: 1 }, 'a'), of('job_epoch', 49, { epoch: 1 }, 'a'))
  await header.getByText('still arriving').waitFor({ state: 'detached' })
  expect(complaints).toEqual([])
  await context.close()
})

test('a sign of trouble says since when in local time', () => {
  const at = new Date()
  at.setHours(at.getHours() - 1)
  const time = [at.getHours(), at.getMinutes()].map((n) => String(n).padStart(2, '0')).join(':')
  expect(healthReasonText(`No event since ${at.toISOString()}: 3720 s, and 900 s are allowed`)).toBe(
    `No event since ${time}: 1\u00a0h\u00a02\u00a0min, and 15\u00a0min are allowed`,
  )
})

test('the breadcrumb has the name of a batch, and the list of its jobs says which value it shows', async () => {
  const { page, context } = await web.asAda()
  await page.goto('/b/ended')
  const path = page.getByRole('navigation', { name: 'Breadcrumb' })
  await path.getByRole('link', { name: 'The ended one' }).waitFor()
  await page
    .getByRole('complementary', { name: 'Jobs' })
    .locator('[data-list-head]')
    .getByText('best.val_loss')
    .waitFor()
  await context.close()
})

test('on a phone the groups of curves are named above the charts', async () => {
  const { page, context } = await web.asAda({ width: 390 })
  await page.goto('/b/ended?group=param.lr')
  await page.getByRole('list', { name: 'Groups' }).getByText('lr = 0.1').waitFor()
  await context.close()
})

test('on paper a page of the dark theme is light, its charts too, and has no buttons', async () => {
  const { page, context } = await web.asAda({ theme: 'dark' })
  await page.goto('/b/ended')
  const swatch = page.getByRole('button', { name: 'Colour of a' }).locator('span')
  const look = async () => ({
    page: await page.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor),
    curve: await swatch.evaluate((dot) => (dot as HTMLElement).style.borderColor),
  })
  await swatch.waitFor()
  const dark = await look()
  await page.emulateMedia({ media: 'print' })
  const white = 'rgb(255, 255, 255)'
  await expect.poll(look).toEqual({ page: white, curve: expect.not.stringContaining(dark.curve) })
  expect(await page.getByRole('button', { name: 'Edit' }).isVisible()).toBe(false)
  expect(await page.getByRole('toolbar', { name: 'Charts' }).isVisible()).toBe(false)
  await page.emulateMedia({ media: 'screen' })
  await expect.poll(look).toEqual(dark)
  await context.close()
})

test('a deleted batch still receives if its last event came after the deletion', () => {
  const deleted_at = '2026-01-15T14:00:00Z'
  expect(isReceiving({ deleted_at, last_received_at: '2026-01-15T14:00:01Z' })).toBe(true)
  expect(isReceiving({ deleted_at, last_received_at: '2026-01-15T13:59:59Z' })).toBe(false)
  expect(isReceiving({ deleted_at, last_received_at: null })).toBe(false)
  expect(isReceiving({ last_received_at: '2026-01-15T14:00:01Z' })).toBe(false)
})

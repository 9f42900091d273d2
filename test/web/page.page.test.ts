import type { Locator } from '@playwright/test'
import { expect, test } from 'vitest'
import { PASSWORD } from '../kit/app.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { type Event, recordedSweep, send } from './visit.ts'

const DONE = 'sweep-done'
const LIVE = 'sweep-live'
/** Of the live sweep, what is sent only while a page is open. */
let rest: Event[]

const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, recordedSweep(DONE))
  const live = recordedSweep(LIVE)
  await send(app, reporter, live.slice(0, 220))
  rest = live.slice(220)
})
const { asAda } = web

test('a signed-out visitor is asked to sign in, and then gets to the requested page', async () => {
  const { page, context, complaints } = await web.signedOut()
  await page.goto('/tokens')
  await page.waitForURL(/\/sign-in\?return_to=/)
  await page.getByLabel('E-mail address').fill(web.ada.email)
  await page.getByLabel('Password').fill('not the password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('The address or the password is wrong').waitFor()
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('/tokens')
  await page.getByRole('heading', { name: 'Tokens' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a new user creates a token, and the first event opens the page of the batch', async () => {
  const { page, context, complaints } = await web.signedOut()
  await page.goto('/register')
  await page.getByLabel('E-mail address').fill('grace@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('link', { name: 'Connect a script' }).first().click()
  await page.waitForURL('/connect')
  await page.getByRole('button', { name: 'Make a token' }).click()
  const token = (await page.locator('[data-token]').textContent())?.trim() ?? ''
  expect(token).toMatch(/^em_live_/)
  await page.getByRole('button', { name: 'Python', exact: true }).click()
  const snippet = page.getByLabel('Snippet for python')
  await expect.poll(() => snippet.textContent()).toContain(`url="${web.app.address}",\n    token="${token}"`)
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  const [first] = recordedSweep('first-ever')
  await send(web.app, token, [{ ...first, source: { project: 'first-steps' } } as unknown as Event])
  await page.waitForURL(`/b/first-ever`)
  await page.getByRole('heading', { name: 'first-ever' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('a project lists its batches; the query filters them and is in the address', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto('/p/digits')
  await page.getByRole('link', { name: DONE }).waitFor()
  await page.getByRole('link', { name: LIVE, exact: true }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('status:completed')
  await page.waitForURL(/q=status/)
  await page.getByRole('link', { name: LIVE, exact: true }).waitFor({ state: 'detached' })
  expect(await page.getByRole('link', { name: DONE }).count()).toBe(1)
  await page.reload()
  await page.getByRole('link', { name: DONE }).waitFor()
  await expect.poll(() => page.getByLabel('Search batches').inputValue()).toBe('status:completed')
  expect(complaints).toEqual([])
  await context.close()
})

test('a deleted batch leaves the list at once and returns by Undo', async () => {
  await send(web.app, web.reporter, recordedSweep('to-delete').slice(0, 30))
  const { page, context } = await asAda()
  await page.goto('/p/digits')
  await page.getByLabel('Select to-delete').check()
  await page
    .getByRole('toolbar')
    .getByRole('button', { name: /Delete/ })
    .click()
  await page.getByRole('link', { name: 'to-delete' }).waitFor({ state: 'detached' })
  await page.getByText('1 batch deleted; kept for 30 days.').waitFor()
  const stands = async () =>
    (await web.app.call('GET', '/api/batches?q=to-delete', { token: web.ada.token })).body.items.length
  expect(await stands()).toBe(0)
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByRole('link', { name: 'to-delete' }).waitFor()
  expect(await stands()).toBe(1)
  await context.close()
})

test('a batch that is deleted elsewhere says so, is not offline, and can only be restored', async () => {
  await send(web.app, web.reporter, recordedSweep('deleted-elsewhere').slice(0, 30))
  const { page, context } = await asAda()
  await page.goto('/b/deleted-elsewhere')
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await web.app.call('DELETE', '/api/batches/deleted-elsewhere', { token: web.ada.token })
  await page.getByText('It was deleted just now.').waitFor()
  const actions = () => page.locator('main header button').allInnerTexts()
  await expect
    .poll(async () => (await actions()).filter((name) => /Rerun|Stop|Edit|Share|More|Delete/.test(name)))
    .toEqual([])
  await page.getByRole('button', { name: 'Restore' }).click()
  await page.getByRole('button', { name: 'Edit' }).waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  expect(await page.getByText('The live connection is lost').count()).toBe(0)
  await context.close()
})

test('going back to a long list leads to where it was left', async () => {
  const of = (n: number) => eventsOf(`listed-${n}`, { project: 'long' })(`batch_start`, n, { n_total: 1 })
  await send(
    web.app,
    web.reporter,
    Array.from({ length: 60 }, (_, n) => of(n)),
  )
  const { page, context } = await asAda()
  await page.goto('/p/long')
  const row = page.getByRole('link', { name: 'listed-40', exact: true })
  const table = page.getByRole('table', { name: 'Batches' })
  await expect
    .poll(async () => {
      await table.evaluate((box) => box.scrollTo(0, box.scrollHeight))
      return row.count()
    })
    .toBe(1)
  const top = () => table.evaluate((box) => box.scrollTop)
  const left = await top()
  expect(left).toBeGreaterThan(0)
  await row.click()
  await page.getByRole('heading', { name: 'listed-40' }).waitFor()
  await page.goBack()
  await row.waitFor()
  expect(await top()).toBe(left)
  await page.getByRole('link', { name: 'Home', exact: true }).first().click()
  // Until the new page is shown, a click on the project would be a click on the page where it is.
  await row.waitFor({ state: 'detached' })
  await page.getByRole('navigation', { name: 'Projects' }).getByRole('link', { name: /^long/ }).click()
  await page.getByRole('link', { name: 'listed-0', exact: true }).waitFor()
  expect(await top()).toBe(0)
  await context.close()
})

test('back leads to the place of any page, also after a reload, and to the row that was opened by keyboard', async () => {
  const of = eventsOf('many-jobs', { project: 'long' })
  await send(web.app, web.reporter, [
    of('batch_start', 30, { n_total: 80 }),
    ...Array.from({ length: 80 }, (_, i) => of('job_start', 29, { lr: i }, `job-${100 + i}`)),
  ])
  const { page, context, complaints } = await asAda()
  await page.setViewportSize({ width: 1280, height: 420 })
  const top = (box: Locator) => box.evaluate((at) => at.scrollTop)
  const scrolled = async (box: Locator, to: number) => {
    await expect
      .poll(async () => {
        await box.evaluate((at, to) => at.scrollTo(0, to), to)
        return top(box)
      })
      .toBe(to)
  }
  const main = page.locator('#content')
  const rows = page.locator('#content [data-row]')
  await page.goto('/')
  await rows.nth(20).waitFor()
  await scrolled(main, 170)
  await rows.nth(8).locator('a[data-open]').click()
  await page.waitForURL('**/b/**')
  await page.locator('nav[aria-label="Views of the batch"]').waitFor()
  expect(await top(main)).toBe(0)
  // Another document: what Home shows is read again.
  await page.reload()
  await page.locator('nav[aria-label="Views of the batch"]').waitFor()
  await page.goBack()
  await rows.nth(20).waitFor()
  await expect.poll(() => top(main)).toBe(170)

  const jobs = page.getByRole('table', { name: 'Jobs' })
  await page.goto('/b/many-jobs/jobs')
  await jobs.locator('[data-job]').first().waitFor()
  await scrolled(jobs, 600)
  await jobs.locator('[data-job="job-122"] a[data-open]').focus()
  await page.keyboard.press('k')
  await page.keyboard.press('j')
  const place = await top(jobs)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'job-122' }).waitFor()
  await page.goBack()
  await jobs.locator('[data-job="job-122"]').waitFor()
  await expect.poll(() => top(jobs)).toBe(place)
  const focused = () => page.evaluate(() => document.activeElement?.textContent)
  await expect.poll(focused).toBe('job-122')
  await page.keyboard.press('j')
  expect(await focused()).toBe('job-123')
  expect(complaints).toEqual([])
  await context.close()
})

test('charts are drawn with their number of points, and a zoom is in the address', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(`/b/${DONE}`)
  const chart = page.locator('[data-chart="val_loss"]')
  await chart.locator('[data-points]', { hasText: '298 of 298 points' }).waitFor()
  const inked = () =>
    chart.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
      const data = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? []
      const colours = new Set<string>()
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] === 255) colours.add(`${data[i]},${data[i + 1]},${data[i + 2]}`)
      }
      return colours.size
    })
  // One colour a job at least, beside the axes.
  await expect.poll(inked).toBeGreaterThan(8)
  const over = await chart.locator('.u-over').boundingBox()
  if (over === null) throw new Error('the plot has no place')
  await page.mouse.move(over.x + over.width * 0.25, over.y + 40)
  await page.mouse.down()
  await page.mouse.move(over.x + over.width * 0.75, over.y + 60, { steps: 5 })
  await page.mouse.up()
  await page.waitForURL(/zoom=/)
  await chart.locator('[data-points]', { hasText: /^1\d\d of 1\d\d points\b/ }).waitFor()
  await page.mouse.dblclick(over.x + over.width / 2, over.y + 40)
  await chart.locator('[data-points]', { hasText: '298 of 298 points' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('new points are drawn in an open browser without a reload', async () => {
  const looking = await asAda()
  const { page } = looking
  await page.goto(`/b/${LIVE}`)
  const label = page.locator('[data-chart="val_loss"] [data-points]')
  await label.filter({ hasText: /\d/ }).waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  const before = await label.textContent()
  await send(web.app, web.reporter, rest.slice(0, 100))
  await expect.poll(() => label.textContent()).not.toBe(before)
  await send(web.app, web.reporter, rest.slice(100))
  await label.filter({ hasText: '298 of 298 points' }).waitFor()
  await page.getByText('completed', { exact: true }).waitFor()
  await looking.context.close()
})

test('a shared batch opens without a sign-in, with its charts', async () => {
  const owner = await asAda()
  await owner.page.goto(`/b/${DONE}`)
  await owner.page.getByRole('button', { name: 'Share' }).click()
  await owner.page.getByRole('button', { name: 'Make a link' }).click()
  const url = (await owner.page.locator('[data-share-url]').textContent())?.trim() ?? ''
  const stranger = await web.signedOut()
  await stranger.page.goto(url)
  await stranger.page.locator('[data-chart="val_loss"] [data-points]', { hasText: '298 of 298' }).waitFor()
  expect(await stranger.page.getByRole('button', { name: 'Delete' }).count()).toBe(0)
  expect(stranger.complaints).toEqual([])
  await owner.context.close()
  await stranger.context.close()
})

test('a share opens with the tab and the settings of the page where it was made, an anonymous one without', async () => {
  const owner = await asAda()
  const shared = async (path: string, anonymous = false): Promise<string> => {
    await owner.page.goto(`/b/${DONE}${path}`)
    await owner.page.getByRole('button', { name: 'Share' }).click()
    if (anonymous) await owner.page.getByLabel('hide names, host, paths, tracebacks and log lines').check()
    await owner.page.getByRole('button', { name: 'Make a link' }).click()
    return (await owner.page.locator('[data-share-url]').textContent())?.trim() ?? ''
  }
  const stranger = await web.signedOut()
  await stranger.page.goto(await shared('?smooth=0.6&group=param.hidden'))
  await expect.poll(() => stranger.page.getByLabel('Smoothing').inputValue()).toBe('0.6')
  await stranger.page.getByRole('list', { name: 'Groups' }).getByText('hidden = 128').waitFor()
  await stranger.page.goto(await shared('/jobs?sort=-m.val_loss&status=failed'))
  await expect.poll(() => stranger.page.getByLabel('Status').inputValue()).toBe('failed')
  expect(new URL(await shared('?smooth=0.6', true)).search).toBe('')
  expect(new URL(await shared('/timeline')).search).toBe('')
  expect(stranger.complaints).toEqual([])
  await owner.context.close()
  await stranger.context.close()
})

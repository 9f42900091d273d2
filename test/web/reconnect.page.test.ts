import type { Browser } from '@playwright/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { buildPage } from './built-page.ts'
import { type Event, recordedSweep, send, visit } from './visit.ts'

let database: TestDatabase
let app: TestApp
let browser: Browser
beforeAll(async () => {
  await buildPage()
  database = await freshDatabase()
  app = await startTestApp({ databaseUrl: database.url })
  browser = await openBrowser()
}, 180_000)
/** The database stays, so each of them reports into a project of its own. */
const sweepIn = (project: string, batchId: string): Event[] =>
  recordedSweep(batchId).map((event) => ({ ...event, source: { project } }))
afterAll(async () => {
  await browser?.close()
  await app?.stop()
  await database?.drop()
})

test('a page without its server shows a message, and all missed changes once the server is back', async () => {
  const ada = await app.register()
  const reporter = await app.reporterToken(ada.token)
  const sweep = recordedSweep('restarted')
  await send(app, reporter, sweep.slice(0, 200))
  const { page, context } = await visit(browser, { address: app.address, cookie: ada.cookie })
  await page.goto('/b/restarted')
  const label = page.locator('[data-chart="val_loss"] [data-points]')
  await label.filter({ hasText: /\d/ }).waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()

  const port = Number(new URL(app.address).port)
  await app.stop()
  await page.getByText('The live connection is lost').waitFor()
  app = await startTestApp({ databaseUrl: database.url, port })
  // While the page is still away: only the cursor brings these.
  await send(app, reporter, sweep.slice(200))
  await label.filter({ hasText: '298 of 298 points' }).waitFor({ timeout: 40_000 })
  await page.getByText('The live connection is lost').waitFor({ state: 'detached' })
  await expect.poll(() => page.locator('[data-stream]').textContent()).toBe('live')
  await context.close()
}, 240_000)

test('a page that is opened while the server is down shows a message, and loads by itself once it is back', async () => {
  const ada = await app.register('ada@example.org')
  const reporter = await app.reporterToken(ada.token)
  await send(app, reporter, sweepIn('of-ada', 'away').slice(0, 40))
  const { page, context } = await visit(browser, { address: app.address, cookie: ada.cookie })
  const other = await context.newPage()
  // Of one the code is not there yet, of the other only the data.
  await page.goto('/p/of-ada')
  await page.getByRole('link', { name: 'away', exact: true }).waitFor()
  await other.goto('/p/of-ada')
  await other.getByRole('link', { name: 'away', exact: true }).waitFor()
  await other.getByRole('link', { name: 'Members' }).click()
  await other.getByRole('heading', { name: /^Members/ }).waitFor()

  const port = Number(new URL(app.address).port)
  await app.stop()
  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByText('The page opens as soon as it answers').waitFor()
  // The frame of the page is still there, and shows what could not be loaded.
  await page.keyboard.press('Control+k')
  await page.getByText('Search could not be loaded').waitFor()
  await other.evaluate(() => {
    history.pushState({}, '', '/p/elsewhere')
    dispatchEvent(new PopStateEvent('popstate'))
  })
  await other.getByText('The server cannot be reached. The page keeps trying.').waitFor()

  app = await startTestApp({ databaseUrl: database.url, port })
  await page.getByRole('heading', { name: 'Tokens' }).waitFor({ timeout: 40_000 })
  await other.getByText('No such project').waitFor({ timeout: 40_000 })
  await context.close()
}, 240_000)

test('a session that ended elsewhere shows a message, and signing in again leads back', async () => {
  const eve = await app.register('eve@example.org')
  const reporter = await app.reporterToken(eve.token)
  await send(app, reporter, sweepIn('of-eve', 'signed-out').slice(0, 40))
  const { page, context } = await visit(browser, { address: app.address, cookie: eve.cookie })
  await page.goto('/b/signed-out')
  await page.getByRole('heading', { name: 'signed-out' }).waitFor()
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  const body = { email: 'eve@example.org', password: PASSWORD }
  const { token } = (await app.call('POST', '/api/auth/login', { body })).body
  await app.call('PATCH', '/api/auth/me', {
    token,
    body: { current_password: PASSWORD, password: 'another password' },
  })
  await page.getByText('Your session has ended, so you are signed out').waitFor()
  expect(await page.getByText('The live connection is lost').count()).toBe(0)
  await page.getByRole('link', { name: 'Sign in again' }).click()
  await page.getByLabel('E-mail address').fill('eve@example.org')
  await page.getByLabel('Password').fill('another password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('/b/signed-out')
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  expect(await page.getByText('Your session has ended').count()).toBe(0)
  await context.close()
}, 240_000)

import type { Browser } from '@playwright/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { buildPage } from './built-page.ts'
import { recordedSweep, send, visit } from './visit.ts'

let database: TestDatabase
let app: TestApp
let browser: Browser
beforeAll(async () => {
  await buildPage()
  database = await freshDatabase()
  app = await startTestApp({ databaseUrl: database.url })
  browser = await openBrowser()
}, 180_000)
afterAll(async () => {
  await browser?.close()
  await app?.stop()
  await database?.drop()
})

test('a page that lost its server says so, and shows what it missed once the server is back', async () => {
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
  await page.getByText('The live stream is cut off').waitFor()
  app = await startTestApp({ databaseUrl: database.url, port })
  // While the page is still away: only the cursor brings these.
  await send(app, reporter, sweep.slice(200))
  await label.filter({ hasText: '298 of 298 points' }).waitFor({ timeout: 40_000 })
  await page.getByText('The live stream is cut off').waitFor({ state: 'detached' })
  await expect.poll(() => page.locator('[data-stream]').textContent()).toBe('live')
  await context.close()
}, 240_000)

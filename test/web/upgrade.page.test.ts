import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { recordedSweep, send } from './visit.ts'

// A tab stays open while the service is upgraded: its code has other names then, and the old files are gone.

const BATCH = 'sweep-upgraded'
const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, recordedSweep(BATCH).slice(0, 60))
})

const BUILT = join(import.meta.dirname, '../../dist/web')
const HASHED = /^(.+-)([\w-]{8})(\.\w+)$/

/** The page as the next release: the same files, those with a hash in their names under others. */
function nextRelease(): (path: string) => string | undefined {
  const names = readdirSync(join(BUILT, 'assets')).filter((name) => HASHED.test(name))
  const renamed = new Map(names.map((name) => [name, name.replace(HASHED, '$1$2n$3')]))
  const old = new Map([...renamed].map(([before, after]) => [after, before]))
  const anyName = /[\w.-]+-[\w-]{8}\.(?:js|css)\b/g
  return (path) => {
    const [, asset] = /^\/assets\/(.+)$/.exec(path) ?? []
    const file = asset === undefined ? 'index.html' : `assets/${old.get(asset)}`
    if (asset !== undefined && !old.has(asset)) return undefined
    return readFileSync(join(BUILT, file), 'utf8').replace(anyName, (name) => renamed.get(name) ?? name)
  }
}

/** From now on the service has the next release. @returns how often a document was loaded since */
async function upgrade(context: BrowserContext): Promise<() => number> {
  const release = nextRelease()
  let loads = 0
  await context.route(
    (url) => url.origin === web.app.address,
    async (route, request) => {
      const { pathname } = new URL(request.url())
      const isDocument = request.resourceType() === 'document'
      if (isDocument) loads++
      if (!isDocument && !/^\/assets\/.+\.(js|css)$/.test(pathname)) return route.fallback()
      const body = release(isDocument ? '/' : pathname)
      if (body === undefined) return route.fulfill({ status: 404, body: 'gone' })
      const contentType = isDocument
        ? 'text/html'
        : pathname.endsWith('.css')
          ? 'text/css'
          : 'text/javascript'
      return route.fulfill({ status: 200, contentType, body })
    },
  )
  return () => loads
}

const isOld = (page: Page) => page.evaluate(() => 'old' in globalThis)
const markOld = (page: Page) => page.evaluate(() => Object.assign(globalThis, { old: true }))

test('an open tab loads the next page of the new release, by one reload', async () => {
  const { page, context } = await web.asAda()
  await page.goto('/')
  await page.getByRole('link', { name: BATCH }).first().waitFor()
  await markOld(page)
  const loads = await upgrade(context)
  await page.getByRole('link', { name: BATCH }).first().click()
  await page.getByRole('heading', { name: BATCH }).waitFor()
  await expect.poll(() => isOld(page)).toBe(false)
  expect(loads()).toBe(1)
  await leave(page, context)
})

test('what was typed stays where a part of the page is gone', async () => {
  const { page, context } = await web.asAda()
  await page.goto('/p/digits/reports')
  await page.getByRole('button', { name: 'New report' }).click()
  await page.getByRole('button', { name: 'Add text' }).waitFor()
  const loads = await upgrade(context)
  await page.getByLabel('Title').fill('What the night taught')
  await page.getByRole('button', { name: 'Markdown' }).click()
  const text = page.getByLabel('Text, in Markdown', { exact: true })
  await text.fill(`Before.\n\n@sweep(${BATCH})`)
  await page.getByText('What you typed is still on this page').waitFor()
  expect(await page.getByLabel('Title').inputValue()).toBe('What the night taught')
  expect(await text.inputValue()).toContain('Before.')
  expect(loads()).toBe(0)
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/upgraded.png` })
  // It can still be saved, and is then shown whole.
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { name: 'What the night taught' }).waitFor()
  await leave(page, context)
})

test('a change that needs a confirmation is not made, and its form stays', async () => {
  await web.app.register('eve@example.org')
  const { page, context } = await web.asAda()
  await page.goto('/admin/users')
  await page.getByLabel('Role of eve').waitFor()
  await web.app.sql`update sessions set created_at = created_at - interval '11 minutes', confirmed_at = null`
  const loads = await upgrade(context)
  await page.getByLabel('Role of eve').selectOption('admin')
  await page.getByRole('button', { name: 'Make an administrator' }).click()
  await page.getByText('The dialog could not be loaded').waitFor()
  await page.getByText('more than 10 minutes old').waitFor()
  expect(loads()).toBe(0)
  await leave(page, context)
})

async function leave(page: Page, context: BrowserContext): Promise<void> {
  await page.goto('about:blank')
  await context.unrouteAll({ behavior: 'ignoreErrors' })
  await context.close()
}

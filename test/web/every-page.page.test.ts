import type { Browser } from '@playwright/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScene, type Scene } from '../../scripts/scene.ts'
import { allPages, type ScenePage } from '../../scripts/scene-pages.ts'
import { openBrowser } from '../kit/browser.ts'
import { buildPage } from './built-page.ts'
import { settled } from './ran-batch.ts'
import { seriousFindings, visit } from './visit.ts'

let scene: Scene
let pages: ScenePage[]
let browser: Browser

beforeAll(async () => {
  await buildPage()
  scene = await openScene(new Date())
  pages = await allPages(scene)
  browser = await openBrowser()
}, 180_000)
afterAll(async () => {
  await browser?.close()
  await scene?.stop()
})

test.each([
  390, 1440,
])('every page at %i pixels is no wider than the screen, and axe finds nothing serious in either theme', async (width) => {
  const signedIn = await visit(browser, { address: scene.address, cookie: scene.cookie, width })
  const signedOut = await visit(browser, { address: scene.address, width })
  const wrong: Record<string, string[]> = {}
  for (const { name, path, before, visitor, brokenByLibrary = [] } of pages) {
    const { page } = visitor ? signedOut : signedIn
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(path)
    await page.locator('main').first().waitFor()
    await settled(page)
    await before?.(page)
    const found = (await seriousFindings(page)).filter(
      (one) => !brokenByLibrary.some((rule) => one.startsWith(`${rule}:`)),
    )
    await page.emulateMedia({ colorScheme: 'dark' })
    // What else axe looks at is the same in both themes.
    found.push(...(await seriousFindings(page, ['color-contrast'])))
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    if (over > 0) found.push(`${over} pixels too wide`)
    if (found.length > 0) wrong[name] = found.slice(0, 5)
  }
  expect(wrong).toEqual({})
  await signedIn.context.close()
  await signedOut.context.close()
}, 600_000)

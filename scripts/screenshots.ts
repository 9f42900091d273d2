// Takes the README's pictures of the demo's recorded training, in a real browser:
//
//   npx tsx scripts/screenshots.ts                   docs/images/*.png
//   npx tsx scripts/screenshots.ts --all FOLDER      every page, on a desk, a phone and a wide screen, light and dark, to look at
//   … --all FOLDER home,charts phone-dark,wide-dark  these pages and looks of them; an empty list is all
//
// The page must be built (`npm run build`).
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from '@playwright/test'
import { openBrowser } from '../test/kit/browser.ts'
import { openScene, type Scene } from './scene.ts'
import { allPages, drawn, type ScenePage } from './scene-pages.ts'

const IMAGES = join(import.meta.dirname, '../docs/images')
/** The clock of all pictures. */
const BEGINNING = new Date('2026-01-15T14:00:00Z')
const MAX_BYTES = 250_000
const DESK = { width: 1440, height: 900 }
/** Of the README, which shows them at about half of that. */
const SHOWN = { width: 1360, height: 850 }
const PHONE = { width: 390, height: 844 }
const WIDE = { width: 2560, height: 1440 }

const SIZES = [
  ['desk', DESK],
  ['phone', PHONE],
  ['wide', WIDE],
] as const
const THEMES = ['light', 'dark'] as const

const README: ScenePage[] = [
  { name: 'home', path: '/', before: counted },
  { name: 'project', path: '/p/digits' },
  { name: 'batch', path: '/b/digits-sweep', before: drawn },
  { name: 'compare', path: '/compare?batches=digits-narrow&batches=digits-wide', before: drawn },
]

/** Numbers and small curves come after the lists. */
async function counted(page: Page): Promise<void> {
  await page.locator('[data-row]', { hasText: 'val_loss' }).first().waitFor()
  await page.waitForFunction(() => !/(^|\n)–(\n|$)/.test(document.querySelector('main')?.innerText ?? '–'))
}

async function openPage(
  browser: Browser,
  scene: Scene,
  look: { viewport: typeof DESK; colorScheme: 'light' | 'dark'; visitor?: boolean | undefined },
): Promise<Page> {
  const context = await browser.newContext({
    baseURL: scene.address,
    viewport: look.viewport,
    hasTouch: look.viewport === PHONE,
    colorScheme: look.colorScheme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  })
  await context.clock.install({ time: scene.now() })
  if (!look.visitor) {
    const [name = '', value = ''] = scene.cookie.split('=', 2)
    await context.addCookies([{ name, value, url: scene.address }])
  }
  return context.newPage()
}

async function take(page: Page, { path, before }: ScenePage, file: string): Promise<void> {
  await page.goto(path)
  await page.locator('main').first().waitFor()
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null)
  await before?.(page)
  await page.waitForLoadState('load')
  // The service's page loads its fonts after its data. A page of the documentation without code never loads one.
  await page.waitForFunction(
    () =>
      document.getElementById('root') === null ||
      [...document.fonts].some(({ status }) => status === 'loaded'),
  )
  await page.evaluate(() => document.fonts.ready)
  await page.waitForTimeout(600)
  await page.screenshot({ path: file, animations: 'disabled' })
}

async function readme(browser: Browser, scene: Scene): Promise<void> {
  await mkdir(IMAGES, { recursive: true })
  for (const picture of README) {
    const file = join(IMAGES, `${picture.name}.png`)
    const page = await openPage(browser, scene, { viewport: SHOWN, colorScheme: 'light' })
    await take(page, picture, file)
    await page.context().close()
    const { size } = await stat(file)
    console.log(`docs/images/${picture.name}.png ${Math.round(size / 1000)} kB`)
    if (size > MAX_BYTES) throw new Error(`${picture.name}.png is over ${MAX_BYTES / 1000} kB`)
  }
}

async function everything(browser: Browser, scene: Scene, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const pictures = await allPages(scene)
  const named = (list: string | undefined): ((name: string) => boolean) => {
    const names = list?.split(',').filter((name) => name !== '') ?? []
    return (name) => names.length === 0 || names.includes(name)
  }
  const isPage = named(process.argv[4])
  const isLook = named(process.argv[5])
  for (const [size, viewport] of SIZES) {
    for (const colorScheme of THEMES) {
      if (!isLook(`${size}-${colorScheme}`)) continue
      for (const picture of pictures) {
        if (!isPage(picture.name)) continue
        const page = await openPage(browser, scene, { viewport, colorScheme, visitor: picture.visitor })
        const file = join(folder, `${picture.name}-${size}-${colorScheme}.png`)
        // One page that does not come up must not keep the others from being looked at.
        await take(page, picture, file).catch(async (error: unknown) => {
          console.error(`${picture.name}, ${size}, ${colorScheme}: ${String(error).split('\n', 1)[0]}`)
          await page.screenshot({ path: file })
        })
        await page.context().close()
      }
    }
  }
}

/** The page while the service cannot be reached; taken last, because it stops the service. */
async function cutOff(browser: Browser, scene: Scene, folder: string): Promise<void> {
  const pages = new Map<string, Page>()
  for (const [size, viewport] of SIZES) {
    for (const colorScheme of THEMES) {
      const page = await openPage(browser, scene, { viewport, colorScheme })
      await page.goto('/p/digits')
      await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
      pages.set(`offline-${size}-${colorScheme}`, page)
    }
  }
  await scene.stop()
  for (const [name, page] of pages) {
    await page.getByText('The live connection is lost').waitFor()
    await page.screenshot({ path: join(folder, `${name}.png`) })
  }
}

const scene = await openScene(BEGINNING)
const browser = await openBrowser()
try {
  const folder = process.argv[2] === '--all' ? process.argv[3] : undefined
  if (folder === undefined) await readme(browser, scene)
  else {
    await everything(browser, scene, folder)
    await cutOff(browser, scene, folder)
  }
} finally {
  await browser.close()
  await scene.stop()
}
// The browser's process would keep this one.
process.exit()

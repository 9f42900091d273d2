// Takes the README's pictures of the demo's recorded training, in a real browser:
//
//   npx tsx scripts/screenshots.ts                   docs/images/*.png
//   npx tsx scripts/screenshots.ts --all FOLDER      every page, on a desk, a phone and a wide screen, light and dark, to look at
//
// The page must be built (`npm run build`).
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from '@playwright/test'
import { openBrowser } from '../test/kit/browser.ts'
import { openScene, type Scene } from './scene.ts'

const IMAGES = join(import.meta.dirname, '../docs/images')
/** The clock of all pictures. */
const BEGINNING = new Date('2026-01-15T14:00:00Z')
const MAX_BYTES = 250_000
const DESK = { width: 1440, height: 900 }
const PHONE = { width: 390, height: 844 }
const WIDE = { width: 2560, height: 1440 }

const SIZES = [
  ['desk', DESK],
  ['phone', PHONE],
  ['wide', WIDE],
] as const
const THEMES = ['light', 'dark'] as const

interface Picture {
  name: string
  path: string
  /** What must be shown or done before it is taken. */
  before?: (page: Page) => Promise<unknown>
  /** Without signing in. */
  visitor?: boolean
}

const README: Picture[] = [
  { name: 'home', path: '/' },
  { name: 'project', path: '/p/digits' },
  { name: 'batch', path: '/b/digits-sweep?smooth=0.6', before: drawn },
  { name: 'compare', path: '/compare?batches=digits-narrow&batches=digits-wide', before: drawn },
]

/** A chart is drawn once it is near the screen, which on a phone it may not be. */
async function drawn(page: Page): Promise<void> {
  await page.locator('[data-chart]').first().scrollIntoViewIfNeeded()
  await page.locator('[data-points]').first().waitFor()
  await page.evaluate(() => document.querySelector('main')?.scrollTo(0, 0))
}

async function openPage(
  browser: Browser,
  scene: Scene,
  look: { viewport: typeof DESK; colorScheme: 'light' | 'dark'; visitor?: boolean | undefined },
): Promise<Page> {
  const context = await browser.newContext({
    baseURL: scene.address,
    viewport: look.viewport,
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

async function take(page: Page, { path, before }: Picture, file: string): Promise<void> {
  await page.goto(path)
  await page.locator('main').first().waitFor()
  await page.waitForFunction(() => document.querySelector('[aria-label="Loading"]') === null)
  await before?.(page)
  await page.waitForLoadState('load')
  await page.evaluate(() => document.fonts.ready)
  await page.waitForTimeout(600)
  await page.screenshot({ path: file, animations: 'disabled' })
}

async function readme(browser: Browser, scene: Scene): Promise<void> {
  await mkdir(IMAGES, { recursive: true })
  for (const picture of README) {
    const file = join(IMAGES, `${picture.name}.png`)
    const page = await openPage(browser, scene, { viewport: DESK, colorScheme: 'light' })
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
  const only = process.argv[4]?.split(',')
  for (const [size, viewport] of SIZES) {
    for (const colorScheme of THEMES) {
      for (const picture of pictures) {
        if (only && !only.includes(picture.name)) continue
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
    await page.getByText('The live stream is cut off').waitFor()
    await page.screenshot({ path: join(folder, `${name}.png`) })
  }
}

/** Makes what only some pages show: an agent, a link, rules, a stop; answers where everything is. */
async function allPages(scene: Scene): Promise<Picture[]> {
  const { call } = scene
  const agent = await call<{ agent_id: string; agent_token: string }>('POST', '/api/agents/register', {
    hostname: 'trainer',
    capabilities: { gpus: 2 },
    version: '0.1.0',
  })
  await call('POST', `/api/agents/${agent.agent_id}/heartbeat`, { running: [] }, agent.agent_token)
  const share = await call<{ token: string }>('POST', '/api/batches/digits-sweep/shares', {})
  const rules = '/api/projects/digits/rules'
  await call('POST', rules, { trigger: 'job_failed', name: 'A job failed', cooldown_s: 600 })
  await call('POST', rules, {
    trigger: 'metric',
    name: 'Diverged',
    condition: { key: 'val_loss', op: 'is_nan' },
    cooldown_s: 3600,
    recipients: ['team@example.com', 'night@example.com', 'demo@example.com'],
  })
  await call('POST', rules, { trigger: 'batch_stalled', enabled: false })
  await call('PATCH', '/api/batches/digits-sweep', { tags: ['night', 'baseline'], notes: 'The reference.' })
  await call('POST', '/api/batches/digits-live/stop')
  const { id: report } = await call<{ id: string }>('POST', '/api/reports', {
    project: 'digits',
    title: 'What the width of the network buys',
    body: [
      'Wider networks reach a lower **validation loss**, and fail less often.',
      '@batch(digits-sweep)',
      '@chart(digits-sweep, val_loss)',
      '## Every job',
      '@jobs(digits-sweep)',
    ].join('\n\n'),
  })
  await call('DELETE', '/api/batches/digits-wide')
  const press = (name: string | RegExp) => (page: Page) =>
    page
      .getByRole('button', { name, exact: typeof name === 'string' })
      .first()
      .click()
  const batch = '/b/digits-sweep'
  return [
    { name: 'sign-in', path: '/sign-in', visitor: true },
    { name: 'register', path: '/register', visitor: true },
    { name: 'home', path: '/' },
    { name: 'home-found', path: '/?q=status%3Acompleted%20val_loss%3C0.1' },
    { name: 'trash', path: '/trash' },
    { name: 'reports', path: '/p/digits/reports' },
    { name: 'report', path: `/r/${report}`, before: drawn },
    { name: 'report-new', path: '/p/digits/reports?about=%5B%22digits-sweep%22%5D', before: drawn },
    { name: 'logs-context', path: '/b/digits-sweep/logs?q=better&context=true&wrap=true' },
    { name: 'help', path: '/b/digits-live', before: press(/What is this/) },
    { name: 'connect', path: '/connect' },
    { name: 'project', path: '/p/digits' },
    { name: 'project-charts', path: '/p/digits?charts=%7B%7D', before: drawn },
    { name: 'project-none', path: '/p/digits?q=status:lost' },
    { name: 'rules', path: '/p/digits/rules' },
    {
      name: 'rule-form',
      path: '/p/digits/rules',
      before: async (page) => {
        await press('New rule')(page)
        await page.getByLabel('Mail when').selectOption('metric')
        await page.getByLabel('Series').fill('val_loss')
        await page.getByText(/would have mailed \d/).waitFor()
      },
    },
    { name: 'members', path: '/p/digits/members' },
    { name: 'charts', path: batch, before: drawn },
    { name: 'jobs', path: `${batch}/jobs` },
    { name: 'sweep', path: `${batch}/sweep` },
    { name: 'logs', path: `${batch}/logs` },
    { name: 'resources', path: `${batch}/resources` },
    { name: 'timeline', path: `${batch}/timeline` },
    { name: 'delivery', path: `${batch}/delivery` },
    { name: 'environment', path: `${batch}/environment` },
    { name: 'more', path: batch, before: press('More') },
    { name: 'rerun', path: batch, before: press('Rerun') },
    { name: 'share-dialog', path: batch, before: press('Share') },
    { name: 'failed', path: '/b/digits-steps' },
    { name: 'stopping', path: '/b/digits-live' },
    { name: 'job', path: `${batch}/j/h128-lr0.5-seed0` },
    { name: 'compare', path: '/compare?batches=digits-narrow&batches=digits-sweep', before: drawn },
    { name: 'hosts', path: '/hosts' },
    { name: 'host', path: `/hosts/${agent.agent_id}` },
    { name: 'tokens', path: '/tokens' },
    { name: 'account', path: '/account' },
    { name: 'share', path: `/s/${share.token}`, visitor: true, before: drawn },
    { name: 'admin-users', path: '/admin/users' },
    { name: 'admin-agents', path: '/admin/agents' },
    { name: 'admin-keys', path: '/admin/keys' },
    { name: 'admin-audit', path: '/admin/audit' },
    { name: 'missing', path: '/no/such/page' },
    { name: 'missing-batch', path: '/b/no-such-batch' },
    { name: 'palette', path: '/', before: (page) => page.keyboard.press('Control+k') },
    { name: 'keys', path: '/', before: (page) => page.keyboard.press('?') },
    { name: 'api', path: '/api/docs' },
  ]
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

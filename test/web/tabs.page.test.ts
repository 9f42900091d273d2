import type { Browser, BrowserContext, Page } from '@playwright/test'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { buildPage } from './built-page.ts'
import { eventsOf } from './ran-batch.ts'
import { send, signIn } from './visit.ts'

let database: TestDatabase
let app: TestApp
let browser: Browser
let ada: Awaited<ReturnType<TestApp['register']>>
let reporter: string
let context: BrowserContext
/** What streams were asked for, in order. */
let asked: string[] = []

beforeAll(async () => {
  await buildPage()
  database = await freshDatabase()
  app = await startTestApp({ databaseUrl: database.url })
  noteStreams()
  ada = await app.register()
  reporter = await app.reporterToken(ada.token)
  browser = await openBrowser()
}, 180_000)
afterEach(() => context?.close())
afterAll(async () => {
  await browser?.close()
  await app?.stop()
  await database?.drop()
})

const noteStreams = (): void => {
  asked = []
  app.app.server.on(
    'request',
    ({ url = '' }) => url.startsWith('/api/sse') && asked.push(decodeURIComponent(url)),
  )
}
const openStreams = async (): Promise<number> => {
  const { body } = await app.call('GET', '/metrics')
  return Number(/^svc_sse_streams (\d+)$/m.exec(body)?.[1])
}
const streamsBecome = (n: number): Promise<void> => expect.poll(openStreams, { timeout: 20_000 }).toBe(n)

/** A batch that runs, and what sends its next epochs. */
async function runningBatch(id: string): Promise<(epochs: number) => Promise<void>> {
  const of = eventsOf(id)
  let sent = 0
  await send(app, reporter, [
    of('batch_start', 600, { experiment_type: 'sweep', n_total: 1 }),
    of('job_start', 599, { model: 'mlp' }, 'job-1'),
  ])
  const next = (epochs: number): Promise<void> =>
    send(
      app,
      reporter,
      Array.from({ length: epochs }, () => {
        sent++
        return of('job_epoch', 599 - sent, { epoch: sent, val_loss: 1 / sent }, 'job-1')
      }),
    )
  await next(10)
  return next
}

/** Runs in the page: records each message that the shared worker delivers. */
const LISTEN = `(() => {
  const Real = SharedWorker
  globalThis.heard = []
  globalThis.SharedWorker = class extends Real {
    constructor(...given) {
      super(...given)
      this.port.addEventListener('message', ({ data }) => {
        if (data.kind === 'onMessage') heard.push(data.value.channel + ' ' + data.value.id)
      })
    }
  }
})()`

async function openContext(script?: string, cookie: string | null = ada.cookie): Promise<void> {
  context = await browser.newContext({ baseURL: app.address, viewport: { width: 900, height: 700 } })
  const [name = '', value = ''] = cookie?.split('=', 2) ?? []
  if (cookie !== null) await context.addCookies([{ name, value, url: app.address }])
  if (script !== undefined) await context.addInitScript(script)
}
async function openTab(batchId: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`/b/${batchId}`)
  await live(page)
  return page
}
const live = (page: Page) => page.locator('[data-stream]', { hasText: 'live' }).waitFor({ timeout: 40_000 })
const shows = (page: Page, points: number) =>
  page
    .locator('[data-chart="val_loss"] [data-points]', { hasText: `${points} of ${points} points` })
    .waitFor({ timeout: 40_000 })
const heard = (page: Page): Promise<string[]> => page.evaluate('heard')

test('eight tabs of a browser share one stream, also after one has crashed and the server has restarted', async () => {
  const next = await runningBatch('eight')
  await runningBatch('other')
  await openContext(LISTEN)
  const doomed = await openTab('other')
  const tabs: Page[] = []
  for (let n = 0; n < 7; n++) tabs.push(await openTab('eight'))
  await streamsBecome(1)
  expect(asked.at(-1)).toContain('metrics:other')
  await next(5)
  for (const tab of tabs) await shows(tab, 15)

  const crashed = new Promise((resolve) => doomed.once('crash', resolve))
  const devtools = await context.newCDPSession(doomed)
  void devtools.send('Page.crash').catch(() => {})
  await crashed
  // The worker drops the channels of the closed tab, which could not send a message.
  await expect.poll(() => asked.at(-1), { timeout: 30_000 }).not.toContain('metrics:other')
  await next(5)
  for (const tab of tabs) await shows(tab, 20)
  await streamsBecome(1)

  const port = Number(new URL(app.address).port)
  await app.stop()
  app = await startTestApp({ databaseUrl: database.url, port })
  noteStreams()
  // Before the tabs have reconnected: only their cursors bring these points.
  await next(5)
  for (const tab of tabs) await shows(tab, 25)
  for (const tab of tabs) await live(tab)
  await streamsBecome(1)
  const told = await Promise.all(tabs.map(heard))
  const points = (of: string[]) => of.filter((one) => one.startsWith('metrics:eight'))
  for (const one of told) {
    expect(new Set(one).size, 'a message came twice').toBe(one.length)
    expect(points(one).length).toBeGreaterThanOrEqual(3)
    expect(points(one)).toEqual(points(told[0] as string[]).slice(-points(one).length))
  }
}, 180_000)

test('without a shared worker, or if it does not start, each tab has its own stream', async () => {
  const next = await runningBatch('alone')
  let points = 10
  for (const script of [
    'delete globalThis.SharedWorker',
    'globalThis.SharedWorker = class { constructor() { throw new Error("not here") } }',
    `globalThis.SharedWorker = class extends SharedWorker { constructor() { super('/assets/gone.js', { type: 'module' }) } }`,
  ]) {
    await openContext(script)
    const tabs = [await openTab('alone'), await openTab('alone')]
    await streamsBecome(2)
    await next(5)
    points += 5
    for (const tab of tabs) await shows(tab, points)
    await context.close()
    await streamsBecome(0)
  }
}, 240_000)

test('a tab that stays hidden unsubscribes, and catches up from its cursor once it is visible', async () => {
  const next = await runningBatch('hidden')
  await openContext(`${LISTEN}
    let away = false
    Object.defineProperty(document, 'hidden', { get: () => away })
    globalThis.look = (there) => { away = !there; document.dispatchEvent(new Event('visibilitychange')) }`)
  const page = await context.newPage()
  await page.clock.install()
  await page.goto('/b/hidden')
  await live(page)
  await next(5)
  await shows(page, 15)
  await page.evaluate('look(false)')
  await page.clock.fastForward(21_000)
  await streamsBecome(0)
  const before = (await heard(page)).length
  await next(5)
  expect((await heard(page)).length).toBe(before)
  await page.evaluate('look(true)')
  await shows(page, 20)
  await live(page)
  const all = await heard(page)
  expect(new Set(all).size).toBe(all.length)
  expect(all.filter((one) => one.startsWith('metrics:hidden')).length).toBeGreaterThanOrEqual(2)
}, 240_000)

test('a channel that is refused to one tab delays no other tab, and signing out and in reaches all tabs', async () => {
  const next = await runningBatch('private')
  await openContext(undefined, null)
  const first = await context.newPage()
  await signIn(first, ada.email)
  const second = await openTab('private')
  await streamsBecome(1)
  await first.getByRole('button', { name: /^Account of/ }).click()
  await first.getByRole('menuitem', { name: 'Sign out' }).click()
  await second.locator('[data-stream]', { hasText: 'offline' }).waitFor()
  await signIn(first, ada.email)
  await next(5)
  await shows(second, 15)
  await live(second)
  await streamsBecome(1)
}, 240_000)

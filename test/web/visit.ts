import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, BrowserContext, Locator, Page } from '@playwright/test'
import { expect } from 'vitest'
import { PASSWORD, type TestApp } from '../kit/app.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RECORDED = join(import.meta.dirname, '../../schemas/examples/recorded/digits-sweep.jsonl')

/**
 * With `SVC_TEST_LATE_MS` each request of a page waits for a random time up to this, so answers come late and in another
 * order, as on a busy machine: a test that races with them then fails.
 */
const LATE_MS = Number(process.env.SVC_TEST_LATE_MS ?? 0)

export interface Visit {
  page: Page
  context: BrowserContext
  /** What the browser refused or the page threw. */
  complaints: string[]
}

/** Contexts of earlier visits to an address, with the files of the page in their cache and empty storage. */
const idle = new WeakMap<Browser, Map<string, BrowserContext[]>>()

/**
 * A browser context of its own, with empty storage. Everything that the content security policy refuses is
 * a complaint. After `context.close()` a later visit may reuse it: loading the files of the page again takes long.
 */
export async function visit(
  browser: Browser,
  options: { theme?: 'light' | 'dark'; width?: number; cookie?: string; address: string },
): Promise<Visit> {
  const { address, cookie, width = 1280, theme = 'light' } = options
  const known = idle.get(browser) ?? new Map<string, BrowserContext[]>()
  idle.set(browser, known)
  const left = known.get(address) ?? []
  known.set(address, left)
  const whole = left.pop() ?? (await newContext(browser, address))
  const context: BrowserContext = Object.assign(Object.create(whole), {
    close: async () => {
      if (await emptied(whole, address)) left.push(whole)
      else await whole.close()
    },
  })
  if (cookie !== undefined) {
    const [name = '', value = ''] = cookie.split('=', 2)
    await context.addCookies([{ name, value, url: address }])
  }
  const page = await context.newPage()
  // On a first visit fonts load late, and text that changes its width is a race for tests that measure it.
  await page.addInitScript(() => {
    // Frames of files are in a sandbox, without storage.
    if (location.protocol.startsWith('http') && self === top) localStorage.setItem('fonts', 'cached')
  })
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme: theme })
  // Less than a test's timeout, so that the failure names the awaited element.
  page.setDefaultTimeout(30_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    const text = message.text()
    // There is no sign-in at first: the browser logs the 401 itself.
    if (message.type() === 'error' && !/status of 401/.test(text)) complaints.push(text)
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, context, complaints }
}

async function newContext(browser: Browser, address: string): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: address })
  if (LATE_MS > 0)
    await context.route('**', async (route) => {
      await sleep(Math.random() * LATE_MS)
      // The page may be closed by now.
      await route.continue().catch(() => {})
    })
  return context
}

/** Closes the pages of a context and clears its storage, but not its cache. @returns whether it can be reused */
async function emptied(context: BrowserContext, address: string): Promise<boolean> {
  const [page] = context.pages()
  if (page === undefined) return false
  try {
    await Promise.all(context.pages().map((one) => one !== page && one.close()))
    // A page may store something when it is left.
    await page.goto('about:blank')
    const devtools = await context.newCDPSession(page)
    await devtools.send('Storage.clearDataForOrigin', { origin: address, storageTypes: 'all' })
    await context.clearCookies()
    await page.close()
    return true
  } catch {
    return false
  }
}

export async function signIn(page: Page, email: string): Promise<void> {
  await page.goto('/sign-in')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('/')
}

/**
 * Presses an arrow until what was lifted by keyboard is announced where it should be. A press may be lost right after the
 * lift, and the first ones may only scroll.
 */
export async function moveUntil(page: Page, key: 'ArrowUp' | 'ArrowDown', announced: Locator): Promise<void> {
  for (let presses = 1; ; presses++) {
    await page.keyboard.press(key)
    try {
      return await announced.waitFor({ state: 'attached', timeout: 3_000 })
    } catch (error) {
      if (presses === 8) throw error
    }
  }
}

/**
 * What axe finds serious or worse, as `rule: where`. It is run in the page's own world, past its policy.
 * @param rules only these; without, all
 */
export async function seriousFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate(async (runOnly) => {
    interface Found {
      violations: { id: string; impact: string; nodes: { target: string[]; failureSummary: string }[] }[]
    }
    const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<Found> } }
    const { violations } = await axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) })
    return violations
      .filter((one) => one.impact === 'serious' || one.impact === 'critical')
      .flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.target.join(' ')} ${node.failureSummary}`))
  }, rules)
}

export type Event = Record<string, unknown> & {
  event_type: string
  job_id: string | null
  data: Record<string, unknown>
}

/** The recorded sweep, as if it had ended now, under an id of its own. */
export function recordedSweep(batchId: string): Event[] {
  const events = readFileSync(RECORDED, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const offset = Date.now() - Date.parse(events.at(-1).timestamp)
  return events.map((event) => ({
    ...event,
    event_id: crypto.randomUUID(),
    batch_id: batchId,
    timestamp: new Date(Date.parse(event.timestamp) + offset).toISOString(),
  }))
}

export async function send(app: TestApp, token: string, events: readonly Event[]): Promise<void> {
  for (let i = 0; i < events.length; i += 500) {
    const answer = await app.call('POST', '/api/events/batch', { token, body: events.slice(i, i + 500) })
    if (answer.status !== 200) throw new Error(`events: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
}

/** Moves the pointer onto `target` until `effect` shows: an element that moves under a resting pointer gets no event. */
export async function hoverUntil(target: Locator, effect: Locator): Promise<void> {
  await expect
    .poll(async () => {
      await target.hover()
      return effect.count()
    })
    .toBeGreaterThan(0)
}

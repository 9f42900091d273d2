import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { type Event, recordedSweep, send, seriousFindings } from './visit.ts'

// GraphiQL at /graphql, as a developer uses it.

const SWEEP = 'sweep-asked'
let grace: Awaited<ReturnType<(typeof web)['app']['register']>>
const web = pageFixture(async ({ app, reporter }) => {
  await send(app, reporter, recordedSweep(SWEEP))
  grace = await app.register('grace@example.org')
})

/** Until the editors are there and GraphiQL has read the schema. */
async function open(page: Page): Promise<void> {
  await page.goto('/graphql')
  await page.locator('.graphiql-query-editor .CodeMirror-code', { hasText: 'query Best' }).waitFor()
  await page.getByRole('button', { name: 'Documentation Explorer' }).click()
  await page.getByRole('link', { name: 'Query', exact: true }).waitFor()
}
/** Not for another visit to reuse: GraphiQL stores its tabs a little after they change. */
const end = (page: Page) => page.context().close()
const answer = (page: Page) => page.getByRole('region', { name: 'Result Window' })
const run = (page: Page) => page.getByRole('button', { name: 'Execute query' }).click()
/** Types into an editor in place of what it contains. CodeMirror closes brackets and completes by itself. */
async function write(page: Page, editor: string, text: string): Promise<void> {
  await page.getByRole('textbox', { name: editor, exact: true }).focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}

test('the example runs, everything comes from the service, and the policy refuses nothing', async () => {
  const { page, complaints } = await web.asAda()
  const hosts = new Set<string>()
  page.on('request', (request) => hosts.add(new URL(request.url()).origin))
  await open(page)
  await run(page)
  await expect.poll(() => answer(page).textContent()).toContain(`"id": "${SWEEP}"`)
  await page.getByRole('link', { name: 'Query', exact: true }).click()
  await page.getByRole('link', { name: 'batches', exact: true }).waitFor()
  expect([...hosts]).toEqual([new URL(web.app.address).origin])
  expect(complaints).toEqual([])
  await end(page)
})

test('a name is completed from the schema', async () => {
  const { page } = await web.asAda()
  await open(page)
  await write(page, 'Query', '{ viewer { ema')
  await page.keyboard.press('Control+Space')
  // The only name that begins so is written at once.
  await expect.poll(() => page.locator('.graphiql-query-editor').textContent()).toContain('viewer { email')
  await end(page)
})

test('a subscription shows what happens, until it is stopped', async () => {
  const { page, complaints } = await web.asAda()
  await open(page)
  await page.getByRole('tab', { name: 'Live' }).click()
  await page.locator('.graphiql-query-editor .CodeMirror-code', { hasText: 'subscription Live' }).waitFor()
  const streams: number[] = []
  page.on('response', (one) => {
    if (one.headers()['content-type']?.includes('event-stream')) streams.push(one.status())
  })
  await run(page)
  await expect.poll(() => streams).toEqual([200])
  const [first] = recordedSweep('sweep-begun')
  await send(web.app, web.reporter, [first as Event])
  await expect.poll(() => answer(page).textContent()).toContain('sweep-begun')
  await page.getByRole('button', { name: 'Stop query' }).click()
  await page.getByRole('button', { name: 'Execute query' }).waitFor()
  expect(complaints).toEqual([])
  await end(page)
})

test('a token in the headers replaces the session, and is not stored', async () => {
  const { page } = await web.asAda()
  await open(page)
  await write(page, 'Query', '{ viewer { email } }')
  await run(page)
  await expect.poll(() => answer(page).textContent()).toContain('ada@example.org')
  await page.getByRole('button', { name: 'Headers' }).click()
  await write(page, 'Headers', JSON.stringify({ Authorization: `Bearer ${grace.token}` }))
  await run(page)
  await expect.poll(() => answer(page).textContent()).toContain('grace@example.org')
  // The history is written with the query.
  const stored = () => page.evaluate(() => JSON.stringify(localStorage))
  await expect.poll(stored).toContain('{ viewer { email } }\\"')
  expect(await stored()).not.toContain(grace.token)
  await end(page)
})

test('it is in the theme that the app has', async () => {
  const { page } = await web.asAda({ theme: 'dark' })
  await open(page)
  const background = () =>
    page.locator('.graphiql-container').evaluate((one) => getComputedStyle(one).backgroundColor)
  const dark = await background()
  await page.evaluate(() => localStorage.setItem('theme', 'light'))
  await open(page)
  expect(await background()).not.toBe(dark)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.evaluate(() => localStorage.setItem('theme', 'dark'))
  await open(page)
  expect(await background()).toBe(dark)
  await end(page)
})

test('axe finds nothing serious but in the parts that GraphiQL makes', async () => {
  for (const theme of ['light', 'dark'] as const) {
    const { page } = await web.asAda({ theme })
    await open(page)
    await run(page)
    await expect.poll(() => answer(page).textContent()).toContain(SWEEP)
    const theirs = /^(nested-interactive|scrollable-region-focusable|link-in-text-block):/
    expect((await seriousFindings(page)).filter((one) => !theirs.test(one))).toEqual([])
    await end(page)
  }
})

test('without JavaScript the page says where the schema is', async () => {
  const context = await web.browser.newContext({ baseURL: web.app.address, javaScriptEnabled: false })
  const [name = '', value = ''] = web.ada.cookie.split('=', 2)
  await context.addCookies([{ name, value, url: web.app.address }])
  const page = await context.newPage()
  await page.goto('/graphql')
  const href = await page.getByRole('link', { name: '/graphql/schema.graphql' }).getAttribute('href')
  expect((await web.app.call('GET', href ?? '')).body).toContain('type Query')
  await context.close()
})

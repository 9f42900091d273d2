import type { Page } from '@playwright/test'
import { expect, test } from 'vitest'
import { pageFixture } from './page-fixture.ts'
import { seriousFindings } from './visit.ts'

// Swagger UI at /api/docs, as a developer uses it.

const web = pageFixture()

const operation = (page: Page, id: string) => page.locator(`.opblock[id$="-${id}"]`)
/** Finds and opens "the current user". */
async function open(page: Page): Promise<void> {
  await page.goto('/api/docs')
  await page.getByPlaceholder('Filter by tag or path').fill('auth/me')
  await operation(page, 'getAuthMe').locator('.opblock-summary-control').click()
}
/** Sends the request of an operation that is open. */
async function execute(page: Page, id: string): Promise<void> {
  await operation(page, id).getByRole('button', { name: 'Try it out' }).click()
  await operation(page, id).getByRole('button', { name: 'Execute' }).click()
}
const response = (page: Page) => page.locator('.live-responses-table')

test('a signed-in user finds an operation and sends it, and everything comes from the service', async () => {
  const { page, context, complaints } = await web.asAda()
  const hosts = new Set<string>()
  page.on('request', (request) => hosts.add(new URL(request.url()).origin))
  await open(page)
  await execute(page, 'getAuthMe')
  await expect.poll(() => response(page).textContent()).toContain('ada@example.org')
  expect(new URL(page.url()).hash).toBe('#/identity/getAuthMe')
  expect([...hosts]).toEqual([new URL(web.app.address).origin])
  expect(complaints).toEqual([])
  await context.close()
})

test('an operation that changes something works with the session', async () => {
  const { page, context } = await web.asAda()
  await page.goto('/api/docs#/projects/postProjects')
  const create = operation(page, 'postProjects')
  await create.getByRole('button', { name: 'Try it out' }).click()
  await create.locator('textarea').fill('{"slug": "tried"}')
  await create.getByRole('button', { name: 'Execute' }).click()
  await expect.poll(() => response(page).textContent()).toContain('"slug": "tried"')
  await context.close()
})

test('a token is used after Authorize, and by the command for the shell', async () => {
  const { page, context } = await web.signedOut()
  await open(page)
  await execute(page, 'getAuthMe')
  await expect.poll(() => response(page).textContent()).toContain('unauthenticated')
  await page.getByRole('button', { name: 'Authorize' }).first().click()
  const dialog = page.locator('.auth-container').filter({ hasText: 'A reporter token' })
  await dialog.locator('input').fill(web.ada.token)
  await dialog.getByRole('button', { name: 'Apply credentials' }).click()
  await page.locator('.close-modal').click()
  await operation(page, 'getAuthMe').getByRole('button', { name: 'Execute' }).click()
  await expect.poll(() => response(page).textContent()).toContain('ada@example.org')
  expect(await page.locator('.curl').first().textContent()).toContain(`Bearer ${web.ada.token}`)
  await context.close()
})

test('the colours of another theme come at once', async () => {
  const { page, context } = await web.signedOut()
  await open(page)
  const slow = await page
    .locator('.swagger-ui')
    .evaluate((ui) =>
      [...ui.querySelectorAll('*')]
        .filter((one) => getComputedStyle(one).transitionDuration !== '0s')
        .map((one) => one.outerHTML.slice(0, 100)),
    )
  expect(slow).toEqual([])
  await context.close()
})

test('a link to an operation opens it on the screen', async () => {
  const { page, context } = await web.signedOut()
  await page.goto('/api/docs#/shares/getBatchesByIdShares')
  const list = operation(page, 'getBatchesByIdShares')
  await list.getByText('The links to a batch').waitFor()
  await expect
    .poll(() => list.evaluate((one) => one.getBoundingClientRect().top).then((top) => top >= 0 && top < 800))
    .toBe(true)
  expect(await list.getByRole('cell', { name: 'channel' }).count()).toBe(0)
  await list.getByText('unauthenticated').waitFor()
  await context.close()
})

test('it is in the theme that the app has, and axe finds nothing serious but in the parts that Swagger UI makes', async () => {
  const { page, context } = await web.asAda({ theme: 'dark' })
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
  const look = async (theme: string) => {
    await page.evaluate((chosen) => localStorage.setItem('theme', chosen), theme)
    await page.reload()
    await execute(page, 'getAuthMe')
    await expect.poll(() => response(page).textContent()).toContain('ada@example.org')
    const theirs = /^(nested-interactive|button-name):/
    expect((await seriousFindings(page)).filter((one) => !theirs.test(one))).toEqual([])
    return background()
  }
  await page.goto('/api/docs#/identity/getAuthMe')
  await operation(page, 'getAuthMe').waitFor()
  const dark = await background()
  expect(await look('light')).not.toBe(dark)
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await look('dark')).toBe(dark)
  await context.close()
})

test('without JavaScript the page says where the OpenAPI document is', async () => {
  const context = await web.browser.newContext({ baseURL: web.app.address, javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto('/api/docs')
  await page.getByRole('link', { name: '/api/openapi.json' }).click()
  await expect.poll(() => page.locator('body').textContent()).toContain('"openapi":"3.1.0"')
  await context.close()
})

test('the app loads neither Swagger UI nor GraphiQL', async () => {
  const { page, context } = await web.asAda()
  const files: string[] = []
  page.on('request', (request) => files.push(request.url()))
  await page.goto('/')
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  expect(files.filter((file) => /\.js$/.test(file)).length).toBeGreaterThan(1)
  expect(files.filter((file) => /swagger|graphiql|codemirror/i.test(file))).toEqual([])
  await context.close()
})

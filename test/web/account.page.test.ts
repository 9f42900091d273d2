import { afterAll, beforeEach, expect, test } from 'vitest'
import { SIGN_IN_FAULTS } from '../../src/http/sign-in/provider-sign-in.ts'
import { faultText } from '../../web/src/pages/sign-in/faults.ts'
import { PASSWORD } from '../kit/app.ts'
import { openProvider, type TestProvider } from '../oauth/provider.ts'
import { pageFixture } from './page-fixture.ts'
import { seriousFindings } from './visit.ts'

// Signing in through a real provider in a real browser, and the Account page.

let keys: TestProvider
const web = pageFixture(({ app }) => keys.admit(app, 'keys'), {
  config: async () => {
    keys = await openProvider()
    keys.asks = true
    return { identityProviders: [keys.config()] }
  },
})
afterAll(() => keys?.stop())
beforeEach(() => {
  keys.person = { sub: 'grace', email: 'grace@example.org', email_verified: true, name: 'Grace' }
})

test('a sign-in through the provider leads back to the requested page', async () => {
  const { page, context, complaints } = await web.signedOut()
  await page.goto('/tokens')
  await page.waitForURL(/\/sign-in\?return_to=/)
  await page.getByRole('link', { name: 'Sign in with Keys' }).click()
  await page.waitForURL(`${keys.issuer}/**`)
  await page.getByRole('button', { name: 'Let me in' }).click()
  await page.waitForURL('/tokens')
  await page.getByRole('heading', { name: 'Tokens' }).waitFor()
  await page.goto('/')
  await page.getByRole('button', { name: /Grace/ }).click()
  await page.getByText('grace@example.org').waitFor()
  await page.getByRole('menuitem', { name: 'Account' }).click()
  await page.waitForURL('/account')
  await page.getByText('Your account has none').waitFor()
  await expect.poll(() => page.getByRole('button', { name: 'Unlink Keys' }).isDisabled()).toBe(true)
  expect(complaints).toEqual([])
  await context.close()
})

test('the Register page offers the provider as well, and leads to Home', async () => {
  const { page, context, complaints } = await web.signedOut()
  await page.goto('/register')
  await page.getByRole('link', { name: 'Sign in with Keys' }).click()
  await page.getByRole('button', { name: 'Let me in' }).click()
  await page.waitForURL('/')
  await page.getByRole('button', { name: 'Account of Grace' }).waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('cancelling shows a message, and the password still works', async () => {
  const { page, context, complaints } = await web.signedOut()
  keys.person = null
  await page.goto('/sign-in?return_to=%2Ftokens')
  await page.getByRole('link', { name: 'Sign in with Keys' }).click()
  await page.getByRole('button', { name: 'Let me in' }).click()
  await page.getByRole('alert').filter({ hasText: 'The sign-in was cancelled at Keys' }).waitFor()
  await page.getByLabel('E-mail address').fill(web.ada.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('/tokens')
  expect(complaints).toEqual([])
  await context.close()
})

test('an e-mail address with an account leads to linking, after which the provider opens the account until it is unlinked', async () => {
  keys.person = { sub: 'ada', email: web.ada.email, email_verified: true }
  const { page, context, complaints } = await web.signedOut()
  const through = async () => {
    await page.goto('/sign-in')
    await page.getByRole('link', { name: 'Sign in with Keys' }).click()
    await page.getByRole('button', { name: 'Let me in' }).click()
  }
  await through()
  await page.getByRole('alert').filter({ hasText: 'link Keys on your account page' }).waitFor()
  await page.getByLabel('E-mail address').fill(web.ada.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL('/')
  await page.goto('/account')
  await page.getByRole('button', { name: 'Link Keys' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Password of this account').fill('not the password')
  await dialog.getByRole('button', { name: 'Go to Keys' }).click()
  await dialog.getByText('The current password is wrong').waitFor()
  await dialog.getByLabel('Password of this account').fill(PASSWORD)
  await dialog.getByRole('button', { name: 'Go to Keys' }).click()
  await page.waitForURL('/account?linked=keys')
  await page.getByText('Keys is linked').waitFor()
  await page.getByRole('cell', { name: 'ada@example.org' }).waitFor()

  await context.clearCookies()
  await through()
  await page.waitForURL('/')
  await page.goto('/account')
  await page.getByRole('button', { name: 'Unlink Keys' }).click()
  await page.getByRole('button', { name: 'Unlink it' }).click()
  await page.getByRole('button', { name: 'Link Keys' }).waitFor()
  // The wrong password above; browsers note such an answer by themselves.
  expect(complaints.filter((one) => !/status of 403/.test(one))).toEqual([])
  await context.close()
})

test('a name can be edited in place; a new password ends the other sessions, and the page says so', async () => {
  const eve = await web.app.register('eve@example.org')
  const { page, context, complaints } = await web.as(eve)
  await page.goto('/account')
  await page.getByLabel('Display name').fill('Eve of the lab')
  await page.getByRole('button', { name: 'Rename' }).click()
  await page.getByText('Your name is now Eve of the lab.').waitFor()
  await page.getByRole('button', { name: 'Account of Eve of the lab' }).waitFor()

  const body = { email: 'eve@example.org', password: PASSWORD }
  const elsewhere = (await web.app.call('POST', '/api/auth/login', { body })).body.token
  await page.getByLabel('Current password').fill(PASSWORD)
  await page.getByLabel('New password').fill('another password')
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page.getByText('Your other sessions are closed.').waitFor()
  expect((await web.app.call('GET', '/api/auth/me', { token: elsewhere })).status).toBe(401)
  expect((await web.app.call('GET', '/api/auth/me', { cookie: eve.cookie })).status).toBe(200)
  await expect.poll(() => page.getByLabel('New password').inputValue()).toBe('')
  expect(complaints).toEqual([])
  await context.close()
})

test('every reason for a failed sign-in has its own text on the page', () => {
  const unknown = faultText('no such word', 'Keys')
  const said = SIGN_IN_FAULTS.filter((code) => code !== 'internal').map((code) => faultText(code, 'Keys'))
  expect(said).not.toContain(unknown)
  expect(new Set(said).size).toBe(said.length)
})

test('a return address on another site is ignored', async () => {
  for (const to of ['//evil.example/', '/\\evil.example/', 'https://evil.example/', '/\t/evil.example']) {
    const { page, context } = await web.signedOut()
    await page.goto(`/sign-in?return_to=${encodeURIComponent(to)}`)
    const link = page.getByRole('link', { name: 'Sign in with Keys' })
    await expect.poll(() => link.getAttribute('href')).toBe('/api/oauth/keys/start')
    await page.getByLabel('E-mail address').fill(web.ada.email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL('/')
    await context.close()
  }
})

test('an error text in the address is never shown', async () => {
  const { page, context } = await web.signedOut()
  const text = encodeURIComponent('Call this number')
  await page.goto(`/sign-in?error=${text}&idp=${text}`)
  await page.getByRole('link', { name: 'Sign in with Keys' }).waitFor()
  expect(await page.getByRole('main').textContent()).not.toContain('Call this number')
  await page.goto('/sign-in?error=unknown_words&idp=keys')
  await page.getByRole('alert').filter({ hasText: 'did not work' }).waitFor()
  expect(await page.content()).not.toContain('unknown_words')
  await context.close()
})

test.each([
  'light',
  'dark',
] as const)('in %s colours axe finds nothing serious, the content security policy blocks nothing, and a phone shows the page without scrolling sideways', async (theme) => {
  const look = { theme, width: theme === 'dark' ? 390 : 1280 }
  const signedOut = await web.signedOut(look)
  const found: Record<string, string[]> = {}
  for (const path of ['/sign-in', '/sign-in?error=provider_unavailable&idp=keys', '/register']) {
    await signedOut.page.goto(path)
    await signedOut.page.getByRole('link', { name: 'Sign in with Keys' }).waitFor()
    found[path] = await seriousFindings(signedOut.page)
  }
  const own = await web.asAda(look)
  await own.page.goto('/account?error=identity_taken&idp=keys')
  await own.page.getByRole('button', { name: 'Link Keys' }).waitFor()
  found.account = await seriousFindings(own.page)
  const over = await own.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
  await own.page.getByRole('button', { name: 'Link Keys' }).click()
  await own.page.getByRole('dialog').waitFor()
  found.dialog = await seriousFindings(own.page)
  expect(Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0))).toEqual({})
  expect([over, signedOut.complaints, own.complaints]).toEqual([0, [], []])
  await signedOut.context.close()
  await own.context.close()
})

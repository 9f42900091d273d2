import type { Browser, Page } from '@playwright/test'
import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { buildPage } from '../web/built-page.ts'
import { seriousFindings, visit } from '../web/visit.ts'

// A real browser with an authenticator of its own (CDP), over http://localhost, which browsers trust as they do HTTPS.

let app: TestApp
let browser: Browser
let localhost: string
beforeAll(async () => {
  await buildPage()
  app = await startTestApp()
  localhost = app.address.replace('127.0.0.1', 'localhost')
  browser = await openBrowser()
}, 240_000)
afterAll(async () => {
  await browser?.close()
  await app?.stop()
})

async function withAuthenticator(page: Page): Promise<void> {
  const client = await page.context().newCDPSession(page)
  await client.send('WebAuthn.enable')
  await client.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}
const byPassword = async (page: Page, email: string) => {
  await page.goto('/sign-in')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
const signOut = (page: Page) => page.context().clearCookies()

test('a passkey can be registered, renamed, used to sign in and deleted', async () => {
  const { email, token } = await app.register()
  const { page, context, complaints } = await visit(browser, { address: localhost })
  await withAuthenticator(page)
  await byPassword(page, email)
  await page.waitForURL('/')
  await page.goto('/account')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByLabel('Name of the passkey').fill('Laptop')
  await page.getByLabel('Password of this account').fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Rename Laptop' }).click()
  await page.getByLabel('Name of the passkey').fill('Work laptop')
  await page.getByRole('button', { name: 'Rename', exact: true }).last().click()
  await page.getByRole('button', { name: 'Delete Work laptop' }).waitFor()
  expect(await seriousFindings(page)).toEqual([])

  await signOut(page)
  await page.goto('/sign-in')
  const answers: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/api/auth/login/passkey')) answers.push(request.postData() ?? '')
  })
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL('/')
  const sessions = (await app.call('GET', '/api/auth/sessions', { token })).body.items
  expect(sessions[0]).toMatchObject({ method: 'passkey', device: expect.stringContaining('Chrom') })

  // What signed in once is refused a second time: its challenge is used up.
  const again = await app.call('POST', '/api/auth/login/passkey', {
    body: answers[0],
    headers: { host: new URL(localhost).host },
  })
  expect([again.status, again.body.code]).toEqual([401, 'challenge_expired'])

  await page.goto('/account')
  await page.getByRole('button', { name: 'Delete Work laptop' }).click()
  await page.getByRole('button', { name: 'Delete it' }).click()
  await expect.poll(() => page.getByRole('button', { name: 'Delete Work laptop' }).count()).toBe(0)
  await signOut(page)
  await page.goto('/sign-in')
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.getByRole('alert').filter({ hasText: 'not known here' }).waitFor()
  expect(complaints.filter((one) => !one.includes('status of 401'))).toEqual([])
  await context.close()
}, 120_000)

test('the page sets up an authenticator app, and asks for its code at the next sign-in', async () => {
  const { email } = await app.register()
  const { page, context } = await visit(browser, { address: localhost })
  await byPassword(page, email)
  await page.waitForURL('/')
  await page.goto('/account')
  await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
  await page.getByLabel('Password of this account').fill(PASSWORD)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('img', { name: 'QR code' }).waitFor()
  const secret = ((await page.getByRole('region', { name: 'Secret' }).textContent()) ?? '').trim()
  const code = () => new TOTP({ secret: Secret.fromBase32(secret) }).generate()
  await page.getByLabel('Code from the app').fill(code())
  await page.getByRole('button', { name: 'Confirm' }).click()
  const codes = page.getByRole('region', { name: 'Recovery codes' })
  const [recovery = ''] = ((await codes.textContent()) ?? '').trim().split('\n')
  expect(recovery).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/)
  await page.getByRole('button', { name: 'I have saved them' }).click()
  await page.getByText('10 of 10 recovery codes left').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await signOut(page)
  await byPassword(page, email)
  await page.getByLabel('Code of your authenticator app').fill('000000')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Code of your authenticator app').fill(recovery)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL('/')
  await context.close()
}, 120_000)

test('at an address where browsers do not support passkeys the page and the service refuse them with a reason', async () => {
  const { cookie, token } = await app.register()
  const { page, context } = await visit(browser, { address: app.address, cookie })
  await page.goto('/account')
  await page.getByRole('note').filter({ hasText: 'Passkeys do not work at this address' }).waitFor()
  const begun = await app.call('POST', '/api/auth/passkeys/options', {
    token,
    body: { current_password: PASSWORD },
  })
  expect([begun.status, begun.body.code]).toEqual([409, 'passkeys_unavailable'])
  await context.close()
}, 60_000)

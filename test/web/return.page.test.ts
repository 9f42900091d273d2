import type { Page } from '@playwright/test'
import { Secret, TOTP } from 'otpauth'
import { afterAll, expect, test } from 'vitest'
import { PASSWORD } from '../kit/app.ts'
import { signInThrough } from '../oauth/browser.ts'
import { openProvider, type TestProvider } from '../oauth/provider.ts'
import { pageFixture } from './page-fixture.ts'
import { sendRanBatch } from './ran-batch.ts'

// A link to what only members see: after signing in, a visitor is at exactly the place of the link.

const BATCH = 'night-sweep'
const GRACE = { sub: 'grace', email: 'grace@example.org', email_verified: true, name: 'Grace' }
const BOB = 'bob@example.org'

let keys: TestProvider
let recoveryCodes: string[] = []

const web = pageFixture(
  async ({ app, ada, reporter }) => {
    await keys.admit(app, 'keys')
    await sendRanBatch(app, reporter, BATCH)
    keys.person = GRACE
    const cookie = (await signInThrough(app)).session ?? ''
    keys.asks = true
    const bob = await app.register(BOB)
    await app.letIn('digits', ada, { email: BOB, token: bob.token }, 'member')
    const invited = await app.call('POST', '/api/projects/digits/members', {
      token: ada.token,
      body: { email: GRACE.email, role: 'member', confirm_unverified: true },
    })
    await app.call('POST', `/api/invitations/${invited.body.invitation_id}/accept`, {
      cookie,
      headers: { origin: app.address },
    })
    const { body: totp } = await app.call('POST', '/api/auth/totp', {
      token: bob.token,
      body: { current_password: PASSWORD },
    })
    const code = new TOTP({ secret: Secret.fromBase32(totp.secret) }).generate()
    const confirmed = await app.call('POST', '/api/auth/totp/confirm', { token: bob.token, body: { code } })
    recoveryCodes = confirmed.body.recovery_codes
  },
  {
    config: async () => {
      keys = await openProvider()
      return { identityProviders: [keys.config()], encryptionKey: 'a key of at least thirty-two letters' }
    },
  },
)
afterAll(() => keys?.stop())

async function byPassword(page: Page, email: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
const WAYS: [string, (page: Page) => Promise<void>][] = [
  ['a password', (page) => byPassword(page, web.ada.email)],
  [
    'a password and a code',
    async (page) => {
      await byPassword(page, BOB)
      await page.getByLabel('Code of your authenticator app').fill(recoveryCodes.pop() ?? '')
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    },
  ],
  [
    'an identity provider',
    async (page) => {
      keys.person = GRACE
      await page.getByRole('link', { name: 'Sign in with Keys' }).click()
      await page.getByRole('button', { name: 'Let me in' }).click()
    },
  ],
]
/** Links as the page writes them, and what they show. */
const PLACES: [string, (page: Page) => Promise<unknown>][] = [
  [
    `/b/${BATCH}?smooth=0.5&sel=%5B%22good%22%2C%22bad%22%5D&only=true#failures`,
    async (page) => {
      await page.getByRole('heading', { name: BATCH }).waitFor()
      await expect.poll(() => page.getByLabel('Smoothing').inputValue()).toBe('0.5')
    },
  ],
  [
    '/p/digits?q=%22night+sweep%22+val_loss%3C0.3&sort=-last.val_loss#content',
    (page) => page.getByRole('combobox').first().waitFor(),
  ],
]

test.each(
  WAYS.flatMap(([way, how]) => PLACES.map(([path, whole]) => ({ way, how, path, whole }))),
)('after a sign-in by $way a visitor of $path is there', async ({ how, path, whole }) => {
  const { page, context } = await web.signedOut()
  await page.goto(path)
  await page.getByRole('link', { name: 'Sign in to see it' }).click()
  await page.waitForURL(/\/sign-in/)
  await how(page)
  await whole(page)
  expect(page.url()).toBe(web.app.address + path)
  await context.close()
})

test('the button of the top bar, and a look at the Register page, keep the place, too', async () => {
  const [path, whole] = PLACES[0] ?? ['', () => Promise.reject()]
  const { page, context } = await web.signedOut()
  await page.goto(path)
  await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Register' }).click()
  await page.getByRole('heading', { name: 'Register' }).waitFor()
  await page.getByRole('link', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await byPassword(page, web.ada.email)
  await whole(page)
  expect(page.url()).toBe(web.app.address + path)
  await context.close()
})

import { Secret, TOTP } from 'otpauth'
import { describe, expect, test } from 'vitest'
import { PASSWORD } from '../kit/app.ts'
import { pageFixture } from './page-fixture.ts'
import { recordedSweep, send, seriousFindings } from './visit.ts'

// The page asks again who the user is, shows the links of a project, and leads people to a second factor.

const SHARED = 'sweep-linked'
const codeOf = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate()
/** The browser notes a refused request by itself. */
const unexpected = (complaints: string[]) => complaints.filter((one) => !/status of 403/.test(one))

describe('with a service of its own', () => {
  const web = pageFixture(
    async ({ app, reporter }) => send(app, reporter, recordedSweep(SHARED).slice(0, 60)),
    { accounts: ['root', 'ada'] },
  )

  test('a change of access asks for the password if the sign-in is old, and is then done', async () => {
    const eve = await web.app.register('eve@example.org')
    const { page, context, complaints } = await web.as(web.admin)
    const makeOld = () =>
      web.app.sql`update sessions set created_at = created_at - interval '11 minutes', confirmed_at = null`
    await page.goto('/admin/users')
    await makeOld()
    await page.getByLabel('Role of eve').selectOption('admin')
    await page.getByRole('button', { name: 'Make an administrator' }).click()
    const asked = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await asked.getByText('this changes who has access').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/confirm.png` })
    await asked.getByLabel('Password of this account').fill('not the password')
    await asked.getByRole('button', { name: 'Confirm' }).click()
    await asked.getByText('The current password is wrong').waitFor()
    await asked.getByLabel('Password of this account').fill(PASSWORD)
    await asked.getByRole('button', { name: 'Confirm' }).click()
    await asked.waitFor({ state: 'detached' })
    await expect.poll(() => page.getByLabel('Role of eve').inputValue()).toBe('admin')
    const me = await web.app.call('GET', '/api/auth/me', { token: eve.token })
    expect(me.body.user.role).toBe('admin')

    // Giving up changes nothing, and the form says why.
    await makeOld()
    await page.getByLabel('Role of eve').selectOption('user')
    await page.getByRole('button', { name: 'Make a user' }).click()
    await asked.getByRole('button', { name: 'Cancel' }).click()
    await asked.waitFor({ state: 'detached' })
    await page.getByText('more than 10 minutes old').waitFor()
    expect(unexpected(complaints)).toEqual([])
    await context.close()
  })

  test('with an authenticator app a new password needs a code too', async () => {
    const { page, context, complaints } = await web.asAda()
    const { token } = web.ada
    const begun = await web.app.call('POST', '/api/auth/totp', {
      token,
      body: { current_password: PASSWORD },
    })
    const { secret } = begun.body
    const confirmed = await web.app.call('POST', '/api/auth/totp/confirm', {
      token,
      body: { code: codeOf(secret) },
    })
    const [recovery = ''] = confirmed.body.recovery_codes
    await page.goto('/account')
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByLabel('New password').fill('another horse battery')
    await page.getByLabel('Code from the app, or a recovery code').fill(recovery)
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/password.png` })
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('The password is changed.').waitFor()
    expect(unexpected(complaints)).toEqual([])
    await context.close()
  })

  test('the owner of a project sees every link to it on the page of its members, and revokes one', async () => {
    const { token } = web.ada
    await web.app.call('POST', `/api/batches/${SHARED}/shares`, { token, body: { anonymous: true } })
    const report = { project: 'digits', title: 'Weekly', body: `@batch("${SHARED}")` }
    const { id } = (await web.app.call('POST', '/api/reports', { token, body: report })).body
    await web.app.call('POST', `/api/reports/${id}/links`, { token })
    const { page, context, complaints } = await web.asAda()
    await page.goto('/p/digits/members')
    const table = page.getByRole('region', { name: 'Public links' })
    await table.getByRole('link', { name: 'Weekly' }).waitFor()
    await table.getByText('anonymous').waitFor()
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/links.png` })
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Revoke the link to Weekly by ada' }).click()
    await page.getByRole('button', { name: 'Revoke it' }).click()
    await table.getByRole('link', { name: 'Weekly' }).waitFor({ state: 'detached' })
    const { body } = await web.app.call('GET', '/api/projects/digits/links', { token })
    expect(body.items.map((one: { opened: string }) => one.opened)).toEqual(['batch'])
    expect(complaints).toEqual([])
    await context.close()
  })
})

describe('where a second factor is required', () => {
  const web = pageFixture(undefined, { config: { requireSecondFactor: true }, accounts: [] })

  test('a new account sets up an authenticator app before anything else', async () => {
    const { page, context, complaints } = await web.signedOut()
    await page.goto('/register')
    await page.getByLabel('E-mail address').fill('grace@example.org')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Register' }).click()
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor()
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/required.png` })
    await page.goto('/account')
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click()
    await page.getByLabel('Password of this account').fill(PASSWORD)
    await page.getByRole('button', { name: 'Continue' }).click()
    const secret = page.getByRole('region', { name: 'Secret' })
    await secret.waitFor()
    const text = (await secret.textContent()) ?? ''
    await page.getByLabel('Code from the app').fill(codeOf(text.trim()))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('button', { name: 'I have saved them' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Set up a second factor' }).waitFor({ state: 'detached' })
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor()
    expect(unexpected(complaints)).toEqual([])
    await context.close()
  })
})

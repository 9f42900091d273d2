import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { type Mailbox, mailSent, openMailbox } from '../notifications/mailbox.ts'
import { reasonOf, signInThrough, whoIs } from '../oauth/browser.ts'
import { openProvider, type TestProvider } from '../oauth/provider.ts'

// An address is an account's once its owner has shown that they read its mail, or a provider vouches for it.

let box: Mailbox
let keys: TestProvider
let app: TestApp
let people = 0
let email: string

beforeAll(async () => {
  box = await openMailbox()
  keys = await openProvider()
  app = await startTestApp({
    smtp: { url: box.url, from: 'monitor@example.org' },
    identityProviders: [keys.config()],
  })
  await keys.admit(app, 'keys')
  await app.register('first@example.org')
})
afterAll(async () => {
  await app?.stop()
  await keys?.stop()
  await box?.stop()
})
beforeEach(() => {
  email = `person-${++people}@example.org`
  keys.person = { sub: `subject-${people}`, email, email_verified: true }
})

const me = async (token: string) => (await app.call('GET', '/api/auth/me', { token })).body.user
async function linkFor(address: string): Promise<string> {
  await mailSent(app.sql)
  const mail = box.aboutAccounts.filter((one) => one.to.includes(address)).at(-1)
  const link = /\/verify\/[\w-]{43}/.exec(mail?.mail.text ?? '')?.[0]
  if (link === undefined) throw new Error(`no link was mailed to ${address}`)
  return link
}

test('a new user gets a mail with a link that verifies the address, once', async () => {
  const { token } = await app.register(email)
  expect((await me(token)).email_verified).toBe(false)
  const link = await linkFor(email)
  expect((await app.call('GET', link)).body).toEqual({ email, purpose: 'account', confirmed: false })
  expect((await me(token)).email_verified).toBe(false)
  expect((await app.call('POST', link)).body).toEqual({ email, purpose: 'account', confirmed: true })
  expect((await me(token)).email_verified).toBe(true)
  expect((await app.call('POST', link)).status).toBe(404)
  const again = await app.call('POST', '/api/auth/verification', { token })
  expect([again.status, again.body.code]).toEqual([409, 'address_already_verified'])
})

test('another link can be requested, but not at once', async () => {
  const { token } = await app.register(email)
  const soon = await app.call('POST', '/api/auth/verification', { token })
  expect([soon.status, soon.body.code]).toEqual([429, 'too_many_attempts'])
  await app.sql`update address_confirmations set requested_at = requested_at - interval '2 minutes'`
  expect((await app.call('POST', '/api/auth/verification', { token })).status).toBe(202)
  await mailSent(app.sql)
  expect(box.aboutAccounts.filter((one) => one.to.includes(email))).toHaveLength(2)
})

test('an account created through a provider with a verified address is verified', async () => {
  const { session } = await signInThrough(app)
  const mine = await app.call('GET', '/api/auth/verification', { cookie: session as string })
  expect(mine.body).toMatchObject({ email, verified: true })
})

test('a sign-in with a verified address takes it over from an account that never verified it', async () => {
  const squatter = await app.register(email)
  const link = await linkFor(email)
  const { session } = await signInThrough(app)
  const owner = await whoIs(app, session)
  expect([owner.email, owner.id === squatter.user.id]).toEqual([email, false])

  // The other account keeps its data and its sessions, under a placeholder address; the old address no longer opens it.
  const left = await me(squatter.token)
  expect([left.id, left.email]).toEqual([squatter.user.id, `${squatter.user.id}@address-released.invalid`])
  const login = (address: string) =>
    app.call('POST', '/api/auth/login', { body: { email: address, password: PASSWORD } })
  expect((await login(email)).status).toBe(401)
  expect((await login(left.email)).body.user.id).toBe(squatter.user.id)
  // A link mailed earlier for this account verifies nothing.
  expect((await app.call('POST', link)).status).toBe(404)
  const [entry] = await app.sql`
    select detail from audit_log where action = 'user.address_released' and subject = ${`user:${squatter.user.id}`}`
  expect(entry?.detail).toMatchObject({ to: owner.id })
})

test('neither a verified account nor an administrator loses its address, and an unverified address does not take one over', async () => {
  await app.register(email)
  await app.verify(email)
  expect(reasonOf((await signInThrough(app)).location)).toBe('email_taken')
  keys.person = { sub: 'for-first', email: 'first@example.org', email_verified: true }
  expect(reasonOf((await signInThrough(app)).location)).toBe('email_taken')
  const other = `other-${email}`
  await app.register(other)
  keys.person = { sub: 'unverified', email: other, email_verified: false }
  expect(reasonOf((await signInThrough(app)).location)).toBe('email_taken')
})

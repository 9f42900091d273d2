import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { cookieOf, PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { comeBack, reasonOf, signInThrough, whoIs } from './browser.ts'
import { openProvider, type TestProvider, walkThrough } from './provider.ts'

// Which identities open an account: its owner decides (contract §3, no silent linking).

let app: TestApp
let keys: TestProvider
let admin: { token: string }
beforeAll(async () => {
  keys = await openProvider()
  app = await startTestApp({ identityProviders: [keys.config()] })
  await keys.admit(app, 'keys')
  admin = await app.register()
})
afterAll(async () => {
  await app?.stop()
  await keys?.stop()
})
let people = 0
beforeEach(() => {
  const sub = `identity-${++people}`
  keys.person = { sub, email: `${sub}@example.org`, email_verified: true }
})

const own = () => ({ origin: app.address })
const ask = (cookie: string, body: unknown = { current_password: PASSWORD }, headers = own()) =>
  app.call('POST', '/api/oauth/keys/link', { cookie, body, headers })
const waysOf = async (cookie: string) => (await app.call('GET', '/api/auth/identities', { cookie })).body
const unlink = (cookie: string, id: string) =>
  app.call('DELETE', `/api/auth/identities/${id}`, { cookie, headers: own() })

/** Links as the user of the cookie; the callback is requested as `returning`, else as the same user. */
async function link(cookie: string, returning = cookie) {
  const asked = await ask(cookie)
  if (asked.status !== 200) throw new Error(`link: ${asked.status} ${JSON.stringify(asked.body)}`)
  const back = await walkThrough(asked.body.url)
  const jar = [cookieOf(asked.headers['set-cookie']), returning].filter((one) => one !== '').join('; ')
  return (await comeBack(app, { back, cookie: jar })).headers.location
}

test('a signed-in user can link an identity and sign in with it from then on', async () => {
  const { cookie, user } = await app.register()
  expect(await waysOf(cookie)).toEqual({ items: [], password: true })
  expect(await link(cookie)).toBe('/account?linked=keys')
  const ways = await waysOf(cookie)
  expect(ways).toEqual({
    items: [
      {
        id: expect.any(String),
        provider: { id: 'keys', name: 'Keys' },
        issuer: keys.issuer,
        email: keys.person?.email,
        created_at: expect.stringMatching(/Z$/),
        last_used_at: expect.stringMatching(/Z$/),
      },
    ],
    password: true,
  })
  const { session } = await signInThrough(app)
  expect((await whoIs(app, session)).id).toBe(user.id)
  const { body } = await app.call('GET', `/api/admin/audit?subject=user:${user.id}`, { token: admin.token })
  expect(body.items).toMatchObject([
    { action: 'user.signed_in', detail: { method: 'provider', provider: 'keys' } },
    { action: 'identity.linked', detail: { issuer: keys.issuer } },
    { action: 'user.registered' },
  ])
})

test('linking an identity that is already linked changes nothing', async () => {
  const { cookie } = await app.register()
  await link(cookie)
  expect(await link(cookie)).toBe('/account?linked=keys')
  expect((await waysOf(cookie)).items).toHaveLength(1)
})

test('an identity belongs to one account: another cannot link it', async () => {
  const one = await app.register()
  const two = await app.register()
  await link(one.cookie)
  expect(await link(two.cookie)).toBe('/account?error=identity_taken&idp=keys')
  expect((await waysOf(two.cookie)).items).toEqual([])
})

test('a link that one user requested is not completed for another user or without a sign-in', async () => {
  const one = await app.register()
  const two = await app.register()
  for (const returning of [two.cookie, '']) {
    expect(reasonOf(await link(one.cookie, returning))).toBe('sign_in_not_linked')
  }
  expect((await waysOf(one.cookie)).items).toEqual([])
  expect((await waysOf(two.cookie)).items).toEqual([])
})

test('linking needs the password and a request from the page of the service', async () => {
  const { cookie } = await app.register()
  const missing = await ask(cookie, {})
  expect([missing.status, missing.body.code]).toEqual([422, 'invalid_body'])
  expect(missing.body.errors).toMatchObject([{ path: 'current_password' }])
  const wrong = await ask(cookie, { current_password: 'not the password' })
  expect([wrong.status, wrong.body.code]).toEqual([403, 'wrong_password'])
  const foreign = await ask(cookie, { current_password: PASSWORD }, { origin: 'https://evil.example' })
  expect([foreign.status, foreign.body.code]).toEqual([403, 'cross_site_request'])
})

test('wrong passwords while linking count as wrong current passwords', async () => {
  const { cookie } = await app.register()
  for (let i = 0; i < 3; i++) await ask(cookie, { current_password: 'guess' })
  const change = { name: 'x', current_password: 'guess' }
  for (let i = 0; i < 2; i++)
    await app.call('PATCH', '/api/auth/me', { cookie, body: change, headers: own() })
  expect((await ask(cookie)).body.code).toBe('too_many_attempts')
})

test('an identity can be unlinked only by its owner, and signs in nowhere afterwards', async () => {
  const { cookie, user } = await app.register()
  const stranger = await app.register()
  await link(cookie)
  const [{ id }] = (await waysOf(cookie)).items
  const foreign = await unlink(stranger.cookie, id)
  expect([foreign.status, foreign.body.code]).toEqual([404, 'identity_not_found'])
  expect((await unlink(cookie, id)).status).toBe(204)
  expect((await unlink(cookie, id)).status).toBe(404)
  const { session } = await signInThrough(app)
  expect((await whoIs(app, session)).id).not.toBe(user.id)
})

test('the last way to sign in cannot be removed, also by two requests at once', async () => {
  const { session = '' } = await signInThrough(app)
  const ways = await waysOf(session)
  expect(ways.password).toBe(false)
  const refused = await unlink(session, ways.items[0].id)
  expect([refused.status, refused.body.code]).toEqual([409, 'last_sign_in'])

  // An account without a password cannot be asked for one.
  keys.person = { sub: 'second-of-one', email: 'second-of-one@example.org', email_verified: true }
  const asked = await ask(session, {})
  const back = await walkThrough(asked.body.url)
  const cookie = `${cookieOf(asked.headers['set-cookie'])}; ${session}`
  expect((await comeBack(app, { back, cookie })).headers.location).toBe('/account?linked=keys')
  const { items } = await waysOf(session)
  const answers = await Promise.all(items.map(({ id }: { id: string }) => unlink(session, id)))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 409])
  expect((await waysOf(session)).items).toHaveLength(1)
})

test('an account without a password cannot set one with an empty current password', async () => {
  const { session = '' } = await signInThrough(app)
  const body = { password: 'a new password', current_password: '' }
  const answer = await app.call('PATCH', '/api/auth/me', { cookie: session, body, headers: own() })
  expect([answer.status, answer.body.code]).toEqual([403, 'wrong_password'])
})

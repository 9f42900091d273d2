import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { comeBack, goThere, reasonOf, signInThrough, whoIs } from './browser.ts'
import { CLIENT_SECRET, openProvider, type TestProvider } from './provider.ts'

// Signing in through a real OpenID provider (contract §3).

let app: TestApp
let keys: TestProvider
let other: TestProvider
const clock = createClock()

beforeAll(async () => {
  keys = await openProvider()
  other = await openProvider('post')
  app = await startTestApp(
    {
      logLevel: 'debug',
      identityProviders: [keys.config(), other.config({ id: 'other', name: 'Other' })],
    },
    { now: clock.now },
  )
  await keys.admit(app, 'keys')
  await other.admit(app, 'other')
})
afterAll(async () => {
  await app?.stop()
  await keys?.stop()
  await other?.stop()
})
let people = 0
beforeEach(() => {
  const sub = `person-${++people}`
  keys.person = { sub, email: `${sub}@example.org`, email_verified: true, name: `Person ${people}` }
  other.person = keys.person
})

test('the first user to sign in this way is administrator, the next is not', async () => {
  const first = await signInThrough(app)
  expect(first.answer.status).toBe(302)
  expect(await whoIs(app, first.session)).toMatchObject({
    email: 'person-1@example.org',
    name: 'Person 1',
    role: 'admin',
  })
  keys.person = { sub: 'second', email: 'second@example.org', email_verified: true }
  const second = await signInThrough(app)
  expect(await whoIs(app, second.session)).toMatchObject({ name: 'second', role: 'user' })
})

test('the list of providers is public and contains no secret', async () => {
  const { status, body } = await app.call('GET', '/api/oauth')
  expect(status).toBe(200)
  expect(body).toEqual({
    items: [
      { id: 'keys', name: 'Keys' },
      { id: 'other', name: 'Other' },
    ],
  })
})

test('the browser is redirected to the provider with PKCE S256, state and nonce, new ones each time', async () => {
  const begin = async () => {
    const { headers } = await app.call('GET', '/api/oauth/keys/start')
    return { headers, query: new URL(headers.location ?? '').searchParams }
  }
  const [one, two] = [await begin(), await begin()]
  expect(one.headers.location).toMatch(new RegExp(`^${keys.issuer}/auth\\?`))
  expect(one.headers['cache-control']).toBe('no-store')
  expect(Object.fromEntries(one.query)).toMatchObject({
    client_id: 'monitor',
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: `${app.address}/api/oauth/keys/callback`,
    scope: 'openid email profile',
  })
  for (const name of ['state', 'nonce', 'code_challenge']) {
    expect(one.query.get(name)).toMatch(/^[\w-]{43}$/)
    expect(two.query.get(name)).not.toBe(one.query.get(name))
  }
  const [cookie = ''] = one.headers['set-cookie'] ?? []
  expect(cookie).toMatch(/^svc_sign_in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/)
})

test('a second sign-in opens the same account, and leads to the requested page', async () => {
  const first = await signInThrough(app)
  const again = await signInThrough(app, { returnTo: '/p/a ü?q=x#y' })
  expect(first.location).toBe('/')
  expect(again.location).toBe('/p/a%20%C3%BC?q=x#y')
  expect(await whoIs(app, again.session)).toEqual(await whoIs(app, first.session))
  const viaPost = await signInThrough(app, { idp: 'other' })
  expect(reasonOf(viaPost.location)).toBe('email_taken')
})

test('users who sign in at once get an account each, and one who signs in twice gets one', async () => {
  const underway = await Promise.all([1, 2, 3].map(() => goThere(app)))
  const answers = await Promise.all(underway.map((one) => comeBack(app, one)))
  expect(answers.map(({ headers }) => headers.location)).toEqual(['/', '/', '/'])
  const [row] = await app.sql`select count(*) n from users where email = ${keys.person?.email ?? ''}`
  expect(row?.n).toBe(1)
})

test('a state can be used once: the same callback a second time is refused', async () => {
  const underway = await goThere(app)
  expect((await comeBack(app, underway)).headers.location).toBe('/')
  const again = await comeBack(app, underway)
  expect(again.headers['set-cookie']).toBeUndefined()
  expect(reasonOf(again.headers.location)).toBe('sign_in_expired')
})

test('a code can be used once: a new sign-in with a used code is refused', async () => {
  const used = await signInThrough(app)
  const fresh = await goThere(app)
  fresh.back.searchParams.set('code', used.back.searchParams.get('code') ?? '')
  const answer = await comeBack(app, fresh)
  expect(reasonOf(answer.headers.location)).toBe('sign_in_unverified')
})

test('a callback in another browser, or in one without the cookie, is refused', async () => {
  const mine = await goThere(app)
  const theirs = await goThere(app)
  for (const cookie of ['', theirs.cookie, 'svc_sign_in=forged']) {
    const answer = await comeBack(app, { ...mine, cookie })
    expect(reasonOf(answer.headers.location)).toBe('sign_in_expired')
  }
  expect((await comeBack(app, mine)).headers.location).toBe('/')
})

test('sign-ins in two tabs of one browser both succeed', async () => {
  const one = await goThere(app)
  const two = await goThere(app, { cookie: one.cookie })
  expect((await comeBack(app, one)).headers.location).toBe('/')
  expect((await comeBack(app, two)).headers.location).toBe('/')
})

test('a sign-in that takes longer than ten minutes is refused', async () => {
  const underway = await goThere(app)
  clock.forward({ seconds: 599 })
  const patient = await goThere(app)
  clock.forward({ seconds: 2 })
  expect(reasonOf((await comeBack(app, underway)).headers.location)).toBe('sign_in_expired')
  expect((await comeBack(app, patient)).headers.location).toBe('/')
})

test.each([
  ['another state', (url: URL) => url.searchParams.set('state', 'x'.repeat(43)), 'sign_in_expired'],
  ['another nonce', (url: URL) => url.searchParams.set('nonce', 'x'.repeat(43)), 'sign_in_unverified'],
  [
    'another code challenge',
    (url: URL) => url.searchParams.set('code_challenge', 'x'.repeat(43)),
    'sign_in_unverified',
  ],
])('%s in the request to the provider is detected in the callback', async (_what, tamper, reason) => {
  const { answer, session, location } = await signInThrough(app, { tamper })
  expect([answer.status, session, reasonOf(location)]).toEqual([302, undefined, reason])
})

test.each([
  ['of another issuer', (url: URL) => url.searchParams.set('iss', other.issuer)],
  ['without an issuer', (url: URL) => url.searchParams.delete('iss')],
  ['with two codes', (url: URL) => url.searchParams.append('code', 'second')],
  ['without a code', (url: URL) => url.searchParams.delete('code')],
])('an answer %s is refused', async (_what, tamper) => {
  const underway = await goThere(app)
  tamper(underway.back)
  const answer = await comeBack(app, underway)
  expect(reasonOf(answer.headers.location)).toBe('sign_in_unverified')
  expect(answer.headers['set-cookie']).toBeUndefined()
})

test('an answer with two states is refused', async () => {
  const underway = await goThere(app)
  underway.back.searchParams.append('state', underway.back.searchParams.get('state') ?? '')
  expect(reasonOf((await comeBack(app, underway)).headers.location)).toBe('sign_in_expired')
})

test('the answer of one provider cannot complete a sign-in started with another', async () => {
  const one = await goThere(app)
  const two = await goThere(app, { idp: 'other', cookie: one.cookie })
  other.asked.length = 0
  // The state of one provider at the callback of the other.
  const crossed = new URL(two.back)
  crossed.searchParams.set('state', one.back.searchParams.get('state') ?? '')
  const first = await comeBack(app, { cookie: one.cookie, back: crossed })
  expect(reasonOf(first.headers.location)).toBe('sign_in_expired')
  // The code of the second provider at the callback of the first, with and without its issuer.
  const stolen = new URL(one.back)
  stolen.searchParams.set('code', two.back.searchParams.get('code') ?? '')
  const second = await comeBack(app, { cookie: one.cookie, back: stolen })
  expect(reasonOf(second.headers.location)).toBe('sign_in_unverified')
  expect(other.asked).toEqual([])
})

test.each([
  '//evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  'https://evil.example/',
  'evil.example',
  'javascript:alert(1)',
  '/%2Fevil.example',
  '/%2f%2fevil.example',
  '/%5Cevil.example',
  '/.//evil.example',
  '/a/..//evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/%09/evil.example',
  ' /p',
  '',
  '/\0',
  '/api/oauth/keys/start',
  `/${'x'.repeat(2048)}`,
])('a sign-in does not lead to %j afterwards', async (returnTo) => {
  const answer = await app.call(
    'GET',
    `/api/oauth/keys/start?${new URLSearchParams({ return_to: returnTo })}`,
  )
  expect([answer.status, answer.body.code]).toEqual([422, 'invalid_query'])
  expect(answer.headers.location).toBeUndefined()
})

test('an encoded address of another site is refused, and so are two return addresses', async () => {
  for (const query of ['return_to=%2F%2Fevil.example', 'return_to=/&return_to=//evil.example', 'to=/']) {
    const answer = await app.call('GET', `/api/oauth/keys/start?${query}`)
    expect([query, answer.status]).toEqual([query, 422])
  }
})

test('a user who cancels at the provider gets back to the page, which keeps the requested address', async () => {
  keys.person = null
  const { location } = await signInThrough(app, { returnTo: '/tokens' })
  expect(location).toBe('/sign-in?error=sign_in_cancelled&idp=keys&return_to=%2Ftokens')
})

test('an error text of the provider is not passed on', async () => {
  const underway = await goThere(app)
  const back = new URL(underway.back)
  back.searchParams.delete('code')
  back.searchParams.set('error', 'evil_word')
  back.searchParams.set('error_description', 'Call this number')
  const answer = await comeBack(app, { ...underway, back })
  expect(answer.headers.location).toBe('/sign-in?error=sign_in_unverified&idp=keys')
})

test('an identity with the address of a verified account is not linked silently', async () => {
  const email = keys.person?.email ?? ''
  const { user } = await app.register(email.toUpperCase())
  await app.verify(email)
  const { session, location } = await signInThrough(app)
  expect([session, reasonOf(location)]).toEqual([undefined, 'email_taken'])
  const rows = await app.sql`select from identities where user_id = ${user.id}`
  expect(rows).toHaveLength(0)
})

test('an account follows its identity, not its address', async () => {
  const before = await signInThrough(app)
  keys.person = { ...keys.person, sub: keys.person?.sub ?? '', email: 'moved@example.org' }
  const after = await signInThrough(app)
  const me = await whoIs(app, after.session)
  expect(me).toEqual(await whoIs(app, before.session))
})

test('a disabled account cannot sign in', async () => {
  const { session } = await signInThrough(app)
  const me = await whoIs(app, session)
  await app.sql`update users set disabled_at = now() where id = ${me.id}`
  const again = await signInThrough(app)
  expect([again.session, reasonOf(again.location)]).toEqual([undefined, 'account_disabled'])
})

test('an identity without an address gets no account, and one without a valid name is named by its address', async () => {
  keys.person = { sub: 'nameless' }
  expect(reasonOf((await signInThrough(app)).location)).toBe('email_missing')
  keys.person = { sub: 'nameless', email: 'nameless@example.org', name: '\u0000\n' }
  const { session } = await signInThrough(app)
  expect(await whoIs(app, session)).toMatchObject({ name: 'nameless' })
})

test('a session opened this way is like any other', async () => {
  const { session = '' } = await signInThrough(app)
  const headers = { origin: app.address }
  expect((await app.call('POST', '/api/auth/logout', { cookie: session, headers })).status).toBe(204)
  expect((await app.call('GET', '/api/auth/me', { cookie: session })).status).toBe(401)
  const login = await app.call('POST', '/api/auth/login', {
    body: { email: keys.person?.email, password: PASSWORD },
  })
  expect([login.status, login.body.code]).toEqual([401, 'bad_credentials'])
})

test('an unknown provider is 404', async () => {
  for (const path of ['start', 'callback?code=x&state=y']) {
    const answer = await app.call('GET', `/api/oauth/nowhere/${path}`)
    expect([answer.status, answer.body.code]).toEqual([404, 'provider_not_found'])
  }
})

test('nothing secret is logged, after any failure', async () => {
  const good = await signInThrough(app)
  const bad = await goThere(app)
  bad.back.searchParams.set('code', 'guessed-code')
  await comeBack(app, bad)
  const logged = app.logged()
  expect(logged).toContain('sign_in_unverified')
  const secrets = [
    CLIENT_SECRET,
    'guessed-code',
    good.back.searchParams.get('code'),
    good.back.searchParams.get('state'),
    bad.back.searchParams.get('state'),
    good.authorize.searchParams.get('nonce'),
    good.cookie.split('=')[1],
    good.session?.split('=')[1],
  ]
  for (const secret of secrets) {
    expect(secret?.length).toBeGreaterThan(8)
    expect(logged).not.toContain(secret)
  }
})

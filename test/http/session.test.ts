import { createHmac } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { cookieOf, PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

let app: TestApp
const clock = createClock()
beforeAll(async () => {
  app = await startTestApp({}, { now: clock.now })
})
afterAll(() => app?.stop())

const me = (credential: { token?: string; cookie?: string; headers?: Record<string, string> }) =>
  app.call('GET', '/api/auth/me', credential)
const SAME_SITE = { 'sec-fetch-site': 'same-origin' }

describe('a credential', () => {
  test('is required, and the answer says which kind', async () => {
    const { status, body, headers } = await me({})
    expect([status, body.code, headers['www-authenticate']]).toEqual([401, 'unauthenticated', 'Bearer'])
  })

  test('in the header has priority over the cookie', async () => {
    const [ada, grace] = [await app.register(), await app.register()]
    expect((await me({ token: ada.token, cookie: grace.cookie })).body.user.id).toBe(ada.user.id)
    expect((await me({ token: 'bad', cookie: grace.cookie })).status).toBe(401)
    expect((await me({ headers: { authorization: 'Basic YTpi' }, cookie: grace.cookie })).status).toBe(401)
  })

  test('in an invalid cookie is treated as anonymous, not as an error', async () => {
    expect((await me({ cookie: 'svc_session=nothing' })).body.code).toBe('unauthenticated')
    const login = await app.call('POST', '/api/auth/register', {
      cookie: 'svc_session=nothing',
      body: { email: 'stale-cookie@example.org', password: PASSWORD },
    })
    expect(login.status).toBe(201)
  })
})

describe('a JWT', () => {
  let token: string
  let secret: Buffer
  beforeAll(async () => {
    token = (await app.register()).token
    const [key] = await app.sql<
      { secret: Buffer }[]
    >`select secret from signing_keys where kid = ${kidOf(token)}`
    secret = key?.secret as Buffer
  })
  const kidOf = (jwt: string) => decodeProtectedHeader(jwt).kid ?? ''
  const signed = (
    change: Record<string, unknown>,
    header: Record<string, unknown> = {},
    key: Uint8Array = secret,
  ) =>
    new SignJWT({ ...decodeJwt(token), ...change })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT', kid: kidOf(token), ...header })
      .sign(key)

  /** By hand, because jose itself declines to sign HS512 with a key of 32 bytes. */
  const macOf = (alg: string, hash: string) => {
    const header = Buffer.from(JSON.stringify({ alg, typ: 'JWT', kid: kidOf(token) })).toString('base64url')
    const text = `${header}.${token.split('.')[1]}`
    return `${text}.${createHmac(hash, secret).update(text).digest('base64url')}`
  }

  test('signed like those of the service is accepted, so that the refusals below mean something', async () => {
    expect((await me({ token: await signed({}) })).status).toBe(200)
  })

  test.each<[string, () => Promise<string> | string]>([
    ['without a signature', () => new UnsecuredJWT(decodeJwt(token)).encode()],
    ['with its signature cut off', () => `${token.split('.').slice(0, 2).join('.')}.`],
    [
      'with other claims under the old signature',
      async () => {
        const [header, , signature] = token.split('.')
        return [header, (await signed({ sub: crypto.randomUUID() })).split('.')[1], signature].join('.')
      },
    ],
    ['signed with another key under our kid', () => signed({}, {}, Buffer.alloc(32, 1))],
    ['signed under a kid that is not ours', () => signed({}, { kid: 'foreign' })],
    ['without a kid', () => signed({}, { kid: undefined })],
    ['with SQL as its kid', () => signed({}, { kid: "' or true --" })],
    ['with a NUL in its kid', () => signed({}, { kid: '\0' })],
    ['with another algorithm of our key', () => macOf('HS512', 'sha512')],
    ['of another type', () => signed({}, { typ: 'at+jwt' })],
    ['for another audience', () => signed({ aud: 'other' })],
    ['of another issuer', () => signed({ iss: 'other' })],
    ['that has expired', () => signed({ exp: Math.floor(clock.now().getTime() / 1000) - 1 })],
    ['that never expires', () => signed({ exp: undefined })],
    ['without the time it was issued', () => signed({ iat: undefined })],
    ['without a session', () => signed({ sid: undefined })],
    ['of a session that is not', () => signed({ sid: crypto.randomUUID() })],
    ['of a session that cannot be', () => signed({ sid: 'x' })],
    ["of another user's session", async () => signed({ sid: decodeJwt((await app.register()).token).sid })],
    ['that is none', () => 'a.b.c'],
    ['of 10,000 characters', () => 'a'.repeat(10_000)],
  ])('%s is refused', async (_, make) => {
    const answer = await me({ token: await make() })
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated'])
    expect(answer.headers['www-authenticate']).toContain('Bearer')
  })

  test('whose signature is computed by the standard alone is accepted', async () => {
    expect((await me({ token: macOf('HS256', 'sha256') })).status).toBe(200)
  })

  test('is valid for twelve hours and is not renewed, while the cookie of its session stays valid', async () => {
    const { token, cookie } = await app.register()
    clock.forward({ hours: 11, minutes: 59 })
    const late = await me({ token })
    expect(late.status).toBe(200)
    expect(late.headers['set-cookie']).toBeUndefined()
    clock.forward({ minutes: 2 })
    expect((await me({ token })).status).toBe(401)
    expect((await me({ cookie })).status).toBe(200)
  })
})

describe('a cookie', () => {
  test('is renewed while it is used, at most once a minute', async () => {
    const { cookie } = await app.register()
    expect((await me({ cookie })).headers['set-cookie']).toBeUndefined()
    clock.forward({ minutes: 2 })
    const renewed = await me({ cookie })
    expect(cookieOf(renewed.headers['set-cookie'])).toBe(cookie)
    expect(renewed.headers['set-cookie']?.[0]).toContain('Max-Age=1209600')
    expect((await me({ cookie })).headers['set-cookie']).toBeUndefined()
  })

  test('expires after fourteen days without use', async () => {
    const { cookie } = await app.register()
    clock.forward({ days: 13 })
    expect((await me({ cookie })).status).toBe(200)
    clock.forward({ days: 13 })
    expect((await me({ cookie })).status).toBe(200)
    clock.forward({ days: 14, minutes: 1 })
    expect((await me({ cookie })).status).toBe(401)
  })

  test('expires after ninety days even if it is used, and announces this', async () => {
    const { cookie } = await app.register()
    for (let day = 0; day < 80; day += 10) {
      clock.forward({ days: 10 })
      expect((await me({ cookie })).status).toBe(200)
    }
    clock.forward({ days: 5 })
    expect((await me({ cookie })).headers['set-cookie']?.[0]).toContain(`Max-Age=${5 * 86_400};`)
    clock.forward({ days: 5 })
    expect((await me({ cookie })).status).toBe(401)
  })
})

describe('signing out', () => {
  test('ends the session for its JWT and its cookie, and leaves other sessions open', async () => {
    const { token, cookie, email } = await app.register()
    const other = await app.call('POST', '/api/auth/login', { body: { email, password: PASSWORD } })
    const answer = await app.call('POST', '/api/auth/logout', { token })
    expect([answer.status, answer.body]).toEqual([204, ''])
    expect((await me({ token })).status).toBe(401)
    expect((await me({ cookie })).status).toBe(401)
    expect((await app.call('POST', '/api/auth/logout', { token })).status).toBe(401)
    expect((await me({ token: other.body.token })).status).toBe(200)
  })

  test('at a browser clears the cookie', async () => {
    const { token, cookie } = await app.register()
    const answer = await app.call('POST', '/api/auth/logout', { cookie, headers: SAME_SITE })
    expect(answer.status).toBe(204)
    expect(answer.headers['set-cookie']?.[0]).toMatch(/^svc_session=; .*(Max-Age=0|Expires=Thu, 01 Jan 1970)/)
    expect((await me({ token })).status).toBe(401)
  })

  test('needs a signed-in user, and no body', async () => {
    expect((await app.call('POST', '/api/auth/logout')).status).toBe(401)
    const { token } = await app.register()
    expect((await app.call('POST', '/api/auth/logout', { token, body: { all: true } })).status).toBe(422)
    expect((await app.call('POST', '/api/auth/logout', { token, body: {} })).status).toBe(204)
  })
})

describe('changing the own account', () => {
  beforeEach(() => clock.forward({ minutes: 2 }))
  const patch = (token: string, body: unknown) => app.call('PATCH', '/api/auth/me', { token, body })

  test('changes the name', async () => {
    const { token, user } = await app.register()
    const answer = await patch(token, { name: 'Countess' })
    expect(answer).toMatchObject({ status: 200, body: { user: { ...user, name: 'Countess' } } })
    expect((await me({ token })).body.user.name).toBe('Countess')
  })

  test('changes the password, closes the other sessions and keeps this one', async () => {
    const { token, cookie, email } = await app.register()
    const login = (password: string) => app.call('POST', '/api/auth/login', { body: { email, password } })
    const others = [await login(PASSWORD), await login(PASSWORD)]
    const answer = await patch(token, { password: 'another password', current_password: PASSWORD })
    expect(answer.status).toBe(200)
    for (const other of others) expect((await me({ token: other.body.token })).status).toBe(401)
    expect((await me({ token })).status).toBe(200)
    expect((await me({ cookie })).status).toBe(200)
    expect((await login(PASSWORD)).status).toBe(401)
    expect((await login('another password')).status).toBe(200)
  })

  test('needs the current password for a new one', async () => {
    const { token, email } = await app.register()
    const missing = await patch(token, { password: 'another password' })
    expect(missing).toMatchObject({ status: 422, body: { errors: [{ path: 'current_password' }] } })
    const wrong = await patch(token, { password: 'another password', current_password: 'wrong' })
    expect([wrong.status, wrong.body.code]).toEqual([403, 'wrong_password'])
    const login = await app.call('POST', '/api/auth/login', { body: { email, password: PASSWORD } })
    expect(login.status).toBe(200)
  })

  test.each([
    [{}],
    [{ role: 'admin' }],
    [{ email: 'new@example.org' }],
    [{ name: 'a\nb' }],
    [{ password: 'short', current_password: PASSWORD }],
  ])('refuses %j', async (body) => {
    const { token } = await app.register()
    expect((await patch(token, body)).status).toBe(422)
  })
})

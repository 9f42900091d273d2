import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'

const BODY = { name: 'x', scope: 'read' }

describe('an unsafe request with a cookie', () => {
  let app: TestApp
  let person: Awaited<ReturnType<TestApp['register']>>
  let own: string
  beforeAll(async () => {
    app = await startTestApp()
    person = await app.register()
    own = app.address
  })
  afterAll(() => app?.stop())
  const create = (headers: Record<string, string>, cookie = person.cookie) =>
    app.call('POST', '/api/tokens', { cookie, body: BODY, headers })

  test.each<[string, () => Record<string, string>]>([
    ['says that it is same-origin', () => ({ 'sec-fetch-site': 'same-origin' })],
    ['has our origin', () => ({ origin: own })],
    ['says so, from any origin', () => ({ 'sec-fetch-site': 'same-origin', origin: 'http://proxy.example' })],
    [
      'has the origin that the Host names',
      () => ({ origin: 'http://localhost:8080', host: 'localhost:8080' }),
    ],
    ['has it under TLS', () => ({ origin: 'https://localhost', host: 'localhost' })],
  ])('is accepted when it %s', async (_, headers) => {
    expect((await create(headers())).status).toBe(201)
  })

  test.each<[string, () => Record<string, string>]>([
    ['says nothing', () => ({})],
    ['is cross-site', () => ({ 'sec-fetch-site': 'cross-site' })],
    ['is same-site only', () => ({ 'sec-fetch-site': 'same-site' })],
    ['claims to be typed in', () => ({ 'sec-fetch-site': 'none' })],
    ['is cross-site with our origin', () => ({ 'sec-fetch-site': 'cross-site', origin: own })],
    ['has another origin', () => ({ origin: 'http://evil.example' })],
    ['has another port', () => ({ origin: 'http://127.0.0.1:1' })],
    ['has the null origin', () => ({ origin: 'null' })],
    ['has an origin that begins like ours', () => ({ origin: `${own}.evil.example` })],
    ['has an origin that is no address', () => ({ origin: own.replace('http://', '') })],
    ['has a referer alone', () => ({ referer: `${own}/` })],
  ])('is refused when it %s', async (_, headers) => {
    expect(await create(headers())).toMatchObject({ status: 403, body: { code: 'cross_site_request' } })
  })

  test('from another site is refused for every unsafe method and path, also with an invalid cookie', async () => {
    const headers = { origin: 'http://evil.example' }
    const paths: [string, string][] = [
      ['POST', '/api/auth/logout'],
      ['PATCH', '/api/auth/me'],
      ['DELETE', '/api/tokens/x'],
      ['POST', '/api/admin/jwt/rotate'],
      ['POST', '/api/auth/login'],
      ['PUT', '/api/nothing'],
    ]
    for (const [method, path] of paths) {
      for (const cookie of [person.cookie, 'svc_session=dead']) {
        expect((await app.call(method, path, { cookie, headers })).body.code).toBe('cross_site_request')
      }
    }
  })

  test('does not stop a program with a cookie jar from signing in', async () => {
    const body = { email: person.email, password: PASSWORD }
    const answer = await app.call('POST', '/api/auth/login', { cookie: person.cookie, body })
    expect(answer.status).toBe(200)
  })

  test('needs no proof of origin with a bearer token', async () => {
    const headers = { origin: 'http://evil.example' }
    const { token, cookie } = person
    expect((await app.call('POST', '/api/tokens', { token, cookie, headers, body: BODY })).status).toBe(201)
  })

  test('must be JSON', async () => {
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain' }
    expect(await create(headers)).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  })

  test('needs a proof of origin; a safe request does not', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await app.call('GET', '/api/auth/me', { cookie: person.cookie, headers })).status).toBe(200)
  })

  test('under another name is not a session', async () => {
    const value = person.cookie.split('=')[1]
    const cookie = `__Host-svc_session=${value}; SVC_SESSION=${value}; other=1`
    expect((await app.call('GET', '/api/auth/me', { cookie })).status).toBe(401)
    expect((await create({}, cookie)).status).toBe(401)
  })
})

describe('an origin under TLS', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({
      publicUrl: 'https://svc.example.org',
      allowedHosts: ['127.0.0.1', 'svc.example.org'],
    })
  })
  afterAll(() => app?.stop())

  test('the cookie is Secure and has the __Host- prefix', async () => {
    const body = { email: 'ada@example.org', password: PASSWORD }
    const { headers } = await app.call('POST', '/api/auth/register', { body })
    const cookie = headers['set-cookie']?.[0] ?? ''
    expect(cookie).toMatch(/^__Host-svc_session=/)
    expect(cookie.split('; ').slice(1).sort()).toEqual([
      'HttpOnly',
      'Max-Age=1209600',
      'Path=/',
      'SameSite=Lax',
      'Secure',
    ])
  })

  test.each([
    ['https://svc.example.org', '127.0.0.1', 201],
    ['https://svc.example.org', 'svc.example.org', 201],
    ['http://svc.example.org', 'svc.example.org', 403],
    ['https://127.0.0.1', 'svc.example.org', 403],
  ])('the origin %s at Host %s is answered with %s', async (origin, host, status) => {
    const { cookie } = await app.register()
    const answer = await app.call('POST', '/api/tokens', { cookie, body: BODY, headers: { origin, host } })
    expect(answer.status).toBe(status)
  })
})

describe('the Host header', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp()
  })
  afterAll(() => app?.stop())

  test.each([
    ['localhost', 401],
    ['LOCALHOST:1234', 401],
    ['127.0.0.1:80', 401],
    ['[::1]:8080', 401],
    ['evil.example', 400],
    ['localhost.evil.example', 400],
    ['127.0.0.1.evil.example:8080', 400],
  ])('%j is answered with %s', async (host, status) => {
    const answer = await app.call('GET', '/api/auth/me', { headers: { host } })
    expect(answer.status).toBe(status)
    if (status === 400) expect(answer.body.code).toBe('host_not_allowed')
  })
})

import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

const path = '/api/auth/register'

describe('registering', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ logLevel: 'debug' })
  })
  afterAll(() => app?.stop())
  const register = (body: unknown) => app.call('POST', path, { body })

  test('makes the first account an administrator and the next one a user', async () => {
    const first = await register({ email: 'Ada.L@Example.org', password: PASSWORD })
    const second = await register({ email: 'grace@example.org', password: PASSWORD, name: 'Grace Ø' })
    expect([first.status, second.status]).toEqual([201, 201])
    expect(first.body.user).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email: 'Ada.L@Example.org',
      email_verified: false,
      name: 'Ada.L',
      role: 'admin',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/),
    })
    expect(second.body.user).toMatchObject({ name: 'Grace Ø', role: 'user' })
  })

  test('answers with a JWT of twelve hours with the claims of the contract', async () => {
    const { body } = await register({ email: 'jwt@example.org', password: PASSWORD })
    const claims = decodeJwt(body.token)
    expect(Object.keys(claims).sort()).toEqual(['aud', 'exp', 'iat', 'iss', 'sid', 'sub'])
    expect(claims.sub).toBe(body.user.id)
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(12 * 3600)
    expect(Date.parse(body.expires_at)).toBe((claims.exp ?? 0) * 1000)
    expect(decodeProtectedHeader(body.token)).toEqual({ alg: 'HS256', typ: 'JWT', kid: expect.any(String) })
  })

  test('sets an HttpOnly cookie with SameSite', async () => {
    const { headers } = await register({ email: 'cookie@example.org', password: PASSWORD })
    const cookie = headers['set-cookie']?.[0] ?? ''
    expect(headers['set-cookie']).toHaveLength(1)
    expect(cookie).toMatch(/^svc_session=[\w-]{43}; /)
    expect(cookie.split('; ').slice(1).sort()).toEqual([
      'HttpOnly',
      'Max-Age=1209600',
      'Path=/',
      'SameSite=Lax',
    ])
    expect(headers['cache-control']).toBe('no-store')
  })

  test('stores an argon2id hash; no secret is stored or logged as plain text', async () => {
    const { body, headers } = await register({ email: 'hash@example.org', password: PASSWORD })
    const [user] = await app.sql`select password_hash from users where email_key = 'hash@example.org'`
    expect(user?.password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    const cookie = headers['set-cookie']?.[0]?.match(/=([^;]+)/)?.[1] ?? ''
    const [rows] =
      await app.sql`select (select jsonb_agg(u) from users u)::text || (select jsonb_agg(s) from sessions s)::text as text`
    for (const secret of [PASSWORD, body.token, cookie]) {
      expect(rows?.text).not.toContain(secret)
      expect(app.logged()).not.toContain(secret)
    }
  })

  test('accepts an address once, ignoring case', async () => {
    await register({ email: 'once@example.org', password: PASSWORD })
    const again = await register({ email: 'ONCE@example.ORG', password: PASSWORD })
    expect(again.status).toBe(409)
    expect(again.body).toMatchObject({ code: 'email_taken', status: 409, instance: path })
    expect(again.headers['content-type']).toContain('application/problem+json')
  })

  test('lets one of many concurrent requests for the same address succeed', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => register({ email: 'race@example.org', password: PASSWORD })),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(9).fill(409)])
  })

  test('accepts passwords of 8 to 1,024 characters, counted as Unicode characters', async () => {
    for (const [name, password] of Object.entries({
      short: 'xw4-Fq7k',
      long: 'größer als alles '.repeat(61).slice(0, 1024),
      signs: '🔑🎲🧭📦🔭🎯🧩🚲',
    })) {
      expect((await register({ email: `${name}@example.org`, password })).status).toBe(201)
      const login = await app.call('POST', '/api/auth/login', {
        body: { email: `${name}@example.org`, password },
      })
      expect(login.status).toBe(200)
    }
  })

  test.each([
    ['a password of 7 characters', { password: '1234567' }, 'password'],
    ['a password of 1,025 characters', { password: 'a'.repeat(1025) }, 'password'],
    ['7 characters that need two units each', { password: '🔑'.repeat(7) }, 'password'],
    ['half a surrogate pair in the password', { password: `12345678\ud800` }, 'password'],
    ['no password', { password: undefined }, 'password'],
    ['a number as the password', { password: 12345678 }, 'password'],
    ['an address without @', { email: 'unknown' }, 'email'],
    ['an address with two @', { email: 'a@b@c' }, 'email'],
    ['an address with a space', { email: 'a b@example.org' }, 'email'],
    ['an address with a line break', { email: 'a@example.org\r\nBcc: b@example.org' }, 'email'],
    ['an address with NUL', { email: 'a\0@example.org' }, 'email'],
    ['an address of 255 characters', { email: `${'a'.repeat(243)}@example.org` }, 'email'],
    ['a list of addresses', { email: ['a@example.org'] }, 'email'],
    ['an empty name', { name: '' }, 'name'],
    ['a name of spaces', { name: '   ' }, 'name'],
    ['a name with NUL', { name: 'a\0b' }, 'name'],
    ['a name with half a surrogate pair', { name: 'a\udc00' }, 'name'],
    ['a name of 129 characters', { name: 'a'.repeat(129) }, 'name'],
    ['null as the name', { name: null }, 'name'],
    ['an unknown key', { role: 'admin' }, 'role'],
  ])('refuses %s and names the field', async (_, change, field) => {
    const answer = await register({ email: 'bad@example.org', password: PASSWORD, ...change })
    expect(answer.status).toBe(422)
    expect(answer.body).toMatchObject({ code: 'invalid_body', errors: [{ path: field }] })
    expect(JSON.stringify(answer.body)).not.toContain(PASSWORD)
  })

  test.each([
    ['no body', undefined, {}, 422],
    ['null', 'null', {}, 422],
    ['an array', '[]', {}, 422],
    ['a text', '"x"', {}, 422],
    ['half of a document', '{"email":', {}, 422],
    [
      'a form',
      'email=a%40example.org&password=12345678',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
    ],
    ['plain text', '{}', { 'content-type': 'text/plain' }, 415],
  ])('refuses %s as the body', async (_, body, headers, status) => {
    const answer = await app.call('POST', path, { ...(body === undefined ? {} : { body }), headers })
    expect(answer.status).toBe(status)
    expect(answer.body.request_id).toBe(answer.headers['x-request-id'])
  })

  test('refuses unknown query parameters', async () => {
    const body = { email: 'query@example.org', password: PASSWORD }
    const answer = await app.call('POST', `${path}?admin=1`, { body })
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_query'])
  })
})

describe('fifty who register at once', () => {
  let database: TestDatabase
  let apps: TestApp[]
  const fifty = async () => {
    const calls = Array.from({ length: 50 }, (_, i) => apps[i % 2]?.register(`p${i}@example.org`))
    return Promise.allSettled(calls)
  }
  const start = async (registration: 'open' | 'closed') => {
    database = await freshDatabase()
    const shared = { databaseUrl: database.url, registration }
    apps = await Promise.all([startTestApp(shared), startTestApp(shared)])
    return async () => {
      await Promise.all(apps.map((app) => app.stop()))
      await database.drop()
    }
  }

  test('become one administrator and forty-nine users over two servers', async () => {
    const stop = await start('open')
    try {
      const done = await fifty()
      const roles = done.map((one) => (one.status === 'fulfilled' ? one.value?.user.role : one.reason))
      expect(roles.sort()).toEqual(['admin', ...Array(49).fill('user')])
      const [keys] = await database.sql`select count(*)::int as n from signing_keys`
      expect(keys?.n).toBe(1)
    } finally {
      await stop()
    }
  })

  test('become one account if registration is closed', async () => {
    const stop = await start('closed')
    try {
      const done = await fifty()
      expect(done.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
      const late = await apps[0]?.call('POST', path, {
        body: { email: 'late@example.org', password: PASSWORD },
      })
      expect([late?.status, late?.body.code]).toEqual([403, 'registration_closed'])
      expect(await database.sql`select role from users`).toEqual([{ role: 'admin' }])
    } finally {
      await stop()
    }
  })
})

test('registrations beyond the queue of password hashes are 503 with Retry-After', async () => {
  const app = await startTestApp()
  try {
    const answers = await Promise.all(
      Array.from({ length: 220 }, (_, i) =>
        app.call('POST', path, { body: { email: `crowd${i}@example.org`, password: PASSWORD } }),
      ),
    )
    const refused = answers.filter((answer) => answer.status !== 201)
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(102)
    expect(refused.length).toBeGreaterThan(0)
    for (const { status, body, headers } of refused) {
      expect([status, body.code]).toEqual([503, 'overloaded'])
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    }
  } finally {
    await app.stop()
  }
})

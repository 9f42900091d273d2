import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { cookieOf, PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

let app: TestApp
const clock = createClock()
beforeAll(async () => {
  app = await startTestApp({ trustProxy: true }, { now: clock.now })
  await app.register('ada@example.org')
})
afterAll(() => app?.stop())
// Each test starts with no counted attempts.
beforeEach(() => clock.forward({ minutes: 2 }))

const login = (email: string, password: string, address = '192.0.2.1') =>
  app.call('POST', '/api/auth/login', { body: { email, password }, headers: { 'x-forwarded-for': address } })

describe('signing in', () => {
  test('answers with user, token and cookie, and ignores the case of the address', async () => {
    const { status, body, headers } = await login('ADA@Example.ORG', PASSWORD)
    expect(status).toBe(200)
    expect(body).toEqual({
      user: expect.objectContaining({ email: 'ada@example.org', role: 'admin' }),
      token: expect.any(String),
      expires_at: new Date(Math.floor(clock.now().getTime() / 1000 + 12 * 3600) * 1000)
        .toISOString()
        .replace('.000Z', 'Z'),
    })
    for (const credential of [{ token: body.token }, { cookie: cookieOf(headers['set-cookie']) }]) {
      const me = await app.call('GET', '/api/auth/me', credential)
      expect(me).toMatchObject({ status: 200, body: { user: body.user } })
    }
  })

  test('has the same answer for a wrong password, an unknown address and an invalid address', async () => {
    const tries = ['ada@example.org', 'unknown@example.org', 'not an address', '\0', '']
    const answers = await Promise.all(tries.map((email) => login(email, 'wrong password')))
    for (const { status, body, headers } of answers) {
      expect(status).toBe(401)
      expect(headers['www-authenticate']).toBe('Bearer')
      expect({ ...body, request_id: '' }).toEqual({ ...answers[0]?.body, request_id: '' })
    }
    expect(answers[0]?.body.code).toBe('bad_credentials')
  })

  test('takes as long for an unknown address as for a wrong password', async () => {
    const took = async (email: string) => {
      const begun = process.cpuUsage()
      expect((await login(email, 'wrong password')).status).toBe(401)
      const { user, system } = process.cpuUsage(begun)
      return user + system
    }
    const known: number[] = []
    const unknown: number[] = []
    for (let round = 0; round < 9; round++) {
      known.push(await took('ada@example.org'))
      unknown.push(await took(`unknown${round}@example.org`))
      clock.forward({ seconds: 30 })
    }
    // Of the processor, which others may be using as well. Without a hash it would be a tenth.
    const ratio = Math.min(...unknown) / Math.min(...known)
    expect(ratio).toBeGreaterThan(0.5)
    expect(ratio).toBeLessThan(2)
  })

  test('accepts a password in either Unicode form of its accents', async () => {
    await app.call('POST', '/api/auth/register', {
      body: { email: 'accent@example.org', password: 'cr\u00e8me br\u00fbl\u00e9e' },
    })
    expect((await login('accent@example.org', 'cre\u0300me bru\u0302le\u0301e')).status).toBe(200)
  })

  test.each([
    [{ email: 'ada@example.org' }, 422],
    [{ email: { $gt: '' }, password: { $gt: '' } }, 422],
    [{ email: 'ada@example.org', password: 'x'.repeat(5000) }, 422],
    [{ email: 'a'.repeat(2000), password: PASSWORD }, 422],
    [{ email: "' or 1=1 --", password: "' or 1=1 --" }, 401],
    [{ email: 'ada@example.org', password: '\ud800' }, 401],
    [{ email: 'ada@example.org', password: '' }, 401],
  ])('answers malformed input (case %#) with %s', async (body, status) => {
    expect((await app.call('POST', '/api/auth/login', { body })).status).toBe(status)
  })
})

describe('guessing', () => {
  test('is limited to five wrong passwords a minute per account; then the right password is refused too', async () => {
    for (let i = 0; i < 5; i++) expect((await login('ada@example.org', 'wrong password')).status).toBe(401)
    clock.forward({ seconds: 20 })
    for (const password of ['wrong password', PASSWORD]) {
      const answer = await login('Ada@example.org', password)
      expect([answer.status, answer.body.code]).toEqual([429, 'too_many_attempts'])
      expect(answer.headers).toMatchObject({
        'retry-after': '40',
        'ratelimit-policy': '"attempts";q=5;w=60',
        ratelimit: '"attempts";r=0;t=40',
      })
    }
    clock.forward({ seconds: 40 })
    expect((await login('ada@example.org', PASSWORD)).status).toBe(200)
  })

  test('is limited in the same way when requests run in parallel', async () => {
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => login('ada@example.org', 'wrong password')),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([
      ...Array(5).fill(401),
      ...Array(10).fill(429),
    ])
  })

  test('is limited to twenty wrong passwords a minute per address, over all accounts', async () => {
    for (let i = 0; i < 20; i++)
      expect((await login(`no${i}@example.org`, 'wrong password')).status).toBe(401)
    expect((await login('ada@example.org', PASSWORD)).status).toBe(429)
    expect((await login('ada@example.org', PASSWORD, '192.0.2.2')).status).toBe(200)
  })

  test('counts an IPv6 network as one address', async () => {
    for (let i = 0; i < 20; i++) {
      expect((await login(`no${i}@example.org`, 'wrong password', `2001:db8::${i + 1}`)).status).toBe(401)
    }
    expect((await login('ada@example.org', PASSWORD, '2001:db8:0:0:ffff::1')).status).toBe(429)
    expect((await login('ada@example.org', PASSWORD, '2001:db8:0:1::1')).status).toBe(200)
  })

  test('does not count sign-ins with the right password', async () => {
    for (let i = 0; i < 25; i++) expect((await login('ada@example.org', PASSWORD)).status).toBe(200)
  })

  test('counts wrong current passwords as well', async () => {
    const { body } = await login('ada@example.org', PASSWORD)
    const change = (current_password: string) =>
      app.call('PATCH', '/api/auth/me', {
        token: body.token,
        body: { name: 'Ada', current_password },
        headers: { 'x-forwarded-for': '192.0.2.1' },
      })
    for (let i = 0; i < 5; i++) expect((await change('wrong password')).body.code).toBe('wrong_password')
    expect((await change(PASSWORD)).status).toBe(429)
    expect((await login('ada@example.org', PASSWORD)).status).toBe(429)
  })
})

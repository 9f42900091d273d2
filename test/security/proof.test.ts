import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

/** An open session alone does not change who has access, nor does the password once there is a second factor. */
const clock = createClock()
let app: TestApp
let admin: Awaited<ReturnType<TestApp['register']>>
beforeAll(async () => {
  app = await startTestApp({}, { now: clock.now })
  admin = await app.register()
})
afterAll(() => app?.stop())
beforeEach(() => clock.forward({ hours: 1, minutes: 5 }))

const OTHER = 'another horse battery'
const call = (method: string, path: string, token?: string, body?: unknown) =>
  app.call(method, path, { ...(token !== undefined && { token }), ...(body !== undefined && { body }) })
const codeOf = (secret: string): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now().getTime() })
/** A code that was not used before. */
const freshCode = (secret: string): string => {
  clock.forward({ seconds: 60 })
  return codeOf(secret)
}
const login = (email: string, password = PASSWORD) =>
  call('POST', '/api/auth/login', undefined, { email, password })
const confirm = (token: string, body: object) => call('POST', '/api/auth/confirm', token, body)
const entries = async (query: string) => {
  const { token } = (await login(admin.email)).body
  return (await call('GET', `/api/admin/audit?limit=100&${query}`, token)).body.items
}

async function withApp() {
  const person = await app.register()
  const begun = await call('POST', '/api/auth/totp', person.token, { current_password: PASSWORD })
  const { secret } = begun.body
  expect((await call('POST', '/api/auth/totp/confirm', person.token, { code: codeOf(secret) })).status).toBe(
    200,
  )
  return { ...person, secret }
}

test('a challenge from before a password change does not sign in', async () => {
  const { email, token, secret } = await withApp()
  const { challenge } = (await login(email)).body
  const body = { current_password: PASSWORD, password: OTHER, code: freshCode(secret) }
  expect((await call('PATCH', '/api/auth/me', token, body)).status).toBe(200)
  const second = (given: string) =>
    call('POST', '/api/auth/login/totp', undefined, { challenge: given, code: freshCode(secret) })
  expect((await second(challenge)).body.code).toBe('challenge_expired')
  expect((await second((await login(email, OTHER)).body.challenge)).status).toBe(200)
})

test('with an authenticator app the password alone changes nothing; with a code it does', async () => {
  const { email, token, secret } = await withApp()
  const requests: [string, string, object][] = [
    ['PATCH', '/api/auth/me', { password: OTHER }],
    ['POST', '/api/auth/totp/disable', {}],
    ['POST', '/api/auth/recovery-codes', {}],
    ['POST', '/api/auth/confirm', {}],
  ]
  for (const [method, path, body] of requests) {
    const refused = await call(method, path, token, { ...body, current_password: PASSWORD })
    expect([path, refused.status, refused.body.code]).toEqual([path, 403, 'code_required'])
  }
  expect((await login(email)).body.code).toBe('second_factor_required')
  for (const [method, path, body] of requests.reverse()) {
    const given = { ...body, current_password: PASSWORD, code: freshCode(secret) }
    const done = await call(method, path, token, given)
    expect([path, done.status]).toEqual([path, expect.toSatisfy((status: number) => status < 300)])
  }
  expect((await login(email, OTHER)).status).toBe(200)
})

test('changes of access need a sign-in or a proof of the last 10 minutes', async () => {
  const person = await app.register()
  const { token } = (await login(admin.email)).body
  const requests: [string, string, string, object?][] = [
    ['PATCH', `/api/admin/users/${person.user.id}`, token, { role: 'user' }],
    ['POST', '/api/admin/jwt/rotate', token],
    ['DELETE', `/api/admin/users/${person.user.id}/factors`, token],
    ['DELETE', '/api/auth/sessions', token],
  ]
  const statuses = async () => {
    const all: number[] = []
    for (const [method, path, as, body] of requests) all.push((await call(method, path, as, body)).status)
    return all
  }
  expect(await statuses()).toEqual([200, 200, 204, 204])
  clock.forward({ minutes: 10, seconds: 1 })
  expect(await statuses()).toEqual([403, 403, 403, 403])
  const refused = await call('POST', '/api/admin/jwt/rotate', token)
  expect(refused.body).toMatchObject({ code: 'confirmation_required', proofs: ['password'] })
  for (const path of ['/api/auth/passkeys/nope', '/api/auth/identities/nope'])
    expect((await call('DELETE', path, token)).body.code).toBe('confirmation_required')

  expect((await confirm(token, {})).status).toBe(422)
  expect((await confirm(token, { current_password: 'not the password' })).body.code).toBe('wrong_password')
  expect(await statuses()).toEqual([403, 403, 403, 403])
  expect((await confirm(token, { current_password: PASSWORD })).status).toBe(204)
  expect(await statuses()).toEqual([200, 200, 204, 204])
  clock.forward({ minutes: 10, seconds: 1 })
  expect(await statuses()).toEqual([403, 403, 403, 403])
})

test('an account with an authenticator app confirms by a code, and each code once', async () => {
  const { token, secret } = await withApp()
  clock.forward({ minutes: 11 })
  const end = () => call('DELETE', '/api/auth/sessions', token)
  expect((await end()).body).toMatchObject({ code: 'confirmation_required', proofs: ['code'] })
  expect((await confirm(token, { current_password: PASSWORD })).body.code).toBe('code_required')
  expect((await end()).status).toBe(403)
  const code = freshCode(secret)
  expect((await confirm(token, { code })).status).toBe(204)
  expect((await end()).status).toBe(204)
  expect((await confirm(token, { code })).body.code).toBe('wrong_code')
})

test('lock-outs, refused proofs and refused administrator calls are in the audit log, but cannot flood it', async () => {
  const person = await app.register()
  const subject = `user:${person.user.id}`
  for (let i = 0; i < 5; i++) await login(person.email, 'not the password')
  for (let i = 0; i < 20; i++) expect((await login(person.email, 'not the password')).status).toBe(429)
  const locked = await entries(`subject=${subject}&action=user.locked_out`)
  expect(locked).toMatchObject([{ detail: { what: 'password' }, via: 'sign-in' }])

  clock.forward({ minutes: 2 })
  await confirm(person.token, { current_password: 'not the password' })
  expect(await entries(`subject=${subject}&action=user.proof_refused`)).toMatchObject([
    { detail: { what: 'password' }, actor: { id: person.user.id } },
  ])

  for (let i = 0; i < 30; i++)
    expect((await call('POST', '/api/admin/jwt/rotate', person.token)).status).toBe(403)
  clock.forward({ minutes: 2 })
  expect((await call('GET', '/api/admin/users', person.token)).status).toBe(403)
  expect(await entries(`subject=${subject}&action=administration.refused`)).toMatchObject([
    { detail: { method: 'GET', route: '/api/admin/users' } },
    { detail: { method: 'POST', route: '/api/admin/jwt/rotate' } },
  ])
  const all = await entries('action=administration.refused')
  expect(all[0].detail.not_recorded).toBeGreaterThanOrEqual(29)

  // One network gets 20 entries an hour, however many accounts it tries.
  for (let i = 0; i < 40; i++) {
    clock.forward({ seconds: 61 })
    await call('GET', '/api/admin/users', person.token)
  }
  const recent = new Date(clock.now().getTime() - 55 * 60_000).toISOString()
  expect((await entries(`action=administration.refused&from=${recent}`)).length).toBeLessThanOrEqual(20)
})

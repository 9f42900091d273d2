import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { seal, unseal } from '../../src/domain/seal.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

const clock = createClock()
let app: TestApp
let admin: { token: string }
beforeAll(async () => {
  app = await startTestApp({ encryptionKey: 'a key of at least thirty-two letters' }, { now: clock.now })
  admin = await app.register()
})
afterAll(() => app?.stop())
beforeEach(() => clock.forward({ hours: 1, minutes: 5 }))

const codeOf = (secret: string): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.now().getTime() })
const post = (path: string, body: unknown, token?: string) =>
  app.call('POST', path, { body, ...(token === undefined ? {} : { token }) })
const login = (email: string) => post('/api/auth/login', { email, password: PASSWORD })
const second = (challenge: string, code: string) => post('/api/auth/login/totp', { challenge, code })

async function protect() {
  const person = await app.register()
  const begun = await post('/api/auth/totp', { current_password: PASSWORD }, person.token)
  expect(begun.status).toBe(201)
  const { secret, uri } = begun.body
  expect(uri).toMatch(/^otpauth:\/\/totp\/.*secret=/)
  const confirmed = await post('/api/auth/totp/confirm', { code: codeOf(secret) }, person.token)
  expect(confirmed.status).toBe(200)
  clock.forward({ seconds: 60 })
  return { ...person, secret, recovery: confirmed.body.recovery_codes as string[] }
}

test('signing in takes the password and then a code, each challenge and each code once', async () => {
  const { email, secret, user } = await protect()
  const first = await login(email)
  expect([first.status, first.body.code]).toEqual([401, 'second_factor_required'])
  expect(first.headers['set-cookie']).toBeUndefined()
  expect(first.body).toMatchObject({ factors: ['totp', 'recovery_code'], challenge: expect.any(String) })
  const wrong = await second(first.body.challenge, '000000')
  expect([wrong.status, wrong.body.code]).toEqual([401, 'bad_code'])
  const code = codeOf(secret)
  const done = await second(first.body.challenge, code)
  expect(done).toMatchObject({ status: 200, body: { user: { id: user.id } } })
  expect((await app.call('GET', '/api/auth/me', { token: done.body.token })).status).toBe(200)
  expect((await second(first.body.challenge, code)).body.code).toBe('challenge_expired')
  const again = await login(email)
  expect((await second(again.body.challenge, code)).body.code).toBe('bad_code')
})

test('a challenge expires after five minutes and after five wrong codes', async () => {
  const { email, secret } = await protect()
  const slow = await login(email)
  clock.forward({ minutes: 6 })
  expect((await second(slow.body.challenge, codeOf(secret))).body.code).toBe('challenge_expired')
  const guessed = await login(email)
  for (let i = 0; i < 5; i++) expect((await second(guessed.body.challenge, '000000')).status).toBe(401)
  clock.forward({ minutes: 2 })
  expect((await second(guessed.body.challenge, codeOf(secret))).body.code).toBe('challenge_expired')
})

test('one code used twice at once opens one session', async () => {
  const { email, secret } = await protect()
  const challenges = [(await login(email)).body.challenge, (await login(email)).body.challenge]
  const code = codeOf(secret)
  const answers = await Promise.all(challenges.map((one) => second(one, code)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
})

test('a recovery code signs in once, and is stored only as a hash', async () => {
  const { email, recovery, secret, token } = await protect()
  expect(new Set(recovery).size).toBe(10)
  const [code = ''] = recovery
  const { challenge } = (await login(email)).body
  expect((await second(challenge, code.toUpperCase().replaceAll('-', ' '))).status).toBe(200)
  const again = (await login(email)).body.challenge
  expect((await second(again, code)).body.code).toBe('bad_code')
  const factors = await app.call('GET', '/api/auth/factors', { token })
  expect(factors.body).toMatchObject({ totp: { enabled: true }, recovery_codes_left: 9 })
  const [row] = await app.sql<{ text: string }[]>`select (select jsonb_agg(r) from recovery_codes r)::text
    || (select jsonb_agg(t) from totp_factors t)::text as text`
  const bytes = Buffer.from(Secret.fromBase32(secret).buffer).toString('hex')
  for (const hidden of [code, code.replaceAll('-', ''), secret, bytes])
    expect(row?.text).not.toContain(hidden)
})

test('a session without the password can neither set up nor remove an authenticator app', async () => {
  const person = await app.register()
  const begin = (body: unknown) => post('/api/auth/totp', body, person.token)
  expect((await begin({})).status).toBe(422)
  expect((await begin({ current_password: 'not the password' })).body.code).toBe('wrong_password')
  const { token, secret, email } = await protect()
  const disable = (body: unknown) => post('/api/auth/totp/disable', body, token)
  expect((await disable({})).status).toBe(422)
  expect((await disable({ code: '000000' })).body.code).toBe('wrong_code')
  expect((await post('/api/auth/totp', { current_password: PASSWORD }, token)).body.code).toBe('totp_enabled')
  expect((await disable({ code: codeOf(secret) })).status).toBe(204)
  expect((await login(email)).status).toBe(200)
})

test('an administrator can reset the second factors of another user, which is in the audit log and ends the sessions', async () => {
  const { email, token, user } = await protect()
  const path = `/api/admin/users/${user.id}/factors`
  expect((await post('/api/auth/confirm', { current_password: PASSWORD }, admin.token)).status).toBe(204)
  expect((await app.call('DELETE', path, { token: admin.token })).status).toBe(204)
  expect((await app.call('GET', '/api/auth/me', { token })).status).toBe(401)
  expect((await login(email)).status).toBe(200)
  const audit = await app.call('GET', `/api/admin/audit?subject=user:${user.id}`, { token: admin.token })
  expect(audit.body.items).toContainEqual(
    expect.objectContaining({ action: 'user.factors_reset', detail: { totp: true, passkeys: 0 } }),
  )
})

test('a secret is encrypted for its owner, and decrypted only with the right key', () => {
  const key = 'another key of thirty-two letters'
  const use = 'second factor secrets'
  const sealed = seal(Buffer.from('secret'), 'ada', key, use)
  expect(unseal(sealed, 'ada', key, use)?.toString()).toBe('secret')
  expect(unseal(sealed, 'eve', key, use)).toBeUndefined()
  expect(unseal(sealed, 'ada', `${key}!`, use)).toBeUndefined()
  expect(unseal(sealed, 'ada', key, 'channel secrets')).toBeUndefined()
  expect(unseal(sealed, 'ada', undefined, use)).toBeUndefined()
  expect(unseal(seal(Buffer.from('secret'), 'ada', undefined, use), 'ada', key, use)?.toString()).toBe(
    'secret',
  )
})

import { Secret, TOTP } from 'otpauth'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startOf } from '../http/stage.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'

/** SVC_REQUIRE_SECOND_FACTOR: people without a second factor can only set one up; programs go on. */
let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ requireSecondFactor: true })
})
afterAll(() => app?.stop())

const get = (path: string, token?: string) => app.call('GET', path, token === undefined ? {} : { token })

test('a person without a second factor can do nothing but set one up, and then everything', async () => {
  const person = await app.register()
  const { token } = person
  expect((await get('/api/auth/me', token)).body).toMatchObject({
    user: { id: person.user.id },
    second_factor_required: true,
  })
  for (const path of [
    '/api/projects',
    '/api/batches',
    '/api/auth/sessions',
    '/api/admin/users',
    '/graphql?query=%7Bviewer%7Bid%7D%7D',
  ]) {
    const refused = await get(path, token)
    expect([path, refused.status, refused.body.code]).toEqual([path, 403, 'second_factor_setup_required'])
  }
  const cookie = await app.call('GET', '/api/projects', { cookie: person.cookie })
  expect(cookie.body.code).toBe('second_factor_setup_required')
  const stream = await get('/api/sse?channels=dashboard', token)
  expect(stream.status).toBe(403)
  for (const [path, body] of [
    ['/api/tokens', { name: 'x', scope: 'read' }],
    ['/api/projects', { slug: 'vision' }],
  ] as const)
    expect((await app.call('POST', path, { token, body })).body.code).toBe('second_factor_setup_required')

  expect((await get('/api/auth/factors', token)).status).toBe(200)
  const begun = await app.call('POST', '/api/auth/totp', { token, body: { current_password: PASSWORD } })
  expect(begun.status).toBe(201)
  const code = new TOTP({ secret: Secret.fromBase32(begun.body.secret) }).generate()
  expect((await app.call('POST', '/api/auth/totp/confirm', { token, body: { code } })).status).toBe(200)
  expect((await get('/api/auth/me', token)).body.second_factor_required).toBe(false)
  expect((await get('/api/projects', token)).status).toBe(200)

  // What programs use goes on, also of people who have no second factor yet.
  const reporter = await app.reporterToken(token)
  await app.sql`delete from totp_factors`
  expect((await get('/api/projects', token)).body.code).toBe('second_factor_setup_required')
  const sent = await app.call('POST', '/api/events', { token: reporter, body: startOf({ id: 'run' }) })
  expect(sent.status).toBe(200)
})

test('visitors and links are not asked for one', async () => {
  expect((await get('/api/projects')).status).toBe(200)
  expect((await get('/livez')).status).toBe(200)
})

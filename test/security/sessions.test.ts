import { afterAll, beforeAll, expect, test } from 'vitest'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const clock = createClock()
let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ trustProxy: true }, { now: clock.now })
})
afterAll(() => app?.stop())

async function signInFrom(email: string, address: string, agent: string): Promise<string> {
  const headers = { 'x-forwarded-for': address, 'user-agent': agent }
  clock.forward({ seconds: 1 })
  return (await app.call('POST', '/api/auth/login', { body: { email, password: PASSWORD }, headers })).body
    .token
}
const list = async (token: string) => (await app.call('GET', '/api/auth/sessions', { token })).body.items
const me = async (token: string) => (await app.call('GET', '/api/auth/me', { token })).status

test('a user can list own sessions: device, address, last use and which is the current one', async () => {
  const { email, token } = await app.register()
  const browser = await signInFrom(email, '192.0.2.7', FIREFOX)
  await signInFrom(email, '192.0.2.8', 'python-requests/2.32')
  const items = await list(browser)
  expect(items).toMatchObject([
    { device: 'python-requests', address: '192.0.2.8', method: 'password', current: false },
    { device: 'Firefox on Linux', address: '192.0.2.7', user_agent: FIREFOX, current: true },
    { method: 'registration', current: false },
  ])
  clock.forward({ minutes: 5 })
  await app.call('GET', '/api/auth/me', { token: browser, headers: { 'x-forwarded-for': '192.0.2.9' } })
  expect((await list(token))[1]).toMatchObject({
    address: '192.0.2.9',
    last_used_at: clock.now().toISOString().replace('.000Z', 'Z'),
  })
})

test('signing out of one session, or of all others, ends exactly those', async () => {
  const { email, token } = await app.register()
  const [one, two] = [
    await signInFrom(email, '192.0.2.1', FIREFOX),
    await signInFrom(email, '192.0.2.2', FIREFOX),
  ]
  const [, { id }] = await list(token)
  const stranger = await app.register()
  const close = (caller: string) => app.call('DELETE', `/api/auth/sessions/${id}`, { token: caller })
  expect((await close(stranger.token)).body.code).toBe('session_not_found')
  expect((await close(token)).status).toBe(204)
  expect((await close(token)).status).toBe(404)
  expect([await me(one), await me(two), await me(token)]).toEqual([401, 200, 200])
  expect((await app.call('DELETE', '/api/auth/sessions', { token })).status).toBe(204)
  expect([await me(two), await me(token), await me(stranger.token)]).toEqual([401, 200, 200])
  expect(await list(token)).toHaveLength(1)
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { openRegistrationWarning, readConfig } from '../../src/config.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

const clock = createClock()
let app: TestApp
beforeAll(async () => {
  const { registrationsPerHour } = readConfig({}).config
  app = await startTestApp({ trustProxy: true, registrationsPerHour }, { now: clock.now })
})
afterAll(() => app?.stop())

let people = 0
const register = (address: string) =>
  app.call('POST', '/api/auth/register', {
    body: { email: `new${++people}@example.org`, password: PASSWORD },
    headers: { 'x-forwarded-for': address },
  })

test('an address can register ten accounts an hour, then has to wait; others do not', async () => {
  for (let i = 0; i < 10; i++) expect((await register('192.0.2.1')).status).toBe(201)
  clock.forward({ minutes: 20 })
  const refused = await register('192.0.2.1')
  expect([refused.status, refused.body.code]).toEqual([429, 'too_many_registrations'])
  expect(Number(refused.headers['retry-after'])).toBe(40 * 60)
  expect((await register('192.0.2.2')).status).toBe(201)
  clock.forward({ minutes: 41 })
  expect((await register('192.0.2.1')).status).toBe(201)
})

test('open registration beyond loopback causes a warning at start and to administrators', async () => {
  const told = (env: Record<string, string>) => openRegistrationWarning(readConfig(env).config)
  expect(told({})).toBeUndefined()
  expect(told({ SVC_HOST: '0.0.0.0', SVC_REGISTRATION: 'closed' })).toBeUndefined()
  expect(told({ SVC_HOST: '0.0.0.0' })).toContain('SVC_REGISTRATION=closed')
  expect(told({ SVC_PUBLIC_URL: 'https://monitor.example.org' })).toContain('monitor.example.org')
  const open = await startTestApp({ publicUrl: 'http://monitor.example.org', logLevel: 'warn' })
  try {
    const { token } = await open.register()
    const { body } = await open.call('GET', '/api/admin/notices', { token })
    expect(body.items).toMatchObject([{ code: 'open_registration' }])
    expect(open.logged()).toContain('anyone who can reach it can make an account')
  } finally {
    await open.stop()
  }
})

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Config } from '../../src/config.ts'
import type { ProviderConfig } from '../../src/oauth-config.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { comeBack, goThere, reasonOf, signInThrough, whoIs } from './browser.ts'
import { openProvider, type TestProvider } from './provider.ts'

// Who can sign in through a provider, and what happens while it is unreachable (contract §3).

let keys: TestProvider
let app: TestApp | undefined
beforeEach(async () => {
  keys = await openProvider()
})
afterEach(async () => {
  await app?.stop()
  app = undefined
  await keys.stop().catch(() => {})
})

async function start(
  provider: Partial<ProviderConfig> = {},
  config: Partial<Config> = {},
  options: Parameters<typeof startTestApp>[1] = {},
): Promise<TestApp> {
  app = await startTestApp({ identityProviders: [keys.config(provider)], ...config }, options)
  await keys.admit(app, 'keys')
  return app
}

const verified = (email: string) => ({ sub: email, email, email_verified: true })

describe('a provider that is limited to domains', () => {
  test('accepts users with a verified address in one of them, and no others, not even the first user', async () => {
    const app = await start({ allow: ['lab.example', 'site.example'] })
    for (const person of [
      verified('eve@elsewhere.example'),
      verified('eve@sub.lab.example'),
      verified('eve@notlab.example'),
      verified('lab.example@elsewhere.example'),
      { sub: 'unverified', email: 'eve@lab.example' },
      { sub: 'unverified', email: 'eve@lab.example', email_verified: false },
      { sub: 'no-address' },
    ]) {
      keys.person = person
      const { session, location } = await signInThrough(app)
      expect([person, session, reasonOf(location)]).toEqual([person, undefined, 'sign_in_not_allowed'])
    }
    keys.person = verified('Ada@LAB.example')
    const { session } = await signInThrough(app)
    expect(await whoIs(app, session)).toMatchObject({ email: 'Ada@LAB.example', role: 'admin' })
  })

  test('refuses a user who signed in before and has left the domain', async () => {
    const app = await start({ allow: ['lab.example'] })
    keys.person = { ...verified('ada@lab.example'), sub: 'ada' }
    expect((await signInThrough(app)).location).toBe('/')
    keys.person = { ...verified('ada@elsewhere.example'), sub: 'ada' }
    expect(reasonOf((await signInThrough(app)).location)).toBe('sign_in_not_allowed')
  })

  test('creates accounts even if registration is closed', async () => {
    const app = await start({ allow: ['lab.example'] }, { registration: 'closed' })
    await app.register('first@elsewhere.example')
    keys.person = verified('ada@lab.example')
    const { session } = await signInThrough(app)
    expect(await whoIs(app, session)).toMatchObject({ email: 'ada@lab.example', role: 'user' })
  })
})

test('with closed registration and without domains a provider signs in to existing accounts and creates only the first', async () => {
  const app = await start({}, { registration: 'closed' })
  keys.person = verified('first@example.org')
  expect((await signInThrough(app)).location).toBe('/')
  keys.person = verified('second@example.org')
  expect(reasonOf((await signInThrough(app)).location)).toBe('registration_closed')
  keys.person = verified('first@example.org')
  const { session } = await signInThrough(app)
  expect(await whoIs(app, session)).toMatchObject({ email: 'first@example.org', role: 'admin' })
})

test('of many first users who sign in at once exactly one is administrator', async () => {
  const app = await start()
  const underway = []
  for (let i = 0; i < 12; i++) {
    keys.person = verified(`person-${i}@example.org`)
    underway.push(await goThere(app))
  }
  const answers = await Promise.all(underway.map((one) => comeBack(app, one)))
  expect(answers.map(({ headers }) => headers.location)).toEqual(answers.map(() => '/'))
  const rows = await app.sql`select role, count(*) n from users group by role order by role`
  expect(rows).toEqual([
    { role: 'admin', n: 1 },
    { role: 'user', n: 11 },
  ])
})

describe('while the provider is unreachable', () => {
  test('its sign-in is 503, passwords work, and once it is back it works again', async () => {
    await keys.stop()
    const app = await start()
    const { email } = await app.register()
    const away = await app.call('GET', '/api/oauth/keys/start')
    expect([away.status, away.body.code]).toEqual([503, 'provider_unavailable'])
    expect(away.body.detail).toContain('identity provider cannot be reached')
    expect(away.headers['retry-after']).toMatch(/^\d+$/)
    expect(away.headers['set-cookie']).toBeUndefined()
    const body = { email, password: 'correct horse battery' }
    expect((await app.call('POST', '/api/auth/login', { body })).status).toBe(200)
    expect((await app.call('GET', '/api/oauth')).body.items).toHaveLength(1)
    await keys.restart()
    keys.person = verified('ada@example.org')
    expect((await signInThrough(app)).location).toBe('/')
  })

  test('a user in a browser gets back to the page', async () => {
    await keys.stop()
    const app = await start()
    const headers = { accept: 'text/html,application/xhtml+xml' }
    const answer = await app.call('GET', '/api/oauth/keys/start?return_to=/tokens', { headers })
    expect(answer.status).toBe(302)
    expect(answer.headers.location).toBe('/sign-in?error=provider_unavailable&idp=keys&return_to=%2Ftokens')
  })

  test('one that becomes unreachable during the callback is reported as unavailable', async () => {
    const app = await start()
    keys.person = verified('ada@example.org')
    const underway = await goThere(app)
    await keys.stop()
    const answer = await comeBack(app, underway)
    expect(reasonOf(answer.headers.location)).toBe('provider_unavailable')
  })
})

test('the metadata of a provider is read once an hour, and the old one is used while it is unreachable', async () => {
  const clock = createClock()
  const app = await start({}, {}, { now: clock.now })
  const begin = async () => (await app.call('GET', '/api/oauth/keys/start')).status
  const asked = () => keys.asked.filter((path) => path === '/.well-known/openid-configuration').length
  expect(await Promise.all([begin(), begin(), begin()])).toEqual([302, 302, 302])
  clock.forward({ minutes: 59 })
  expect([await begin(), asked()]).toEqual([302, 1])
  clock.forward({ minutes: 2 })
  expect([await begin(), asked()]).toEqual([302, 2])
  await keys.stop()
  clock.forward({ minutes: 61 })
  expect(await begin()).toBe(302)
  await keys.restart()
  clock.forward({ minutes: 1 })
  expect([await begin(), asked()]).toEqual([302, 3])
})

test('a provider with the issuer of another one is not used', async () => {
  const issuer = keys.issuer.replace('127.0.0.1', 'localhost')
  const app = await start({ endpoints: { kind: 'discovered', issuer } })
  const answer = await app.call('GET', '/api/oauth/keys/start')
  expect([answer.status, answer.body.code]).toEqual([503, 'provider_unavailable'])
})

test('a wrong client secret leads to the page with an error, and is logged without the secret', async () => {
  const app = await start({ clientSecret: 'not-the-secret' }, { logLevel: 'warn' })
  keys.person = verified('ada@example.org')
  expect(reasonOf((await signInThrough(app)).location)).toBe('sign_in_unverified')
  expect(app.logged()).toContain('invalid_client')
  expect(app.logged()).not.toContain('not-the-secret')
})

test('one address may start 120 sign-ins a minute; the refusal has Retry-After', async () => {
  const clock = createClock()
  const app = await start({}, {}, { now: clock.now })
  const begin = () => app.call('GET', '/api/oauth/keys/start')
  for (let i = 0; i < 120; i++) expect((await begin()).status).toBe(302)
  const answer = await begin()
  expect([answer.status, answer.body.code]).toEqual([429, 'too_many_attempts'])
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  // Attempts without a return are deleted.
  clock.forward({ minutes: 11 })
  await begin()
  await begin()
  const [kept] = await app.sql`select count(*) n from oauth_attempts`
  expect(kept?.n).toBe(2)
})

test('under TLS the cookie of a sign-in has the __Host- prefix, and the redirect address is the public one', async () => {
  const app = await start(
    {},
    { publicUrl: 'https://monitor.example', allowedHosts: ['monitor.example', '127.0.0.1'] },
  )
  const { headers } = await app.call('GET', '/api/oauth/keys/start')
  expect(headers['set-cookie']?.[0]).toMatch(
    /^__Host-svc_sign_in=.*; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  )
  const redirect = new URL(headers.location ?? '').searchParams.get('redirect_uri')
  expect(redirect).toBe('https://monitor.example/api/oauth/keys/callback')
})

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ProviderConfig } from '../../src/oauth-config.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { goThere, reasonOf, signInThrough, whoIs } from './browser.ts'

// A provider of plain OAuth 2.0, without ID tokens and without a discovery document, such as GitHub.

const SECRET = 'a-client-secret-of-some-length'
let app: TestApp
let server: Server
let origin: string
let user: Record<string, unknown> = {}
let emails: unknown[] = []
let tokenAnswer: Record<string, unknown> | undefined
const codes = new Map<string, string>()

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', origin)
    const say = (body: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (url.pathname === '/authorize') {
      const code = `code-${codes.size}`
      codes.set(code, url.searchParams.get('code_challenge') ?? '')
      const back = new URL(url.searchParams.get('redirect_uri') ?? '')
      back.search = `${new URLSearchParams({ code, state: url.searchParams.get('state') ?? '', iss: 'https://elsewhere.example' })}`
      response.writeHead(302, { location: back.href }).end()
      return
    }
    if (url.pathname === '/token') {
      if (tokenAnswer !== undefined) return say(tokenAnswer)
      const form = new URLSearchParams(await text(request))
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      const good = codes.get(form.get('code') ?? '') === challenge && form.get('client_secret') === SECRET
      return good
        ? say({ access_token: 'token', token_type: 'bearer' })
        : say({ error: 'bad_verification_code' })
    }
    if (request.headers.authorization !== 'Bearer token') return say({}, 401)
    return say(url.pathname === '/user' ? user : emails)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = (
    id: string,
    fields: Partial<ProviderConfig> = {},
    emailsUrl?: string,
  ): ProviderConfig => ({
    id,
    name: id,
    clientId: 'monitor',
    clientSecret: SECRET,
    clientAuth: undefined,
    scopes: 'user:email',
    allow: [],
    endpoints: {
      kind: 'given',
      authorizeUrl: `${origin}/authorize`,
      tokenUrl: `${origin}/token`,
      userinfoUrl: `${origin}/user`,
      emailsUrl,
    },
    ...fields,
  })
  app = await startTestApp({
    identityProviders: [
      provider('hub'),
      provider('lab', { allow: ['lab.example'] }, `${origin}/emails`),
      provider('strict', { allow: ['lab.example'] }),
    ],
  })
})
afterAll(async () => {
  await app?.stop()
  server?.closeAllConnections()
  server?.close()
})
let people = 0
beforeEach(() => {
  tokenAnswer = undefined
  people += 1
  user = { id: 1000 + people, login: `octo${people}`, name: null, email: `octo${people}@example.org` }
  emails = []
})

test('an identity is the numeric id of the user at the provider', async () => {
  const { authorize, session } = await signInThrough(app, { idp: 'hub' })
  expect(authorize.searchParams.get('code_challenge_method')).toBe('S256')
  expect(authorize.searchParams.get('scope')).toBe('user:email')
  expect(await whoIs(app, session)).toMatchObject({ email: 'octo1@example.org', name: 'octo1' })
  const [identity] = await app.sql`select issuer, subject from identities`
  expect(identity).toEqual({ issuer: `${origin}/user`, subject: '1001' })
})

test('an address counts as verified only if the list of addresses says so', async () => {
  user.email = `octo${people}@lab.example`
  expect(reasonOf((await signInThrough(app, { idp: 'strict' })).location)).toBe('sign_in_not_allowed')
  emails = [{ email: user.email, primary: true, verified: false }]
  expect(reasonOf((await signInThrough(app, { idp: 'lab' })).location)).toBe('sign_in_not_allowed')
  emails = [
    { email: 'other@elsewhere.example', primary: false, verified: true },
    { email: user.email, primary: true, verified: true },
  ]
  const { session } = await signInThrough(app, { idp: 'lab' })
  expect(await whoIs(app, session)).toMatchObject({ email: user.email })
})

test.each([
  [
    'a wrong verifier',
    (url: URL) => url.searchParams.set('code_challenge', 'x'.repeat(43)),
    'sign_in_unverified',
  ],
  ['another state', (url: URL) => url.searchParams.set('state', 'x'.repeat(43)), 'sign_in_expired'],
])('%s is refused', async (_what, tamper, reason) => {
  const { session, location } = await signInThrough(app, { idp: 'hub', tamper })
  expect([session, reasonOf(location)]).toEqual([undefined, reason])
})

test('an answer without an id or without a token is not an identity', async () => {
  user = { login: 'unknown', email: 'unknown@example.org' }
  expect(reasonOf((await signInThrough(app, { idp: 'hub' })).location)).toBe('sign_in_unverified')
  tokenAnswer = { error: 'incorrect_client_credentials' }
  expect(reasonOf((await signInThrough(app, { idp: 'hub' })).location)).toBe('sign_in_unverified')
})

test('a sign-in started with one provider cannot be completed with another of the same kind', async () => {
  const underway = await goThere(app, { idp: 'hub' })
  const path = underway.back.pathname.replace('/hub/', '/lab/')
  const answer = await app.call('GET', `${path}${underway.back.search}`, { cookie: underway.cookie })
  expect(reasonOf(answer.headers.location)).toBe('sign_in_expired')
})

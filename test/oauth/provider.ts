import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import Provider, { type Context } from 'oidc-provider'
import type { ProviderConfig } from '../../src/oauth-config.ts'
import { freePort } from '../kit/free-port.ts'

export interface Person {
  sub: string
  email?: string
  email_verified?: boolean
  name?: string
}

/** A real OpenID provider on a port of its own, where the user set as `person` signs in. */
export interface TestProvider {
  issuer: string
  /** The user at the provider; null cancels the sign-in. */
  person: Person | null
  /** Whether it shows a page with a button rather than signing in by itself. */
  asks: boolean
  /** The paths that were asked for. */
  asked: string[]
  /** As the service under test is configured for it. */
  config(fields?: Partial<ProviderConfig>): ProviderConfig
  /** Registers these callback addresses; sign-ins fail before. */
  admit(app: { address: string }, ...idps: string[]): Promise<void>
  /** Stops, and can start again at the same address. */
  stop(): Promise<void>
  restart(): Promise<void>
}

export const CLIENT_SECRET = randomBytes(24).toString('base64url')

export async function openProvider(auth: 'basic' | 'post' = 'basic'): Promise<TestProvider> {
  const people = new Map<string, Person>()
  let handle: RequestListener = (_request, response) => response.writeHead(503).end()
  const port = await freePort() // it comes back there
  let server = await listen((request, response) => handle(request, response), port)
  const issuer = `http://127.0.0.1:${port}`
  const test: TestProvider = {
    issuer,
    person: null,
    asks: false,
    asked: [],
    config: (fields = {}) => ({
      id: 'keys',
      name: 'Keys',
      clientId: 'monitor',
      clientSecret: CLIENT_SECRET,
      clientAuth: auth === 'basic' ? undefined : auth,
      scopes: 'openid email profile',
      allow: [],
      endpoints: { kind: 'discovered', issuer },
      ...fields,
    }),
    async admit({ address }, ...idps) {
      const redirects = idps.map((idp) => `${address}/api/oauth/${idp}/callback`)
      const provider = new Provider(issuer, await configuration(redirects, auth, people))
      const standard = provider.callback()
      handle = (request, response) => {
        test.asked.push(request.url?.split('?', 1)[0] ?? '')
        if (request.url?.startsWith('/interaction/') !== true) return standard(request, response)
        if (test.asks && request.method === 'GET') {
          response.writeHead(200, { 'content-type': 'text/html' })
          return response.end(
            '<title>Keys</title><link rel="icon" href="data:,"><form method="post"><button>Let me in</button></form>',
          )
        }
        const { person } = test
        if (person !== null) people.set(person.sub, person)
        const result = person === null ? { error: 'access_denied' } : { login: { accountId: person.sub } }
        void provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
      }
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
    async restart() {
      server = await listen((request, response) => handle(request, response), port)
    },
  }
  return test
}

/** One for all providers of a test file: making it takes a while. */
const signingKey = generateKeyPair('RS256', { extractable: true })

async function configuration(redirects: string[], auth: 'basic' | 'post', people: Map<string, Person>) {
  const { privateKey } = await signingKey
  return {
    clients: [
      {
        client_id: 'monitor',
        client_secret: CLIENT_SECRET,
        redirect_uris: redirects,
        token_endpoint_auth_method: `client_secret_${auth}`,
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: Context, { uid }: { uid: string }) => `/interaction/${uid}` },
    ttl: { Session: 60, Grant: 60, Interaction: 60, AccessToken: 60, IdToken: 60 },
    findAccount: (_context: Context, sub: string) => ({ accountId: sub, claims: () => people.get(sub) }),
    // There is no consent page.
    async loadExistingGrant({ oidc }: Context) {
      const { provider, client, session } = oidc
      const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  }
}

async function listen(handle: RequestListener, port: number): Promise<Server> {
  const server = createServer(handle)
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** Follows redirects at the provider with cookies, like a browser, until it redirects elsewhere. */
export async function walkThrough(start: string): Promise<URL> {
  const cookies = new Map<string, string>()
  const { origin } = new URL(start)
  let at = new URL(start)
  for (let steps = 0; steps < 10; steps++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(at, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=', 2)
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const to = answer.headers.get('location')
    if (to === null) throw new Error(`${at} answered ${answer.status}: ${await answer.text()}`)
    at = new URL(to, at)
    if (at.origin !== origin) return at
  }
  throw new Error('the provider goes in circles')
}

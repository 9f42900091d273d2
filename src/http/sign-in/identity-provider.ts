import * as client from 'openid-client'
import { z } from 'zod'
import type { Claimed } from '../../domain/identities/index.ts'
import type { DiscoveredEndpoints, GivenEndpoints, ProviderConfig } from '../../oauth-config.ts'
import { Problem, type ProblemCode } from '../../problem.ts'
import { codeOf, fieldOf, messageOf } from '../../thrown.ts'
import * as shapes from '../request/shapes.ts'

/** The timeout of a request to a provider. */
const TIMEOUT_S = 5
/** How long a provider's metadata is cached. After that it is fetched again; the old copy serves if that fails. */
const FRESH_MS = 3600_000
/** After a failed fetch the cached copy serves for a while before the next try. */
const RETRY_MS = 30_000

/** What the callback is checked against. */
export interface Checks {
  state: string
  nonce: string
  codeVerifier: string
}

/** One identity provider: the code flow with PKCE (S256), state and nonce (contract §3). */
export interface IdentityProvider {
  readonly id: string
  readonly name: string
  /** Whether this provider has identities of the issuer. */
  vouchesAs(issuer: string): boolean
  readonly allow: readonly string[]
  /** The address to send the browser to, and what to check the callback against. Throws `provider_unavailable`. */
  begin(redirectUri: string): Promise<{ url: URL; checks: Checks }>
  /**
   * The identity that the provider confirms. `answer` is the address of the callback.
   * @throws Problem `provider_unavailable`, `sign_in_cancelled`, `sign_in_unverified`
   */
  identify(answer: URL, checks: Checks): Promise<Claimed>
}

export function createIdentityProvider(config: ProviderConfig, now: () => Date): IdentityProvider {
  const { endpoints } = config
  const configuration =
    endpoints.kind === 'discovered'
      ? discovering(config, endpoints, now)
      : async () => knowing(config, endpoints)
  return {
    id: config.id,
    name: config.name,
    vouchesAs: (issuer) =>
      sameAddress(issuer, endpoints.kind === 'discovered' ? endpoints.issuer : endpoints.userinfoUrl),
    allow: config.allow,
    async begin(redirectUri) {
      const known = await configuration()
      const checks = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        codeVerifier: client.randomPKCECodeVerifier(),
      }
      const url = client.buildAuthorizationUrl(known, {
        redirect_uri: redirectUri,
        state: checks.state,
        code_challenge: await client.calculatePKCECodeChallenge(checks.codeVerifier),
        code_challenge_method: 'S256',
        ...(config.scopes === '' ? {} : { scope: config.scopes }),
        ...(endpoints.kind === 'discovered' ? { nonce: checks.nonce } : {}),
      })
      return { url, checks }
    },
    async identify(answer, checks) {
      const known = await configuration()
      try {
        const claimed =
          endpoints.kind === 'discovered'
            ? await byIdToken(known, answer, checks)
            : await byUserinfo(known, endpoints, answer, checks)
        return claimedShape.parse(claimed)
      } catch (error) {
        throw refusalOf(error)
      }
    },
  }
}

/** Fetches the provider's metadata when it is first needed, so that the service starts without it. */
function discovering(config: ProviderConfig, { issuer }: DiscoveredEndpoints, now: () => Date) {
  let held: { known: client.Configuration; until: number } | undefined
  let asking: Promise<client.Configuration> | undefined
  const ask = async (): Promise<client.Configuration> => {
    try {
      const known = await client.discovery(
        new URL(issuer),
        config.clientId,
        {},
        authentication(config, 'basic'),
        {
          timeout: TIMEOUT_S,
          // The signature is checked too, although TLS already authenticates the provider.
          execute: [
            client.enableNonRepudiationChecks,
            ...(isPlain(issuer) ? [client.allowInsecureRequests] : []),
          ],
        },
      )
      held = { known, until: now().getTime() + FRESH_MS }
      return known
    } catch (error) {
      if (held === undefined)
        throw new Problem('provider_unavailable', { retryAfterS: 5, cause: withoutSecrets(error) })
      held.until = now().getTime() + RETRY_MS
      return held.known
    }
  }
  return async (): Promise<client.Configuration> => {
    if (held !== undefined && now().getTime() < held.until) return held.known
    asking ??= ask().finally(() => {
      asking = undefined
    })
    return asking
  }
}

function knowing(config: ProviderConfig, endpoints: GivenEndpoints): client.Configuration {
  const known = new client.Configuration(
    {
      // Subjects belong to the configured issuer address, not to a name that the provider reports.
      issuer: endpoints.userinfoUrl,
      authorization_endpoint: endpoints.authorizeUrl,
      token_endpoint: endpoints.tokenUrl,
    },
    config.clientId,
    {},
    authentication(config, 'post'),
  )
  known.timeout = TIMEOUT_S
  if (isPlain(endpoints.tokenUrl) || isPlain(endpoints.userinfoUrl)) client.allowInsecureRequests(known)
  return known
}

/** An issuer with and without a trailing slash after the host is the same. */
const sameAddress = (a: string, b: string): boolean =>
  a === b || (URL.canParse(a) && new URL(a).href === new URL(b).href)

const isPlain = (url: string): boolean => url.startsWith('http:')

/** @param usual how the secret is sent if the provider does not say */
function authentication(
  { clientSecret, clientAuth }: ProviderConfig,
  usual: 'basic' | 'post',
): client.ClientAuth {
  if (clientSecret === undefined) return client.None()
  const ways = { basic: client.ClientSecretBasic(clientSecret), post: client.ClientSecretPost(clientSecret) }
  return (server, ...rest) => {
    const wanted = server.token_endpoint_auth_methods_supported
    const fitting = wanted === undefined ? usual : wanted.includes('client_secret_basic') ? 'basic' : 'post'
    return ways[clientAuth ?? fitting](server, ...rest)
  }
}

type Found = Record<string, unknown>

async function byIdToken(known: client.Configuration, answer: URL, checks: Checks): Promise<Found> {
  const tokens = await client.authorizationCodeGrant(known, answer, {
    expectedState: checks.state,
    expectedNonce: checks.nonce,
    pkceCodeVerifier: checks.codeVerifier,
    idTokenExpected: true,
  })
  const claims = tokens.claims()
  if (claims === undefined) throw new Problem('sign_in_unverified')
  // All claims from one source: an address from one and `verified` from another would prove nothing.
  const elsewhere = claims.email === undefined && known.serverMetadata().userinfo_endpoint !== undefined
  const source = elsewhere ? await client.fetchUserInfo(known, tokens.access_token, claims.sub) : claims
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: source.email,
    emailVerified: source.email_verified,
    name: source.name ?? source.preferred_username,
  }
}

async function byUserinfo(
  known: client.Configuration,
  endpoints: GivenEndpoints,
  answer: URL,
  checks: Checks,
): Promise<Found> {
  const url = new URL(answer)
  // The issuer is not configured, so there is nothing to compare it with.
  url.searchParams.delete('iss')
  const tokens = await client.authorizationCodeGrant(known, url, {
    expectedState: checks.state,
    pkceCodeVerifier: checks.codeVerifier,
  })
  const read = async (from: string): Promise<unknown> => {
    const headers = new Headers({ accept: 'application/json' })
    const { access_token: token } = tokens
    const got = await client.fetchProtectedResource(known, token, new URL(from), 'GET', null, headers)
    if (got.ok) return got.json()
    throw new Problem(got.status >= 500 ? 'provider_unavailable' : 'sign_in_unverified', {
      cause: new Error(`userinfo answered ${got.status}`),
    })
  }
  const user = userinfoShape.parse(await read(endpoints.userinfoUrl))
  const listed =
    endpoints.emailsUrl === undefined
      ? undefined
      : emailsShape.parse(await read(endpoints.emailsUrl)).find((one) => one.primary)
  return {
    issuer: endpoints.userinfoUrl,
    subject: String(user.id ?? user.sub),
    email: listed?.email ?? user.email,
    emailVerified: listed?.verified ?? user.email_verified,
    name: user.name ?? user.preferred_username ?? user.login,
  }
}

const userinfoShape = z
  .looseObject({ id: z.union([z.string(), z.int()]).nullish(), sub: z.string().nullish() })
  .refine((user) => user.id != null || user.sub != null)
const emailsShape = z.array(z.looseObject({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))

/** The valid claims of an answer: the subject, which is required, and others as far as they are well-formed. */
const claimedShape = z.object({
  issuer: z.string(),
  subject: z.string().regex(/^[^\p{Cc}\p{Cs}]{1,255}$/u),
  email: shapes.email.optional().catch(undefined),
  // Some providers send a string.
  emailVerified: z.unknown().transform((value) => value === true || value === 'true'),
  name: shapes.label.optional().catch(undefined),
})

/** The Problem for an error of the library. What a user does, such as a cancel, gets another code than a fault. */
function refusalOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  const cause = withoutSecrets(error)
  const as = (code: ProblemCode) => new Problem(code, { cause })
  if (error instanceof client.AuthorizationResponseError) {
    if (error.error === 'access_denied') return as('sign_in_cancelled')
    if (/^(server_error|temporarily_unavailable)$/.test(error.error)) return as('provider_unavailable')
    return as('sign_in_unverified')
  }
  if (error instanceof client.ResponseBodyError && error.status >= 500) return as('provider_unavailable')
  return as(isAway(error) ? 'provider_unavailable' : 'sign_in_unverified')
}

/** No answer, or a 5xx. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof TypeError) return error.message === 'fetch failed'
  const code = codeOf(error)
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return true
  return error.cause instanceof Response && error.cause.status >= 500
}

/**
 * An error for the log without data from the provider: the library's errors contain answers with codes and tokens; its
 * messages are fixed sentences.
 */
function withoutSecrets(error: unknown): Error {
  const challenge =
    error instanceof client.WWWAuthenticateChallengeError ? error.cause[0]?.parameters.error : undefined
  const details = [
    fieldOf(error, 'code'),
    fieldOf(error, 'error'),
    codeOf(fieldOf(error, 'cause')),
    challenge,
  ].filter((one) => typeof one === 'string' && /^\w{1,64}$/.test(one))
  const text = error instanceof z.ZodError ? 'the answer has not the shape it should have' : messageOf(error)
  return new Error([text, ...new Set(details)].join(', '))
}

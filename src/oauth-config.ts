import { z } from 'zod'

/**
 * Identity providers from `SVC_OAUTH_<IDP>_*` (contract §3), one per `<IDP>`. Pure, like config.ts, which reads the
 * other settings. docs/operations.md documents the same variables.
 */
export interface ProviderConfig {
  /** `<IDP>` in lower case, as in the path `/api/oauth/{id}/start`. */
  id: string
  /** The name shown to users. */
  name: string
  clientId: string
  /** Undefined for a public client, which only PKCE protects. */
  clientSecret: string | undefined
  /** How the secret is sent; undefined: as the provider's discovery document says. */
  clientAuth: 'basic' | 'post' | undefined
  scopes: string
  /** Allowed domains of verified addresses, in lower case; empty: no restriction. */
  allow: string[]
  endpoints: DiscoveredEndpoints | GivenEndpoints
}
/** OpenID Connect: endpoints come from the issuer's discovery document. */
export interface DiscoveredEndpoints {
  kind: 'discovered'
  issuer: string
}
/** Plain OAuth 2.0, such as GitHub's: without an ID token, so the identity comes from an API of the provider. */
export interface GivenEndpoints {
  kind: 'given'
  authorizeUrl: string
  tokenUrl: string
  userinfoUrl: string
  /** Returns a list of `{email, primary, verified}`, for providers whose user info has no verified address. */
  emailsUrl: string | undefined
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/
/** Secrets and codes are sent there, so plain HTTP is allowed for this machine only. */
const secureUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address that begins with https://', abort: true })
  .refine((text) => {
    const { protocol, hostname } = new URL(text)
    return protocol === 'https:' || LOOPBACK.test(hostname)
  }, 'must begin with https:// (http:// is for loopback names only)')

const domains = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((one) => one.trim().toLowerCase().replace(/^@/, ''))
      .filter((one) => one !== ''),
  )
  // An empty list would admit everyone, which is never intended.
  .pipe(
    z.array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, 'must be domains, separated by commas')).min(1),
  )

/** The suffixes of the variables. */
export const OAUTH_KEYS = {
  ISSUER: secureUrl.transform((text) => text.replace(/\/\.well-known\/openid-configuration$/, '')),
  CLIENT_ID: z.string().min(1),
  CLIENT_SECRET: z.string().min(1),
  CLIENT_AUTH: z.enum(['basic', 'post']),
  ALLOW: domains,
  NAME: z.string().max(64),
  SCOPES: z.string().regex(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/, 'must be scopes, separated by single spaces'),
  AUTHORIZE_URL: secureUrl,
  TOKEN_URL: secureUrl,
  USERINFO_URL: secureUrl,
  EMAILS_URL: secureUrl,
}
type Suffix = keyof typeof OAUTH_KEYS
type Values = { [S in Suffix]?: z.output<(typeof OAUTH_KEYS)[S]> | undefined }

const NAME = new RegExp(`^SVC_OAUTH_([A-Z0-9]+(?:_[A-Z0-9]+)*)_(${Object.keys(OAUTH_KEYS).join('|')})$`)

/** Whether an environment variable is one of these settings. */
export const isProviderSetting = (name: string): boolean => NAME.test(name)

/** @returns the providers sorted by id, or one line about the first wrong variable, which never contains its value */
export function readProviders(env: Record<string, string | undefined>): ProviderConfig[] | { fault: string } {
  const found = new Map<string, Values>()
  for (const [name, value] of Object.entries(env)) {
    const [, idp, suffix] = NAME.exec(name) ?? []
    const text = value?.trim()
    if (idp === undefined || !text) continue
    const parsed = OAUTH_KEYS[suffix as Suffix].safeParse(text)
    if (!parsed.success) {
      return { fault: `${name} is not valid: ${parsed.error.issues[0]?.message ?? 'bad value'}` }
    }
    found.set(idp, { ...found.get(idp), [suffix as Suffix]: parsed.data })
  }
  const providers: ProviderConfig[] = []
  for (const [idp, values] of [...found].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const read = providerOf(idp, values)
    if (typeof read === 'string') return { fault: read }
    providers.push(read)
  }
  return providers
}

/** The provider, or a message about what its settings lack. */
function providerOf(idp: string, values: Values): ProviderConfig | string {
  const called = (suffix: Suffix): string => `SVC_OAUTH_${idp}_${suffix}`
  const { ISSUER, AUTHORIZE_URL, TOKEN_URL, USERINFO_URL } = values
  const given = (['AUTHORIZE_URL', 'TOKEN_URL', 'USERINFO_URL', 'EMAILS_URL'] as const).find(
    (key) => values[key],
  )
  if (ISSUER !== undefined && given !== undefined) {
    return `${called(given)} does not go with ${called('ISSUER')}: an issuer tells its addresses itself`
  }
  if (values.CLIENT_ID === undefined) return `${called('CLIENT_ID')} is missing`
  if (ISSUER === undefined && given === undefined) return `${called('ISSUER')} is missing`
  const common = {
    id: idp.toLowerCase(),
    name: values.NAME ?? capitalised(idp),
    clientId: values.CLIENT_ID,
    clientSecret: values.CLIENT_SECRET,
    clientAuth: values.CLIENT_AUTH,
    allow: values.ALLOW ?? [],
  }
  if (ISSUER !== undefined) {
    const scopes = values.SCOPES ?? 'openid email profile'
    if (!scopes.split(' ').includes('openid')) return `${called('SCOPES')} is not valid: must hold openid`
    return { ...common, scopes, endpoints: { kind: 'discovered', issuer: ISSUER } }
  }
  if (AUTHORIZE_URL === undefined) return `${called('AUTHORIZE_URL')} is missing`
  if (TOKEN_URL === undefined) return `${called('TOKEN_URL')} is missing`
  if (USERINFO_URL === undefined) return `${called('USERINFO_URL')} is missing`
  return {
    ...common,
    scopes: values.SCOPES ?? '',
    endpoints: {
      kind: 'given',
      authorizeUrl: AUTHORIZE_URL,
      tokenUrl: TOKEN_URL,
      userinfoUrl: USERINFO_URL,
      emailsUrl: values.EMAILS_URL,
    },
  }
}

const capitalised = (idp: string): string => idp.charAt(0) + idp.slice(1).toLowerCase().replaceAll('_', ' ')

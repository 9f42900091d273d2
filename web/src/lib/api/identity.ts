import { TokensDocument, type TokensQuery } from '../../__generated__/graphql.ts'
import type { Proof } from '../confirmation.ts'
import { served } from '../served.ts'
import { query, unknown } from './graphql.ts'
import { get, type Page, patch, post, Refusal, remove, withQuery } from './request.ts'
import { type WireRow, wireRow } from './wire-row.ts'

export interface User {
  id: string
  email: string
  name: string
  role: 'admin' | 'user'
  created_at: string
  /** Of the signed-in user: all but setting up a second factor is refused. */
  second_factor_required?: boolean
}
export type Token = WireRow<
  Omit<NonNullable<NonNullable<TokensQuery['viewer']>['tokens']>[number], 'scope'>
> & {
  scope: 'reporter' | 'read'
}

/** The signed-in user; null if there is none. */
export const fetchMe = async (): Promise<User | null> => {
  try {
    const { user, ...rest } = await get<{ user: User; second_factor_required: boolean }>('/api/auth/me')
    return { ...user, ...rest }
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return null
    throw error
  }
}
export const signIn = (body: { email: string; password: string }): Promise<{ user: User }> =>
  post('/api/auth/login', body)
export const register = (body: { email: string; password: string; name?: string }): Promise<{ user: User }> =>
  post('/api/auth/register', body)
export const signOut = (): Promise<void> => post('/api/auth/logout')

/** An identity provider that the service is configured for. */
export interface Provider {
  id: string
  name: string
}
/** A linked sign-in method besides the password; `provider` is null if it is no longer configured. */
export interface Identity {
  id: string
  provider: Provider | null
  issuer: string
  email: string | null
  created_at: string
  last_used_at: string
}
/** Settings of the service that the page mentions. */
export const fetchSettings = (): Promise<{ retention_deleted_days: number }> => get('/api/settings')
/** Whether registration is open, and whether the first account, an administrator, is still to be created. */
export const fetchRegistration = (): Promise<{ open: boolean; first: boolean }> => get('/api/auth/register')
export const fetchProviders = async (): Promise<Provider[]> =>
  (await get<{ items: Provider[] }>('/api/oauth')).items
/** The URL that starts a sign-in through a provider; the page navigates to it. */
export const startAt = (id: string, returnTo: string | undefined): string =>
  served(withQuery(`/api/oauth/${encodeURIComponent(id)}/start`, { return_to: returnTo }))
export const fetchSignInMethods = (): Promise<{ items: Identity[]; password: boolean }> =>
  get('/api/auth/identities')
export const changeMe = (
  body: { name: string } | { password: string; current_password: string; code?: string },
): Promise<{ user: User }> => patch('/api/auth/me', body)
/** Returns the URL to navigate to. */
export const beginLink = (id: string, proof: Proof): Promise<{ url: string }> =>
  post(`/api/oauth/${encodeURIComponent(id)}/link`, proof)
export const unlink = (id: string): Promise<void> => remove(`/api/auth/identities/${encodeURIComponent(id)}`)

export async function fetchTokens(): Promise<Page<Token>> {
  const { viewer } = await query(TokensDocument, {})
  if (viewer?.tokens == null) throw unknown()
  // Only tokens of the two scopes that users create.
  return { items: viewer.tokens.map((token) => wireRow(token) as Token), next_cursor: null }
}
export const createToken = (body: {
  name: string
  scope: Token['scope']
}): Promise<Token & { token: string }> => post('/api/tokens', body)
export const revokeToken = (id: string): Promise<void> => remove(`/api/tokens/${encodeURIComponent(id)}`)

export interface Account extends User {
  disabled: boolean
}
export const fetchUsers = (cursor?: string): Promise<Page<Account>> =>
  get('/api/admin/users', { limit: 100, cursor })
export const changeUser = (
  id: string,
  body: { role?: User['role']; disabled?: boolean },
): Promise<{ user: Account }> => patch(`/api/admin/users/${encodeURIComponent(id)}`, body)
export const rotateKey = (): Promise<{ active_kid: string; verify_kids: string[] }> =>
  post('/api/admin/jwt/rotate')

import { get, patch, post, Refusal, remove } from './request.ts'
import type { Page, Token, User } from './types.ts'

/** Who is signed in; null for nobody. */
export const fetchMe = async (): Promise<User | null> => {
  try {
    return (await get<{ user: User }>('/api/auth/me')).user
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

export const fetchTokens = (): Promise<Page<Token>> => get('/api/tokens', { limit: 500 })
export const makeToken = (body: {
  name: string
  scope: Token['scope']
}): Promise<Token & { token: string }> => post('/api/tokens', body)
export const revokeToken = (id: string): Promise<void> => remove(`/api/tokens/${encodeURIComponent(id)}`)

export interface Account extends User {
  disabled: boolean
}
export interface AuditEntry {
  id: number
  at: string
  actor: { id: string; name: string } | null
  via: string
  action: string
  subject: string
  detail: Record<string, unknown>
}
export const fetchUsers = (cursor?: string): Promise<Page<Account>> =>
  get('/api/admin/users', { limit: 100, cursor })
export const changeUser = (
  id: string,
  body: { role?: User['role']; disabled?: boolean },
): Promise<{ user: Account }> => patch(`/api/admin/users/${encodeURIComponent(id)}`, body)
export const rotateKey = (): Promise<{ active_kid: string; verify_kids: string[] }> =>
  post('/api/admin/jwt/rotate')
export const fetchAudit = (cursor?: string): Promise<Page<AuditEntry>> =>
  get('/api/admin/audit', { limit: 100, cursor })

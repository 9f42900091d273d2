import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser'
import type { Proof } from '../confirmation.ts'
import type { User } from './identity.ts'
import { get, type Page, patch, post, remove } from './request.ts'

/** Imported on demand: every page loads this file, but few use a passkey. */
const webauthn = () => import('@simplewebauthn/browser')

/** The second factors of the account. */
export interface Factors {
  totp: { enabled: boolean; since: string | null }
  recovery_codes_left: number
  passkeys: number
}
export interface Passkey {
  id: string
  name: string
  /** The host name that it is valid for. */
  host: string
  backed_up: boolean
  created_at: string
  last_used_at: string | null
}
export interface Session {
  id: string
  device: string
  user_agent: string | null
  address: string | null
  method: string | null
  created_at: string
  last_used_at: string
  current: boolean
}

export const fetchFactors = (): Promise<Factors> => get('/api/auth/factors')
export const beginTotp = (proof: Proof): Promise<{ secret: string; uri: string }> =>
  post('/api/auth/totp', proof)
export const confirmTotp = (code: string): Promise<{ recovery_codes: string[] }> =>
  post('/api/auth/totp/confirm', { code })
export const disableTotp = (proof: Proof): Promise<void> => post('/api/auth/totp/disable', proof)
export const renewRecoveryCodes = (proof: Proof): Promise<{ recovery_codes: string[] }> =>
  post('/api/auth/recovery-codes', proof)
export const signInWithCode = (body: { challenge: string; code: string }): Promise<{ user: User }> =>
  post('/api/auth/login/totp', body)

export const fetchPasskeys = (): Promise<{ items: Passkey[]; available: boolean; host: string | null }> =>
  get('/api/auth/passkeys')
/** Creates a passkey on the user's device; throws when the user or the device refuses. */
export async function addPasskey(name: string, proof: Proof): Promise<Passkey> {
  const optionsJSON = await post<PublicKeyCredentialCreationOptionsJSON>('/api/auth/passkeys/options', proof)
  const response = await (await webauthn()).startRegistration({ optionsJSON })
  return post('/api/auth/passkeys', { name, response })
}
async function askPasskey() {
  const optionsJSON = await post<PublicKeyCredentialRequestOptionsJSON>('/api/auth/login/passkey/options')
  return (await webauthn()).startAuthentication({ optionsJSON })
}
export const signInWithPasskey = async (): Promise<{ user: User }> =>
  post('/api/auth/login/passkey', { response: await askPasskey() })
/** Proves again who is signed in. */
export const confirmWith = (proof: Proof): Promise<void> => post('/api/auth/confirm', proof)
export const confirmWithPasskey = async (): Promise<void> =>
  post('/api/auth/confirm', { passkey: await askPasskey() })
export const renamePasskey = (id: string, name: string): Promise<Passkey> =>
  patch(`/api/auth/passkeys/${encodeURIComponent(id)}`, { name })
export const deletePasskey = (id: string): Promise<void> =>
  remove(`/api/auth/passkeys/${encodeURIComponent(id)}`)

export const fetchSessions = (cursor?: string): Promise<Page<Session>> =>
  get('/api/auth/sessions', { limit: 100, cursor })
export const closeSession = (id: string): Promise<void> =>
  remove(`/api/auth/sessions/${encodeURIComponent(id)}`)
export const closeOtherSessions = (): Promise<void> => remove('/api/auth/sessions')

export const resetFactors = (userId: string): Promise<void> =>
  remove(`/api/admin/users/${encodeURIComponent(userId)}/factors`)
export const fetchNotices = async (): Promise<{ code: string; detail: string }[]> =>
  (await get<{ items: { code: string; detail: string }[] }>('/api/admin/notices')).items

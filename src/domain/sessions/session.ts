import type { z } from 'zod'
import type { CallerUser } from '../caller.ts'
import { type Fields, instant, nullable, text, uuid, type ViewOf, word } from '../field.ts'

/** A JWT is valid this long and is never renewed. */
export const JWT_LIFE_S = 12 * 3600
/** A session ends when it was not used for this long … */
export const IDLE_S = 14 * 86_400
/** … and this long after it was opened, even if it is in use. */
export const ABSOLUTE_S = 90 * 86_400

/** The open session of an enabled user that a credential belongs to. */
export interface Session {
  id: string
  user: CallerUser
  createdAt: string
  /** Whether its user has an authenticator app, or signed in with a passkey or through an identity provider. */
  hasSecondFactor: boolean
  /** Whether its use was not recorded for a minute: then it is recorded, and its cookie renewed. */
  stale: boolean
}

/** A new session with its two credentials, which are shown only once. */
export interface OpenedSession {
  id: string
  /** The JWT, for `Authorization: Bearer`. */
  token: string
  /** When the JWT expires. */
  expiresAt: string
  /** The value of the browser's cookie. */
  cookie: string
}

/** The maximum age of a cookie from now, in seconds: as long as its session could last. */
export function cookieLifeS(createdAt: string, now: Date): number {
  const age = Math.floor((now.getTime() - Date.parse(createdAt)) / 1000)
  return Math.max(0, Math.min(IDLE_S, ABSOLUTE_S - age))
}

/** The method of the sign-in. */
const methods = word(['registration', 'password', 'totp', 'recovery_code', 'passkey', 'provider'])
export type SignInMethod = z.output<typeof methods.shape>

/** Where a session is opened: stored, so that its user can recognise it. */
export interface Origin {
  address: string
  userAgent: string | undefined
  method: SignInMethod
}

/** An open session in the API. */
export const sessionFields = {
  id: { type: uuid, public: 'hidden' },
  user_agent: { type: nullable(text), public: 'hidden' },
  address: { type: nullable(text), means: 'IP address of its last request', public: 'hidden' },
  method: { type: nullable(methods), means: 'How the user signed in', public: 'hidden' },
  created_at: { type: instant, public: 'hidden' },
  last_used_at: { type: instant, means: 'Rounded to the minute', public: 'hidden' },
} as const satisfies Fields
export type SessionRecord = ViewOf<typeof sessionFields>

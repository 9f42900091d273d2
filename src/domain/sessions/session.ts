import type { CallerUser } from '../caller.ts'

/** A JWT lives this long and is never renewed. */
export const JWT_LIFE_S = 12 * 3600
/** A session ends when it was not used for this long … */
export const IDLE_S = 14 * 86_400
/** … and this long after it was opened, even if it is in use. */
export const ABSOLUTE_S = 90 * 86_400

/** What a credential proved: a live session of an enabled user. */
export interface Session {
  id: string
  user: CallerUser
  createdAt: string
  /** Not written down as used for a minute: time to touch it and to renew its cookie. */
  stale: boolean
}

/** A new session with its two credentials, which are shown this once. */
export interface OpenedSession {
  id: string
  /** The JWT, for `Authorization: Bearer`. */
  token: string
  /** When the JWT ends. */
  expiresAt: string
  /** What the browser's cookie holds. */
  cookie: string
}

/** Seconds that a cookie may live on from now: as long as its session could. */
export function cookieLifeS(createdAt: string, now: Date): number {
  const age = Math.floor((now.getTime() - Date.parse(createdAt)) / 1000)
  return Math.max(0, Math.min(IDLE_S, ABSOLUTE_S - age))
}

/** How a person signed in. */
export type SignInMethod = 'registration' | 'password' | 'totp' | 'recovery_code' | 'passkey' | 'provider'

/** Where a session is opened: kept, so that its owner can tell it from others. */
export interface Origin {
  address: string
  userAgent: string | undefined
  method: SignInMethod
}

/** A live session as its owner sees it. */
export interface SessionRecord {
  id: string
  userAgent: string | null
  /** Where it was used last; null for one from before addresses were kept. */
  address: string | null
  method: SignInMethod | null
  createdAt: string
  lastUsedAt: string
}

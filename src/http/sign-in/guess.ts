import type { FastifyRequest } from 'fastify'
import type { Known } from '../../domain/caller.ts'
import { isKnownPlace } from '../../domain/sessions/index.ts'
import { emailKey } from '../../domain/users/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { readSessionCookie } from './session-cookie.ts'
import type { SignInLimiter } from './sign-in-limiter.ts'
import { visitorOf } from './signed-in.ts'

/** What the routes of accounts share: the limits of guesses count all of them together. */
export interface Identification {
  services: Services
  /** Limits guesses at passwords. */
  passwords: SignInLimiter
  /** Limits guesses at codes. */
  codes: SignInLimiter
}

export interface Guess {
  request: FastifyRequest
  what: 'password' | 'code'
  /** The address that was typed in, or that of the account. */
  email: string
  /** The account, if there is one. */
  userId: string | undefined
  /** Who is signed in and must prove it again; undefined during a sign-in. */
  caller?: Known
}

/**
 * Runs the check of a password or code within the limits of guesses. A lock-out, and a wrong answer of a signed-in user, go
 * to the audit log.
 * @throws Problem too_many_attempts, before `check` runs
 */
export async function guess(
  { services, passwords, codes }: Identification,
  { request, what, email, userId, caller }: Guess,
  check: () => Promise<boolean>,
): Promise<boolean> {
  const { sql, config, now } = services
  const { refusals } = request.server
  const actor = caller ?? visitorOf(request)
  const subject = `user:${userId ?? 'unknown'}` as const
  // Whether the account's owner has signed in from this browser or network before.
  const place = { address: request.ip, cookie: readSessionCookie(request, config) }
  const account = what === 'code' ? (userId ?? '') : emailKey(email)
  const limiter = what === 'code' ? codes : passwords
  try {
    const right = await limiter.check(
      { account, address: request.ip },
      now(),
      () => isKnownPlace(sql, emailKey(email), place, now()),
      check,
    )
    if (!right && caller !== undefined)
      await refusals.note(actor, request.ip, { action: 'user.proof_refused', subject, detail: { what } })
    return right
  } catch (error) {
    if (error instanceof Problem && error.code === 'too_many_attempts')
      await refusals.note(actor, request.ip, { action: 'user.locked_out', subject, detail: { what } })
    throw error
  }
}

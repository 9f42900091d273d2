import type { FastifyRequest } from 'fastify'
import type { Known } from '../../domain/caller.ts'
import { signInMethods } from '../../domain/identities/index.ts'
import { isKnownPlace } from '../../domain/sessions/index.ts'
import { emailKey, findAccount, verifyPassword } from '../../domain/users/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { readSessionCookie } from './session-cookie.ts'
import type { SignInLimiter } from './sign-in-limiter.ts'

/** Whether the account's owner has signed in from this browser or network before. */
export const fromKnownPlace =
  ({ sql, config, now }: Pick<Services, 'sql' | 'config' | 'now'>, request: FastifyRequest, email: string) =>
  (): Promise<boolean> =>
    isKnownPlace(
      sql,
      emailKey(email),
      { address: request.ip, cookie: readSessionCookie(request, config) },
      now(),
    )

/**
 * Checks the password again before a change that opens the account permanently: an open session alone must not be
 * enough. Wrong guesses count as wrong guesses at sign-in.
 * @throws Problem wrong_password, too_many_attempts
 */
export async function confirmPassword(
  services: Pick<Services, 'sql' | 'config' | 'now'>,
  guesses: SignInLimiter,
  { request, caller, password }: { request: FastifyRequest; caller: Known; password: string },
): Promise<void> {
  const { email } = caller.user
  const right = await guesses.check(
    { account: emailKey(email), address: request.ip },
    services.now(),
    fromKnownPlace(services, request, email),
    async () => verifyPassword((await findAccount(services.sql, email))?.passwordHash, password),
  )
  if (!right) throw new Problem('wrong_password')
}

/**
 * `confirmPassword` for an account that has a password; an account without one needs none.
 * @throws Problem invalid_body if the password is missing; those of `confirmPassword`
 */
export async function confirmPasswordIfSet(
  services: Pick<Services, 'sql' | 'config' | 'now'>,
  guesses: SignInLimiter,
  { request, caller, password }: { request: FastifyRequest; caller: Known; password: string | undefined },
): Promise<void> {
  if (password !== undefined) return confirmPassword(services, guesses, { request, caller, password })
  if (!(await signInMethods(services.sql, caller.user.id)).password) return
  throw new Problem('invalid_body', {
    errors: [{ path: 'current_password', message: 'is required for an account that has a password' }],
  })
}

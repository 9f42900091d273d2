import type { FastifyRequest } from 'fastify'
import type { Known } from '../../domain/caller.ts'
import { isKnownPlace } from '../../domain/sessions/index.ts'
import { emailKey, findAccount, verifyPassword } from '../../domain/users/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { readSessionCookie } from './session-cookie.ts'
import type { SignInLimiter } from './sign-in-limiter.ts'

/** Whether this browser or this network is one that the account's owner signed in from before. */
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
 * A session that was left open must not become the whole account: every permanent way into the account asks for the password again,
 * and guesses here count as guesses at login. Throws `wrong_password`, `too_many_attempts`.
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

import type { Known } from '../domain/caller.ts'
import { findAccount, verifyPassword } from '../domain/users/index.ts'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'
import type { AttemptLimits } from './attempts.ts'

/**
 * A session that was left open must not become the whole account: what opens it for good asks for the password again,
 * and guesses here count as guesses at login. Throws `wrong_password`, `too_many_attempts`.
 */
export async function confirmPassword(
  { sql, now }: Pick<Services, 'sql' | 'now'>,
  limits: AttemptLimits,
  caller: Known,
  password: string,
): Promise<void> {
  const forgive = limits.take({ account: caller.user.email.toLowerCase() }, now())
  const account = await findAccount(sql, caller.user.email)
  if (!(await verifyPassword(account?.passwordHash, password))) throw new Problem('wrong_password')
  forgive()
}

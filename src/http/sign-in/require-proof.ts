import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Known } from '../../domain/caller.ts'
import { useFactor } from '../../domain/factors/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import * as shapes from '../request/shapes.ts'
import { confirmPassword, fromKnownPlace } from './confirm-password.ts'
import type { SignInLimiter } from './sign-in-limiter.ts'

export const code = z.string().min(1).max(64)
export const proof = z.strictObject({
  current_password: shapes.triedPassword.optional(),
  code: code.optional().describe('A code of the authenticator app, or a recovery code'),
})
export interface FactorContext {
  services: Services
  /** Limits guesses at passwords. */
  passwords: SignInLimiter
  /** Limits guesses at codes. */
  codes: SignInLimiter
}

/** Checks a code of a signed-in user. Throws `wrong_code`, `too_many_attempts`. */
async function confirmCode(
  { services, codes }: FactorContext,
  request: FastifyRequest,
  caller: Known,
  given: string,
): Promise<void> {
  const { config, writer, now } = services
  const { id, email } = caller.user
  const right = await codes.check(
    { account: id, address: request.ip },
    now(),
    fromKnownPlace(services, request, email),
    async () => {
      const method = await commit(writer, async (tx) => ({
        result: await useFactor(tx, id, given, config.encryptionKey, now()),
        changes: [],
      }))
      return method !== undefined
    },
  )
  if (!right) throw new Problem('wrong_code')
}

/** Requires the password or a code again: an open session alone must not be enough to weaken the account. */
export async function requireProof(
  context: FactorContext,
  request: FastifyRequest,
  caller: Known,
  { current_password: password, code: given }: z.output<typeof proof>,
): Promise<void> {
  const { services, passwords } = context
  if (password !== undefined) await confirmPassword(services, passwords, { request, caller, password })
  else if (given !== undefined) await confirmCode(context, request, caller, given)
  else {
    const errors = [{ path: 'current_password', message: 'is required, or a code' }]
    throw new Problem('invalid_body', { errors })
  }
}

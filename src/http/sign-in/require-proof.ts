import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Known } from '../../domain/caller.ts'
import { factorsOf, useFactor } from '../../domain/factors/index.ts'
import { signInMethods } from '../../domain/identities/index.ts'
import { confirmSession, lastConfirmed } from '../../domain/sessions/index.ts'
import { findAccount, verifyPassword } from '../../domain/users/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import * as shapes from '../request/shapes.ts'
import { guess, type Identification } from './guess.ts'

export const code = z.string().min(1).max(64)
export const proof = z.strictObject({
  current_password: shapes.triedPassword.optional().describe('Required for an account that has a password'),
  code: code
    .optional()
    .describe(
      'A code of the authenticator app, or a recovery code; required for an account that has the app, also with the password',
    ),
})
export type Proof = z.output<typeof proof>

/** For so long a sign-in, or a proof, is enough for changes that need one. */
export const RECENT_S = 600

/**
 * Checks the password again before a change that opens the account permanently: an open session alone must not be
 * enough. Wrong guesses count as wrong guesses at sign-in.
 * @throws Problem wrong_password, too_many_attempts
 */
export async function confirmPassword(
  context: Identification,
  request: FastifyRequest,
  caller: Known,
  password: string,
): Promise<void> {
  const { id: userId, email } = caller.user
  const right = await guess(context, { request, what: 'password', email, userId, caller }, async () =>
    verifyPassword((await findAccount(context.services.sql, email))?.passwordHash, password),
  )
  if (!right) throw new Problem('wrong_password')
}

/** Checks a code of a signed-in user. Throws `wrong_code`, `too_many_attempts`. */
async function confirmCode(
  context: Identification,
  request: FastifyRequest,
  caller: Known,
  given: string,
): Promise<void> {
  const { config, writer, now } = context.services
  const { id: userId, email } = caller.user
  const right = await guess(context, { request, what: 'code', email, userId, caller }, async () => {
    const method = await write(writer, (tx) => useFactor(tx, userId, given, config.encryptionKey, now()))
    return method !== undefined
  })
  if (!right) throw new Problem('wrong_code')
}

/**
 * Requires proof of who the user is: an open session alone must not be enough to weaken the account, nor the password
 * alone once there is an authenticator app. An account with neither must have signed in a short time ago.
 * @throws Problem wrong_password, wrong_code, too_many_attempts; code_required; invalid_body without any proof;
 * confirmation_required
 */
export async function requireProof(
  context: Identification,
  request: FastifyRequest,
  caller: Known,
  { current_password: password, code: given }: Proof,
): Promise<void> {
  const { sql, writer, now } = context.services
  const [{ totpSince }, methods] = await Promise.all([
    factorsOf(sql, caller.user.id),
    signInMethods(sql, caller.user.id),
  ])
  const hasApp = totpSince !== null
  if (password === undefined && (hasApp ? given === undefined : methods.password)) {
    const path = hasApp ? 'code' : 'current_password'
    throw new Problem('invalid_body', { errors: [{ path, message: 'is required' }] })
  }
  if (password !== undefined) await confirmPassword(context, request, caller, password)
  if (hasApp && given === undefined) throw new Problem('code_required')
  if (hasApp && given !== undefined) await confirmCode(context, request, caller, given)
  if (!hasApp && password === undefined) return requireRecent(context.services, caller)
  await write(writer, (tx) => confirmSession(tx, caller.credentialId, now()))
}

/**
 * Requires that the session was opened, or its user proved who they are, within the last minutes.
 * @throws Problem confirmation_required, with the kinds of proof that `POST /api/auth/confirm` takes
 */
export async function requireRecent({ sql, now }: Services, caller: Known): Promise<void> {
  const at = await lastConfirmed(sql, caller.credentialId)
  if (at !== undefined && at.getTime() > now().getTime() - RECENT_S * 1000) return
  const [{ totpSince, passkeys }, { password }] = await Promise.all([
    factorsOf(sql, caller.user.id),
    signInMethods(sql, caller.user.id),
  ])
  const first = totpSince !== null ? ['code'] : password ? ['password'] : []
  throw new Problem('confirmation_required', {
    members: { proofs: passkeys > 0 ? [...first, 'passkey'] : first },
  })
}

import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Tx } from '../../db/sql.ts'
import { recordAudit } from '../../domain/audit.ts'
import type { Visitor } from '../../domain/caller.ts'
import { type OpenedSession, openSession, type SignInMethod } from '../../domain/sessions/index.ts'
import type { User } from '../../domain/users/index.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import * as shapes from '../request/shapes.ts'
import { setSessionCookie } from './session-cookie.ts'

/** The answer of every sign-in. */
export const signedIn = z.object({
  user: shapes.userShape,
  token: z.string().describe('A JWT for `Authorization: Bearer`'),
  expires_at: shapes.instant.describe('When the JWT expires'),
})

/** The user that signs in, for the audit log. */
export const visitorOf = (request: FastifyRequest, user?: { id: string }): Visitor => ({
  kind: 'visitor',
  address: request.ip,
  ...(user && { user: { id: user.id } }),
})

/** Opens a session and records the sign-in in the audit log, in the transaction that checked the credential. */
export async function openBrowserSession(
  tx: Tx,
  request: FastifyRequest,
  user: { id: string },
  method: SignInMethod,
  now: Date,
  detail: Record<string, unknown> = {},
): Promise<OpenedSession> {
  const { ip: address, headers } = request
  const session = await openSession(tx, user.id, { address, userAgent: headers['user-agent'], method }, now)
  const action = method === 'registration' ? 'user.registered' : 'user.signed_in'
  await recordAudit(
    tx,
    visitorOf(request, user),
    { action, subject: `user:${user.id}`, detail: { method, ...detail } },
    now,
  )
  return session
}

/** The answer to a successful sign-in, with the browser's cookie. */
export function sendSignedIn(
  reply: FastifyReply,
  { config }: Pick<Services, 'config'>,
  user: User,
  session: OpenedSession,
  at: Date,
): z.output<typeof signedIn> {
  setSessionCookie(reply, config, session.cookie, at.toISOString(), at)
  return { user: shapes.showUser(user), token: session.token, expires_at: session.expiresAt }
}

/** Records a failed sign-in. An address without an account is not recorded: people type passwords there by mistake. */
export async function noteFailure(
  { writer, now }: Pick<Services, 'writer' | 'now'>,
  request: FastifyRequest,
  userId: string | undefined,
  detail: { method: SignInMethod; reason: string },
): Promise<void> {
  await write(writer, (tx) =>
    recordAudit(
      tx,
      visitorOf(request),
      { action: 'user.sign_in_failed', subject: `user:${userId ?? 'unknown'}`, detail },
      now(),
    ),
  )
}

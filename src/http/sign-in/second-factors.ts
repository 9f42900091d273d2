import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { recordAudit } from '../../domain/audit.ts'
import {
  beginTotp,
  confirmTotp,
  disableTotp,
  factorsOf,
  renewRecoveryCodes,
  takeChallenge,
  tryChallenge,
  useFactor,
} from '../../domain/factors/index.ts'
import { findUser } from '../../domain/users/index.ts'
import { Problem } from '../../problem.ts'
import { write } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { guess, type Identification } from './guess.ts'
import { code, proof, requireProof } from './require-proof.ts'
import { noteFailure, openBrowserSession, sendSignedIn, signedIn, visitorOf } from './signed-in.ts'

const codesShape = z.object({ recovery_codes: z.array(z.string()).describe('Shown only once') })

const tags = ['identity']
const own = { tags, querystring: shapes.nothing }

/** An authenticator app as the second factor, with recovery codes (docs/api.md "Second factors and passkeys"). */
export function secondFactorRoutes(app: FastifyInstance, context: Identification): void {
  addRoutes(app, context, [
    readFactorsRoute,
    beginTotpRoute,
    confirmTotpRoute,
    disableTotpRoute,
    renewRecoveryCodesRoute,
    signInWithCodeRoute,
  ])
}

function readFactorsRoute(routes: Routes, { services }: Identification): void {
  const { sql } = services
  routes.get(
    '/api/auth/factors',
    {
      ...personOnly,
      config: { beforeSecondFactor: true },
      schema: {
        ...own,
        summary: 'The second factors of my account',
        response: {
          200: z.object({
            totp: z.object({ enabled: z.boolean(), since: shapes.instant.nullable() }),
            recovery_codes_left: z.int(),
            passkeys: z.int(),
          }),
        },
      },
    },
    async (request) => {
      const found = await factorsOf(sql, (await request.person()).user.id)
      return {
        totp: { enabled: found.totpSince !== null, since: found.totpSince },
        recovery_codes_left: found.recoveryCodesLeft,
        passkeys: found.passkeys,
      }
    },
  )
}

function beginTotpRoute(routes: Routes, context: Identification): void {
  const { config, sql, writer, now } = context.services
  routes.post(
    '/api/auth/totp',
    {
      ...personOnly,
      config: { beforeSecondFactor: true },
      schema: {
        ...own,
        summary: 'Start setting up an authenticator app; confirm one of its codes to enable it',
        body: z.strictObject({
          current_password: shapes.triedPassword
            .optional()
            .describe('Required for an account that has a password'),
        }),
        response: {
          201: z.object({
            secret: z.string().describe('In base32, for manual entry'),
            uri: z.string().describe('`otpauth://…`, for a QR code'),
          }),
        },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      if ((await factorsOf(sql, caller.user.id)).totpSince !== null) throw new Problem('totp_enabled')
      await requireProof(context, request, caller, request.body)
      const begun = await write(writer, (tx) => beginTotp(tx, caller, config.encryptionKey, now()))
      return reply.code(201).send(begun)
    },
  )
}

function confirmTotpRoute(routes: Routes, context: Identification): void {
  const { config, writer, now } = context.services
  routes.post(
    '/api/auth/totp/confirm',
    {
      ...personOnly,
      config: { beforeSecondFactor: true },
      schema: {
        ...own,
        summary: 'Enable the authenticator app with one of its codes; sign-in then requires a code',
        body: z.strictObject({ code }),
        response: { 200: codesShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const made: string[] = []
      // A wrong code counts as a guess.
      const { id: userId, email } = caller.user
      const right = await guess(context, { request, what: 'code', email, userId, caller }, async () => {
        try {
          const given = request.body.code.replace(/\s/g, '')
          made.push(
            ...(await write(writer, (tx) => confirmTotp(tx, caller, given, config.encryptionKey, now()))),
          )
          return true
        } catch (error) {
          if (error instanceof Problem && error.code === 'wrong_code') return false
          throw error
        }
      })
      if (!right) throw new Problem('wrong_code')
      return { recovery_codes: made }
    },
  )
}

function disableTotpRoute(routes: Routes, context: Identification): void {
  const { writer, now } = context.services
  routes.post(
    '/api/auth/totp/disable',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Remove the authenticator app and its recovery codes; requires a code',
        body: proof,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await requireProof(context, request, caller, request.body)
      await write(writer, (tx) => disableTotp(tx, caller, now()))
      return reply.code(204).send(null)
    },
  )
}

function renewRecoveryCodesRoute(routes: Routes, context: Identification): void {
  const { writer, now } = context.services
  routes.post(
    '/api/auth/recovery-codes',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Replace the recovery codes; requires a code',
        body: proof,
        response: { 200: codesShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      await requireProof(context, request, caller, request.body)
      const made = await write(writer, (tx) => renewRecoveryCodes(tx, caller, now()))
      return { recovery_codes: made }
    },
  )
}

function signInWithCodeRoute(routes: Routes, context: Identification): void {
  const { services } = context
  const { config, sql, writer, now } = services
  routes.post(
    '/api/auth/login/totp',
    {
      config: { opensSession: true },
      schema: {
        tags,
        security: [],
        querystring: shapes.nothing,
        summary: 'The second step of a sign-in: the challenge of the first step, and a code',
        body: z.strictObject({
          challenge: z.string().min(1).max(128),
          code: code.describe('A code of the authenticator app, or a recovery code'),
        }),
        response: { 200: signedIn },
      },
    },
    async (request, reply) => {
      const { challenge, code: given } = request.body
      const userId = await write(writer, (tx) => tryChallenge(tx, 'second_factor', challenge, now()))
      const user = userId === undefined ? undefined : await findUser(sql, userId)
      if (user === undefined) throw new Problem('challenge_expired')
      if (user.disabled) throw new Problem('account_disabled')
      const at = now()
      const answer: { session?: Awaited<ReturnType<typeof openBrowserSession>> } = {}
      const right = await guess(
        context,
        { request, what: 'code', email: user.email, userId: user.id },
        async () => {
          const session = await write(writer, async (tx) => {
            const method = await useFactor(tx, user.id, given, config.encryptionKey, at)
            if (method === undefined) return undefined
            // Two valid codes at the same time open only one session.
            if ((await takeChallenge(tx, 'second_factor', challenge, at)) === undefined)
              throw new Problem('challenge_expired')
            if (method === 'recovery_code') {
              const entry = { action: 'user.recovery_code_used', subject: `user:${user.id}` } as const
              await recordAudit(tx, visitorOf(request, user), entry, at)
            }
            return await openBrowserSession(tx, request, user, method, at)
          })
          if (session !== undefined) answer.session = session
          return session !== undefined
        },
      )
      if (!right || answer.session === undefined) {
        await noteFailure(services, request, user.id, { method: 'totp', reason: 'bad_code' })
        throw new Problem('bad_code')
      }
      return sendSignedIn(reply, services, user, answer.session, at)
    },
  )
}

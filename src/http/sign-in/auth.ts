import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { requestAccountConfirmation } from '../../domain/addresses/index.ts'
import { recordAudit } from '../../domain/audit.ts'
import { factorsOf, forgetChallenges, makeChallenge } from '../../domain/factors/index.ts'
import { closeSession, closeSessionsOf } from '../../domain/sessions/index.ts'
import {
  createUser,
  findAccount,
  findUser,
  hashPassword,
  hasUsers,
  holdPassword,
  nameFromEmail,
  requireRegistration,
  requireStrongPassword,
  updateProfile,
  verifyPassword,
} from '../../domain/users/index.ts'
import { Problem } from '../../problem.ts'
import { write } from '../../stream/commit.ts'
import { type AttemptLimits, createAttemptLimits } from '../request/attempts.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { toProblem } from '../server/respond.ts'
import { guess, type Identification } from './guess.ts'
import { code, confirmPassword, requireProof } from './require-proof.ts'
import { clearSessionCookie } from './session-cookie.ts'
import { noteFailure, openBrowserSession, sendSignedIn, signedIn } from './signed-in.ts'

const me = z.object({ user: shapes.userShape })

interface Context extends Identification {
  /** Limits how many accounts a network may make. */
  registrations: AttemptLimits
}

const open = { tags: ['identity'], security: [], querystring: shapes.nothing }
const own = { tags: ['identity'], querystring: shapes.nothing }

/** Accounts and sessions of people (contract §3). */
export function authRoutes(app: FastifyInstance, context: Identification): void {
  const { services } = context
  const registrations = createAttemptLimits(
    { account: 0, address: services.config.registrationsPerHour },
    { windowS: 3600, code: 'too_many_registrations' },
  )
  addRoutes(app, { ...context, registrations }, [
    registrationRoute,
    registerRoute,
    signInRoute,
    signOutRoute,
    readUserRoute,
    updateUserRoute,
  ])
}

function registrationRoute(routes: Routes, { services }: Context): void {
  const { config, sql } = services
  routes.get(
    '/api/auth/register',
    {
      schema: {
        ...open,
        summary: 'Whether registration is open, and whether there is an account yet',
        response: {
          200: z.object({
            open: z.boolean().describe('SVC_REGISTRATION; the first account can always be created'),
            first: z.boolean().describe('There is no account yet: the first one becomes an administrator'),
          }),
        },
      },
    },
    async () => {
      const first = !(await hasUsers(sql))
      return { open: first || config.registration === 'open', first }
    },
  )
}

function registerRoute(routes: Routes, { services, registrations }: Context): void {
  const { config, sql, writer, now } = services
  routes.post(
    '/api/auth/register',
    {
      config: { opensSession: true },
      schema: {
        ...open,
        summary: 'Create an account and sign in; the first account is an administrator',
        body: z.strictObject({
          email: shapes.email,
          password: shapes.newPassword,
          name: shapes.label.optional().describe('Default: the part of the address before the @'),
        }),
        response: { 201: signedIn },
      },
    },
    async (request, reply) => {
      const { email, password, name = nameFromEmail(email) } = request.body
      await requireStrongPassword(password, { email, name })
      // Checked before the expensive hash; createUser checks it again.
      await requireRegistration(sql, config.registration)
      const forgive = registrations.take({ address: request.ip }, now())
      try {
        if ((await findAccount(sql, email)) !== undefined) throw new Problem('email_taken')
        const passwordHash = await hashPassword(password, 'new-account')
        const at = now()
        const { user, session } = await write(writer, async (tx) => {
          const user = await createUser(tx, { email, name, passwordHash }, config.registration, at)
          if (config.smtp !== undefined) await requestAccountConfirmation(tx, user, { again: false }, at)
          return { user, session: await openBrowserSession(tx, request, user, 'registration', at) }
        })
        return reply.code(201).send(sendSignedIn(reply, services, user, session, at))
      } catch (error) {
        // An error of the service does not count as a failed sign-in.
        if (toProblem(error).status >= 500) forgive()
        throw error
      }
    },
  )
}

function signInRoute(routes: Routes, context: Context): void {
  const { services } = context
  const { sql, writer, now } = services
  routes.post(
    '/api/auth/login',
    {
      config: { opensSession: true },
      schema: {
        ...open,
        summary:
          'Sign in; at most 5 wrong attempts per minute from one address at one account, 20 at all accounts',
        description:
          'An account with an authenticator app gets 401 `second_factor_required` with `challenge`, `expires_at` and `factors`: send the challenge with a code to `POST /api/auth/login/totp`.',
        body: z.strictObject({ email: z.string().max(1024), password: shapes.triedPassword }),
        response: { 200: signedIn },
      },
    },
    async (request, reply) => {
      const { email, password } = request.body
      const account = shapes.email.safeParse(email).success ? await findAccount(sql, email) : undefined
      const right = await guess(context, { request, what: 'password', email, userId: account?.id }, () =>
        verifyPassword(account?.passwordHash, password),
      )
      if (account === undefined || !right) {
        const reason = account === undefined ? 'unknown_account' : 'wrong_password'
        await noteFailure(services, request, account?.id, { method: 'password', reason })
        throw new Problem('bad_credentials')
      }
      if (account.disabled) {
        await noteFailure(services, request, account.id, { method: 'password', reason: 'account_disabled' })
        throw new Problem('account_disabled')
      }
      const at = now()
      if ((await factorsOf(sql, account.id)).totpSince !== null) {
        const { challenge, expiresAt } = await write(writer, async (tx) => {
          await holdPassword(tx, account.id, account.passwordHash)
          return await makeChallenge(tx, 'second_factor', account.id, at)
        })
        throw new Problem('second_factor_required', {
          members: { challenge, expires_at: expiresAt.toISOString(), factors: ['totp', 'recovery_code'] },
        })
      }
      const session = await write(writer, async (tx) => {
        await holdPassword(tx, account.id, account.passwordHash)
        return await openBrowserSession(tx, request, account, 'password', at)
      })
      return sendSignedIn(reply, services, account, session, at)
    },
  )
}

function signOutRoute(routes: Routes, { services }: Context): void {
  const { config, writer, now } = services
  routes.post(
    '/api/auth/logout',
    {
      ...personOnly,
      config: { beforeSecondFactor: true },
      schema: {
        ...own,
        summary: 'Sign out: the cookie and the JWT of the session become invalid',
        body: shapes.noInput,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await write(writer, async (tx) => {
        await closeSession(tx, caller.credentialId, now())
        const subject = `user:${caller.user.id}` as const
        await recordAudit(tx, caller, { action: 'user.signed_out', subject }, now())
      })
      if (caller.via === 'cookie') clearSessionCookie(reply, config)
      return reply.code(204).send(null)
    },
  )
}

function readUserRoute(routes: Routes, { services }: Context): void {
  const { sql } = services
  routes.get(
    '/api/auth/me',
    {
      config: { beforeSecondFactor: true },
      schema: {
        ...own,
        summary: 'The current user',
        response: {
          200: me.extend({
            second_factor_required: z
              .boolean()
              .describe('SVC_REQUIRE_SECOND_FACTOR, and the user has yet to set one up: all else is refused'),
          }),
        },
      },
    },
    async (request) => {
      const caller = await request.known()
      if (['reporter', 'agent', 'rerun'].includes(caller.via)) throw new Problem('forbidden')
      const user = await findUser(sql, caller.user.id)
      if (user === undefined) throw new Problem('unauthenticated')
      return { user: shapes.showUser(user), second_factor_required: caller.needsSecondFactor === true }
    },
  )
}

function updateUserRoute(routes: Routes, context: Context): void {
  const { writer, now } = context.services
  routes.patch(
    '/api/auth/me',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Change my name or my password; a new password ends my other sessions',
        body: z
          .strictObject({
            name: shapes.label.optional(),
            password: shapes.newPassword.optional(),
            current_password: shapes.triedPassword.optional().describe('Required with `password`'),
            code: code
              .optional()
              .describe('Required with `password` for an account with an authenticator app'),
          })
          .refine(
            (body) => body.name !== undefined || body.password !== undefined,
            'must change name or password',
          )
          .refine((body) => body.password === undefined || body.current_password !== undefined, {
            path: ['current_password'],
            error: 'is required to change the password',
          }),
        response: { 200: me },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { name, password, current_password: current, code } = request.body
      if (password !== undefined)
        await requireProof(context, request, caller, { current_password: current, code })
      else if (current !== undefined) await confirmPassword(context, request, caller, current)
      if (password !== undefined)
        await requireStrongPassword(password, { email: caller.user.email, name: name ?? caller.user.name })
      const passwordHash = password === undefined ? undefined : await hashPassword(password)
      const user = await write(writer, async (tx) => {
        const user = await updateProfile(tx, caller.user.id, { name, passwordHash })
        if (passwordHash !== undefined) {
          await closeSessionsOf(tx, user.id, now(), caller.credentialId)
          await forgetChallenges(tx, user.id)
          const subject = `user:${user.id}` as const
          await recordAudit(tx, caller, { action: 'user.password_changed', subject }, now())
        }
        return user
      })
      return { user: shapes.showUser(user) }
    },
  )
}

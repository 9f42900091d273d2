import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { closeSession, closeSessionsOf, type OpenedSession, openSession } from '../domain/sessions/index.ts'
import {
  createUser,
  findAccount,
  findUser,
  hashPassword,
  nameFromEmail,
  requireRegistration,
  type User,
  updateProfile,
  verifyPassword,
} from '../domain/users/index.ts'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'
import { commit } from '../stream/commit.ts'
import type { AttemptLimits } from './attempts.ts'
import { confirmPassword } from './confirm-password.ts'
import { personOnly } from './credentials.ts'
import { clearSessionCookie, setSessionCookie } from './session-cookie.ts'
import * as shapes from './shapes.ts'

const signedIn = z.object({
  user: shapes.userShape,
  token: z.string().describe('A JWT for `Authorization: Bearer`'),
  expires_at: shapes.instant.describe('When the JWT ends'),
})
const me = z.object({ user: shapes.userShape })

/** Accounts and sessions of people (contract §3). */
export function authRoutes(app: FastifyInstance, services: Services, limits: AttemptLimits): void {
  const { config, sql, writer, now } = services
  const routes = app.withTypeProvider<ZodTypeProvider>()
  const open = { tags: ['identity'], security: [], querystring: shapes.nothing }
  const own = { tags: ['identity'], querystring: shapes.nothing }

  const welcome = (reply: FastifyReply, user: User, session: OpenedSession, at: Date) => {
    setSessionCookie(reply, config, session.cookie, at.toISOString(), at)
    reply.header('cache-control', 'no-store')
    return { user: shapes.showUser(user), token: session.token, expires_at: session.expiresAt }
  }

  routes.post(
    '/api/auth/register',
    {
      config: { opensSession: true },
      schema: {
        ...open,
        summary: 'Make an account and sign in; the first one is an administrator',
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
      // Before the hash is paid for; createUser decides.
      await requireRegistration(sql, config.registration)
      if ((await findAccount(sql, email)) !== undefined) throw new Problem('email_taken')
      const passwordHash = await hashPassword(password)
      const at = now()
      const { user, session } = await commit(writer, async (tx) => {
        const user = await createUser(tx, { email, name, passwordHash }, config.registration, at)
        return { result: { user, session: await openSession(tx, user.id, at) }, changes: [] }
      })
      return reply.code(201).send(welcome(reply, user, session, at))
    },
  )

  routes.post(
    '/api/auth/login',
    {
      config: { opensSession: true },
      schema: {
        ...open,
        summary: 'Sign in; 5 wrong attempts a minute at one account, 20 from one address',
        body: z.strictObject({ email: z.string().max(1024), password: shapes.triedPassword }),
        response: { 200: signedIn },
      },
    },
    async (request, reply) => {
      const { email, password } = request.body
      const forgive = limits.take({ account: email.toLowerCase(), address: request.ip }, now())
      const account = shapes.email.safeParse(email).success ? await findAccount(sql, email) : undefined
      const right = await verifyPassword(account?.passwordHash, password)
      if (account === undefined || !right) throw new Problem('bad_credentials')
      forgive()
      if (account.disabled) throw new Problem('account_disabled')
      const at = now()
      const session = await commit(writer, async (tx) => ({
        result: await openSession(tx, account.id, at),
        changes: [],
      }))
      return welcome(reply, account, session, at)
    },
  )

  routes.post(
    '/api/auth/logout',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Close the session: its cookie and its JWT are refused from then on',
        body: shapes.noInput,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await commit(writer, async (tx) => ({
        result: await closeSession(tx, caller.credentialId, now()),
        changes: [],
      }))
      if (caller.via === 'cookie') clearSessionCookie(reply, config)
      return reply.code(204).send(null)
    },
  )

  routes.get(
    '/api/auth/me',
    { schema: { ...own, summary: 'Who I am', response: { 200: me } } },
    async (request, reply) => {
      const caller = await request.known()
      if (['reporter', 'agent', 'rerun'].includes(caller.via)) throw new Problem('forbidden')
      const user = await findUser(sql, caller.user.id)
      if (user === undefined) throw new Problem('unauthenticated')
      reply.header('cache-control', 'no-store')
      return { user: shapes.showUser(user) }
    },
  )

  routes.patch(
    '/api/auth/me',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Change my name or my password; a new password closes my other sessions',
        body: z
          .strictObject({
            name: shapes.label.optional(),
            password: shapes.newPassword.optional(),
            current_password: shapes.triedPassword.optional().describe('Required with `password`'),
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
      const { name, password, current_password: current } = request.body
      if (current !== undefined) await confirmPassword(services, limits, caller, current)
      const passwordHash = password === undefined ? undefined : await hashPassword(password)
      const user = await commit(writer, async (tx) => {
        const user = await updateProfile(tx, caller.user.id, { name, passwordHash })
        if (passwordHash !== undefined) await closeSessionsOf(tx, user.id, now(), caller.credentialId)
        return { result: user, changes: [] }
      })
      return { user: shapes.showUser(user) }
    },
  )
}

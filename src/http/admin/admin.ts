import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { recordAudit } from '../../domain/audit.ts'
import { creationPosition, cursorOf } from '../../domain/cursors.ts'
import { resetFactors } from '../../domain/factors/index.ts'
import { closeSessionsOf, rotateSigningKey } from '../../domain/sessions/index.ts'
import { administerUser, listUsers, type User } from '../../domain/users/index.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { administratorOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { requireRecent } from '../sign-in/require-proof.ts'

const accountShape = shapes.userShape.extend({ disabled: z.boolean() })
const show = (user: User): z.output<typeof accountShape> => ({
  ...shapes.showUser(user),
  disabled: user.disabled,
})
const cursor = cursorOf('users', creationPosition)
const tags = ['administration']

/** Actions that only a signed-in administrator may do (contract §2, §3). */
export function adminRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [rotateSigningKeyRoute, listUsersRoute, changeUserRoute, resetFactorsRoute])
}

function rotateSigningKeyRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.post(
    '/api/admin/jwt/rotate',
    {
      ...administratorOnly,
      schema: {
        tags,
        summary: 'Sign with a new key; the two previous keys still verify',
        querystring: shapes.nothing,
        body: shapes.noInput,
        response: {
          200: z.object({
            active_kid: z.string(),
            verify_kids: z.array(z.string()).describe('Previous keys that still verify, newest first'),
          }),
        },
      },
    },
    async (request) => {
      const caller = await request.administrator()
      await requireRecent(services, caller)
      const at = now()
      const rotation = await write(writer, async (tx) => {
        const rotation = await rotateSigningKey(tx, at)
        const subject = `signing_key:${rotation.activeKid}` as const
        await recordAudit(tx, caller, { action: 'signing_key.rotated', subject }, at)
        return rotation
      })
      return { active_kid: rotation.activeKid, verify_kids: rotation.verifyKids }
    },
  )
}

function listUsersRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/admin/users',
    {
      ...administratorOnly,
      schema: {
        tags,
        summary: 'All accounts, newest first',
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(accountShape) },
      },
    },
    async (request) => {
      const { limit } = request.query
      const found = await listUsers(sql, { limit: limit + 1, after: cursor.read(request.query.cursor) })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, ({ createdAt, id }) => ({ createdAt, id }))
      return { items: rows.map(show), next_cursor }
    },
  )
}

function changeUserRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.patch(
    '/api/admin/users/:id',
    {
      ...administratorOnly,
      schema: {
        tags,
        summary: "Change an account's role, or disable it, which ends its sessions and tokens at once",
        querystring: shapes.nothing,
        params: shapes.byId,
        body: z
          .strictObject({ role: z.enum(['admin', 'user']).optional(), disabled: z.boolean().optional() })
          .refine(
            (body) => body.role !== undefined || body.disabled !== undefined,
            'must change role or disabled',
          ),
        response: { 200: z.object({ user: accountShape }) },
      },
    },
    async (request) => {
      const caller = await request.administrator()
      await requireRecent(services, caller)
      const at = now()
      const user = await write(writer, async (tx) => {
        const user = await administerUser(tx, caller, request.params.id, request.body, at)
        if (user.disabled) await closeSessionsOf(tx, user.id, at)
        return user
      })
      return { user: show(user) }
    },
  )
}

function resetFactorsRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.delete(
    '/api/admin/users/:id/factors',
    {
      ...administratorOnly,
      schema: {
        tags,
        summary: "Remove an account's authenticator app, recovery codes and passkeys, and end its sessions",
        querystring: shapes.nothing,
        params: shapes.byId,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.administrator()
      await requireRecent(services, caller)
      const { id } = request.params
      const at = now()
      await write(writer, async (tx) => {
        await resetFactors(tx, caller, id, at)
        await closeSessionsOf(tx, id, at)
      })
      return reply.code(204).send(null)
    },
  )
}

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { recordAudit } from '../../domain/audit.ts'
import { createdAtOf, creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { closeOwnSession, closeSessionsOf, listSessions, sessionFields } from '../../domain/sessions/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { requireRecent } from '../sign-in/require-proof.ts'
import { clearSessionCookie } from '../sign-in/session-cookie.ts'
import { deviceName } from './device-name.ts'

const sessionShape = shapeOf(sessionFields).extend({
  device: z.string().describe('Browser and system, such as `Firefox on Linux`'),
  current: z.boolean().describe('Whether it is the session of this request'),
})
const cursor = cursorOf('sessions', creationPosition)
const tags = ['identity']

/** The caller's sessions: lists and closes them. */
export function sessionRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listSessionsRoute, closeSessionRoute, closeOtherSessionsRoute])
}

function listSessionsRoute(routes: Routes, { sql, now }: Services): void {
  routes.get(
    '/api/auth/sessions',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'My sessions, newest first',
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(sessionShape) },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { limit } = request.query
      const page = { limit: limit + 1, after: cursor.read(request.query.cursor) }
      const found = await listSessions(sql, caller.user.id, page, now())
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      const items = rows.map((session) => ({
        ...session,
        device: deviceName(session.user_agent),
        current: session.id === caller.credentialId,
      }))
      return { items, next_cursor }
    },
  )
}

function closeSessionRoute(routes: Routes, { config, writer, now }: Services): void {
  routes.delete(
    '/api/auth/sessions/:id',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'End a session: its cookie and its JWT become invalid',
        querystring: shapes.nothing,
        params: shapes.byId,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { id } = request.params
      await write(writer, async (tx) => {
        if (!(await closeOwnSession(tx, caller.user.id, id, now()))) throw new Problem('session_not_found')
        await recordAudit(tx, caller, { action: 'session.closed', subject: `session:${id}` }, now())
      })
      if (caller.via === 'cookie' && id === caller.credentialId) clearSessionCookie(reply, config)
      return reply.code(204).send(null)
    },
  )
}

function closeOtherSessionsRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.delete(
    '/api/auth/sessions',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'End all my sessions except this one',
        querystring: shapes.nothing,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await requireRecent(services, caller)
      await write(writer, async (tx) => {
        const others = await closeSessionsOf(tx, caller.user.id, now(), caller.credentialId)
        const entry = {
          action: 'session.closed',
          subject: `user:${caller.user.id}`,
          detail: { others },
        } as const
        if (others > 0) await recordAudit(tx, caller, entry, now())
      })
      return reply.code(204).send(null)
    },
  )
}

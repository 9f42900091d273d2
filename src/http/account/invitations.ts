import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { createdAtOf, creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import {
  acceptInvitation,
  declineInvitation,
  invitationFields,
  listInvitations,
  listProjectInvitations,
  projectInvitationFields,
  withdrawInvitation,
} from '../../domain/invitations/index.ts'
import { administeredProject } from '../../domain/notifications/index.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const invitationShape = shapeOf(invitationFields).extend({ state: z.enum(['invited', 'member', 'declined']) })
const pendingShape = shapeOf(projectInvitationFields).extend({ state: z.literal('invited') })

const tags = ['projects']
const answer = { tags, params: shapes.byId, querystring: shapes.nothing, body: shapes.noInput }

/** Invitations to projects: the caller's own, and those that a project has sent (contract §10 "Accounts"). */
export function invitationRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [
    listInvitationsRoute,
    acceptInvitationRoute,
    declineInvitationRoute,
    listProjectInvitationsRoute,
    withdrawInvitationRoute,
  ])
}

function listInvitationsRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/invitations',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'The projects that I am invited to, newest first',
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(invitationShape) },
      },
    },
    async (request) => {
      const { user } = await request.person()
      const { limit, cursor: text } = request.query
      const cursor = cursorOf(`invitations ${user.id}`, creationPosition)
      const found = await listInvitations(sql, user.id, { limit: limit + 1, after: cursor.read(text) })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      return { items: rows.map((one) => ({ ...one, state: 'invited' as const })), next_cursor }
    },
  )
}

function acceptInvitationRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/invitations/:id/accept',
    {
      ...personOnly,
      schema: { ...answer, summary: 'Become a member or viewer', response: { 200: invitationShape } },
    },
    async (request) => {
      const caller = await request.person()
      const done = await commit(writer, (tx) => acceptInvitation(tx, caller, request.params.id, now()))
      return { ...done, state: 'member' as const }
    },
  )
}

function declineInvitationRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/invitations/:id/decline',
    {
      ...personOnly,
      schema: { ...answer, summary: 'Decline an invitation', response: { 200: invitationShape } },
    },
    async (request) => {
      const caller = await request.person()
      const done = await commit(writer, (tx) => declineInvitation(tx, caller, request.params.id, now()))
      return { ...done, state: 'declined' as const }
    },
  )
}

function listProjectInvitationsRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects/:slug/invitations',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Pending invitations to the project, newest first; for its owner',
        params: z.object({ slug: z.string() }),
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(pendingShape) },
      },
    },
    async (request) => {
      const project = await administeredProject(sql, await request.person(), request.params.slug)
      const { limit, cursor: text } = request.query
      const cursor = cursorOf(`invitations of ${project.key}`, creationPosition)
      const found = await listProjectInvitations(sql, project.key, {
        limit: limit + 1,
        after: cursor.read(text),
      })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      return { items: rows.map((one) => ({ ...one, state: 'invited' as const })), next_cursor }
    },
  )
}

function withdrawInvitationRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/projects/:slug/invitations/:id',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Withdraw an invitation',
        params: z.object({ slug: z.string(), id: z.string() }),
        querystring: shapes.nothing,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { slug, id } = request.params
      await commit(writer, (tx) => withdrawInvitation(tx, caller, slug, id, now()))
      return reply.code(204).send(null)
    },
  )
}

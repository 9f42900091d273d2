import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleProject } from '../../domain/access.ts'
import { creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { inviteMember } from '../../domain/invitations/index.ts'
import { listMembers, memberFields, removeMember } from '../../domain/projects/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const bySlug = z.object({ slug: z.string() })
const memberShape = shapeOf(memberFields)
const tags = ['projects']
const one = { tags, params: bySlug, querystring: shapes.nothing }

/** Members of a project (contract §2, §4). */
export function memberRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listMembersRoute, inviteMemberRoute, removeMemberRoute])
}

function listMembersRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects/:slug/members',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The members of a project, newest first; for its members',
        params: bySlug,
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(memberShape) },
      },
    },
    async (request) => {
      const caller = await request.known()
      const project = await visibleProject(sql, caller, request.params.slug)
      if (!project.may('know_members')) throw new Problem('forbidden')
      const { limit, cursor: text } = request.query
      const cursor = cursorOf(`members ${project.key}`, creationPosition)
      const found = await listMembers(sql, project.key, { limit: limit + 1, after: cursor.read(text) })
      const { rows, next_cursor } = pageFrom(
        found,
        limit,
        cursor,
        ({ created_at: createdAt, user_id: id }) => ({
          createdAt,
          id,
        }),
      )
      return { items: [...rows], next_cursor }
    },
  )
}

function inviteMemberRoute(routes: Routes, { config, writer, now }: Services): void {
  routes.post(
    '/api/projects/:slug/members',
    {
      ...personOnly,
      schema: {
        ...one,
        summary:
          'Invite a user, who becomes a member by accepting (201), or change the role of a member (200)',
        body: z.strictObject({
          email: shapes.email,
          role: z.enum(['member', 'viewer']),
          confirm_unverified: z
            .boolean()
            .default(false)
            .describe(
              'The inviter has checked who owns the account; needed if no mail server can verify its address',
            ),
        }),
        response: { 200: memberShape, 201: memberShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { email, role, confirm_unverified: confirmUnverified } = request.body
      const { member, created } = await commit(writer, (tx) =>
        inviteMember(
          tx,
          caller,
          request.params.slug,
          { email, role },
          { mailConfigured: config.smtp !== undefined, confirmUnverified },
          now(),
        ),
      )
      return reply.code(created ? 201 : 200).send(member)
    },
  )
}

function removeMemberRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/projects/:slug/members/:user_id',
    {
      ...personOnly,
      schema: {
        ...one,
        params: bySlug.extend({ user_id: z.string() }),
        summary: 'Remove a member from a project, or withdraw an invitation',
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { slug, user_id: userId } = request.params
      await commit(writer, (tx) => removeMember(tx, caller, slug, userId, now()))
      return reply.code(204).send(null)
    },
  )
}

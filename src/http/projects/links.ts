import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleProject } from '../../domain/access.ts'
import { createdAtOf, creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { listLinks, projectLinkFields } from '../../domain/links/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { personOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'

/** The public links to what is in a project (docs/api.md "Shares"). */
export function projectLinkRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listLinksRoute])
}

function listLinksRoute(routes: Routes, { sql, prisma, now }: Services): void {
  routes.get(
    '/api/projects/:slug/links',
    {
      ...personOnly,
      schema: {
        tags: ['shares'],
        summary: 'The public links to batches and reports of a project, newest first; for its owner',
        params: z.object({ slug: z.string() }),
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(shapeOf(projectLinkFields)) },
      },
    },
    async (request) => {
      const project = await visibleProject(sql, await request.person(), request.params.slug)
      if (!project.may('administer')) throw new Problem('forbidden')
      const { limit, cursor: text } = request.query
      const cursor = cursorOf(`links ${project.key}`, creationPosition)
      const page = { limit: limit + 1, after: cursor.read(text) }
      const found = await listLinks(prisma, project.key, page, now())
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      return { items: [...rows], next_cursor }
    },
  )
}

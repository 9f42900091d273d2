import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { entryOf } from '../../checked.ts'
import { visibleProject } from '../../domain/access.ts'
import { shapeOf } from '../../domain/field.ts'
import { knownFieldFields, knownFields } from '../../domain/lists/index.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import * as shapes from '../request/shapes.ts'

/**
 * The columns and filters that a project's table can have. For completion only, so it reads only the newest batches.
 */
export function projectFieldRoutes(app: FastifyInstance, { sql }: Services): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/api/projects/:slug/fields',
    {
      ...readersOnly,
      schema: {
        tags: ['projects'],
        summary:
          'Names and values of parameters, names of series, hosts, owners and tags among its newest 2,000 batches and jobs',
        params: z.object({ slug: z.string() }),
        querystring: shapes.nothing,
        response: {
          200: shapeOf(knownFieldFields),
        },
      },
    },
    async (request) => {
      const project = await visibleProject(sql, await request.caller(), request.params.slug)
      return entryOf(await knownFields(sql, [project.key]), project.key)
    },
  )
}

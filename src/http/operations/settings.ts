import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Services } from '../../services.ts'
import * as shapes from '../request/shapes.ts'

/** Settings that clients show to their users, such as for how long a deletion can be undone. */
export function settingRoutes(app: FastifyInstance, { config }: Services): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/api/settings',
    {
      schema: {
        tags: ['operations'],
        security: [],
        summary: 'Settings of the service that clients show to their users',
        querystring: shapes.nothing,
        response: {
          200: z.object({
            retention_deleted_days: z
              .number()
              .describe('SVC_RETENTION_DELETED_DAYS: for how many days a deleted batch can be restored'),
          }),
        },
      },
    },
    () => ({ retention_deleted_days: config.retention.deleted }),
  )
}

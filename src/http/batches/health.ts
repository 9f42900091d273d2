import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { visibleBatch } from '../../domain/access.ts'
import { shapeOf, text } from '../../domain/field.ts'
import { healthFields, healthOf } from '../../domain/health/index.ts'
import { clockOf, type Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import * as shapes from '../request/shapes.ts'

/** The health of a batch: its liveness, and its idle jobs (contract §4). */
export function healthRoutes(app: FastifyInstance, services: Services): void {
  const { sql } = services
  const routes = app.withTypeProvider<ZodTypeProvider>()

  routes.get(
    '/api/batches/:id/health',
    {
      ...readersOnly,
      schema: {
        tags: ['batches'],
        params: shapes.byId,
        querystring: shapes.nothing,
        summary: 'Whether the batch is alive, and which jobs have an idle GPU',
        response: {
          200: shapeOf({ batch_id: { type: text, public: 'shown' }, ...healthFields }),
        },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      return { batch_id: batch.id, ...(await healthOf(sql, batch.key, clockOf(services))) }
    },
  )
}

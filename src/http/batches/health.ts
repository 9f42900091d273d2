import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import { healthOf } from '../../domain/health/index.ts'
import { clockOf, type Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import * as shapes from '../request/shapes.ts'

const seconds = z.number().min(0)

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
        summary: 'Whether the batch is alive, and which jobs leave their GPU idle',
        response: {
          200: z.object({
            batch_id: z.string(),
            status: z.string(),
            stalled: z.boolean(),
            liveness: z
              .enum(['running', 'stalled', 'disconnected', 'dead'])
              .nullable()
              .describe(
                'Evaluated from its process, its events and the pace of its epochs; null after its end',
              ),
            last_seen_at: shapes.instant,
            silent_s: seconds,
            threshold_s: seconds,
            idle_jobs: z.array(z.string()),
            reasons: z.array(z.string()),
          }),
        },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const health = await healthOf(sql, batch.key, clockOf(services))
      return {
        batch_id: batch.id,
        status: health.status,
        stalled: health.stalled,
        liveness: health.liveness,
        last_seen_at: health.lastSeenAt,
        silent_s: health.silentS,
        threshold_s: health.thresholdS,
        idle_jobs: health.idleJobs,
        reasons: health.reasons,
      }
    },
  )
}

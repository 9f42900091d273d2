import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import { etaFields, etaOf, jobIdsOf, NO_ETA } from '../../domain/eta/index.ts'
import { shapeOf, text } from '../../domain/field.ts'
import { clockOf, type Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const named = { type: text, public: 'shown' } as const
const ofBatch = { tags: ['batches'], params: shapes.byId, querystring: shapes.nothing }

/** The ETA of a batch and of its jobs (contract §4). */
export function etaRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [batchEtaRoute, jobEtasRoute])
}

function batchEtaRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/batches/:id/eta',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'Estimated completion of the batch, with a range',
        response: { 200: shapeOf({ batch_id: named, ...etaFields }) },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const etas = await etaOf(sql, [batch.key], clockOf(services))
      return { batch_id: batch.id, ...(etas.get(batch.key)?.batch ?? NO_ETA) }
    },
  )
}

function jobEtasRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/batches/:id/jobs/eta-all',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'Estimated completion of each job; null for jobs that are not running',
        response: {
          200: z.object({
            items: z.array(shapeOf({ job_id: named, key: named, status: named, ...etaFields })),
          }),
        },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const [etas, jobs] = await Promise.all([
        etaOf(sql, [batch.key], clockOf(services)),
        jobIdsOf(sql, batch.key),
      ])
      const known = etas.get(batch.key)?.jobs
      return {
        items: jobs.map(({ key, id, status }) => ({
          job_id: id,
          key: String(key),
          status,
          ...(known?.get(key) ?? NO_ETA),
        })),
      }
    },
  )
}

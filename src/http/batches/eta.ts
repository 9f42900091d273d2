import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import { etaOf, jobIdsOf, NO_ETA, type ShownEta } from '../../domain/eta/index.ts'
import { clockOf, type Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const seconds = z.number().min(0)
const etaFields = {
  eta_s: seconds.nullable().describe('Seconds until it is done; null while there is too little data'),
  low_s: seconds.nullable().describe('The 10th percentile: it takes longer in nine of ten cases'),
  high_s: seconds.nullable().describe('The 90th percentile: it takes longer in one of ten cases'),
  eta_at: shapes.instant.nullable(),
  n_samples: z.int().describe('Number of durations of epochs and jobs that the estimate uses'),
  basis: z
    .enum(['epochs', 'jobs', 'epochs+jobs', 'unknown_length'])
    .nullable()
    .describe('`unknown_length`: there is no estimate, because nothing says how long a running job is'),
}

const showEta = ({ etaS, lowS, highS, etaAt, nSamples, basis }: ShownEta) => ({
  eta_s: etaS,
  low_s: lowS,
  high_s: highS,
  eta_at: etaAt,
  n_samples: nSamples,
  basis,
})
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
        summary: 'When the batch will be done, with a range',
        response: { 200: z.object({ batch_id: z.string(), ...etaFields }) },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const etas = await etaOf(sql, [batch.key], clockOf(services))
      return { batch_id: batch.id, ...showEta(etas.get(batch.key)?.batch ?? NO_ETA) }
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
        summary: 'When each job of the batch will be done; null for jobs that are not running',
        response: {
          200: z.object({
            items: z.array(
              z.object({ job_id: z.string(), key: z.string(), status: z.string(), ...etaFields }),
            ),
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
          ...showEta(known?.get(key) ?? NO_ETA),
        })),
      }
    },
  )
}

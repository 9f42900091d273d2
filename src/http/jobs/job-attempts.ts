import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { entryOf } from '../../checked.ts'
import type { Sql } from '../../db/sql.ts'
import { visibleBatch } from '../../domain/access.ts'
import {
  type Attempt,
  attemptFields,
  attemptsOfJobs,
  pointsOf,
  rerunsOfJobs,
  spansOf,
} from '../../domain/attempts/index.ts'
import { shapeOf } from '../../domain/field.ts'
import { findJobs, type JobRow } from '../../domain/jobs/index.ts'
import { drawSeries } from '../../domain/metrics/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { keysQuery, namesOf } from '../request/names.ts'
import { numberText } from '../request/number-text.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { type Asked as AskedSeries, points, seriesShape } from '../series/metric-shapes.ts'
import { type ShownSeries, sendSeries } from '../series/series-json.ts'

const attemptShape = shapeOf(attemptFields)
const ofJob = z.object({ id: z.string(), job_id: z.string() })
const ofAttempt = ofJob.extend({ n: numberText(z.int().min(1).max(2_147_483_647)) })
const epoch = numberText(z.int().min(-2_147_483_648).max(2_147_483_647)).optional()
const pointsQuery = z.strictObject({
  ...keysQuery,
  points,
  from: epoch.describe('First epoch'),
  to: epoch.describe('Last epoch'),
})

/**
 * The job that the path names.
 * @throws Problem batch_not_found, job_not_found
 */
async function jobOf(sql: Sql, request: FastifyRequest, ids: z.output<typeof ofJob>): Promise<JobRow> {
  const caller = await request.caller()
  const batch = await visibleBatch(sql, caller, ids.id)
  const [found] = await findJobs(sql, caller, [{ batchId: batch.id, id: ids.job_id }])
  if (found === undefined) throw new Problem('job_not_found')
  return found.job
}
const tags = ['jobs']

/** Attempts of a job: restarts within its batch and reruns in others, with the points of superseded attempts. */
export function jobAttemptRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listAttemptsRoute, attemptMetricsRoute])
}

function listAttemptsRoute(routes: Routes, { sql, now }: Services): void {
  routes.get(
    '/api/batches/:id/jobs/:job_id/attempts',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The attempts of a job, oldest first',
        description:
          'Each `job_start` begins an attempt; an event belongs to the attempt whose start is the latest not after it. Epochs that a later attempt reports again supersede those before, whose points stay readable at `/attempts/{n}/metrics`. For the job in batches that reran this one, or that it reran, the answer has the latest attempt. At most the latest 500 attempts and 100 batches.',
        params: ofJob,
        querystring: shapes.nothing,
        response: { 200: z.object({ items: z.array(attemptShape), next_cursor: z.null() }) },
      },
    },
    async (request) => {
      const job = await jobOf(sql, request, request.params)
      const at = now()
      const [own, reruns] = await Promise.all([
        attemptsOfJobs(sql, [job], at),
        rerunsOfJobs(sql, await request.caller(), [job], at),
      ])
      const items = [...(own.get(job.key) ?? []), ...(reruns.get(job.key) ?? [])]
      return { items: items.toSorted(byStart), next_cursor: null }
    },
  )
}

function attemptMetricsRoute(routes: Routes, { sql, now }: Services): void {
  routes.get<
    Omit<AskedSeries<z.output<typeof pointsQuery>>, 'Params'> & { Params: z.output<typeof ofAttempt> }
  >(
    '/api/batches/:id/jobs/:job_id/attempts/:n/metrics',
    {
      ...readersOnly,
      // The answer is streamed without validation; the schema describes it.
      serializerCompiler: () => String,
      schema: {
        tags,
        summary: 'What one attempt reported, including superseded epochs',
        description:
          'Series as in `/metrics`, from the events of this attempt alone. `complete` is false if retention purged some of them.',
        params: ofAttempt,
        querystring: pointsQuery,
        response: { 200: z.object({ series: z.array(seriesShape), complete: z.boolean() }) },
      },
    },
    async (request, reply) => {
      const job = await jobOf(sql, request, request.params)
      const span = (await spansOf(sql, [job], request.params.n, now())).get(job.key)
      if (span === undefined) throw new Problem('attempt_not_found')
      const { keys, key, ...drawing } = request.query
      const points = await pointsOf(sql, [{ job, span }], namesOf(keys, key))
      const { series, complete } = entryOf(points, job.key)
      async function* drawn(): AsyncGenerator<ShownSeries> {
        for (const one of series) {
          const shown = drawSeries(one, drawing)
          if (shown !== undefined) yield { jobId: one.jobId, key: one.key, ...shown }
        }
      }
      return sendSeries(reply, drawn(), () => ({ complete }))
    },
  )
}

const byStart = (a: Attempt, b: Attempt): number =>
  Date.parse(a.started_at) - Date.parse(b.started_at) || (a.batch_id === b.batch_id ? a.n - b.n : 0)

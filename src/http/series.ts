import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../domain/access.ts'
import { MIN_POINTS, readSeries, type SeriesQuery, sample } from '../domain/metrics/index.ts'
import type { Services } from '../services.ts'
import { jobsQuery, keysQuery, namesOf } from './names.ts'
import { type ShownSeries, seriesJson } from './series-json.ts'
import { byId } from './shapes.ts'

const number = z.union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity'])])
const seriesShape = z.object({
  job_id: z.string(),
  key: z.string(),
  steps: z.array(z.int()).describe('Epochs, increasing'),
  values: z.array(number),
  total_points: z.int().describe('Points in the range'),
  returned_points: z.int(),
  sampled: z.boolean(),
  non_finite: z.int().describe('How many of all points in the range are NaN or infinite'),
})
const points = z.coerce
  .number()
  .int()
  .min(MIN_POINTS)
  .max(1_000_000)
  .optional()
  .describe('Longer series are sampled to at most so many points; every point without it')
const epoch = z.coerce.number().int().min(-2_147_483_648).max(2_147_483_647).optional()

const metricsQuery = z.strictObject({
  ...keysQuery,
  ...jobsQuery,
  points,
  from: epoch.describe('First epoch'),
  to: epoch.describe('Last epoch'),
})
type Asked<Query> = { Params: z.output<typeof byId>; Querystring: Query }

/** The series of a batch: its epochs and its resources (contract §4, §6 "M4"). */
export function seriesRoutes(app: FastifyInstance, { sql }: Services): void {
  const tags = ['series']

  app.get<Asked<z.output<typeof metricsQuery>>>(
    '/api/batches/:id/metrics',
    {
      // The answer is written as it is read; the schema describes it.
      serializerCompiler: () => String,
      schema: {
        tags,
        summary: 'Series of the jobs, in full or sampled so that no spike is lost',
        description:
          'With `points`, a longer series is cut into buckets of its x-axis (from `from` to `to`, else from its first epoch to its last), and of each bucket the first, last, least and greatest point stay; where a series has NaN or infinite values, the first of each kind in a bucket stays too.',
        params: byId,
        querystring: metricsQuery,
        response: { 200: z.object({ series: z.array(seriesShape) }) },
      },
    },
    async (request, reply) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const { query } = request
      const wanted: SeriesQuery = {
        keys: namesOf(query.keys, query.key),
        jobs: namesOf(query.jobs, query.job),
        from: query.from,
        to: query.to,
      }
      async function* sampled(): AsyncGenerator<ShownSeries> {
        for await (const { jobId, key, steps, values } of readSeries(sql, batch.key, wanted)) {
          yield { jobId, key, ...sample(steps, values, query.points, query) }
        }
      }
      return reply
        .type('application/json; charset=utf-8')
        .send(Readable.from(seriesJson(sampled()), { objectMode: false }))
    },
  )
}

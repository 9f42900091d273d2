import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { itemAt } from '../../checked.ts'
import { visibleBatch } from '../../domain/access.ts'
import { shapeOf } from '../../domain/field.ts'
import { LOG_STREAMS, logLineFields, readLogLines } from '../../domain/logs/index.ts'
import { sample } from '../../domain/metrics/index.ts'
import { readResources } from '../../domain/resources/index.ts'
import { isStorable } from '../../domain/storable-text.ts'
import type { Services } from '../../services.ts'
import { repeatable } from '../request/filters.ts'
import { jobsQuery, keysQuery, namesOf } from '../request/names.ts'
import { numberText } from '../request/number-text.ts'
import { readFrom } from '../request/read-from.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { byId, instant } from '../request/shapes.ts'
import { type Asked, points, seriesShape } from './metric-shapes.ts'
import { type ShownSeries, sendSeries } from './series-json.ts'

const second = numberText(
  z.union([
    z.int().min(-62_135_596_800).max(253_402_300_799),
    z.iso.datetime().transform((text) => Math.floor(Date.parse(text) / 1000)),
  ]),
).optional()
const resourcesQuery = z.strictObject({
  ...keysQuery,
  ...jobsQuery,
  points,
  from: second.describe('First second: Unix seconds, or an instant'),
  to: second.describe('Last second, likewise'),
})
const storable = z.string().refine(isStorable, 'must be without NUL characters and lone surrogates')
const dbId = numberText(z.int().min(0).max(Number.MAX_SAFE_INTEGER)).optional()
const logQuery = z.strictObject({
  job_id: storable.optional(),
  level: storable
    .optional()
    .describe(
      'The lowest severity: debug, info, warning, error or critical; any other word matches only itself',
    ),
  stream: repeatable(z.enum(LOG_STREAMS)).describe(
    'Lines printed to that stream; repeat it for both. Without it, lines logged otherwise are included',
  ),
  q: storable.max(1_000).optional().describe('Text in the line; case is ignored'),
  after: dbId.describe('Lines after this db_id'),
  before: dbId.describe('Lines before this db_id; the last of them, unless `after` is given too'),
  limit: numberText(z.int().min(1).max(500).default(50)),
  tail: numberText(z.int().min(1).max(1_000)).optional().describe('Number of last lines; overrides `limit`'),
})
const tags = ['series']

/** Resource series and log lines of a batch (contract §4, §6 "M4"). */
export function seriesRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [resourcesRoute, logLinesRoute])
}

function resourcesRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get<Asked<z.output<typeof resourcesQuery>>>(
    '/api/batches/:id/resources',
    {
      serializerCompiler: () => String,
      schema: {
        tags,
        summary: 'Resource snapshots as series over time',
        description:
          'Like metrics, with whole Unix seconds as steps. A GPU of a snapshot is `gpus/<its uuid or index>/<field>`; where the uuid names it, `index` is one of the fields. `job_id` is null for values of the batch as a whole.',
        params: byId,
        querystring: resourcesQuery,
        response: {
          200: z.object({
            series: z.array(
              seriesShape.extend({
                job_id: z.string().nullable(),
                steps: z.array(z.int()).describe('Unix seconds'),
                timestamps: z.array(instant),
              }),
            ),
          }),
        },
      },
    },
    async (request, reply) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const { query } = request
      const series = await readFrom(services, request, reply, 'primary', (db) =>
        readResources(db, batch.key, {
          keys: namesOf(query.keys, query.key),
          jobs: namesOf(query.jobs, query.job),
          from: query.from,
          to: query.to,
        }),
      )
      async function* sampled(): AsyncGenerator<ShownSeries> {
        for (const { jobId, key, steps, values, timestamps } of series) {
          const shown = sample(steps, values, query.points, query)
          const times = shown.positions
            ? Array.from(shown.positions, (i) => itemAt(timestamps, i))
            : timestamps
          yield { jobId, key, ...shown, timestamps: times }
        }
      }
      return sendSeries(reply, sampled())
    },
  )
}

function logLinesRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/batches/:id/log-lines',
    {
      schema: {
        tags,
        summary: 'Log lines in the order in which they arrived',
        description:
          'Pages run forward from `after`. `next_after` is the last db_id of the page, or null if the page is empty.',
        params: byId,
        querystring: logQuery,
        response: {
          200: z.object({ items: z.array(shapeOf(logLineFields)), next_after: z.int().nullable() }),
        },
      },
    },
    async (request, reply) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const { job_id: jobId, tail, limit, stream: streams, ...query } = request.query
      const lines = await readFrom(services, request, reply, 'primary', (db) =>
        readLogLines(db, batch.key, {
          ...query,
          jobId,
          streams,
          limit: tail ?? limit,
          tail: tail !== undefined,
        }),
      )
      return {
        items: lines,
        next_after: lines.at(-1)?.db_id ?? null,
      }
    },
  )
}

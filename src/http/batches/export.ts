import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import { finalMetricsCsv, loadMetricsArrow, metricsCsv } from '../../domain/export/index.ts'
import { namesOfSeries, readSeries } from '../../domain/metrics/index.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { jobsQuery, keysQuery, namesOf } from '../request/names.ts'
import { streamFrom } from '../request/read-from.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { byId, nothing } from '../request/shapes.ts'
import { sendFile } from '../server/file-answer.ts'

const historyQuery = z.strictObject({ ...keysQuery, ...jobsQuery })
type Asked<Query> = { Params: z.output<typeof byId>; Querystring: Query }

const CSV = 'text/csv; charset=utf-8'
const ARROW = 'application/vnd.apache.arrow.stream'
const tags = ['export']
const history = { tags, params: byId, querystring: historyQuery }
// Not compressed: a browser shows the progress of a download only for plain bytes.
const asFile = { ...readersOnly, compress: false } as const
const LONG = 'One row per point: job_id, key, step, value, timestamp; including running jobs.'

/** Exports of a batch as files (contract §4). They are streamed, so their size does not matter. */
export function exportRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [jobsCsvRoute, metricsCsvRoute, metricsArrowRoute])
}

function jobsCsvRoute(routes: Routes, services: Services): void {
  const { sql, now } = services
  routes.get<Asked<z.output<typeof nothing>>>(
    '/api/batches/:id/export.csv',
    {
      ...asFile,
      schema: {
        tags,
        params: byId,
        querystring: nothing,
        summary: 'One row per job with its state, parameters and final metrics, as CSV',
      },
    },
    async (request, reply) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const rows = await streamFrom(services, request, reply, 'replica', (db) =>
        finalMetricsCsv(db, batch.key, now()),
      )
      return sendFile(reply, CSV, `${batch.id}.csv`, rows)
    },
  )
}

function metricsCsvRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get<Asked<z.output<typeof historyQuery>>>(
    '/api/batches/:id/metrics.csv',
    {
      ...asFile,
      schema: { ...history, summary: 'Every point of the series, as CSV', description: LONG },
    },
    async (request, reply) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const rows = await streamFrom(services, request, reply, 'replica', (db) =>
        metricsCsv(readSeries(db, batch.key, { ...queryOf(request.query), timed: true })),
      )
      return sendFile(reply, CSV, `${batch.id}-metrics.csv`, rows)
    },
  )
}

function metricsArrowRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get<Asked<z.output<typeof historyQuery>>>(
    '/api/batches/:id/metrics.arrow',
    {
      ...asFile,
      schema: { ...history, summary: 'Every point of the series, as an Arrow IPC stream', description: LONG },
    },
    async (request, reply) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const query = queryOf(request.query)
      const metricsArrow = await loadMetricsArrow()
      const rows = await streamFrom(services, request, reply, 'replica', async function* (db) {
        const names = await namesOfSeries(db, batch.key, query)
        yield* metricsArrow(names, readSeries(db, batch.key, { ...query, timed: true }))
      })
      return sendFile(reply, ARROW, `${batch.id}-metrics.arrow`, rows)
    },
  )
}

const queryOf = (query: z.output<typeof historyQuery>) => ({
  keys: namesOf(query.keys, query.key),
  jobs: namesOf(query.jobs, query.job),
})

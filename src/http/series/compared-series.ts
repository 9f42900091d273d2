import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleJobKeys } from '../../domain/jobs/index.ts'
import { groupValueOf } from '../../domain/lists/index.ts'
import {
  createPercentiles,
  drawSeries,
  minusJob,
  readGroups,
  reading,
  readSeries,
} from '../../domain/metrics/index.ts'
import { Problem } from '../../problem.ts'
import { isFormula, MAX_FORMULA_LENGTH } from '../../query/index.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { jobKeysText } from '../request/names.ts'
import { numberText } from '../request/number-text.ts'
import { readFrom, streamFrom } from '../request/read-from.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { countPoints } from '../server/visitors.ts'
import {
  axesQuery,
  clipShape,
  drawingOf,
  groupName,
  groupsAnswer,
  groupsShape,
  metricShape,
  placesOnAxis,
} from './metric-shapes.ts'
import { answerSeries } from './series-frames.ts'
import type { ShownSeries } from './series-json.ts'

const ofJobs = {
  job_keys: jobKeysText,
  key: z
    .string()
    .refine((key) => key.length <= (isFormula(key) ? MAX_FORMULA_LENGTH : 128), 'is too long')
    .describe('Name of the series, or a formula that begins with `=`'),
}

const minus = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'must be the key of a job')
  .transform(Number)
  .optional()
  .describe('The `key` of a job: its series is subtracted, at the steps that both have')
const seriesQuery = z.strictObject({ ...ofJobs, ...axesQuery, minus }).superRefine(placesOnAxis)
const { points, ...axes } = axesQuery
const groupsQuery = z
  .strictObject({
    ...ofJobs,
    ...axes,
    points: points.describe('Buckets of the x-axis; default 1000'),
    group_by: groupName,
  })
  .superRefine(placesOnAxis)
const clipQuery = z
  .strictObject({
    ...ofJobs,
    ...axes,
    clip: numberText(z.number().gt(0).lt(0.5)).describe('Share at either end'),
  })
  .superRefine(placesOnAxis)

const tags = ['series']

/**
 * One series over jobs of any batches. Groups and clips are computed over all of them: results of single batches could
 * not be combined.
 */
export function comparedSeriesRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [metricsRoute, groupsRoute, clipRoute])
}

function metricsRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get<{ Querystring: z.output<typeof seriesQuery> }>(
    '/api/jobs/metrics',
    {
      ...readersOnly,
      // The answer is streamed without validation; the schema describes it.
      serializerCompiler: () => String,
      schema: {
        tags,
        summary: 'One series of jobs of any batches, in full or sampled so that no spike is lost',
        description:
          'As the series of one batch (`GET /api/batches/{id}/metrics`), in one answer for all of them. Jobs of two batches may share an id: `job_key` tells them apart. With `Accept: application/vnd.svc.series` the same as columns of bytes (docs/api.md).',
        querystring: seriesQuery,
        response: {
          200: z.object({
            series: z.array(metricShape.extend({ job_key: z.string().describe('The `key` of the job') })),
          }),
        },
      },
    },
    async (request, reply) => {
      const { query } = request
      const caller = await request.caller()
      const jobs = await visibleJobKeys(sql, caller, query.job_keys)
      if (query.minus !== undefined && (await visibleJobKeys(sql, caller, [query.minus])).length === 0)
        throw new Problem('job_not_found')
      const drawn = await streamFrom(services, request, reply, 'primary', (db) =>
        drawnSeries(db, jobs, query, (points) => countPoints(request, points)),
      )
      return answerSeries(request, reply, drawn)
    },
  )
}

function groupsRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/jobs/metrics/groups',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'One series, aggregated over jobs of any batches, grouped by a parameter or by batch',
        description: 'Like the groups of one batch: from every point of every job, without sampling.',
        querystring: groupsQuery,
        response: { 200: groupsShape() },
      },
    },
    async (request, reply) => {
      const { query } = request
      const groupBy = groupValueOf(query.group_by)
      if (groupBy === undefined) throw new TypeError('the query was not validated')
      const jobs = await visibleJobKeys(sql, await request.caller(), query.job_keys)
      const groups = await readFrom(services, request, reply, 'primary', (db) =>
        readGroups(db, jobs, { ...drawingOf(query), keys: [query.key], groupBy }),
      )
      for (const { totalPoints } of groups) countPoints(request, totalPoints)
      return groupsAnswer(query.group_by, groups)
    },
  )
}

function clipRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/jobs/metrics/clip',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The range of the y-axis of one series without outliers, over jobs of any batches',
        description:
          'At most the share `clip` of the points is outside at either end; `hidden` counts the points outside.',
        querystring: clipQuery,
        response: { 200: clipShape },
      },
    },
    async (request) => {
      const { query } = request
      const drawing = drawingOf({ ...query, points: undefined })
      const jobs = await visibleJobKeys(sql, await request.caller(), query.job_keys)
      const percentiles = createPercentiles()
      const wanted = { keys: [query.key], ...reading(drawing) }
      for await (const series of readSeries(sql, jobs, wanted)) {
        const drawn = drawSeries(series, drawing)
        if (drawn === undefined) continue
        countPoints(request, drawn.totalPoints)
        percentiles.add(drawn.inRange)
      }
      return { key: query.key, ...percentiles.clip(query.clip) }
    },
  )
}

async function* drawnSeries(
  sql: Services['sql'],
  jobs: number[],
  query: z.output<typeof seriesQuery>,
  count: (points: number) => void,
): AsyncGenerator<ShownSeries> {
  const drawing = drawingOf(query)
  const wanted = { keys: [query.key], ...reading(drawing) }
  const stored = readSeries(sql, jobs, wanted)
  const all = query.minus === undefined ? stored : minusJob(sql, query.minus, query.key, stored, wanted)
  for await (const { jobId, jobKey, key, ...series } of all) {
    const shown = drawSeries(series, drawing)
    if (shown === undefined) continue
    count(shown.totalPoints)
    yield { jobId, jobKey, key, ...shown }
  }
}

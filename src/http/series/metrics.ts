import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import { groupValueOf } from '../../domain/lists/index.ts'
import {
  type Clip,
  createPercentiles,
  drawSeries,
  type Percentiles,
  readGroups,
  reading,
  readSeries,
} from '../../domain/metrics/index.ts'
import type { Services } from '../../services.ts'
import { jobsQuery, keysQuery, namesOf } from '../request/names.ts'
import { numberText } from '../request/number-text.ts'
import { readFrom, streamFrom } from '../request/read-from.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { byId } from '../request/shapes.ts'
import { countPoints } from '../server/visitors.ts'
import {
  type Asked,
  axesQuery,
  clipShape,
  drawingOf,
  groupName,
  groupsAnswer,
  groupsShape,
  metricShape,
  placesOnAxis,
  points,
} from './metric-shapes.ts'
import { answerSeries } from './series-frames.ts'
import type { ShownSeries } from './series-json.ts'

/** How many series may have their percentiles computed at once; each takes two megabytes. */
export const MAX_CLIPPED = 16
const metricsQuery = z
  .strictObject({
    ...keysQuery,
    ...jobsQuery,
    ...axesQuery,
    clip: numberText(z.number().gt(0).lt(0.5))
      .optional()
      .describe(
        'Share of the points that may be left out at either end of the y-axis; the range is in `clips`',
      ),
  })
  .superRefine(placesOnAxis)
const groupsQuery = z
  .strictObject({
    ...keysQuery,
    ...jobsQuery,
    ...axesQuery,
    points: points.describe(
      'Buckets of the x-axis; default 1000. While there are no more epochs, one epoch each',
    ),
    group_by: groupName,
  })
  .superRefine(placesOnAxis)
const tags = ['series']

/** Metrics of a batch: a series for each job, or grouped by a value that jobs have in common. */
export function metricsRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [metricsRoute, groupsRoute])
}

function metricsRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get<Asked<z.output<typeof metricsQuery>>>(
    '/api/batches/:id/metrics',
    {
      // The answer is streamed without validation; the schema describes it.
      serializerCompiler: () => String,
      schema: {
        tags,
        summary: 'Series of the jobs, in full or sampled so that no spike is lost',
        description:
          'With `points`, a longer series is cut into buckets of its x-axis (from `from` to `to`, else from its first epoch to its last), and of each bucket the first, last, least and greatest point stay; where a series has NaN or infinite values, the first of each kind in a bucket stays too. With `smooth`, the least and greatest of the mean stay as well. With `Accept: application/vnd.svc.series` the same as columns of bytes (docs/api.md).',
        params: byId,
        querystring: metricsQuery,
        response: {
          200: z.object({
            series: z.array(metricShape),
            clips: z.array(clipShape).optional().describe('With `clip`, for each key'),
          }),
        },
      },
    },
    async (request, reply) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const { query } = request
      const drawing = drawingOf(query)
      const counted = new Map<string, Percentiles>()
      const drawn = await streamFrom(
        services,
        request,
        reply,
        'primary',
        async function* (db): AsyncGenerator<ShownSeries> {
          counted.clear()
          const wanted = {
            keys: namesOf(query.keys, query.key),
            jobs: namesOf(query.jobs, query.job),
            ...reading(drawing),
          }
          for await (const series of readSeries(db, batch.key, wanted)) {
            const shown = drawSeries(series, drawing)
            if (shown === undefined) continue
            countPoints(request, shown.totalPoints)
            if (query.clip !== undefined) count(counted, series.key, shown.inRange)
            yield { jobId: series.jobId, key: series.key, ...shown }
          }
        },
      )
      const { clip } = query
      return answerSeries(
        request,
        reply,
        drawn,
        clip === undefined ? undefined : () => ({ clips: clipsOf(counted, clip) }),
      )
    },
  )
}

function groupsRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/batches/:id/metrics/groups',
    {
      schema: {
        tags,
        summary: 'Series, aggregated over jobs, grouped by a parameter',
        description:
          'Of each bucket of the x-axis the mean, deviation, least and greatest over every point of every job of the group: nothing is sampled. With `smooth`, of each job its smoothed values.',
        params: byId,
        querystring: groupsQuery,
        response: { 200: groupsShape() },
      },
    },
    async (request, reply) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const { query } = request
      const groupBy = groupValueOf(query.group_by)
      if (groupBy === undefined) throw new TypeError('the query was not validated')
      const groups = await readFrom(services, request, reply, 'primary', (db) =>
        readGroups(db, batch.key, {
          ...drawingOf(query),
          keys: namesOf(query.keys, query.key),
          jobs: namesOf(query.jobs, query.job),
          groupBy,
        }),
      )
      for (const { totalPoints } of groups) countPoints(request, totalPoints)
      return groupsAnswer(query.group_by, groups)
    },
  )
}

/** Counts percentiles for the first `MAX_CLIPPED` keys; the series of other keys are not clipped. */
function count(counted: Map<string, Percentiles>, key: string, values: Float64Array): void {
  let percentiles = counted.get(key)
  if (percentiles === undefined) {
    if (counted.size >= MAX_CLIPPED) return
    percentiles = createPercentiles()
    counted.set(key, percentiles)
  }
  percentiles.add(values)
}

const clipsOf = (counted: ReadonlyMap<string, Percentiles>, share: number): (Clip & { key: string })[] =>
  [...counted].map(([key, percentiles]) => ({ key, ...percentiles.clip(share) }))

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { itemAt } from '../../checked.ts'
import { requireReader } from '../../domain/access.ts'
import {
  batchesOnHost,
  hostFields,
  hostView,
  listHosts,
  readHost,
  revokeAgent,
} from '../../domain/agents/index.ts'
import { creationPosition, cursorOf } from '../../domain/cursors.ts'
import { writeNumber } from '../../domain/events/index.ts'
import { shapeOf } from '../../domain/field.ts'
import { MIN_POINTS, sample } from '../../domain/metrics/index.ts'
import { readResources } from '../../domain/resources/index.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { numberText } from '../request/number-text.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const hostShape = shapeOf(hostFields)
const seriesShape = z.object({
  batch_id: z.string(),
  job_id: z.string().nullable(),
  key: z.string(),
  steps: z.array(z.int()).describe('Unix seconds'),
  timestamps: z.array(shapes.instant),
  values: z.array(z.union([z.number(), z.string()])),
  total_points: z.int(),
  returned_points: z.int(),
  sampled: z.boolean(),
})
const second = numberText(z.int().min(0).max(253_402_300_799)).optional()
const DAY_S = 86_400
/** The default number of points of one series. */
const POINTS = 1_000
const tags = ['hosts']
const one = { tags, params: shapes.byId, querystring: shapes.nothing }
const knownReader = { onRequest: async (request: FastifyRequest) => requireReader(await request.known()) }

/** The hosts that the caller may see: its own; all of them for an administrator (contract §2, §4). */
export function hostRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listHostsRoute, readHostRoute, hostResourcesRoute, revokeAgentRoute])
}

function listHostsRoute(routes: Routes, { prisma, now }: Services): void {
  routes.get(
    '/api/hosts',
    {
      ...knownReader,
      schema: {
        tags,
        summary: 'Your hosts, with or without an agent, newest first; all hosts for an administrator',
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(hostShape) },
      },
    },
    async (request) => {
      const caller = await request.known()
      const { limit, cursor: text } = request.query
      const cursor = cursorOf('hosts', creationPosition)
      const found = await listHosts(prisma, caller, { limit: limit + 1, after: cursor.read(text) })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, ({ registered_at: createdAt, id }) => ({
        createdAt,
        id,
      }))
      return { items: rows.map((row) => hostView(row, now())), next_cursor }
    },
  )
}

function readHostRoute(routes: Routes, { prisma, now }: Services): void {
  routes.get(
    '/api/hosts/:id',
    { ...knownReader, schema: { ...one, summary: 'One host', response: { 200: hostShape } } },
    async (request) => hostView(await readHost(prisma, await request.known(), request.params.id), now()),
  )
}

function hostResourcesRoute(routes: Routes, { sql, prisma, now }: Services): void {
  routes.get(
    '/api/hosts/:id/resources',
    {
      ...knownReader,
      schema: {
        tags,
        summary: 'Resource series of the newest batches that ran on the host, by default over the last day',
        params: shapes.byId,
        querystring: z.strictObject({
          points: numberText(z.int().min(MIN_POINTS).max(100_000).default(POINTS)),
          from: second.describe('First second: Unix seconds'),
          to: second.describe('Last second'),
        }),
        response: { 200: z.object({ series: z.array(seriesShape) }) },
      },
    },
    async (request) => {
      const caller = await request.known()
      const host = await readHost(prisma, caller, request.params.id)
      const { points, to = Math.floor(now().getTime() / 1000) } = request.query
      const { from = to - DAY_S } = request.query
      const series: z.output<typeof seriesShape>[] = []
      for (const batch of await batchesOnHost(sql, caller, host, { from, to })) {
        for (const one of await readResources(sql, batch.key, { from, to })) {
          const shown = sample(one.steps, one.values, points, { from, to })
          series.push({
            batch_id: batch.id,
            job_id: one.jobId,
            key: one.key,
            steps: [...shown.steps],
            timestamps: shown.positions
              ? Array.from(shown.positions, (i) => itemAt(one.timestamps, i))
              : one.timestamps,
            values: Array.from(shown.values, writeNumber),
            total_points: shown.totalPoints,
            returned_points: shown.returnedPoints,
            sampled: shown.sampled,
          })
        }
      }
      return { series }
    },
  )
}

function revokeAgentRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/hosts/:id',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: 'Revoke the agent: its token becomes invalid, and its pending commands are cancelled',
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await commit(writer, (tx) => revokeAgent(tx, caller, request.params.id, now()))
      return reply.code(204).send(null)
    },
  )
}

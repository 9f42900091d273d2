import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { cursorOf } from '../../domain/cursors.ts'
import {
  type ActivityPosition,
  activityFields,
  activityOf,
  summaryFields,
  summaryOf,
} from '../../domain/dashboard/index.ts'
import { shapeOf } from '../../domain/field.ts'
import { instantText } from '../../domain/instant-text.ts'
import { clockOf, type Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { words } from '../request/filters.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'

const activityCursor = cursorOf<ActivityPosition>(
  'activity',
  z.object({ at: instantText, rank: z.int().min(0).max(2), key: z.int().min(0) }),
)

/** Counts and recent activity over the projects that the caller sees (contract §4). */
export function dashboardRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [summaryRoute, activityRoute])
}

function summaryRoute(routes: Routes, services: Services): void {
  const { sql, dashboardCache } = services
  routes.get(
    '/api/dashboard/summary',
    {
      ...readersOnly,
      schema: {
        tags: ['dashboard'],
        summary: 'Counts over the projects that the caller may see',
        querystring: z.strictObject({ project: words('Slugs of projects; all without it') }),
        response: { 200: shapeOf(summaryFields) },
      },
    },
    async (request) => {
      const caller = await request.caller()
      return summaryOf(sql, caller, request.query.project, clockOf(services), dashboardCache)
    },
  )
}

function activityRoute(routes: Routes, { sql, now }: Services): void {
  routes.get(
    '/api/dashboard/activity',
    {
      ...readersOnly,
      schema: {
        tags: ['dashboard'],
        summary: 'Starts, ends and failures, newest first',
        description: 'Failed jobs are listed for 30 days after their start.',
        querystring: z.strictObject({ project: words('Slugs of projects; all without it'), ...pageQuery }),
        response: {
          200: pageOf(shapeOf(activityFields)),
        },
      },
    },
    async (request) => {
      const { project, limit, cursor } = request.query
      const after = activityCursor.read(cursor)
      const found = await activityOf(sql, await request.caller(), project, { limit: limit + 1, after }, now())
      const { rows, next_cursor } = pageFrom(found, limit, activityCursor, ({ at, rank, key }) => ({
        at,
        rank,
        key,
      }))
      return { items: [...rows], next_cursor }
    },
  )
}

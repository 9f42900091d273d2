import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { entryOf } from '../../checked.ts'
import { visibleBatch } from '../../domain/access.ts'
import {
  deliveryFields,
  deliveryOf,
  deliveryOfJobs,
  jobDeliveryFields,
  resumePointOf,
  storedFields,
  storedOf,
  withoutHosts,
} from '../../domain/batches/index.ts'
import { cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { countFiles } from '../../domain/files/index.ts'
import { countMedia } from '../../domain/media/index.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const fileCounts = z
  .object({
    stored: z.int(),
    bytes: z.int(),
    missing: z.int().describe('Declared files whose content has not arrived'),
    missing_bytes: z.int(),
  })
  .describe('Files of the batch')
const mediaCounts = z
  .object({ values: z.int(), missing: z.int().describe('Values whose content has not arrived') })
  .describe('Media values of the batch')

const jobDeliveryCursor = cursorOf<number>('delivery of jobs', z.int().min(0))

/** The delivery reports of a batch and of its jobs (contract §10 "Receipt"), and how far its jobs are. */
export function deliveryRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [deliveryRoute, jobDeliveryRoute, resumePointRoute, storedRoute])
}

function deliveryRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/batches/:id/delivery',
    {
      ...readersOnly,
      schema: {
        tags: ['batches'],
        params: shapes.byId,
        querystring: shapes.nothing,
        summary: 'Whether everything that the reporter produced has arrived',
        response: { 200: shapeOf(deliveryFields).extend({ files: fileCounts, media: mediaCounts }) },
      },
    },
    async (request) => {
      const caller = await request.caller()
      const batch = await visibleBatch(sql, caller, request.params.id)
      const [found, files, media] = await Promise.all([
        deliveryOf(sql, batch),
        countFiles(sql, [batch.key]),
        countMedia(sql, batch.key),
      ])
      const delivery = caller.kind === 'anonymous' ? withoutHosts(found) : found
      return { ...delivery, files: entryOf(files, batch.key), media }
    },
  )
}

function jobDeliveryRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/batches/:id/delivery/jobs',
    {
      ...readersOnly,
      schema: {
        tags: ['batches'],
        summary: 'Received and missing epochs of each job, oldest job first',
        params: shapes.byId,
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(shapeOf(jobDeliveryFields)) },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const { limit, cursor } = request.query
      const after = jobDeliveryCursor.read(cursor)
      const [found = []] = await deliveryOfJobs(sql, [{ batchKey: batch.key, after }], limit + 1)
      const { rows, next_cursor } = pageFrom(found, limit, jobDeliveryCursor, ({ key }) => key)
      return { items: rows.map(({ key: _, ...job }) => job), next_cursor }
    },
  )
}

function resumePointRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/batches/:id/resume-point',
    {
      schema: {
        tags: ['batches'],
        params: shapes.byId,
        querystring: shapes.nothing,
        summary:
          'The last step of each job, for a process that continues the batch; also with a reporter token',
        response: {
          200: z.object({
            project: z.string(),
            newest_job: z.string().nullable(),
            jobs: z
              .array(z.object({ job_id: z.string(), last_step: z.number().nullable() }))
              .describe('The newest 500 jobs, newest first'),
          }),
        },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id, { polling: true })
      return resumePointOf(sql, batch)
    },
  )
}

function storedRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/batches/:id/stored',
    {
      schema: {
        tags: ['batches'],
        params: shapes.byId,
        querystring: shapes.nothing,
        summary: 'Stored rows of each kind, for programs that copy a history; also with a reporter token',
        response: {
          200: shapeOf(storedFields).extend({
            files: z.int().describe('Files whose content has arrived'),
            media: z.int().describe('Values whose content has arrived'),
          }),
        },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id, { polling: true })
      const [counts, files, media] = await Promise.all([
        storedOf(sql, batch),
        countFiles(sql, [batch.key]),
        countMedia(sql, batch.key),
      ])
      return { ...counts, files: entryOf(files, batch.key).stored, media: media.values - media.missing }
    },
  )
}

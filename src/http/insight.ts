import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { visibleBatch } from '../domain/access.ts'
import { deliveryOf, deliveryOfJobs } from '../domain/batches/index.ts'
import {
  ACTIVITY_TYPES,
  type ActivityPosition,
  activityOf,
  createDashboardMemory,
  summaryOf,
} from '../domain/dashboard/index.ts'
import { etaOf, jobIdsOf, NO_ETA, type ShownEta } from '../domain/eta/index.ts'
import { healthOf } from '../domain/health/index.ts'
import { clockOf, type Services } from '../services.ts'
import { readersOnly } from './credentials.ts'
import { delivery, jobDelivery } from './delivery-shapes.ts'
import { words } from './filters.ts'
import { cursorOf, pageFrom, pageOf, pageQuery } from './page.ts'
import * as shapes from './shapes.ts'

const seconds = z.number().min(0)
const etaFields = {
  eta_s: seconds.nullable().describe('Seconds until it is done; null until there is enough to go by'),
  low_s: seconds.nullable().describe('It takes longer in nine cases of ten'),
  high_s: seconds.nullable().describe('It takes longer in one case of ten'),
  eta_at: shapes.instant.nullable(),
  n_samples: z.int().describe('Durations of epochs and of jobs that the estimate rests on'),
  basis: z
    .enum(['epochs', 'jobs', 'epochs+jobs', 'elapsed'])
    .nullable()
    .describe('`elapsed`: nothing says how long a job is, so it is taken to be half way'),
}
const showEta = ({ etaS, lowS, highS, etaAt, nSamples, basis }: ShownEta) => ({
  eta_s: etaS,
  low_s: lowS,
  high_s: highS,
  eta_at: etaAt,
  n_samples: nSamples,
  basis,
})

const jobDeliveryCursor = cursorOf<number>('delivery of jobs', z.int().min(0))

const activityCursor = cursorOf<ActivityPosition>(
  'activity',
  z.object({ at: shapes.instantText, rank: z.int().min(0).max(2), key: z.int().min(0) }),
)

/** What the records amount to: how long it will take, whether it lives, what goes on (contract §4). */
export function insightRoutes(app: FastifyInstance, services: Services): void {
  const { sql, now } = services
  const routes = app.withTypeProvider<ZodTypeProvider>()
  const dashboardMemory = createDashboardMemory()
  const ofBatch = { tags: ['batches'], params: shapes.byId, querystring: shapes.nothing }

  routes.get(
    '/api/batches/:id/delivery',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'Whether everything that the reporter produced has arrived',
        response: { 200: delivery },
      },
    },
    async (request) => deliveryOf(sql, await visibleBatch(sql, await request.caller(), request.params.id)),
  )

  routes.get(
    '/api/batches/:id/delivery/jobs',
    {
      ...readersOnly,
      schema: {
        tags: ['batches'],
        summary: 'What has arrived of each job, and where epochs are missing; oldest job first',
        params: shapes.byId,
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(jobDelivery) },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const { limit, cursor } = request.query
      const page = { limit: limit + 1, after: jobDeliveryCursor.read(cursor) }
      const found = await deliveryOfJobs(sql, batch.key, page)
      const { rows, next_cursor } = pageFrom(found, limit, jobDeliveryCursor, ({ key }) => key)
      return { items: rows.map(({ key: _, ...job }) => job), next_cursor }
    },
  )

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

  routes.get(
    '/api/batches/:id/jobs/eta-all',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'When each job of the batch will be done; null for those that do not run',
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

  routes.get(
    '/api/batches/:id/health',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'Whether the batch shows signs of life, and which jobs leave their GPU idle',
        response: {
          200: z.object({
            batch_id: z.string(),
            status: z.string(),
            stalled: z.boolean(),
            liveness: z
              .enum(['running', 'stalled', 'disconnected', 'dead'])
              .nullable()
              .describe('Judged by its process, its events and the pace of its epochs; null once it is over'),
            last_seen_at: shapes.instant,
            silent_s: seconds,
            threshold_s: seconds,
            idle_jobs: z.array(z.string()),
            reasons: z.array(z.string()),
          }),
        },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.caller(), request.params.id)
      const health = await healthOf(sql, batch.key, clockOf(services))
      return {
        batch_id: batch.id,
        status: health.status,
        stalled: health.stalled,
        liveness: health.liveness,
        last_seen_at: health.lastSeenAt,
        silent_s: health.silentS,
        threshold_s: health.thresholdS,
        idle_jobs: health.idleJobs,
        reasons: health.reasons,
      }
    },
  )

  routes.get(
    '/api/dashboard/summary',
    {
      ...readersOnly,
      schema: {
        tags: ['dashboard'],
        summary: 'Counts over the projects that the caller sees',
        querystring: z.strictObject({ project: words('Slugs of projects; all without it') }),
        response: {
          200: z.object({
            running: z.int().describe('Batches that show signs of life'),
            completed: z.int(),
            failed: z.int(),
            stopped: z.int(),
            lost: z.int().describe('Batches that ended without a word'),
            running_jobs: z.int(),
            finished_24h: z.int().describe('Batches that completed in the last 24 hours'),
            failed_24h: z.int(),
            stalled: z.int(),
            idle: z.int().describe('Jobs'),
            gpu_hours: z.number().describe('Hours of GPUs at 5% or more, over all time'),
            idle_gpu_hours: z.number().describe('Hours of GPUs below 5%'),
          }),
        },
      },
    },
    async (request) => {
      const caller = await request.caller()
      const {
        finished24h,
        failed24h,
        runningJobs,
        gpuHours: used,
        idleGpuHours,
        ...counts
      } = await summaryOf(sql, caller, request.query.project, clockOf(services), dashboardMemory)
      return {
        ...counts,
        running_jobs: runningJobs,
        finished_24h: finished24h,
        failed_24h: failed24h,
        gpu_hours: used,
        idle_gpu_hours: idleGpuHours,
      }
    },
  )

  routes.get(
    '/api/dashboard/activity',
    {
      ...readersOnly,
      schema: {
        tags: ['dashboard'],
        summary: 'What began, ended and failed, newest first',
        description: 'Failed jobs are told of for 30 days after their start.',
        querystring: z.strictObject({ project: words('Slugs of projects; all without it'), ...pageQuery }),
        response: {
          200: pageOf(
            z.object({
              at: shapes.instant,
              type: z.enum(ACTIVITY_TYPES),
              project: z.string(),
              batch_id: z.string(),
              job_id: z.string().nullable(),
              reason: z.string().nullable(),
            }),
          ),
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
      return {
        items: rows.map(({ at, type, project, batchId, jobId, reason }) => ({
          at,
          type,
          project,
          batch_id: batchId,
          job_id: jobId,
          reason,
        })),
        next_cursor,
      }
    },
  )
}

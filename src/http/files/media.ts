import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import { cursorOf } from '../../domain/cursors.ts'
import {
  listMedia,
  listMediaKeys,
  listMediaSteps,
  MAX_STEPS,
  type MediaPosition,
  withContent,
} from '../../domain/media/index.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { jobsQuery, keysQuery, namesOf } from '../request/names.ts'
import { numberText } from '../request/number-text.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const tags = ['files']
const step = numberText(z.int())
export const mediaQuery = z.strictObject({
  ...pageQuery,
  ...keysQuery,
  ...jobsQuery,
  from: step.optional().describe('The first step'),
  to: step.optional().describe('The last step'),
})
export const mediaPageShape = pageOf(
  z.object({
    job_id: z.string(),
    key: z.string(),
    step: z.number(),
    at: shapes.instant,
    values: z
      .array(z.looseObject({}))
      .describe(
        'As sent. What names content has `uploaded`, false while it has not arrived, and the `url` of its file',
      ),
  }),
)
export const mediaKeysQuery = z.strictObject(pageQuery)
export const mediaKeysShape = pageOf(
  z.object({
    key: z.string(),
    type: z.string(),
    jobs: z.int(),
    points: z.int().describe('Steps with media of this key, over all jobs'),
    first_step: z.number(),
    last_step: z.number(),
  }),
)

export const mediaStepsQuery = z.strictObject({ ...keysQuery, ...jobsQuery })
export const mediaStepsShape = z.object({
  items: z.array(z.number()).describe(`Ascending; the last ${MAX_STEPS} if there are more`),
})

/** Media of a batch (contract §11 "Media"). */
export function mediaRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [mediaRoute, mediaKeysRoute, mediaStepsRoute])
}

const mediaCursor = cursorOf<MediaPosition>(
  'media',
  z.object({ step: z.int(), job: z.int(), key: z.string() }),
)
const keysCursor = cursorOf('media keys', z.string())

/** One page of media, with the addresses of its files below `folder`. */
export async function mediaPage(
  { sql }: Pick<Services, 'sql'>,
  batchKey: number,
  folder: string | null,
  query: z.output<typeof mediaQuery>,
) {
  const { limit, cursor, from, to } = query
  const found = await listMedia(sql, batchKey, {
    keys: namesOf(query.keys, query.key),
    jobs: namesOf(query.jobs, query.job),
    from,
    to,
    after: mediaCursor.read(cursor),
    limit: limit + 1,
  })
  const { rows, next_cursor } = pageFrom(found, limit, mediaCursor, ({ step, job_key: job, key }) => ({
    step,
    job,
    key,
  }))
  return { items: await withContent(sql, batchKey, rows, folder), next_cursor }
}

export async function mediaKeysPage(
  { sql }: Pick<Services, 'sql'>,
  batchKey: number,
  { limit, cursor }: z.output<typeof mediaKeysQuery>,
) {
  const found = await listMediaKeys(sql, batchKey, { after: keysCursor.read(cursor), limit: limit + 1 })
  const { rows, next_cursor } = pageFrom(found, limit, keysCursor, ({ key }) => key)
  return { items: [...rows], next_cursor }
}

function mediaRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/batches/:id/media',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'Images, tables and other media of a batch, ordered by step',
        params: shapes.byId,
        querystring: mediaQuery,
        response: { 200: mediaPageShape },
      },
    },
    async (request) => {
      const batch = await visibleBatch(services.sql, await request.caller(), request.params.id)
      const folder = `/api/batches/${encodeURIComponent(batch.id)}/files`
      return mediaPage(services, batch.key, folder, request.query)
    },
  )
}

function mediaKeysRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/batches/:id/media/keys',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The keys under which a batch has media',
        params: shapes.byId,
        querystring: mediaKeysQuery,
        response: { 200: mediaKeysShape },
      },
    },
    async (request) => {
      const batch = await visibleBatch(services.sql, await request.caller(), request.params.id)
      return mediaKeysPage(services, batch.key, request.query)
    },
  )
}

/** The steps that have media, for a slider. */
export async function mediaSteps(
  { sql }: Pick<Services, 'sql'>,
  batchKey: number,
  query: z.output<typeof mediaStepsQuery>,
) {
  const wanted = { keys: namesOf(query.keys, query.key), jobs: namesOf(query.jobs, query.job) }
  return { items: await listMediaSteps(sql, batchKey, wanted) }
}

function mediaStepsRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/batches/:id/media/steps',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The steps at which a batch has media',
        params: shapes.byId,
        querystring: mediaStepsQuery,
        response: { 200: mediaStepsShape },
      },
    },
    async (request) => {
      const batch = await visibleBatch(services.sql, await request.caller(), request.params.id)
      return mediaSteps(services, batch.key, request.query)
    },
  )
}

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../domain/caller.ts'
import { cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { batchesOfJobs, visibleJobKeys } from '../../domain/jobs/index.ts'
import {
  jobsWithMedia,
  listMedia,
  listMediaKeys,
  listMediaSteps,
  MAX_STEPS,
  type MediaOwners,
  type MediaPosition,
  mediaFields,
  mediaKeyFields,
  withContent,
} from '../../domain/media/index.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { jobKeysText, jobsQuery, keysQuery, namesOf } from '../request/names.ts'
import { numberText } from '../request/number-text.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { type FilesPlace, filesOfBatch } from './files.ts'

const tags = ['files']
const step = numberText(z.int())
const mediaQuery = z.strictObject({
  ...pageQuery,
  ...keysQuery,
  ...jobsQuery,
  from: step.optional().describe('The first step'),
  to: step.optional().describe('The last step'),
})
const mediaShape = shapeOf(mediaFields)
const mediaKeysShape = pageOf(shapeOf(mediaKeyFields))

const mediaStepsShape = z.object({
  items: z.array(z.number()).describe(`Ascending; the last ${MAX_STEPS} if there are more`),
})

const ofJobs = { job_keys: jobKeysText }
const comparedQuery = z.strictObject({ ...ofJobs, ...mediaQuery.omit({ job: true, jobs: true }).shape })

/** Media of a batch (contract §11 "Media"), and of jobs of any batches. */
export function mediaRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, filesOfBatch(services), MEDIA_ROUTES)
  addRoutes(app, services, [comparedRoute, comparedKeysRoute, comparedStepsRoute])
}

const mediaCursor = cursorOf<MediaPosition>(
  'media',
  z.object({ step: z.int(), job: z.int(), key: z.string() }),
)
const keysCursor = cursorOf('media keys', z.string())

const folderOf = (batchId: string): string => `/api/batches/${encodeURIComponent(batchId)}/files`

/** One page of media, with the addresses of their files. */
async function ownedPage(
  { sql }: Pick<Services, 'sql'>,
  owners: MediaOwners,
  folderOf: (batchKey: number) => string | null,
  query: z.output<typeof mediaQuery>,
) {
  const { limit, cursor, from, to } = query
  const found = await listMedia(sql, owners, {
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
  await withContent(sql, rows, folderOf)
  return { items: rows, next_cursor }
}

async function ownedKeys(
  { sql }: Pick<Services, 'sql'>,
  owners: MediaOwners,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
) {
  const found = await listMediaKeys(sql, owners, { after: keysCursor.read(cursor), limit: limit + 1 })
  const { rows, next_cursor } = pageFrom(found, limit, keysCursor, ({ key }) => key)
  return { items: [...rows], next_cursor }
}

/** The media, their keys, and the steps that have some. */
export const MEDIA_ROUTES = [mediaRoute, mediaKeysRoute, mediaStepsRoute]

function mediaRoute(routes: Routes, { sql, path, options, schema, which, find }: FilesPlace): void {
  const own = {
    ...schema,
    summary: `Images, tables and other media ${which}, ordered by step`,
    querystring: mediaQuery,
    response: { 200: pageOf(mediaShape) },
  }
  routes.get(`${path}/media`, { ...options, schema: own }, async (request, reply) => {
    const shown = await find(request, reply)
    if (shown === null) return { items: [], next_cursor: null }
    const page = await ownedPage({ sql }, { batches: [shown.batchKey] }, () => shown.folder, request.query)
    return { ...page, items: page.items.map(({ batch_key: _, job_key: _job, ...item }) => item) }
  })
}

function mediaKeysRoute(routes: Routes, { sql, path, options, schema, which, find }: FilesPlace): void {
  const own = {
    ...schema,
    summary: `The keys of the media ${which}`,
    querystring: z.strictObject(pageQuery),
    response: { 200: mediaKeysShape },
  }
  routes.get(`${path}/media/keys`, { ...options, schema: own }, async (request, reply) => {
    const shown = await find(request, reply)
    if (shown === null) return { items: [], next_cursor: null }
    return ownedKeys({ sql }, { batches: [shown.batchKey] }, request.query)
  })
}

function mediaStepsRoute(routes: Routes, { sql, path, options, schema, which, find }: FilesPlace): void {
  const own = {
    ...schema,
    summary: `The steps of the media ${which}`,
    querystring: z.strictObject({ ...keysQuery, ...jobsQuery }),
    response: { 200: mediaStepsShape },
  }
  routes.get(`${path}/media/steps`, { ...options, schema: own }, async (request, reply) => {
    const shown = await find(request, reply)
    if (shown === null) return { items: [] }
    const { query } = request
    const wanted = { keys: namesOf(query.keys, query.key), jobs: namesOf(query.jobs, query.job) }
    return { items: await listMediaSteps(sql, { batches: [shown.batchKey] }, wanted) }
  })
}

/** The jobs among these that the caller may see, with their batches. */
async function seen({ sql }: Services, caller: Caller, jobKeys: readonly number[]) {
  const jobs = await visibleJobKeys(sql, caller, jobKeys)
  const batchIds = await batchesOfJobs(sql, jobs)
  return { owners: { batches: [...batchIds.keys()], jobs }, batchIds }
}

function comparedRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/jobs/media',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'Media of jobs of any batches, ordered by step',
        querystring: comparedQuery,
        response: {
          200: pageOf(mediaShape.extend({ job_key: z.string().describe('The `key` of the job') })),
        },
      },
    },
    async (request) => {
      const { job_keys: jobKeys, ...query } = request.query
      const { owners, batchIds } = await seen(services, await request.caller(), jobKeys)
      const { items, next_cursor } = await ownedPage(
        services,
        owners,
        (batch) => folderOf(batchIds.get(batch) ?? ''),
        query,
      )
      return {
        items: items.map(({ batch_key: _, job_key: key, ...item }) => ({ ...item, job_key: String(key) })),
        next_cursor,
      }
    },
  )
}

function comparedKeysRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/jobs/media/keys',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The keys under which jobs of any batches have media',
        querystring: z.strictObject({ ...ofJobs, ...pageQuery }),
        response: {
          200: mediaKeysShape.extend({
            job_keys: z.array(z.string()).describe('The `key` of each job that has media'),
          }),
        },
      },
    },
    async (request) => {
      const { job_keys: jobKeys, ...query } = request.query
      const { owners } = await seen(services, await request.caller(), jobKeys)
      const [page, having] = await Promise.all([
        ownedKeys(services, owners, query),
        jobsWithMedia(services.sql, owners),
      ])
      return { ...page, job_keys: having.map(String) }
    },
  )
}

function comparedStepsRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/jobs/media/steps',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The steps at which jobs of any batches have media',
        querystring: z.strictObject({ ...ofJobs, ...keysQuery }),
        response: { 200: mediaStepsShape },
      },
    },
    async (request) => {
      const { query } = request
      const { owners } = await seen(services, await request.caller(), query.job_keys)
      const wanted = { keys: namesOf(query.keys, query.key), jobs: undefined }
      return { items: await listMediaSteps(services.sql, owners, wanted) }
    },
  )
}

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { MAX_NOTES } from '../../domain/batches/index.ts'
import { editJob, readJobs, visibleJob } from '../../domain/jobs/index.ts'
import { positionOf } from '../../domain/keyset-pages.ts'
import { JOB_PARAMETERS, listJobs, readQueries } from '../../domain/lists/index.ts'
import { presentJobs } from '../../domain/present.ts'
import { isStorable } from '../../domain/storable-text.ts'
import { Problem } from '../../problem.ts'
import { clockOf, type Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { asMade, jobShape } from '../batches/batch-shapes.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import {
  direction,
  jobOrderOf,
  jobSort,
  listCursor,
  listParameters,
  unknownNames,
} from '../request/filters.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const tags = ['jobs']

/** Jobs across batches (contract §4). */
export function jobRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listJobsRoute, readJobRoute, editJobRoute])
}

function listJobsRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/jobs',
    {
      ...readersOnly,
      ...asMade,
      schema: {
        tags,
        summary: 'Jobs of all batches, newest first unless sorted',
        description:
          'Filters ignore case, except ids of batches. A job must match one value of each filter and all comparisons.',
        querystring: z.strictObject({
          ...pageQuery,
          ...listParameters(JOB_PARAMETERS),
          sort: jobSort,
          order: direction,
        }),
        response: { 200: pageOf(jobShape).extend({ unknown_names: unknownNames }) },
      },
    },
    async (request) => {
      const { limit, cursor: text, sort, order, where, ...asked } = request.query
      const filter = { ...asked, where: readQueries('job', where) }
      const by = jobOrderOf(sort, order === 'desc')
      const caller = await request.caller()
      const cursor = listCursor('jobs', [filter, by])
      const page = { limit: limit + 1, after: cursor.read(text) }
      const found = await listJobs(sql, caller, filter, page, by)
      const { rows, next_cursor } = pageFrom(found.rows, limit, cursor, positionOf)
      return {
        items: await presentJobs(sql, caller, rows, clockOf(services)),
        next_cursor,
        ...((where.length > 0 || by.by === 'field') && { unknown_names: [...found.unknown] }),
      }
    },
  )
}

function readJobRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/jobs/:key',
    {
      ...readersOnly,
      ...asMade,
      schema: {
        tags,
        summary: 'One job',
        params: z.object({ key: z.string().describe("The job's `key`") }),
        querystring: shapes.nothing,
        response: { 200: jobShape },
      },
    },
    async (request) => {
      const caller = await request.caller()
      const { job } = await visibleJob(sql, caller, request.params.key)
      const [view] = await presentJobs(sql, caller, [job], clockOf(services))
      if (view === undefined) throw new Problem('job_not_found')
      return view
    },
  )
}

function editJobRoute(routes: Routes, services: Services): void {
  const { sql, writer, now } = services
  routes.patch(
    '/api/jobs/:key',
    {
      ...personOnly,
      ...asMade,
      schema: {
        tags,
        summary: 'Change the notes or tags of a job',
        description: 'Absent fields stay unchanged.',
        params: z.object({ key: z.string().describe("The job's `key`") }),
        querystring: shapes.nothing,
        body: z
          .strictObject({
            notes: z
              .string()
              .max(MAX_NOTES, 'must be at most 65,536 characters')
              .refine(isStorable, 'must be without NUL characters and lone surrogates')
              .describe('Markdown'),
            ...shapes.tagEdit,
          })
          .partial(),
        response: { 200: jobShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const key = await commit(writer, (tx) => editJob(tx, caller, request.params.key, request.body, now()))
      const [view] = await presentJobs(sql, caller, await readJobs(sql, [key]), clockOf(services))
      if (view === undefined) throw new Problem('job_not_found')
      return view
    },
  )
}

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { mayRead, visibleBatch } from '../../domain/access.ts'
import { flagSeenBefore, noteFlagSeen, queueStop, stopRequestOf } from '../../domain/agents/index.ts'
import {
  deleteBatch,
  deleteBatches,
  editBatch,
  endBatch,
  MAX_LABEL,
  MAX_NOTES,
  readBatches,
  requestStop,
  restoreBatch,
} from '../../domain/batches/index.ts'
import type { Caller } from '../../domain/caller.ts'
import { positionOf } from '../../domain/keyset-pages.ts'
import { listJobsOfBatch } from '../../domain/lists/index.ts'
import { presentBatches, presentJobs } from '../../domain/present.ts'
import { isStorable } from '../../domain/storable-text.ts'
import { Problem } from '../../problem.ts'
import { clockOf, type Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import { listCursor } from '../request/filters.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { asMade, batchShape, jobShape } from './batch-shapes.ts'

const batchLabel = z
  .string()
  .regex(
    new RegExp(`^(?!\\s)[^\\p{Cc}\\p{Cs}]{1,${MAX_LABEL}}(?<!\\s)$`, 'u'),
    `must be 1 to ${MAX_LABEL} characters in one line, not beginning or ending in white space`,
  )
const notes = z
  .string()
  .max(MAX_NOTES, 'must be at most 65,536 characters')
  .refine(isStorable, 'must be without NUL characters and lone surrogates')
const endReason = z
  .string()
  .min(1)
  .max(500, 'must be at most 500 characters')
  .refine(isStorable, 'must be without NUL characters and lone surrogates')
const batchIds = z.array(z.string().min(1).max(512)).min(1).max(500)

/** The view of a batch that the caller may read. */
async function presentOne(services: Services, caller: Caller, key: number) {
  const rows = await readBatches(services.sql, caller, [key])
  const [view] = await presentBatches(services.sql, caller, rows, clockOf(services))
  if (view === undefined) throw new Problem('batch_not_found')
  return view
}

const tags = ['batches']
const one = { tags, params: shapes.byId, querystring: shapes.nothing }

/** One batch: reading it, its jobs, and what users do to it (contract §4). */
export function batchRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [
    readBatchRoute,
    listJobsRoute,
    editBatchRoute,
    stopBatchRoute,
    endBatchRoute,
    stopRequestedRoute,
    deleteBatchRoute,
    deleteBatchesRoute,
    restoreBatchRoute,
  ])
}

function readBatchRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/batches/:id',
    { ...readersOnly, ...asMade, schema: { ...one, summary: 'One batch', response: { 200: batchShape } } },
    async (request) => {
      const caller = await request.caller()
      return presentOne(services, caller, (await visibleBatch(sql, caller, request.params.id)).key)
    },
  )
}

function listJobsRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/batches/:id/jobs',
    {
      ...readersOnly,
      ...asMade,
      schema: {
        tags,
        summary: 'The jobs of a batch, newest first',
        params: shapes.byId,
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(jobShape) },
      },
    },
    async (request) => {
      const { limit, cursor: text } = request.query
      const caller = await request.caller()
      const batch = await visibleBatch(sql, caller, request.params.id)
      const cursor = listCursor('jobs of a batch', batch.key)
      const found = await listJobsOfBatch(sql, batch, { limit: limit + 1, after: cursor.read(text) })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, positionOf)
      return { items: await presentJobs(sql, caller, rows, clockOf(services)), next_cursor }
    },
  )
}

function editBatchRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.patch(
    '/api/batches/:id',
    {
      ...personOnly,
      ...asMade,
      schema: {
        ...one,
        summary: 'Change the name, group, tags, notes, star or archive mark of a batch',
        description:
          'Absent fields stay unchanged. From then on the reporter no longer sets the name, group, tags or notes that were changed. `null` removes the name or the group.',
        body: z
          .strictObject({
            name: batchLabel.nullish(),
            group: batchLabel.nullish(),
            notes: notes.optional().describe('Markdown'),
            ...shapes.tagEdit,
            starred: z.boolean().optional(),
            archived: z
              .boolean()
              .optional()
              .describe('Hides the batch from lists unless they ask for archived batches'),
          })
          .refine(
            (body) => Object.values(body).some((value) => value !== undefined),
            'must change something',
          ),
        response: { 200: batchShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const key = await commit(writer, (tx) => editBatch(tx, caller, request.params.id, request.body, now()))
      return presentOne(services, caller, key)
    },
  )
}

function stopBatchRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/batches/:id/stop',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: 'Request a stop; the reporter sees it at its next poll',
        body: shapes.noInput,
        response: { 200: z.object({ stop_requested: z.literal(true) }) },
      },
    },
    async (request) => {
      const caller = await request.person()
      await commit(writer, async (tx) => {
        const { result, changes } = await requestStop(tx, caller, request.params.id, now())
        return { result, changes: [...changes, ...(await queueStop(tx, caller, request.params.id, now()))] }
      })
      return { stop_requested: true as const }
    },
  )
}

function endBatchRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.post(
    '/api/batches/:id/end',
    {
      ...personOnly,
      ...asMade,
      schema: {
        ...one,
        summary:
          'Mark a batch as ended if its reporter did not end it; later events of the reporter override this',
        body: z.strictObject({ status: z.enum(['failed', 'stopped']), reason: endReason.optional() }),
        response: { 200: batchShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { status, reason } = request.body
      const { id } = request.params
      const key = await commit(writer, (tx) => endBatch(tx, caller, id, { status, reason }, now()))
      return presentOne(services, caller, key)
    },
  )
}

function stopRequestedRoute(routes: Routes, { sql, writer, now }: Services): void {
  routes.get(
    '/api/batches/:id/stop-requested',
    {
      schema: {
        ...one,
        summary: 'Whether a stop was requested; also with a reporter token',
        response: {
          200: z.object({
            stop_requested: z.boolean(),
            requested_by: z.string().optional().describe('Name of the user who requested it'),
            requested_at: shapes.instant.optional(),
          }),
        },
      },
    },
    async (request) => {
      const caller = await request.caller()
      // A deleted batch that was asked to stop should still stop, so its reporter still gets an answer.
      const options = { polling: true, deleted: !mayRead(caller) }
      const batch = await visibleBatch(sql, caller, request.params.id, options)
      const reporter = caller.kind === 'known' && !mayRead(caller)
      if (batch.stopRequested && reporter && !(await flagSeenBefore(sql, batch.key))) {
        await commit(writer, (tx) => noteFlagSeen(tx, batch, caller, now()))
      }
      return { stop_requested: batch.stopRequested, ...(await stopRequestOf(sql, batch)) }
    },
  )
}

function deleteBatchRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/batches/:id',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: 'Delete a batch; it can be restored until it is purged',
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await commit(writer, (tx) => deleteBatch(tx, caller, request.params.id, now()))
      return reply.code(204).send(null)
    },
  )
}

function deleteBatchesRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/batches/bulk-delete',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Delete up to 500 batches; returns the result of each',
        querystring: shapes.nothing,
        body: z.strictObject({ batch_ids: batchIds }),
        response: {
          200: z.object({
            deleted: z.array(z.string()),
            not_found: z.array(z.string()),
            forbidden: z.array(z.string()),
          }),
        },
      },
    },
    async (request) => {
      const caller = await request.person()
      return commit(writer, (tx) => deleteBatches(tx, caller, request.body.batch_ids, now()))
    },
  )
}

function restoreBatchRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.post(
    '/api/batches/:id/restore',
    {
      ...personOnly,
      ...asMade,
      schema: {
        ...one,
        summary: 'Undo a deletion',
        body: shapes.noInput,
        response: { 200: batchShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const key = await commit(writer, (tx) => restoreBatch(tx, caller, request.params.id, now()))
      return presentOne(services, caller, key)
    },
  )
}

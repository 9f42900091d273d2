import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import { readBatches } from '../../domain/batches/index.ts'
import { ANONYMOUS } from '../../domain/caller.ts'
import { createdAtOf, creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { instantText } from '../../domain/instant-text.ts'
import { positionOf } from '../../domain/keyset-pages.ts'
import { listJobsOfBatch } from '../../domain/lists/index.ts'
import { presentBatches, presentJobs } from '../../domain/present.ts'
import {
  anonymizeBatch,
  anonymizeJob,
  createShare,
  listShares,
  openShare,
  revokeShare,
  sharedView,
  shareFields,
} from '../../domain/shares/index.ts'
import { Problem } from '../../problem.ts'
import { clockOf, type Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { listCursor } from '../request/filters.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { publicAddress } from '../request/public-address.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { asMade, batchShape, jobShape } from './batch-shapes.ts'

const shareShape = shapeOf(shareFields)
const tags = ['shares']

/** Public links to one batch (contract §4 "Shares"). */
export function shareRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [createShareRoute, listSharesRoute, revokeShareRoute, openShareRoute])
}

function createShareRoute(routes: Routes, { config, writer, now }: Services): void {
  routes.post(
    '/api/batches/:id/shares',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Create a public link to a batch; its token is shown only once',
        params: shapes.byId,
        querystring: shapes.nothing,
        body: z
          .strictObject({
            expires_at: instantText.nullish().describe('Default: never'),
            anonymous: z.boolean().default(false).describe('Hides users, hosts, paths and log lines'),
            files: z
              .boolean()
              .optional()
              .describe('Shows files and media, as they are. Default: true, false for an anonymous link'),
            embed: z.boolean().optional().describe('Lets other sites show its charts, table and badge'),
          })
          .nullish(),
        response: {
          201: z.object({
            id: z.uuid(),
            url: z.string(),
            token: z.string(),
            expires_at: shapes.instant.nullable(),
            anonymous: z.boolean(),
          }),
        },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { expires_at: expiresAt = null, anonymous = false, files, embed } = request.body ?? {}
      const at = now()
      if (expiresAt !== null && Date.parse(expiresAt) <= at.getTime()) {
        throw new Problem('invalid_body', {
          errors: [{ path: 'expires_at', message: 'must be in the future' }],
        })
      }
      const made = await commit(writer, (tx) =>
        createShare(
          tx,
          caller,
          request.params.id,
          { expiresAt, anonymous, files, embed },
          config.quotas.shares,
          at,
        ),
      )
      return reply.code(201).send({
        id: made.id,
        url: `${publicAddress(config, request)}/s/${made.token}`,
        token: made.token,
        expires_at: made.expiresAt,
        anonymous: made.anonymous,
      })
    },
  )
}

function listSharesRoute(routes: Routes, { sql, prisma, now }: Services): void {
  routes.get(
    '/api/batches/:id/shares',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'The links to a batch, newest first; never their tokens',
        params: shapes.byId,
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(shareShape) },
      },
    },
    async (request) => {
      const batch = await visibleBatch(sql, await request.person(), request.params.id)
      if (!batch.may('share')) throw new Problem('forbidden')
      const { limit, cursor: text } = request.query
      const cursor = cursorOf(`shares ${batch.key}`, creationPosition)
      const found = await listShares(
        prisma,
        [batch.key],
        { limit: limit + 1, after: cursor.read(text) },
        now(),
      )
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      return { items: rows.map(({ batch_key: _, ...share }) => share), next_cursor }
    },
  )
}

function revokeShareRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/shares/:id',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Revoke a link',
        params: shapes.byId,
        querystring: shapes.nothing,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await commit(writer, (tx) => revokeShare(tx, caller, request.params.id, now()))
      return reply.code(204).send(null)
    },
  )
}

function openShareRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/shared/:token',
    {
      ...asMade,
      schema: {
        tags,
        summary: 'The batch that a link opens, with a page of its jobs, newest first',
        security: [],
        params: z.object({ token: z.string() }),
        querystring: z.strictObject(pageQuery),
        response: {
          200: z.object({
            batch: batchShape,
            jobs: pageOf(jobShape),
            anonymous: z.boolean(),
            expires_at: shapes.instant.nullable(),
          }),
        },
      },
    },
    async (request, reply) => {
      const clock = clockOf(services)
      const share = await openShare(sql, request.params.token, clock.now)
      if (share === undefined) throw new Problem('share_not_found')
      const { limit, cursor: text } = request.query
      const cursor = listCursor('jobs of a share', share.id)
      const page = { limit: limit + 1, after: cursor.read(text) }
      const [batchRows, jobRows] = await Promise.all([
        readBatches(sql, ANONYMOUS, [share.batchKey]),
        listJobsOfBatch(sql, { key: share.batchKey }, page),
      ])
      const { rows, next_cursor } = pageFrom(jobRows, limit, cursor, positionOf)
      const [[found], items] = await Promise.all([
        presentBatches(sql, ANONYMOUS, batchRows, clock),
        presentJobs(sql, ANONYMOUS, rows, clock),
      ])
      if (found === undefined) throw new Problem('share_not_found')
      reply.header('referrer-policy', 'no-referrer')
      const open = sharedView(found)
      const shown = { anonymous: share.anonymous, expires_at: share.expiresAt }
      if (!share.anonymous) return { batch: open, jobs: { items, next_cursor }, ...shown }
      const { batch, text: hide } = anonymizeBatch(open)
      return { batch, jobs: { items: items.map((job) => anonymizeJob(job, hide)), next_cursor }, ...shown }
    },
  )
}

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { isMuted, muteBatch } from '../../domain/notifications/index.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const ofBatch = { tags: ['rules'], params: shapes.byId, querystring: shapes.nothing }

/** Muting a batch: no rule sends mail about it (contract §7). */
export function muteRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [readMuteRoute, setMuteRoute])
}

function readMuteRoute(routes: Routes, { sql, prisma }: Services): void {
  routes.get(
    '/api/batches/:id/mute',
    {
      ...personOnly,
      schema: {
        ...ofBatch,
        summary: 'Whether the batch is muted for all recipients; for users who may stop it',
        response: { 200: z.object({ muted: z.boolean() }) },
      },
    },
    async (request) => ({ muted: await isMuted(sql, prisma, await request.person(), request.params.id) }),
  )
}

function setMuteRoute(routes: Routes, { writer, now }: Services): void {
  routes.put(
    '/api/batches/:id/mute',
    {
      ...personOnly,
      schema: {
        ...ofBatch,
        summary: 'Mute or unmute the mail of all rules about the batch; for users who may stop it',
        body: z.strictObject({ muted: z.boolean() }),
        response: { 200: z.object({ muted: z.boolean() }) },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { muted } = request.body
      await write(writer, (tx) => muteBatch(tx, caller, request.params.id, muted, now()))
      return { muted }
    },
  )
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { visibleBatch } from '../../domain/access.ts'
import {
  type CommandReader,
  cancelCommand,
  commandFields,
  commandsOf,
  requestRerun,
  stepFields,
  timelineOf,
} from '../../domain/agents/index.ts'
import type { Caller } from '../../domain/caller.ts'
import { shapeOf } from '../../domain/field.ts'
import { isStorable } from '../../domain/storable-text.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const storable = z.string().refine(isStorable, 'must be without NUL characters and lone surrogates')
const readerOf = (caller: Caller): CommandReader => ({
  userId: caller.kind === 'known' ? caller.user.id : null,
})

const commandShape = shapeOf(commandFields)

const stepShape = shapeOf(stepFields)

/**
 * The batch, for callers that may read its commands.
 * @throws Problem unauthenticated, forbidden, batch_not_found
 */
async function batchWithCommands(sql: Services['sql'], request: FastifyRequest, id: string) {
  const caller = await request.caller()
  const batch = await visibleBatch(sql, caller, id)
  if (batch.may('know_commands')) return batch
  throw new Problem(caller.kind === 'anonymous' ? 'unauthenticated' : 'forbidden')
}

const ofBatch = { tags: ['batches'], params: shapes.byId, querystring: shapes.nothing }

/** Reruns of a batch, and the commands to agents about it (contract §4, §5; specification §3.3). */
export function rerunRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [requestRerunRoute, listCommandsRoute, timelineRoute, cancelCommandRoute])
}

function requestRerunRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/batches/:id/rerun',
    {
      ...personOnly,
      schema: {
        ...ofBatch,
        summary: 'Rerun the recorded command on the host of the batch; only its owner may change the command',
        body: z
          .strictObject({
            cwd: storable.min(1).max(4_096).optional(),
            command: storable.min(1).max(65_536).optional(),
            jobs: z
              .enum(['all', 'failed'])
              .optional()
              .describe('`failed`: jobs that failed, were lost or never started'),
            confirm: z
              .string()
              .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 in hexadecimal')
              .optional()
              .describe(
                'SHA-256 of the UTF-8 command that the user confirmed: 409 `command_changed` if another would run',
              ),
          })
          .nullish(),
        response: {
          202: z.object({ cmd_id: z.string(), host_id: z.string(), state: z.literal('pending') }),
        },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const wish = request.body ?? {}
      const { cmdId, hostId } = await commit(writer, (tx) =>
        requestRerun(tx, caller, request.params.id, wish, now()),
      )
      return reply.code(202).send({ cmd_id: cmdId, host_id: hostId, state: 'pending' })
    },
  )
}

function listCommandsRoute(routes: Routes, { sql, prisma, now }: Services): void {
  routes.get(
    '/api/batches/:id/commands',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'The commands to agents about the batch, newest first, and the rerun that reports it',
        response: { 200: z.object({ items: z.array(commandShape) }) },
      },
    },
    async (request) => {
      const batch = await batchWithCommands(sql, request, request.params.id)
      return {
        items:
          (await commandsOf(prisma, [batch.key], readerOf(await request.caller()), now())).get(batch.key) ??
          [],
      }
    },
  )
}

function timelineRoute(routes: Routes, { sql, now }: Services): void {
  routes.get(
    '/api/batches/:id/timeline',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'The steps of the batch, its stops and its reruns, oldest first',
        response: { 200: z.object({ items: z.array(stepShape) }) },
      },
    },
    async (request) => {
      const batch = await batchWithCommands(sql, request, request.params.id)
      return { items: await timelineOf(sql, batch.key, readerOf(await request.caller()), now()) }
    },
  )
}

function cancelCommandRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/batches/:id/commands/:cmd_id/cancel',
    {
      ...personOnly,
      schema: {
        tags: ['batches'],
        summary: 'Cancel a command that no agent has started',
        params: z.object({ id: z.string(), cmd_id: z.string() }),
        querystring: shapes.nothing,
        body: shapes.noInput,
        response: { 200: z.object({ state: z.literal('cancelled') }) },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { id, cmd_id } = request.params
      await commit(writer, (tx) => cancelCommand(tx, caller, id, cmd_id, now()))
      return { state: 'cancelled' as const }
    },
  )
}

import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
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
import * as shapes from '../request/shapes.ts'

const storable = z.string().refine(isStorable, 'must be without NUL characters and lone surrogates')
const readerOf = (caller: Caller): CommandReader => ({
  userId: caller.kind === 'known' ? caller.user.id : null,
})

const commandShape = shapeOf(commandFields)

const stepShape = shapeOf(stepFields)

/** Running a batch again, and what agents did about it (contract §4, §5; specification §3.3). */
export function rerunRoutes(app: FastifyInstance, services: Services): void {
  const { sql, writer, now } = services
  const routes = app.withTypeProvider<ZodTypeProvider>()
  const ofBatch = { tags: ['batches'], params: shapes.byId, querystring: shapes.nothing }

  routes.post(
    '/api/batches/:id/rerun',
    {
      ...personOnly,
      schema: {
        ...ofBatch,
        summary:
          'Run again what the batch recorded, on the host it ran on; only its owner may change what runs',
        body: z
          .strictObject({
            cwd: storable.min(1).max(4_096).optional(),
            command: storable.min(1).max(65_536).optional(),
            jobs: z
              .enum(['all', 'failed'])
              .optional()
              .describe('`failed`: those that failed, were lost or never began'),
            confirm: z
              .string()
              .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 in hexadecimal')
              .optional()
              .describe(
                'SHA-256 of the command that you were shown, in UTF-8: 409 `command_changed` if another would run',
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

  /** The batch, for who may know what agents do about it: no visitors. */
  async function knownBatch(request: FastifyRequest, id: string) {
    const batch = await visibleBatch(sql, await request.caller(), id)
    if (batch.may('know_commands')) return batch
    throw (await request.caller()).kind === 'anonymous'
      ? new Problem('unauthenticated')
      : new Problem('forbidden')
  }

  routes.get(
    '/api/batches/:id/commands',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'What agents were told to do about the batch, newest first, and the rerun that reports it',
        response: { 200: z.object({ items: z.array(commandShape) }) },
      },
    },
    async (request) => {
      const batch = await knownBatch(request, request.params.id)
      return {
        items:
          (await commandsOf(sql, [batch.key], readerOf(await request.caller()), now())).get(batch.key) ?? [],
      }
    },
  )

  routes.get(
    '/api/batches/:id/timeline',
    {
      ...readersOnly,
      schema: {
        ...ofBatch,
        summary: 'What happened to the batch, its stops and its reruns, step by step, oldest first',
        response: { 200: z.object({ items: z.array(stepShape) }) },
      },
    },
    async (request) => {
      const batch = await knownBatch(request, request.params.id)
      return { items: await timelineOf(sql, batch.key, readerOf(await request.caller()), now()) }
    },
  )

  routes.post(
    '/api/batches/:id/commands/:cmd_id/cancel',
    {
      ...personOnly,
      schema: {
        tags: ['batches'],
        summary: 'Take a command back that no agent has begun with',
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

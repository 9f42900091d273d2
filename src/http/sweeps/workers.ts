import { recordCommand, startWorkers } from '../../domain/sweeps/index.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import type { Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { start, started, workerCommand } from './sweep-shapes.ts'

const one = { tags: ['sweeps'], params: shapes.byId, querystring: shapes.nothing }

/** Workers record how they were started; people have agents start more of them. */
export function recordCommandRoute(routes: Routes, { writer, ingest, now }: Services): void {
  routes.post(
    '/api/sweeps/:id/commands',
    {
      onRequest: async (request) => void (await request.known()),
      schema: {
        ...one,
        summary: 'Record the command of a worker, so that an agent on its host can start more workers',
        body: workerCommand,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.known()
      ingest.limiter.take(caller.credentialId, 1)
      const { command_redacted: redacted, ...recorded } = request.body
      await commit(writer, (tx) =>
        recordCommand(tx, caller, request.params.id, { ...recorded, redacted }, now()),
      )
      return reply.code(204).send(null)
    },
  )
}

export function startWorkersRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/sweeps/:id/workers',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: 'Have an agent start workers with a command that a worker on its host recorded',
        description:
          'Requires the rights of a rerun, and an agent of the owner that has its own record of the command.',
        body: start,
        response: { 202: started },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { command_id: commandId, workers, confirm } = request.body
      const { cmdIds, hostId } = await commit(writer, (tx) =>
        startWorkers(tx, caller, request.params.id, { commandId, workers, confirm }, now()),
      )
      return reply.code(202).send({ cmd_ids: cmdIds, host_id: hostId, state: 'pending' as const })
    },
  )
}

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../domain/caller.ts'
import {
  changeSweep,
  createSweep,
  type Definition,
  flatSpace,
  planSweep,
  previewOf,
  queueTrials,
  sweepView,
  visibleSweep,
  writableProject,
} from '../../domain/sweeps/index.ts'
import { storeOwnEvents } from '../../ingest/index.ts'
import { clockOf, type Services } from '../../services.ts'
import { commit, write } from '../../stream/commit.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { change, newSweep, preview, previewShape, queue, queued, sweepShape } from './sweep-shapes.ts'
import { askRoute, leaseRoute, listTrialsRoute } from './trials.ts'
import { recordCommandRoute, startWorkersRoute } from './workers.ts'

const tags = ['sweeps']
const bySlug = z.object({ slug: z.string() })
const one = { tags, params: shapes.byId, querystring: shapes.nothing }
const PREVIEWED = 20

/** Sweeps: what to try next, for workers on any machine (docs/sweeps.md). */
export function sweepRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [
    createSweepRoute,
    previewSweepRoute,
    readSweepRoute,
    changeSweepRoute,
    askRoute,
    leaseRoute,
    queueRoute,
    recordCommandRoute,
    startWorkersRoute,
    listTrialsRoute,
  ])
}

async function showOne(services: Services, caller: Caller, id: string) {
  const sweep = await visibleSweep(services.sql, caller, id)
  return sweepView(services.sql, caller, sweep, clockOf(services))
}

/** Programs and people who may send events; the credential is checked before the body is read. */
const senders = {
  onRequest: async (request: { known(): Promise<unknown> }) => void (await request.known()),
}

function createSweepRoute(routes: Routes, services: Services): void {
  const { writer, ingest, now } = services
  routes.post(
    '/api/projects/:slug/sweeps',
    {
      ...senders,
      schema: {
        tags,
        summary: 'Create a sweep: a batch whose jobs are trials of a search space',
        params: bySlug,
        querystring: shapes.nothing,
        body: newSweep,
        response: { 201: sweepShape },
      },
    },
    async (request, reply) => {
      const caller = await request.known()
      ingest.limiter.take(caller.credentialId, 1)
      const { max_trials = null, early_stopping, command, ...rest } = request.body
      const definition = {
        ...rest,
        parameters: flatSpace(rest.parameters),
        ...(early_stopping && { early_stopping }),
        ...(command && { command }),
      } as Definition
      const planned = await write(writer, (tx) =>
        planSweep(tx, caller, request.params.slug, definition, max_trials),
      )
      await storeOwnEvents(ingest, caller.user, [planned.start], now())
      const id = await commit(writer, (tx) => createSweep(tx, caller, planned, now()))
      return reply.code(201).send(await showOne(services, caller, id))
    },
  )
}

function previewSweepRoute(routes: Routes, { writer }: Services): void {
  routes.post(
    '/api/projects/:slug/sweeps/preview',
    {
      ...senders,
      schema: {
        tags,
        summary: `What a sweep of this definition would try: its first ${PREVIEWED} trials. Stores nothing`,
        params: bySlug,
        querystring: shapes.nothing,
        body: preview,
        response: { 200: previewShape },
      },
    },
    async (request) => {
      const caller = await request.known()
      await write(writer, (tx) => writableProject(tx, caller, request.params.slug))
      const { max_trials = null, method, parameters } = request.body
      return previewOf({ method, parameters: flatSpace(parameters) }, max_trials, PREVIEWED) as z.output<
        typeof previewShape
      >
    },
  )
}

function readSweepRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/sweeps/:id',
    { schema: { ...one, summary: 'One sweep; also with a reporter token', response: { 200: sweepShape } } },
    async (request) => showOne(services, await request.caller(), request.params.id),
  )
}

function changeSweepRoute(routes: Routes, services: Services): void {
  const { writer, ingest, now } = services
  routes.patch(
    '/api/sweeps/:id',
    {
      ...senders,
      schema: {
        ...one,
        summary: 'Pause, resume, stop, extend or edit a sweep',
        description:
          'A paused or stopped sweep hands out no trials; trials that run go on. To stop these too, stop its batch. `running` resumes it, also after a stop.',
        body: change,
        response: { 200: sweepShape },
      },
    },
    async (request) => {
      const caller = await request.known()
      const { id } = request.params
      const { parameters, ...rest } = request.body
      const wanted = { ...rest, ...(parameters && { parameters: flatSpace(parameters) }) }
      const { owner, batchEvents } = await commit(writer, (tx) =>
        changeSweep(tx, caller, id, wanted, clockOf(services)),
      )
      await storeOwnEvents(ingest, owner, batchEvents, now())
      return showOne(services, caller, id)
    },
  )
}

function queueRoute(routes: Routes, services: Services): void {
  const { writer, ingest, now } = services
  routes.post(
    '/api/sweeps/:id/queue',
    {
      ...senders,
      schema: {
        ...one,
        summary: 'Queue trials: repeat failed ones, or run the parameters of a trial with other seeds',
        description:
          'The next workers get them before new ones. They do not count for max_trials. A stopped or finished sweep runs again.',
        body: queue,
        response: { 201: queued },
      },
    },
    async (request, reply) => {
      const caller = await request.known()
      const { body } = request
      const wanted = 'failed' in body ? body : { ...body, seedName: body.seed_name }
      const { owner, batchEvents, numbers } = await commit(writer, (tx) =>
        queueTrials(tx, caller, request.params.id, wanted, clockOf(services)),
      )
      await storeOwnEvents(ingest, owner, batchEvents, now())
      return reply.code(201).send({ numbers })
    },
  )
}

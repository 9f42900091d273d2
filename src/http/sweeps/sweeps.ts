import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../domain/caller.ts'
import { cursorOf } from '../../domain/cursors.ts'
import { writeNumber } from '../../domain/numbers.ts'
import {
  changeSweep,
  createSweep,
  type Definition,
  intermediateValues,
  planSweep,
  previewOf,
  renewTrial,
  reserveTrial,
  sweepView,
  trialRows,
  trialView,
  visibleSweep,
  writableProject,
} from '../../domain/sweeps/index.ts'
import { storeOwnEvents } from '../../ingest/index.ts'
import { clockOf, type Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { numberText } from '../request/number-text.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import {
  ask,
  change,
  lease,
  leased,
  newSweep,
  preview,
  previewShape,
  reserved,
  sweepShape,
  trialShape,
} from './sweep-shapes.ts'

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
    listTrialsRoute,
  ])
}

async function showOne(services: Services, caller: Caller, id: string) {
  const sweep = await visibleSweep(services.sql, caller, id)
  return sweepView(services.sql, caller, sweep, clockOf(services)) as Promise<z.output<typeof sweepShape>>
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
        ...(early_stopping && { early_stopping }),
        ...(command && { command }),
      } as Definition
      const planned = await commit(writer, async (tx) => ({
        result: await planSweep(tx, caller, request.params.slug, definition, max_trials),
        changes: [],
      }))
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
      await commit(writer, async (tx) => ({
        result: await writableProject(tx, caller, request.params.slug),
        changes: [],
      }))
      const { max_trials = null, ...definition } = request.body
      return previewOf(definition as Definition, max_trials, PREVIEWED) as z.output<typeof previewShape>
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
        summary: 'Pause, resume, stop or extend a sweep',
        description:
          'A paused or stopped sweep hands out no trials; trials that run go on. To stop these too, stop its batch. `running` resumes it, also after a stop.',
        body: change,
        response: { 200: sweepShape },
      },
    },
    async (request) => {
      const caller = await request.known()
      const { id } = request.params
      const { owner, batchEvents } = await commit(writer, (tx) =>
        changeSweep(tx, caller, id, request.body, clockOf(services)),
      )
      await storeOwnEvents(ingest, owner, batchEvents, now())
      return showOne(services, caller, id)
    },
  )
}

function askRoute(routes: Routes, services: Services): void {
  const { writer, ingest, now } = services
  routes.post(
    '/api/sweeps/:id/trials',
    {
      ...senders,
      schema: {
        ...one,
        summary: 'Ask for a trial: no two workers get the same one; 204 if there is none left',
        body: ask,
        response: { 201: reserved, 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.known()
      ingest.limiter.take(caller.credentialId, 1)
      const {
        worker,
        params,
        ask_id: askId,
        lease_s: leaseS,
        reports_start: reportsStart = false,
      } = request.body
      const asked = { worker, params: params ?? undefined, askId, leaseS, reportsStart }
      const { trial, owner, batchEvents, jobEvents } = await commit(writer, (tx) =>
        reserveTrial(tx, caller, request.params.id, asked, clockOf(services)),
      )
      await storeOwnEvents(ingest, owner, batchEvents, now())
      await storeOwnEvents(ingest, caller.user, jobEvents, now())
      if (trial === null) return reply.code(204).send(null)
      return reply.code(201).send(trial as z.output<typeof reserved>)
    },
  )
}

const oneTrial = z.object({ id: z.string(), number: numberText(z.int().min(0)) })

function leaseRoute(routes: Routes, services: Services): void {
  routes.post(
    '/api/sweeps/:id/trials/:number/lease',
    {
      ...senders,
      schema: {
        tags,
        summary: 'Renew the lease of a trial that this worker has, or give the trial back',
        description:
          'Only the worker whose `ask_id` reserved the trial: 409 `trial_taken` if another one has it.',
        params: oneTrial,
        querystring: shapes.nothing,
        body: lease,
        response: { 200: leased },
      },
    },
    async (request) => {
      const caller = await request.known()
      const { id, number } = request.params
      const { ask_id: askId, release } = request.body
      return commit(services.writer, (tx) =>
        renewTrial(tx, caller, { id, number, askId, release }, clockOf(services)),
      )
    },
  )
}

const position = z.object({ number: z.int().min(0) })

function listTrialsRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/sweeps/:id/trials',
    {
      schema: {
        tags,
        summary: 'The trials of a sweep, newest first; also with a reporter token',
        params: shapes.byId,
        querystring: z.strictObject({
          ...pageQuery,
          changed_after: numberText(z.int().min(0))
            .optional()
            .describe('Only trials that run, and those whose `changed` is above this: the news for a worker'),
          intermediate: z
            .enum(['true', 'false'])
            .default('false')
            .describe('With the values of the metric by step'),
        }),
        response: { 200: pageOf(trialShape) },
      },
    },
    async (request) => {
      const caller = await request.caller()
      const sweep = await visibleSweep(sql, caller, request.params.id)
      const { limit, cursor: text, changed_after: changedAfter, intermediate } = request.query
      const cursor = cursorOf(`trials ${sweep.id} ${changedAfter ?? ''}`, position)
      const found = await trialRows(sql, sweep, {
        limit: limit + 1,
        before: cursor.read(text)?.number,
        changedAfter,
      })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, ({ number }) => ({ number }))
      const clock = clockOf(services)
      const items = rows.map((row) => trialView(row, caller, sweep, clock))
      if (intermediate === 'true') {
        const series = await intermediateValues(
          sql,
          sweep,
          items.map((item) => item.job_id),
        )
        for (const item of items) {
          item.intermediate = (series.get(item.job_id) ?? []).map(([step, value]) => [
            step,
            writeNumber(value),
          ])
        }
      }
      return { items, next_cursor } as z.output<ReturnType<typeof pageOf<typeof trialShape>>>
    },
  )
}

import { z } from 'zod'
import { cursorOf } from '../../domain/cursors.ts'
import { writeNumber } from '../../domain/numbers.ts'
import {
  intermediateValues,
  renewTrial,
  reserveTrial,
  trialRows,
  trialView,
  visibleSweep,
} from '../../domain/sweeps/index.ts'
import { storeOwnEvents } from '../../ingest/index.ts'
import { clockOf, type Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { numberText } from '../request/number-text.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import type { Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { ask, lease, leased, reserved, trialShape } from './sweep-shapes.ts'

const tags = ['sweeps']
const one = { tags, params: shapes.byId, querystring: shapes.nothing }
/** Programs and people who may send events; the credential is checked before the body is read. */
const senders = {
  onRequest: async (request: { known(): Promise<unknown> }) => void (await request.known()),
}

export function askRoute(routes: Routes, services: Services): void {
  const { writer, ingest, now } = services
  routes.post(
    '/api/sweeps/:id/trials',
    {
      ...senders,
      schema: {
        ...one,
        summary: 'Request a trial; no two workers get the same one. 204 if none is left',
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

export function leaseRoute(routes: Routes, services: Services): void {
  routes.post(
    '/api/sweeps/:id/trials/:number/lease',
    {
      ...senders,
      schema: {
        tags,
        summary: 'Renew the lease of a trial that this worker holds, or return the trial',
        description:
          'For the worker whose `ask_id` reserved the trial: 409 `trial_taken` if another worker holds it.',
        params: oneTrial,
        querystring: shapes.nothing,
        body: lease,
        response: { 200: leased },
      },
    },
    async (request) => {
      const caller = await request.known()
      const { id, number } = request.params
      const { ask_id: askId, release, evicted } = request.body
      return commit(services.writer, (tx) =>
        renewTrial(tx, caller, { id, number, askId, release, evicted }, clockOf(services)),
      )
    },
  )
}

const position = z.object({ number: z.int().min(0) })

export function listTrialsRoute(routes: Routes, services: Services): void {
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
            .describe('Only running trials, and those whose `changed` is above this'),
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
      return { items, next_cursor }
    },
  )
}

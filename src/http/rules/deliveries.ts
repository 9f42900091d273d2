import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { cursorOf } from '../../domain/cursors.ts'
import {
  type DeliveryPosition,
  type DeliveryView,
  deliveriesOf,
  deliveryShape,
  previewMessage,
  sendAgain,
} from '../../domain/notifications/index.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { createAttemptLimits } from '../request/attempts.ts'
import { personOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const tags = ['rules']
const position: z.ZodType<DeliveryPosition> = z.object({ firing: z.int().min(0), id: z.uuid() })

/** The messages of a rule and their attempts (contract §11 "Channels"); for a project's owner and administrators. */
export function messageRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listDeliveriesRoute, sendAgainRoute, previewMessageRoute])
}

function listDeliveriesRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/rules/:id/deliveries',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'The messages of a rule, newest first, with their attempts',
        params: shapes.byId,
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(deliveryShape) },
      },
    },
    async (request) => {
      const { limit, cursor: text } = request.query
      const { id } = request.params
      const cursor = cursorOf(`deliveries ${id}`, position)
      const caller = await request.person()
      const found = await deliveriesOf(sql, caller, id, { limit: limit + 1, after: cursor.read(text) })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, ({ firing, id: last }) => ({
        firing,
        id: last,
      }))
      return { items: rows.map(show), next_cursor }
    },
  )
}

const show = ({ firing: _firing, ...view }: DeliveryView & { firing?: number }): DeliveryView => view

function sendAgainRoute(routes: Routes, { writer, now }: Services): void {
  const limits = createAttemptLimits({ account: 30, address: 60 })
  routes.post(
    '/api/rules/:id/deliveries/:delivery/send',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Send a message to its channel again, with the same content and id; not for mail',
        params: z.object({ id: z.string(), delivery: z.string() }),
        querystring: shapes.nothing,
        body: shapes.noInput,
        response: { 202: deliveryShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { id, delivery } = request.params
      limits.take({ account: caller.user.id, address: request.ip }, now())
      const sent = await write(writer, (tx) => sendAgain(tx, caller, id, delivery, now()))
      return reply.code(202).send(show(sent))
    },
  )
}

const messageShape = z.object({
  kind: z.string(),
  subject: z.string(),
  text: z.string().describe('As plain text'),
  request: z
    .object({ headers: z.record(z.string(), z.string()), body: z.unknown() })
    .nullable()
    .describe('What is sent to the channel, without its address and secrets; null for mail'),
})

function previewMessageRoute(routes: Routes, services: Services): void {
  const { sql, config } = services
  routes.get(
    '/api/rules/:id/messages',
    {
      ...personOnly,
      schema: {
        tags,
        summary:
          'The last message of the rule as each of its channels gets it; a test message if there is none',
        params: shapes.byId,
        querystring: shapes.nothing,
        response: { 200: z.object({ items: z.array(messageShape) }) },
      },
    },
    async (request) => ({
      items: await previewMessage(sql, await request.person(), request.params.id, config.publicUrl ?? ''),
    }),
  )
}

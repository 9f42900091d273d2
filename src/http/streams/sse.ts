import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { decodeJwt } from 'jose'
import { z } from 'zod'
import { OPERATION_COST } from '../../cost-budget.ts'
import { type Caller, payerOf } from '../../domain/caller.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { countAsStream } from '../server/load.ts'

const repeatable = z
  .union([z.string(), z.array(z.string())])
  .transform((given) => [given].flat())
  .optional()

const eventsQuery = z.strictObject({
  channels: repeatable.describe('Channel names, separated by commas; repeatable'),
  channel: repeatable.describe('One exact channel, for ids that contain commas; repeatable'),
  last_event_id: z
    .string()
    .optional()
    .describe('Cursor to continue from; overridden by the header Last-Event-ID, which EventSource sends'),
})

const operation = z.looseObject({
  query: z.string(),
  variables: z.record(z.string(), z.unknown()).nullish(),
  operationName: z.string().nullish(),
  extensions: z.record(z.string(), z.unknown()).nullish(),
})
/** The answer of both routes: a stream that does not end by itself. */
const eventStream = (description: string) => ({
  200: { description, content: { 'text/event-stream': { schema: z.string() } } },
})
const MAX_OPERATION_BYTES = 100 * 1024
const tags = ['stream']

/** The live stream (contract §6). Errors are sent as problem+json before it begins. */
export function sseRoutes(app: FastifyInstance, services: Services): void {
  // Ends streams before the server closes, so that clients reconnect to another server at once.
  app.addHook('preClose', async () => services.sse.stop())
  addRoutes(app, services, [eventsRoute, operationRoute])
}

function eventsRoute(routes: Routes, { live, sse, budget, visitors, log }: Services): void {
  routes.get(
    '/api/sse',
    {
      exposeHeadRoute: false,
      schema: {
        tags,
        summary: 'Changes as they happen, as server-sent events',
        description:
          'Channels: project:{slug}, batch:{id}, metrics:{batch_id}, logs:{batch_id}, resources:{batch_id}, host:{agent_id}, hosts, notices, dashboard, share:{token}; at most 100. Each message has `id` (a cursor), `event` (the kind of the channel) and `data` {channel, type, at, payload}. `event: reset` says that the cursor is not valid and the client must load its data again.',
        querystring: eventsQuery,
        response: eventStream('Messages, and a comment every 15 seconds'),
      },
    },
    async (request, reply) => {
      const { channels = [], channel = [], last_event_id } = request.query
      const names = [...channels.flatMap((list) => list.split(',')).filter((name) => name !== ''), ...channel]
      const after = cursorOf(headerOf(request, 'last-event-id') || last_event_id)
      const caller = await request.caller()
      const payer = payerOf(caller)
      budget.take(payer, OPERATION_COST)
      routes.streamSlots.take(request, reply)
      const follow = () => live.follow(caller, names, { after, until: endOf(request, caller) })
      const subscription = await (payer.kind === 'visitor'
        ? visitors.run(payer.key, follow, () => reply.raw.closed)
        : follow())
      const headers = takeOver(reply)
      await sse.serveEvents(reply.raw, headers, subscription, caller).catch((err) => {
        log.warn({ err, request_id: request.id }, 'a stream failed; its client comes back with its cursor')
      })
    },
  )
}

function operationRoute(routes: Routes, services: Services): void {
  routes.post(
    '/api/sse',
    {
      ...readersOnly,
      bodyLimit: MAX_OPERATION_BYTES,
      schema: {
        tags,
        summary: 'A GraphQL subscription, for clients of graphql-sse',
        querystring: z.strictObject({}),
        body: operation,
        response: eventStream('`next` with each result; errors of the operation as well'),
      },
    },
    (request, reply) => streamOperation(services, request, reply, request.body),
  )
}

/**
 * Answers with the stream of a subscription; /graphql uses it too. Errors of the operation are sent within the stream.
 */
export async function streamOperation(
  { sse, budget, log }: Pick<Services, 'sse' | 'budget' | 'log'>,
  request: FastifyRequest,
  reply: FastifyReply,
  params: object,
): Promise<void> {
  const caller = await request.caller()
  budget.take(payerOf(caller), OPERATION_COST)
  request.server.streamSlots.take(request, reply)
  const options = {
    until: endOf(request, caller),
    lastEventId: cursorOf(headerOf(request, 'last-event-id')),
    onOpen: () => countAsStream(request),
  }
  const headers = takeOver(reply)
  await sse
    .serveOperation(reply.raw, headers, { ...params }, caller, options)
    .catch((err) => log.warn({ err, request_id: request.id }, 'a stream failed'))
}

/** Hands the answer over to the stream, with the headers that are set so far. */
function takeOver(reply: FastifyReply): OutgoingHttpHeaders {
  reply.hijack()
  return reply.getHeaders() as OutgoingHttpHeaders
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** @throws Problem invalid_query for text that cannot be a cursor; an expired cursor gets a reset from the stream */
function cursorOf(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const message = 'must be the id of a message'
  throw new Problem('invalid_query', {
    detail: `last_event_id: ${message}`,
    errors: [{ path: 'last_event_id', message }],
  })
}

/** When the credential expires: the `exp` of a JWT, which was verified before. */
function endOf(request: FastifyRequest, caller: Caller): Date | undefined {
  if (caller.kind === 'anonymous' || caller.via !== 'session') return undefined
  const token = request.headers.authorization?.split(' ').at(-1)
  const { exp } = token === undefined ? {} : decodeJwt(token)
  return exp === undefined ? undefined : new Date(exp * 1000)
}

import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import Negotiator from 'negotiator'
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { delayRefusal } from '../server/visitors.ts'
import { streamOperation } from './sse.ts'

/** The handlers of the GraphQL endpoint: graphql/handlers.ts and graphql/schema.ts, set by app.ts. */
export interface GraphqlEndpoint {
  answer(
    request: { method: string; url: string; headers: IncomingHttpHeaders; body: unknown },
    caller: Caller,
    gone: () => boolean,
  ): Promise<{ status: number; headers: Record<string, string>; body: string }>
  /** The schema in GraphQL's definition language. */
  schemaText: () => string
  /** Whether these parameters of a request are those of a subscription. */
  isSubscription(params: Record<string, unknown>): boolean
}

/**
 * The longest body. The documents of the page are a few KiB. A longer one is still read, so that the 400 can name the
 * limit that it exceeds.
 */
export const MAX_BYTES = 1024 * 1024

/**
 * /graphql (contract §6): POST with JSON, GET for queries, and GraphiQL for a browser. The hooks of REST apply:
 * the Host, the caller, and that an unsafe request with a cookie comes from our own pages.
 */
export function graphqlRoutes(
  app: FastifyInstance,
  graphql: GraphqlEndpoint,
  services: Pick<Services, 'sse' | 'budget' | 'log'>,
): void {
  const hidden = { schema: { hide: true } }

  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    exposeHeadRoute: false,
    bodyLimit: MAX_BYTES,
    // JSON that cannot be read is 400 in GraphQL over HTTP, 422 elsewhere.
    config: { rawJson: true },
    ...hidden,
    ...readersOnly,
    handler: async (request, reply) => {
      const caller = await request.caller()
      if (request.method === 'GET' && wantsPage(request.url, request.headers)) {
        if (caller.kind === 'anonymous')
          throw new Problem('unauthenticated', { detail: 'Sign in to see this page' })
        return reply.sendPage('graphiql.html')
      }
      if (request.method === 'GET' && !/[?&]query=/.test(request.url)) {
        throw new Problem('bad_request', { detail: 'A GET needs the parameter query' })
      }
      // A browser does not send JSON to another site without a preflight, and no other type is accepted.
      const body = request.method === 'POST' ? objectIn(request.body) : undefined
      const { method, url, headers } = request
      const params = body ?? paramsIn(url)
      if (allowsStreams(headers.accept) && graphql.isSubscription(params)) {
        await streamOperation(services, request, reply, params)
        return reply
      }
      // Clients of graphql-sse ask for everything as a stream; that of a query has a single result.
      const alone = headers.accept === EVENT_STREAM
      const asked = alone ? { ...headers, accept: 'application/json' } : headers
      const answer = await graphql.answer(
        { method, url, headers: asked, body },
        caller,
        () => reply.raw.closed,
      )
      if (answer.status === 429) await delayRefusal()
      if (alone && answer.status === 200)
        return reply
          .headers({ ...answer.headers, 'content-type': `${EVENT_STREAM}; charset=utf-8` })
          .send(`event: next\ndata: ${answer.body}\n\nevent: complete\ndata:\n\n`)
      return reply.code(answer.status).headers(answer.headers).send(answer.body)
    },
  })
  app.get('/graphql/schema.graphql', hidden, (_request, reply) =>
    reply
      .type('application/graphql; charset=utf-8')
      .header('cache-control', 'no-cache')
      .send(graphql.schemaText()),
  )
}

function objectIn(bytes: unknown): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(String(bytes))
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { ...body }
  } catch {
    // Refused below.
  }
  throw new Problem('bad_request', { detail: 'The body must be a JSON object with a query' })
}

/** The parameters of a GET, in the form of a POST. Variables that are not JSON are refused here. */
function paramsIn(url: string): Record<string, unknown> {
  const { variables, ...params } = Object.fromEntries(new URL(url, 'http://host').searchParams)
  return variables === undefined ? params : { ...params, variables: { ...objectIn(variables) } }
}

/** Whether `Accept` allows text/event-stream, by a list or a wildcard (contract §6). */
const allowsStreams = (accept = '*/*'): boolean =>
  new Negotiator({ headers: { accept } }).mediaType([EVENT_STREAM]) !== undefined
const EVENT_STREAM = 'text/event-stream'

/** A browser that opens /graphql without a query, and not a program that reads JSON. */
const wantsPage = (url: string, headers: IncomingHttpHeaders): boolean =>
  !url.includes('?') && (headers.accept ?? '').includes('text/html')

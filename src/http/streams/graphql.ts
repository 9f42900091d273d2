import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import Negotiator from 'negotiator'
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { readersOnly } from '../request/credentials.ts'
import { streamOperation } from './sse.ts'

/** The handlers of the GraphQL endpoint: graphql/handlers.ts and graphql/page.ts, set by app.ts. */
export interface GraphqlEndpoint {
  answer(
    request: { method: string; url: string; headers: IncomingHttpHeaders; body: unknown },
    caller: Caller,
  ): Promise<{ status: number; headers: Record<string, string>; body: string }>
  page: { html: string; script: string; style: string }
  /** Whether these parameters of a request are those of a subscription. */
  isSubscription(params: Record<string, unknown>): boolean
}

/**
 * The longest body. The largest documents of the pages are a few KiB; what is longer than their tokens may be is read
 * so far all the same, for the 400 that says which limit it broke.
 */
export const MAX_BYTES = 1024 * 1024

/**
 * /graphql (contract §6): POST with JSON, GET for queries; and with GET, for a browser, a page to try it on. The hooks
 * of REST hold here as well: Host, the caller, and that the unsafe request of a cookie comes from our own pages.
 */
export function graphqlRoutes(
  app: FastifyInstance,
  graphql: GraphqlEndpoint,
  services: Pick<Services, 'sse' | 'log'>,
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
        return sendFile(reply, 'text/html', graphql.page.html)
      }
      if (request.method === 'GET' && !/[?&]query=/.test(request.url)) {
        throw new Problem('bad_request', { detail: 'A GET needs a query' })
      }
      // A browser sends no JSON across sites unasked, and nothing else is taken.
      const body = request.method === 'POST' ? objectIn(request.body) : undefined
      const { method, url, headers } = request
      const params = body ?? paramsIn(url)
      if (streams(headers.accept, () => graphql.isSubscription(params))) {
        await streamOperation(services, request, reply, params)
        return reply
      }
      const answer = await graphql.answer({ method, url, headers, body }, caller)
      return reply
        .code(answer.status)
        .headers(answer.headers)
        .header('cache-control', 'no-store')
        .send(answer.body)
    },
  })
  app.get('/graphql/page.js', hidden, (_request, reply) =>
    sendFile(reply, 'text/javascript', graphql.page.script),
  )
  app.get('/graphql/page.css', hidden, (_request, reply) => sendFile(reply, 'text/css', graphql.page.style))
}

const sendFile = (reply: FastifyReply, type: string, text: string): FastifyReply =>
  reply.type(`${type}; charset=utf-8`).header('cache-control', 'no-cache').send(text)

function objectIn(bytes: unknown): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(String(bytes))
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { ...body }
  } catch {
    // Said below.
  }
  throw new Problem('bad_request', { detail: 'The body must be a JSON object with a query' })
}

/** The parameters of a GET, as those of a POST; variables that are no JSON are refused when the operation is read. */
function paramsIn(url: string): Record<string, unknown> {
  const { variables, ...params } = Object.fromEntries(new URL(url, 'http://host').searchParams)
  return variables === undefined ? params : { ...params, variables: { ...objectIn(variables) } }
}

/**
 * Whether the answer is a stream: always where the client takes nothing else, as clients of graphql-sse say; for a
 * subscription wherever text/event-stream is among what it takes, by a list or a wildcard.
 */
function streams(accept: string | undefined, isSubscription: () => boolean): boolean {
  if (accept === EVENT_STREAM) return true
  const allowed = new Negotiator({ headers: { accept: accept ?? '*/*' } }).mediaType([EVENT_STREAM])
  return allowed !== undefined && isSubscription()
}
const EVENT_STREAM = 'text/event-stream'

/** A browser that was given the bare address, and not a program that asks for JSON. */
const wantsPage = (url: string, headers: IncomingHttpHeaders): boolean =>
  !url.includes('?') && (headers.accept ?? '').includes('text/html')

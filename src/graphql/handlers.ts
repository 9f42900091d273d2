import type { IncomingHttpHeaders } from 'node:http'
import type { DocumentNode, GraphQLSchema } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { OPERATION_COST } from '../cost-budget.ts'
import { type Caller, payerOf } from '../domain/caller.ts'
import { shareOfHeap } from '../memory.ts'
import { Problem } from '../problem.ts'
import { scrub } from '../secrets.ts'
import { byGraphqlJs } from './columns.ts'
import type { Context } from './context.ts'
import { type CostLimits, LIMITS, limits } from './limits.ts'
import { documentedCode, maskWith, refusal } from './mask.ts'

/** How many parsed and validated documents are cached, and how much memory they may take, in bytes. */
const DOCUMENTS = 200
const DOCUMENT_BYTES = shareOfHeap(1 / 16, 32 * 1024 * 1024)
/** Refused documents are kept with their errors. */
const REFUSED_BYTES = DOCUMENT_BYTES / 8
/** A syntax tree takes 60 to 135 bytes a character, up to the limit of tokens. */
const TREE_BYTES = 100
const TREE_CHARACTERS = 2 * LIMITS.tokens

/** The handler that http/streams/graphql.ts calls, which has the caller and has read the body. */
export interface Graphql {
  /** @param gone whether the client has gone. @throws Problem budget_exceeded, too_many_requests, overloaded */
  answer(request: GraphqlRequest, caller: Caller, gone?: () => boolean): Promise<GraphqlAnswer>
}

export interface GraphqlRequest {
  method: string
  /** Path and query. */
  url: string
  headers: IncomingHttpHeaders
  /** The parsed JSON of a POST. */
  body: unknown
}

export interface GraphqlAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/**
 * Queries over HTTP (contract §6; the GraphQL-over-HTTP specification), by yoga without its features for the public
 * web: no CORS, no page from a CDN, no batching, no uploads.
 * @param options.contextFor creates the context that the resolvers of one request share
 */
export function createGraphql(
  options: {
    schema: GraphQLSchema
    contextFor: (caller: Caller) => Context
    log: Logger
  } & CostLimits,
): Graphql {
  const { schema, contextFor, budget, visitors, log } = options
  const yoga = createYoga<Context>({
    schema,
    graphqlEndpoint: '/graphql',
    cors: false,
    graphiql: false,
    landingPage: false,
    batching: false,
    multipart: false,
    logging: false,
    maskedErrors: { maskError: maskWith(log) },
    // Enough for the documents of the page and of some notebooks; the size of each is limited.
    parserAndValidationCache: {
      documentCache: new LRUCache<string, DocumentNode>({
        max: DOCUMENTS,
        maxSize: DOCUMENT_BYTES,
        sizeCalculation: (_, { length }) => 2 * length + TREE_BYTES * Math.min(length, TREE_CHARACTERS),
      }),
      errorCache: new LRUCache<string, ReadonlyArray<unknown>>({
        max: DOCUMENTS,
        maxSize: REFUSED_BYTES,
        sizeCalculation: (_, { length }) => 2 * length + 1_000,
      }),
    },
    // The last plugin decides when the execution begins.
    plugins: [byGraphqlJs(), ...limits({ budget }), noSubscriptions()],
  })
  return {
    async answer(request, caller, gone) {
      const payer = payerOf(caller)
      budget.take(payer, OPERATION_COST)
      const work = async () =>
        yoga.handleNodeRequest(request as never, { ...contextFor(caller), wholeColumns: true })
      const response = await (payer.kind === 'visitor' ? visitors.run(payer.key, work, gone) : work())
      const headers: Record<string, string> = {}
      response.headers.forEach((value, name) => {
        headers[name] = value
      })
      const body = await response.text()
      // Messages about an invalid document quote the document; they contain no data.
      return {
        status: response.status,
        headers,
        body: body.startsWith('{"errors":') ? shownErrors(body) : body,
      }
    },
  }
}

/** An answer that has only errors: with documented codes, and without text that looks like a secret. */
function shownErrors(body: string): string {
  if (body.includes('"data":{')) return body
  const { errors, ...rest } = JSON.parse(body) as { errors: { extensions?: { code?: unknown } }[] }
  const coded = errors.map((error) => ({
    ...error,
    extensions: { ...error.extensions, code: documentedCode(error.extensions) },
  }))
  return scrub(JSON.stringify({ errors: coded, ...rest }))
}

/** A subscription for which no stream is accepted (http/streams/graphql.ts). */
const noSubscriptions = (): Plugin => ({
  onSubscribe({ setResultAndStopExecution }) {
    const detail =
      'A subscription is answered with a stream, here and at /api/sse: send the header Accept: text/event-stream'
    const problem = new Problem('not_acceptable', { detail })
    setResultAndStopExecution({
      errors: [refusal(problem)],
      extensions: { http: { status: problem.status } },
    })
  },
})

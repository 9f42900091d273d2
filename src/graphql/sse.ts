import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import { createHandler } from 'graphql-sse'
import type { Logger } from 'pino'
import { required } from '../checked.ts'
import { type Caller, payerOf } from '../domain/caller.ts'
import type { Live } from '../domain/live/index.ts'
import { Problem } from '../problem.ts'
import type { Subscription } from '../stream/subscription.ts'
import type { Context } from './context.ts'
import type { CostLimits } from './limits.ts'
import { maskWith, refusal } from './mask.ts'
import { createSharedExecution, type SharedExecution } from './shared-execution.ts'
import { type FrameResult, framesOf, readOperation, refused } from './sse-sources.ts'
import {
  enqueue,
  type Following,
  followingOf,
  keepAlive,
  newStream,
  open,
  release,
  type SseTimes,
  type Stream,
  write,
} from './sse-stream.ts'

/**
 * Server-sent events (contract §6), by graphql-sse's handler in two profiles:
 *
 *  events      for EventSource: named channels, `id`, `event` and `data` of each message. GraphQL does not execute
 *              them; their bytes were made once for all streams.
 *  operation   for clients of graphql-sse: a subscription operation, `next` with a result, and the cursor as `id`.
 *
 * graphql-sse has none of these, so they are added (sse-stream.ts): `id` lines, back-pressure in frames and bytes, and
 * the end of clients that do not read. The server does not send `complete` when it ends a stream: the client reconnects
 * with its cursor, and the status of that request says whether it may still follow.
 */
export interface Sse {
  /** The profile of EventSource, over a subscription whose permission was checked. Ends with the stream. */
  serveEvents(
    res: ServerResponse,
    headers: OutgoingHttpHeaders,
    subscription: Subscription,
    caller: Caller,
  ): Promise<void>
  /**
   * The profile of graphql-sse's clients. Errors of the operation are GraphQL errors.
   * @param params the request: {query, variables?, operationName?, extensions?}
   * @param options.until when the caller's credential expires
   * @param options.lastEventId the cursor that a reconnecting client sends; wins over the operation's own
   * @param options.onOpen called when the answer becomes a stream; an operation may be refused instead
   */
  serveOperation(
    res: ServerResponse,
    headers: OutgoingHttpHeaders,
    params: Record<string, unknown>,
    caller: Caller,
    options?: { until?: Date | undefined; lastEventId?: number | undefined; onOpen?: () => void },
  ): Promise<void>
  /** `executed`: results that were computed. `shared`: results that were taken from another stream's execution. */
  readonly counts: { open: number; cutOff: number; executed: number; shared: number }
  /** Ends every stream. */
  stop(): void
}

export const TIMES: SseTimes = { pingMs: 15_000, stallMs: 60_000, retryMs: 2_000 }

/** Bytes of a stream, most of which are made once for all, that take as long to send as a row costs. */
const BYTES_PER_COST = 2_000

const HEADERS: Record<string, string> = { accept: 'text/event-stream', 'content-type': 'application/json' }

/**
 * @param options.contextFor makes the context of an operation, whose subscription goes through the `live` that it is given
 */
export function createSse(
  options: {
    schema: GraphQLSchema
    live: Live
    contextFor: (caller: Caller, live: Following) => Context
    log: Logger
    times?: Partial<SseTimes> | undefined
  } & CostLimits,
): Sse {
  const { live, budget } = options
  const times = { ...TIMES, ...options.times }
  const streams = new Set<Stream>()
  const counts = { open: 0, cutOff: 0 }
  const execution = createSharedExecution(options)
  const handle = createOperationHandler(options, execution)

  async function serve(
    stream: Stream,
    caller: Caller,
    headers: OutgoingHttpHeaders,
    onOpen?: () => void,
  ): Promise<void> {
    const { res } = stream
    const payer = payerOf(caller)
    const [body, init] = await handle(requestOf(stream))
    if (body === null || typeof body === 'string') {
      res.writeHead(init.status, { ...headers, ...init.headers }).end(body ?? undefined)
      return
    }
    const end = (): void => {
      release(stream)
      void body.return(undefined)
    }
    res.once('close', end)
    res.on('drain', () => stream.onDrain?.())
    // The client may have disconnected while the operation was prepared.
    if (res.closed || res.destroyed) return end()
    streams.add(stream)
    counts.open = streams.size
    try {
      open(stream, headers, times)
      onOpen?.()
      for await (const chunk of body) {
        const bytes = await write(stream, chunk)
        // The stream of a visitor is slowed down; others are as fast as their clients.
        if (payer.kind === 'visitor') await budget.wait(payer, bytes / BYTES_PER_COST, () => res.closed)
      }
    } finally {
      streams.delete(stream)
      counts.open = streams.size
      end()
      res.end()
    }
  }

  const beating = setInterval(
    () => {
      const now = performance.now()
      for (const stream of streams) if (keepAlive(stream, now, times)) counts.cutOff++
    },
    Math.min(1_000, times.pingMs, times.stallMs) / 2,
  )
  beating.unref()

  return {
    get counts() {
      return { ...counts, ...execution.counts }
    },
    serveEvents(res, headers, subscription, caller) {
      return serve({ ...newStream(res, 'events', times), subscription }, caller, headers)
    },
    serveOperation(res, headers, params, caller, options = {}) {
      const stream: Stream = { ...newStream(res, 'operation', times), params }
      stream.operation = { caller, following: followingOf(live, stream, options) }
      return serve(stream, caller, headers, options.onOpen)
    },
    stop() {
      clearInterval(beating)
      for (const stream of streams) {
        void stream.subscription?.return()
        // A client that does not read would not see a proper end either.
        if (stream.blockedSince !== null) stream.res.destroy()
      }
    },
  }
}

/** graphql-sse's handler, over the frames of a subscription or the results of an operation. */
function createOperationHandler(
  { schema, contextFor, visitors, log }: Parameters<typeof createSse>[0],
  execution: SharedExecution,
) {
  const mask = maskWith(log)
  /** Opening the stream of a visitor waits for a place, too. */
  async function inPool<T>(caller: Caller, hasLeft: () => boolean, work: () => Promise<T>) {
    const payer = payerOf(caller)
    if (payer.kind === 'credential') return work()
    return visitors.run(payer.key, work, hasLeft).catch((error) => {
      if (error instanceof Problem) return refused([refusal(error)])
      throw error
    })
  }
  return createHandler<undefined, Stream>({
    schema,
    // A stream is one request; several operations over one connection would share its back-pressure.
    authenticate: () => null,
    async onSubscribe(req) {
      const stream = req.context
      if (stream.subscription !== null) return framesOf(stream.subscription)
      const { caller, following } = required(stream.operation)
      const contextOfStream = () => contextFor(caller, following)
      const hasLeft = (): boolean => stream.res.closed
      return inPool(caller, hasLeft, async () => {
        const operation = readOperation(schema, stream.params, contextOfStream())
        if (!('args' in operation)) return operation.answer
        return execution.subscribe(operation.args, {
          caller,
          contextFor: contextOfStream,
          cost: operation.cost,
          hasLeft,
        })
      })
    },
    async onNext(_context, req, result) {
      const stream = req.context
      const { frame, errors, ...rest } = result as Partial<FrameResult>
      await enqueue(stream, frame)
      // The bytes of this profile are ready.
      if (stream.profile === 'events') return {}
      return errors === undefined ? rest : { ...rest, errors: errors.map(mask) }
    },
  })
}

/** The request that graphql-sse handles. Its body was validated before. */
function requestOf(stream: Stream) {
  const isEvents = stream.profile === 'events'
  return {
    method: isEvents ? 'GET' : 'POST',
    // graphql-sse requires a query in the URL; it is never parsed.
    url: isEvents ? '/?query=' : '/',
    headers: { get: (name: string) => HEADERS[name] },
    body: isEvents ? null : stream.params,
    raw: undefined,
    context: stream,
  }
}

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import { createHandler } from 'graphql-sse'
import type { Logger } from 'pino'
import { type Caller, payerOf } from '../domain/caller.ts'
import type { Live } from '../domain/live/index.ts'
import { Problem } from '../problem.ts'
import type { Frame } from '../stream/frame.ts'
import type { Subscription } from '../stream/subscription.ts'
import { createChannels, EVENT_STREAM } from './channels.ts'
import type { Context } from './context.ts'
import type { CostLimits } from './limits.ts'
import { maskWith, refusal } from './mask.ts'
import { createSharedExecution, type SharedExecution } from './shared-execution.ts'
import { type FrameResult, readOperation, refused } from './sse-sources.ts'
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
  writeEvent,
} from './sse-stream.ts'

/**
 * Server-sent events (contract §6), by graphql-sse's handler in two profiles:
 *
 *  events      for EventSource: named channels, `id`, `event` and `data` of each message. graphql-sse executes an
 *              operation for each channel, once for all streams (channels.ts).
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
  const channels = createChannels(options)

  /** @param chunks what is written, until the stream ends; `send` returns the bytes of a chunk */
  async function serve<Chunk>(
    stream: Stream,
    caller: Caller,
    headers: OutgoingHttpHeaders,
    chunks: AsyncIterableIterator<Chunk>,
    send: (chunk: Chunk) => Promise<number>,
    onOpen?: () => void,
  ): Promise<void> {
    const { res } = stream
    const payer = payerOf(caller)
    const end = (): void => {
      release(stream)
      void chunks.return?.(undefined)
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
      for await (const chunk of chunks) {
        const bytes = await send(chunk)
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
      const stream = { ...newStream(res, times), subscription }
      return serve(stream, caller, headers, begun(subscription), async (frame) => {
        const message = frame.message ?? (await channels.messageOf(frame))
        return res.closed ? 0 : write(stream, message)
      })
    },
    async serveOperation(res, headers, params, caller, options = {}) {
      const stream = newStream(res, times)
      const following = followingOf(live, stream, options)
      const [body, init] = await handle(requestOf({ stream, params, caller, following }))
      if (body === null || typeof body === 'string') {
        res.writeHead(init.status, { ...headers, ...init.headers }).end(body ?? undefined)
        return
      }
      const send = (event: string) => writeEvent(stream, event)
      await serve(stream, caller, headers, body, send, options.onOpen)
    },
    stop() {
      clearInterval(beating)
      channels.stop()
      for (const stream of streams) {
        void stream.subscription?.return()
        // A client that does not read would not see a proper end either.
        if (stream.blockedSince !== null) stream.res.destroy()
      }
    },
  }
}

/** The same frames, of which the first is asked for at once: only then the subscription knows its cursor. */
function begun(source: Subscription): AsyncIterableIterator<Frame> {
  let first: Promise<IteratorResult<Frame>> | undefined = source.next()
  // Its error is thrown by `next`.
  first.catch(() => {})
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next() {
      const next = first ?? source.next()
      first = undefined
      return next
    },
    return: () => source.return(),
  }
}

/** One operation of a client. */
interface Asked {
  stream: Stream
  params: Record<string, unknown>
  caller: Caller
  following: Following
}

/** graphql-sse's handler, over the results of an operation. */
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
  return createHandler<undefined, Asked>({
    schema,
    // A stream is one request; several operations over one connection would share its back-pressure.
    authenticate: () => null,
    async onSubscribe({ context: { stream, params, caller, following } }) {
      const contextOfStream = () => contextFor(caller, following)
      const hasLeft = (): boolean => stream.res.closed
      return inPool(caller, hasLeft, async () => {
        const operation = readOperation(schema, params, contextOfStream())
        if (!('args' in operation)) return operation.answer
        return execution.subscribe(operation.args, {
          caller,
          contextFor: contextOfStream,
          cost: operation.cost,
          hasLeft,
        })
      })
    },
    async onNext(_context, { context: { stream } }, result) {
      const { frame, errors, ...rest } = result as Partial<FrameResult>
      await enqueue(stream, frame)
      return errors === undefined ? rest : { ...rest, errors: errors.map(mask) }
    },
  })
}

/** The request that graphql-sse handles. Its body was validated before. */
const requestOf = (asked: Asked) => ({
  method: 'POST',
  url: '/',
  headers: { get: (name: string) => EVENT_STREAM[name] },
  body: asked.params,
  raw: undefined,
  context: asked,
})

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import { createHandler } from 'graphql-sse'
import type { Logger } from 'pino'
import { required } from '../checked.ts'
import type { Caller } from '../domain/caller.ts'
import type { Live } from '../domain/live/index.ts'
import type { Frame } from '../stream/frame.ts'
import type { Subscription } from '../stream/subscription.ts'
import type { Context } from './context.ts'
import { maskWith } from './mask.ts'
import { createSharedExecution } from './shared-execution.ts'
import { type FrameResult, framesOf, readOperation } from './sse-sources.ts'

/**
 * Server-sent events (contract §6), by graphql-sse's handler in two profiles:
 *
 *  events      for EventSource: named channels, `id`, `event` and `data` of each message. The messages go past the
 *              execution of GraphQL; their bytes were made once for all streams.
 *  operation   for clients of graphql-sse: a subscription operation, `next` with a result, and the cursor as `id`.
 *
 * What graphql-sse leaves open is added here: `id` lines, back-pressure in frames and bytes, an end for clients that
 * do not read. A stream that the server ends is not `complete`: the client is to come back with its cursor, and is
 * told what has changed for it by the status of that request.
 */
export interface Sse {
  /** The profile of EventSource, over a subscription that was permitted. Ends with the stream. */
  serveEvents(res: ServerResponse, headers: OutgoingHttpHeaders, subscription: Subscription): Promise<void>
  /**
   * The profile of graphql-sse's clients. Faults of the operation are GraphQL errors.
   * @param params the request: {query, variables?, operationName?, extensions?}
   * @param options.until when the caller's credential ends by itself
   * @param options.lastEventId the cursor that a client which comes back brings; wins over the operation's own
   */
  serveOperation(
    res: ServerResponse,
    headers: OutgoingHttpHeaders,
    params: Record<string, unknown>,
    caller: Caller,
    options?: { until?: Date | undefined; lastEventId?: number | undefined },
  ): Promise<void>
  /** `executed` and `shared`: results of operations that were made, and that another stream's was used for. */
  readonly counts: { open: number; cutOff: number; executed: number; shared: number }
  /** Ends every stream. */
  stop(): void
}

export type Following = Pick<Live, 'cursor' | 'follow'>

export interface SseTimes {
  /** A comment now and then keeps proxies from closing a quiet stream. */
  pingMs: number
  /** A client that takes nothing for so long is cut off; it may come back with its cursor. */
  stallMs: number
  /** The reconnection time, with jitter so that a thousand clients do not reconnect at once. */
  retryMs: number
}

export const TIMES: SseTimes = { pingMs: 15_000, stallMs: 60_000, retryMs: 2_000 }

/** What may wait to be written to one client; one frame always may. */
const MAX_FRAMES = 64
export const MAX_BYTES = 64 * 1024
/** Every so many pings tell the cursor, so that one of a quiet stream does not grow older than the log. */
const CURSOR_EVERY_PINGS = 20

/** The request for graphql-sse. Its body was validated before. */
const HEADERS: Record<string, string> = { accept: 'text/event-stream', 'content-type': 'application/json' }

interface Stream {
  profile: 'events' | 'operation'
  res: ServerResponse
  subscription: Subscription | null
  /** The frames of the chunks of graphql-sse that are not written yet, in order. */
  marks: { frame: Frame | undefined }[]
  unwritten: number
  /** Waits for room among the marks. */
  roomy: (() => void) | null
  /** Waits for the socket. */
  writable: (() => void) | null
  blockedSince: number | null
  pings: number
  nextPing: number
  params: Record<string, unknown>
  /** Of the operation profile. */
  operation: { caller: Caller; following: Following } | undefined
}

export function createSse(options: {
  schema: GraphQLSchema
  live: Live
  /** Makes the context of an operation, whose subscription goes through the `live` that is given here. */
  contextFor: (caller: Caller, live: Following) => Context
  log: Logger
  times?: Partial<SseTimes> | undefined
}): Sse {
  const { schema, live, contextFor } = options
  const mask = maskWith(options.log)
  const times = { ...TIMES, ...options.times }
  const open = new Set<Stream>()
  const execution = createSharedExecution()
  const streams = { open: 0, cutOff: 0 }

  /** Executes for the stream whose context it is. */
  const operationOf = (stream: Stream) => {
    const { caller, following } = required(stream.operation)
    return { caller, contextFor: () => contextFor(caller, following) }
  }

  const handle = createHandler<undefined, Stream>({
    schema,
    // A stream is one request; several operations over one connection would share its back-pressure.
    authenticate: () => null,
    async onSubscribe(req) {
      const stream = req.context
      if (stream.subscription !== null) return framesOf(stream.subscription)
      const { caller, contextFor } = operationOf(stream)
      const operation = readOperation(schema, stream.params, contextFor())
      if (!('args' in operation)) return operation.answer
      return execution.subscribe(operation.args, caller, contextFor)
    },
    async onNext(_context, req, result) {
      const stream = req.context
      const { frame, errors, ...rest } = result as Partial<FrameResult>
      while (isFull(stream) && !stream.res.closed) {
        await new Promise<void>((resolve) => {
          stream.roomy = resolve
        })
      }
      stream.marks.push({ frame })
      stream.unwritten += frame?.size ?? 0
      // The bytes of this profile are made already.
      if (stream.profile === 'events') return {}
      return errors === undefined ? rest : { ...rest, errors: errors.map(mask) }
    },
  })

  async function serve(stream: Stream, headers: OutgoingHttpHeaders): Promise<void> {
    const { res, profile } = stream
    const events = profile === 'events'
    const [body, init] = await handle({
      method: events ? 'GET' : 'POST',
      // An empty query is one to graphql-sse; it is never parsed.
      url: events ? '/?query=' : '/',
      headers: { get: (name) => HEADERS[name] },
      body: events ? null : stream.params,
      raw: undefined,
      context: stream,
    })
    if (body === null || typeof body === 'string') {
      res.writeHead(init.status, { ...headers, ...init.headers }).end(body ?? undefined)
      return
    }
    const end = (): void => {
      stream.roomy?.()
      stream.writable?.()
      void stream.subscription?.return()
      void body.return(undefined)
    }
    res.once('close', end)
    res.on('drain', () => stream.writable?.())
    // It may have gone while the operation was prepared.
    if (res.closed || res.destroyed) return end()
    res.socket?.setKeepAlive(true, 30_000)
    res.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    open.add(stream)
    streams.open = open.size
    try {
      const retryMs = Math.round(times.retryMs * (0.75 + Math.random() / 2))
      const cursor = stream.subscription?.caughtUpTo
      res.write(`retry: ${retryMs}\n${cursor === undefined ? '' : `id: ${cursor}\n`}\n`)
      for await (const chunk of body) await write(stream, chunk)
    } finally {
      open.delete(stream)
      streams.open = open.size
      end()
      res.end()
    }
  }

  /** @param chunk one event of graphql-sse, or its own ping */
  async function write(stream: Stream, chunk: string): Promise<void> {
    const { res, profile, marks } = stream
    if (res.closed || chunk.startsWith(':')) return
    const next = chunk.startsWith('event: next')
    // What ends an operation is said only where there was no stream to end.
    if (!next && stream.subscription !== null) return
    const frame = next ? marks[0]?.frame : undefined
    const bytes =
      frame === undefined ? chunk : profile === 'events' ? frame.bytes() : `id: ${frame.seq}\n${chunk}`
    if (!res.write(bytes)) await drained(stream)
    if (!next) return
    marks.shift()
    stream.unwritten -= frame?.size ?? 0
    stream.roomy?.()
  }

  async function drained(stream: Stream): Promise<void> {
    const { res } = stream
    stream.blockedSince = performance.now()
    while (res.writableNeedDrain && !res.closed) {
      await new Promise<void>((resolve) => {
        stream.writable = resolve
      })
    }
    stream.blockedSince = null
  }

  /** Looks after all streams: who takes nothing is cut off, who is quiet is pinged. */
  function beat(): void {
    const now = performance.now()
    for (const stream of open) {
      if (stream.blockedSince !== null) {
        if (now - stream.blockedSince < times.stallMs) continue
        streams.cutOff++
        stream.res.destroy()
      } else if (now >= stream.nextPing) {
        stream.nextPing = now + times.pingMs
        const cursor = stream.marks.length === 0 ? stream.subscription?.caughtUpTo : undefined
        const sendCursor = ++stream.pings % CURSOR_EVERY_PINGS === 0 && cursor !== undefined
        stream.res.write(sendCursor ? `: ping\nid: ${cursor}\n\n` : ': ping\n\n')
      }
    }
  }
  const beating = setInterval(beat, Math.min(1_000, times.pingMs, times.stallMs) / 2)
  beating.unref()

  const newStream = (res: ServerResponse, profile: Stream['profile']): Stream => ({
    profile,
    res,
    subscription: null,
    marks: [],
    unwritten: 0,
    roomy: null,
    writable: null,
    blockedSince: null,
    pings: 0,
    nextPing: performance.now() + times.pingMs,
    params: {},
    operation: undefined,
  })

  return {
    get counts() {
      return { ...streams, ...execution.counts }
    },
    serveEvents(res, headers, subscription) {
      return serve({ ...newStream(res, 'events'), subscription }, headers)
    },
    serveOperation(res, headers, params, caller, { until, lastEventId } = {}) {
      const stream: Stream = { ...newStream(res, 'operation'), params }
      const following: Following = {
        get cursor() {
          return live.cursor
        },
        async follow(as, channels, options) {
          const after = lastEventId ?? options?.after
          stream.subscription = await live.follow(as, channels, { ...options, after, until })
          return stream.subscription
        },
      }
      stream.operation = { caller, following }
      return serve(stream, headers)
    },
    stop() {
      clearInterval(beating)
      for (const stream of open) {
        void stream.subscription?.return()
        // A client that does not read would not see a proper end either.
        if (stream.blockedSince !== null) stream.res.destroy()
      }
    },
  }
}

const isFull = ({ marks, unwritten }: Stream): boolean =>
  marks.length >= MAX_FRAMES || (marks.length > 0 && unwritten > MAX_BYTES)

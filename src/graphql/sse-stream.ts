import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Live } from '../domain/live/index.ts'
import type { Frame } from '../stream/frame.ts'
import type { Subscription } from '../stream/subscription.ts'

/** One open stream: what waits to be written to its client, and what keeps its connection open. */

export type Following = Pick<Live, 'cursor' | 'follow'>

export interface SseTimes {
  /** Time between comments that keep proxies from closing a quiet stream. */
  pingMs: number
  /** A client that reads nothing for this long is disconnected; it may reconnect with its cursor. */
  stallMs: number
  /** The reconnection time, with jitter so that a thousand clients do not reconnect at once. */
  retryMs: number
}

/** How much may wait to be written to one client; a single frame may always wait. */
const MAX_FRAMES = 64
export const MAX_BYTES = 64 * 1024
/** Every so many pings send the cursor, so that the cursor of a quiet stream does not expire with the change log. */
const CURSOR_EVERY_PINGS = 20

export interface Stream {
  res: ServerResponse
  subscription: Subscription | null
  /** The frames of the chunks of graphql-sse that are not written yet, in order. */
  unwritten: { frame: Frame | undefined }[]
  unwrittenBytes: number
  /** Called when there is room for another frame. */
  onRoom: (() => void) | null
  /** Called when the socket accepts more. */
  onDrain: (() => void) | null
  blockedSince: number | null
  pings: number
  nextPing: number
}

export const newStream = (res: ServerResponse, times: SseTimes): Stream => ({
  res,
  subscription: null,
  unwritten: [],
  unwrittenBytes: 0,
  onRoom: null,
  onDrain: null,
  blockedSince: null,
  pings: 0,
  nextPing: performance.now() + times.pingMs,
})

/** Answers the request with a stream: its headers, the reconnection time, and the cursor to begin with. */
export function open({ res, subscription }: Stream, headers: OutgoingHttpHeaders, times: SseTimes): void {
  res.socket?.setKeepAlive(true, 30_000)
  res.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  })
  const retryMs = Math.round(times.retryMs * (0.75 + Math.random() / 2))
  const cursor = subscription?.caughtUpTo
  res.write(`retry: ${retryMs}\n${cursor === undefined ? '' : `id: ${cursor}\n`}\n`)
}

/** Adds the frame of the next chunk, as soon as there is room for it. */
export async function enqueue(stream: Stream, frame: Frame | undefined): Promise<void> {
  while (isFull(stream) && !stream.res.closed) {
    await new Promise<void>((resolve) => {
      stream.onRoom = resolve
    })
  }
  stream.unwritten.push({ frame })
  stream.unwrittenBytes += frame?.size ?? 0
}

const isFull = ({ unwritten, unwrittenBytes }: Stream): boolean =>
  unwritten.length >= MAX_FRAMES || (unwritten.length > 0 && unwrittenBytes > MAX_BYTES)

/**
 * Writes one event of graphql-sse, if it is one of the operation.
 * @returns how many bytes were written
 */
export async function writeEvent(stream: Stream, event: string): Promise<number> {
  const { res, unwritten } = stream
  if (res.closed || event.startsWith(':')) return 0
  const next = event.startsWith('event: next')
  // The end of an operation is sent only if there was no stream.
  if (!next && stream.subscription !== null) return 0
  const frame = next ? unwritten[0]?.frame : undefined
  const bytes = await write(stream, frame === undefined ? event : `id: ${frame.seq}\n${event}`)
  if (!next) return bytes
  unwritten.shift()
  stream.unwrittenBytes -= frame?.size ?? 0
  stream.onRoom?.()
  return bytes
}

/** @returns how many bytes were written */
export async function write(stream: Stream, bytes: string | Buffer): Promise<number> {
  if (!stream.res.write(bytes)) await drained(stream)
  return bytes.length
}

async function drained(stream: Stream): Promise<void> {
  const { res } = stream
  stream.blockedSince = performance.now()
  while (res.writableNeedDrain && !res.closed) {
    await new Promise<void>((resolve) => {
      stream.onDrain = resolve
    })
  }
  stream.blockedSince = null
}

/**
 * Disconnects the client if it reads nothing, and pings it if nothing was written for a while.
 * @returns whether it was disconnected
 */
export function keepAlive(stream: Stream, now: number, times: SseTimes): boolean {
  if (stream.blockedSince !== null) {
    if (now - stream.blockedSince < times.stallMs) return false
    stream.res.destroy()
    return true
  }
  if (now < stream.nextPing) return false
  stream.nextPing = now + times.pingMs
  const cursor = stream.unwritten.length === 0 ? stream.subscription?.caughtUpTo : undefined
  const sendCursor = ++stream.pings % CURSOR_EVERY_PINGS === 0 && cursor !== undefined
  stream.res.write(sendCursor ? `: ping\nid: ${cursor}\n\n` : ': ping\n\n')
  return false
}

/** Ends the subscription, and everything that waits for the client. */
export function release(stream: Stream): void {
  stream.onRoom?.()
  stream.onDrain?.()
  void stream.subscription?.return()
}

/** Follows channels for the operation of a stream, which ends with the subscription that this makes. */
export function followingOf(
  live: Live,
  stream: Stream,
  { until, lastEventId }: { until?: Date | undefined; lastEventId?: number | undefined },
): Following {
  return {
    get cursor() {
      return live.cursor
    },
    async follow(as, channels, options) {
      const after = lastEventId ?? options?.after
      stream.subscription = await live.follow(as, channels, { ...options, after, until })
      return stream.subscription
    },
  }
}

import type { GraphQLSchema } from 'graphql'
import { createHandler } from 'graphql-sse'
import { LRUCache } from 'lru-cache'
import { ANONYMOUS, type Caller } from '../domain/caller.ts'
import type { Frame } from '../stream/frame.ts'
import type { Subscription } from '../stream/subscription.ts'
import type { Context } from './context.ts'
import type { Following } from './sse-stream.ts'

/**
 * The channels of GET /api/sse as subscriptions of GraphQL. graphql-sse executes one operation for each channel, for all
 * streams together: it gets each frame once, and its result takes the place of the frame's text. So a change is executed
 * and written once for all streams with the same channel and the same rights, which share the frame
 * (stream/payloads.ts), and a stream holds no result of its own.
 */
export interface Channels {
  /** The server-sent event of a frame. */
  messageOf(frame: Frame): Promise<Buffer>
  /** How many channels have an operation now. */
  readonly open: number
  stop(): void
}

/** The field of a channel's subscription, by the part of the channel's name before the colon. `live` reads the others. */
const FIELDS: Readonly<Record<string, string>> = {
  batch: 'batch(id: $name)',
  metrics: 'metrics(batchId: $name)',
  logs: 'logLines(batchId: $name)',
  project: 'project(slug: $name)',
}
const MESSAGE = '{ channel type at payload }'

/** The operation of a channel, and how graphql-sse writes its results around the message. */
interface Operation {
  query: string
  variables: Record<string, unknown>
  before: string
  after: string
}

function operationOf(channel: string | null): Operation {
  const [kind = '', ...rest] = (channel ?? '').split(':')
  const field = Object.hasOwn(FIELDS, kind) ? FIELDS[kind] : undefined
  if (field === undefined)
    return {
      query: `subscription ($channels: [String!]!) { live(channels: $channels) ${MESSAGE} }`,
      variables: { channels: channel === null ? [] : [channel] },
      before: 'event: next\ndata: {"data":{"live":',
      after: '}}\n\n',
    }
  const type = kind === 'project' ? 'String' : 'ID'
  const [name = ''] = field.split('(')
  return {
    query: `subscription ($name: ${type}!) { ${field} { message ${MESSAGE} } }`,
    variables: { name: rest.join(':') },
    before: `event: next\ndata: {"data":{"${name}":{"message":`,
    after: '}}}\n\n',
  }
}

/** How many channels have an operation, and for how long: the next frame of a channel begins another one. */
const MAX_OPEN = 1_000
const KEPT_MS = 60_000

/** @param options.contextFor makes the context of an operation, whose subscription goes through the `live` that it is given */
export function createChannels(options: {
  schema: GraphQLSchema
  contextFor: (caller: Caller, live: Following) => Context
}): Channels {
  const { schema, contextFor } = options
  const handle = createHandler<undefined, Feed>({
    schema,
    authenticate: () => null,
    // What a stream may see was checked when it began, and frames are made for what their readers may see.
    context: ({ context: feed }) =>
      contextFor(ANONYMOUS, { cursor: 0, follow: async () => feed.source }) as Context & undefined,
  })
  const open = new LRUCache<string, Feed>({
    max: MAX_OPEN,
    ttl: KEPT_MS,
    ttlAutopurge: true,
    dispose: (feed) => feed.end(),
  })
  /** The frames that are being written. */
  const writing = new WeakMap<Frame, Promise<Buffer>>()
  let stopped = false

  function feedOf(channel: string | null): Feed {
    const key = channel ?? ''
    const known = open.get(key)
    if (known !== undefined && !known.ended) return known
    const feed = new Feed()
    open.set(key, feed)
    const operation = operationOf(channel)
    run(feed, operation)
      .catch((error) => feed.fail(error))
      .finally(() => {
        if (open.peek(key) === feed) open.delete(key)
      })
    return feed
  }

  /** Runs the operation until its feed ends. */
  async function run(feed: Feed, { query, variables, before, after }: Operation): Promise<void> {
    const [body, { status }] = await handle({
      method: 'POST',
      url: '/',
      headers: { get: (name: string) => EVENT_STREAM[name] },
      body: { query, variables },
      raw: undefined,
      context: feed,
    })
    if (body === null || typeof body === 'string')
      throw new Error(`a channel was refused with ${status}: ${body}`)
    for await (const event of body) {
      // graphql-sse's own pings.
      if (event.startsWith(':')) continue
      if (!event.startsWith('event: next')) break
      if (!event.startsWith(before) || !event.endsWith(after))
        throw new Error(`a channel failed: ${event.slice(0, 500)}`)
      feed.written(event.slice(before.length, -after.length))
    }
    if (!feed.ended) throw new Error('the operation of a channel ended')
  }

  return {
    messageOf(frame) {
      if (frame.message !== undefined) return Promise.resolve(frame.message)
      let message = writing.get(frame)
      if (message === undefined) {
        const feed = feedOf(frame.channel)
        message = feed.write(frame)
        if (stopped) feed.end()
        writing.set(frame, message)
        // A frame that failed may be asked for again.
        message.catch(() => writing.delete(frame))
      }
      return message
    },
    get open() {
      return open.size
    },
    stop() {
      stopped = true
      open.clear()
    },
  }
}

/** The headers of a request that graphql-sse answers with a stream. */
export const EVENT_STREAM: Record<string, string> = {
  accept: 'text/event-stream',
  'content-type': 'application/json',
}

interface Waiting {
  frame: Frame
  resolve: (message: Buffer) => void
  reject: (error: unknown) => void
}

/** The frames that the operation of a channel executes, in the order in which streams need them. */
class Feed {
  readonly #waiting: Waiting[] = []
  /** How many of them the operation has taken. */
  #taken = 0
  #wake: (() => void) | null = null
  #ending = false
  ended = false

  readonly source: Subscription = {
    [Symbol.asyncIterator]() {
      return this
    },
    next: async () => {
      while (this.#taken >= this.#waiting.length && !this.#ending)
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      const next = this.#waiting[this.#taken]
      if (next === undefined) {
        this.ended = true
        return OVER
      }
      this.#taken++
      return { done: false, value: next.frame }
    },
    return: async () => {
      this.end()
      return OVER
    },
    throw: async (error) => {
      this.end()
      throw error
    },
    caughtUpTo: undefined,
  }

  write(frame: Frame): Promise<Buffer> {
    return new Promise<Buffer>((resolve, reject) => {
      this.#waiting.push({ frame, resolve, reject })
      this.#wake?.()
    })
  }

  /** @param data the result of the oldest frame */
  written(data: string): void {
    const done = this.#waiting.shift()
    this.#taken--
    if (done === undefined) throw new Error('a channel has more results than frames')
    done.resolve(done.frame.write(data))
  }

  /** Ends the operation after the frames that wait. */
  end(): void {
    this.#ending = true
    this.#wake?.()
  }

  fail(error: unknown): void {
    this.ended = true
    this.end()
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

const OVER = { done: true, value: undefined } as const

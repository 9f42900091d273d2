/** A channel that a tab follows, and how far it has read it. */
export interface ChannelCursor {
  /** Identifies this subscription: unsubscribing and subscribing again gives another id. */
  subscription: number
  /** Id of the last message that was read; null without one: from now on, and data that was read before is stale. */
  cursor: number | null
}

/** How far one client of the hub has read a channel. */
export interface Position extends ChannelCursor {
  /** Number of the first connection that delivers every message after the cursor. */
  since: number
}

/** A message of the stream. `id` is its cursor. */
export interface StreamMessage {
  id: number
  channel: string
  type: string
  payload: Record<string, unknown>
}

const KINDS = [
  'project',
  'batch',
  'metrics',
  'logs',
  'resources',
  'host',
  'hosts',
  'notices',
  'dashboard',
  'share',
]

/** One EventSource over a fixed set of channels. Its messages come in the order of their ids. */
export class Connection {
  /** Ascending: a later connection has a higher number. */
  readonly number: number
  readonly channels: ReadonlySet<string>
  readonly url: string
  isOpen = false
  /** Id of the last message, or the cursor that the connection was opened from. */
  lastId: number | null
  readonly #source: EventSource

  /** @param from the cursor to replay from; null: only what happens from now on */
  constructor(number: number, channels: ReadonlySet<string>, from: number | null) {
    const query = new URLSearchParams([...channels].sort().map((name) => ['channel', name]))
    if (from !== null) query.set('last_event_id', String(from))
    this.number = number
    this.channels = channels
    this.lastId = from
    this.url = served(`/api/sse?${query}`)
    this.#source = new EventSource(this.url)
  }

  /** EventSource reconnects after a cut, but gives up after an answer that is not a stream. */
  get hasGivenUp(): boolean {
    return this.#source.readyState === EventSource.CLOSED
  }

  listen(on: {
    open(): void
    error(): void
    message(message: StreamMessage): void
    reset(id: number): void
  }): void {
    this.#source.onopen = () => {
      this.isOpen = true
      on.open()
    }
    this.#source.onerror = () => {
      this.isOpen = false
      on.error()
    }
    for (const kind of KINDS)
      this.#source.addEventListener(kind, (event) => {
        const { data, lastEventId } = event as MessageEvent<string>
        const id = Number(lastEventId)
        this.lastId = id
        on.message({ id, ...(JSON.parse(data) as Omit<StreamMessage, 'id'>) })
      })
    this.#source.addEventListener('reset', (event) => {
      const id = Number((event as MessageEvent).lastEventId)
      this.lastId = id
      on.reset(id)
    })
  }

  /** Moves positions in its channels to the last message: every message that it delivers later comes after it. */
  advance(positions: readonly Position[]): void {
    const { lastId } = this
    if (lastId === null) return
    for (const position of positions)
      if (position.since <= this.number && (position.cursor === null || position.cursor < lastId))
        position.cursor = lastId
  }

  close(): void {
    this.#source.close()
  }
}

/** The channel that the service refuses to a stream; undefined if it refuses none. EventSource does not tell. */
export async function refusedChannel(
  url: string,
  channels: ReadonlySet<string>,
): Promise<string | undefined> {
  const stop = new AbortController()
  try {
    const answer = await fetch(url, { signal: stop.signal })
    if (answer.status !== 403) return undefined
    const { errors } = (await answer.json()) as { errors?: { message: string }[] }
    return [...channels].find((channel) =>
      errors?.some(({ message }) => message === `${channel} may not be followed`),
    )
  } catch {
    return undefined
  } finally {
    stop.abort()
  }
}

import { served } from '../served.ts'

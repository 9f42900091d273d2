import type { ChannelCursor, Connection, Position, StreamMessage } from './connection.ts'
import { ServerStream, type StreamOwner } from './server-stream.ts'

/**
 * Shares streams between clients: the tabs of a browser in the shared worker, or one tab alone. The channels of all
 * clients go into as few streams as possible: at most 100 in each, and a share in a stream of its own, because changes
 * that a share and its batch have in common are sent under one name only.
 *
 * Each client has a cursor for each channel. A message is delivered to clients whose cursor is before it, so nothing is
 * delivered twice. A connection is opened from the oldest cursor of its clients, so nothing is missed.
 */
export type StreamState = 'idle' | 'connecting' | 'live' | 'offline'
export type Cursors = Record<string, ChannelCursor>

export interface Listener {
  /** @param message with the subscription that it is for */
  onMessage(message: StreamMessage & { subscription: number }): void
  /** Missed messages are no longer in the change log: the page must load its data again. */
  onReset(): void
  onState(state: StreamState): void
  /** How far each of its channels was read, or had been when it left them. */
  onCursors(cursors: Cursors): void
}

export interface HubClient {
  /** Replaces the channels that it follows. Cursors count for new channels; the others keep theirs. */
  subscribe(cursors: Cursors): void
  /** Calls `onCursors`. */
  reportCursors(): void
  leave(): void
}

interface Client {
  readonly listener: Listener
  positions: Map<string, Position>
  state: StreamState
}

const MAX_CHANNELS = 100

export class Hub implements StreamOwner {
  readonly #clients = new Set<Client>()
  readonly #streams = new Set<ServerStream>()
  /** Channels that the service refused: each is requested alone and does not delay the others. */
  readonly #refused = new Set<string>()
  #connections = 0

  join(listener: Listener): HubClient {
    const client: Client = { listener, positions: new Map(), state: 'idle' }
    this.#clients.add(client)
    const reportCursors = (): void => {
      for (const stream of this.#streams) stream.advancePositions()
      this.#sendCursors(client)
    }
    return {
      subscribe: (cursors) => {
        reportCursors()
        this.#setPositions(client, cursors)
        this.#assignChannels()
      },
      reportCursors,
      leave: () => {
        this.#clients.delete(client)
        this.#assignChannels()
      },
    }
  }

  /** Opens all streams again: a sign-in or sign-out changes what may be followed. */
  reconnect(): void {
    for (const stream of this.#streams) stream.close()
    this.#streams.clear()
    this.#refused.clear()
    this.#assignChannels()
  }

  #setPositions(client: Client, cursors: Cursors): void {
    const before = client.positions
    client.positions = new Map(
      Object.entries(cursors).map(([channel, { subscription, cursor }]) => {
        const known = before.get(channel)
        if (known?.subscription === subscription) return [channel, known]
        return [channel, { subscription, cursor, since: this.#sinceOf(channel, cursor) }]
      }),
    )
  }

  /** The open connection that delivers what follows the cursor; else the next one that is opened. */
  #sinceOf(channel: string, cursor: number | null): number {
    if (cursor !== null)
      for (const stream of this.#streams) {
        const connection = stream.connectionBefore(channel, cursor)
        if (connection !== undefined) return connection.number
      }
    return Number.POSITIVE_INFINITY
  }

  /** Assigns every channel to a stream, and opens, changes and closes streams accordingly. */
  #assignChannels(): void {
    const unassigned = new Set([...this.#clients].flatMap(({ positions }) => [...positions.keys()]))
    for (const channel of this.#refused) if (!unassigned.has(channel)) this.#refused.delete(channel)
    for (const stream of this.#streams) {
      for (const channel of stream.channels) {
        if (unassigned.has(channel) && this.#isSolo(channel) === stream.isSolo) unassigned.delete(channel)
        else stream.channels.delete(channel)
      }
    }
    for (const channel of unassigned) this.#assign(channel)
    for (const stream of this.#streams) {
      if (stream.channels.size > 0) stream.update()
      else {
        stream.close()
        this.#streams.delete(stream)
      }
    }
    this.onStateChange()
  }

  #assign(channel: string): void {
    const isSolo = this.#isSolo(channel)
    const withRoom = [...this.#streams].find((one) => !one.isSolo && one.channels.size < MAX_CHANNELS)
    if (isSolo || withRoom === undefined) this.#streams.add(new ServerStream(this, channel, isSolo))
    else withRoom.channels.add(channel)
  }

  #isSolo(channel: string): boolean {
    return channel.startsWith('share:') || this.#refused.has(channel)
  }

  positions(channels: ReadonlySet<string>): Position[] {
    return [...this.#clients].flatMap(({ positions }) =>
      [...positions].filter(([channel]) => channels.has(channel)).map(([, position]) => position),
    )
  }

  nextConnectionNumber(): number {
    return ++this.#connections
  }

  onOpen(stream: ServerStream, connection: Connection): void {
    // A channel that is no longer refused is followed together with the others again.
    if ([...stream.channels].some((channel) => this.#refused.delete(channel))) this.#assignChannels()
    this.onStateChange()
    // A client without a cursor may have read data that is older than the first message of this connection.
    for (const { listener, positions } of this.#clients) {
      const unknown = [...positions].filter(
        ([channel, { cursor, since }]) =>
          cursor === null && since === connection.number && connection.channels.has(channel),
      )
      for (const [, position] of unknown) position.since = 0
      if (unknown.length > 0) listener.onReset()
    }
  }

  onMessage(connection: Connection, message: StreamMessage): void {
    for (const { listener, positions } of this.#clients) {
      const position = positions.get(message.channel)
      if (position === undefined || position.since > connection.number) continue
      if (position.cursor !== null && position.cursor >= message.id) continue
      position.cursor = message.id
      listener.onMessage({ ...message, subscription: position.subscription })
    }
  }

  onReset(connection: Connection, id: number): void {
    for (const position of this.positions(connection.channels)) position.cursor = id
    for (const client of this.#clients) {
      if (![...client.positions.keys()].some((channel) => connection.channels.has(channel))) continue
      this.#sendCursors(client)
      client.listener.onReset()
    }
  }

  onRefused(channel: string): void {
    this.#refused.add(channel)
    this.#assignChannels()
  }

  /** Tells clients whose state has changed. */
  onStateChange(): void {
    for (const client of this.#clients) {
      const state = this.#stateOf(client)
      if (state === client.state) continue
      client.state = state
      client.listener.onState(state)
    }
  }

  #stateOf({ positions }: Client): StreamState {
    let state: StreamState = positions.size === 0 ? 'idle' : 'live'
    for (const stream of this.#streams) {
      for (const channel of stream.channels) {
        const position = positions.get(channel)
        if (position === undefined || stream.delivers(channel, position.since)) continue
        if (stream.isCut) return 'offline'
        state = 'connecting'
      }
    }
    return state
  }

  #sendCursors({ listener, positions }: Client): void {
    listener.onCursors(
      Object.fromEntries(
        [...positions].map(([channel, { subscription, cursor }]) => [channel, { subscription, cursor }]),
      ),
    )
  }
}

import { Connection, type Position, refusedChannel, type StreamMessage } from './connection.ts'

/** How long a channel without subscribers is still followed, so that returning to a page costs nothing. */
const LINGER_MS = 5_000
const MIN_RETRY_MS = 500
const MAX_RETRY_MS = 30_000

/** The hub's part in its streams. */
export interface StreamOwner {
  /** Positions of all clients in these channels. */
  positions(channels: ReadonlySet<string>): Position[]
  nextConnectionNumber(): number
  onOpen(stream: ServerStream, connection: Connection): void
  onMessage(connection: Connection, message: StreamMessage): void
  onReset(connection: Connection, id: number): void
  /** The service refuses this channel: it must not be requested together with others. */
  onRefused(channel: string): void
  onStateChange(): void
}

/**
 * A stream of some channels that stays connected: it retries, and replaces its connection when channels come or go. The
 * old connection delivers until the new one is open.
 */
export class ServerStream {
  readonly channels: Set<string>
  /** For one channel only, because the server refuses it together with others, or refused it before. */
  readonly isSolo: boolean
  /** Disconnected, and not connected again yet. */
  isCut = false
  readonly #owner: StreamOwner
  #current: Connection | null = null
  #previous: Connection | null = null
  #failures = 0
  /** It may not connect before its timer. */
  #isWaiting = false
  #isClosed = false
  #timer: ReturnType<typeof setTimeout> | null = null

  constructor(owner: StreamOwner, channel: string, isSolo: boolean) {
    this.#owner = owner
    this.channels = new Set([channel])
    this.isSolo = isSolo
  }

  /** Connects, or replaces its connection, if its channels or their cursors require it. */
  update(): void {
    if (this.#isWaiting) return
    const current = this.#current
    if (current === null || !this.#serves(current)) this.#connect()
    else if (current.channels.size > this.channels.size && this.#timer === null) this.#schedule(LINGER_MS)
  }

  /** Whether a channel's messages arrive at present for a position with this `since`. */
  delivers(channel: string, since: number): boolean {
    return [this.#previous, this.#current].some(
      (one) => one?.isOpen && one.channels.has(channel) && since <= one.number,
    )
  }

  /** The connection that has not delivered anything past the cursor yet, and so delivers all that follows it. */
  connectionBefore(channel: string, cursor: number): Connection | undefined {
    const current = this.#current
    if (current === null || current.lastId === null || !current.channels.has(channel)) return undefined
    return current.lastId <= cursor ? current : undefined
  }

  /** Brings the positions of all clients up to what was delivered. */
  advancePositions(): void {
    for (const one of [this.#previous, this.#current]) if (one !== null) this.#advance(one)
  }

  close(): void {
    this.#isClosed = true
    this.#clearTimer()
    this.advancePositions()
    this.#previous?.close()
    this.#current?.close()
    this.#previous = this.#current = null
  }

  #advance(connection: Connection): void {
    connection.advance(this.#owner.positions(connection.channels))
  }

  #serves(connection: Connection): boolean {
    return (
      [...this.channels].every((channel) => connection.channels.has(channel)) &&
      this.#owner.positions(this.channels).every(({ since }) => since <= connection.number)
    )
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #schedule(delayMs: number): void {
    this.#clearTimer()
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#isWaiting = false
      const current = this.#current
      if (current?.channels.size === this.channels.size && this.#serves(current)) return
      this.#connect()
      this.#owner.onStateChange()
    }, delayMs)
  }

  #connect(): void {
    this.#clearTimer()
    const old = this.#current
    if (old !== null) {
      this.#advance(old)
      if (old.isOpen) {
        this.#previous?.close()
        this.#previous = old
      } else old.close()
    }
    const channels = new Set(this.channels)
    const positions = this.#owner.positions(channels)
    // From the oldest cursor of all, so that no client misses a message.
    const cursors = positions.flatMap(({ cursor }) => cursor ?? [])
    const from = cursors.length === 0 ? null : Math.min(...cursors)
    const connection = new Connection(this.#owner.nextConnectionNumber(), channels, from)
    this.#current = connection
    // New positions begin here; the others continue with the connection that delivers a message first.
    for (const position of positions) position.since = Math.min(position.since, connection.number)
    connection.listen({
      open: () => this.#opened(connection),
      error: () => this.#failed(connection),
      message: (message) => this.#owner.onMessage(connection, message),
      reset: (id) => this.#owner.onReset(connection, id),
    })
  }

  #opened(connection: Connection): void {
    if (this.#current !== connection) return
    this.#failures = 0
    this.isCut = false
    if (this.#previous !== null) {
      this.#advance(this.#previous)
      this.#previous.close()
      this.#previous = null
    }
    this.#owner.onOpen(this, connection)
  }

  #failed(connection: Connection): void {
    if (this.#previous === connection) {
      this.#advance(connection)
      if (connection.hasGivenUp) this.#previous = null
    } else if (this.#current === connection) {
      this.isCut = true
      if (connection.hasGivenUp) {
        this.#advance(connection)
        this.#current = null
        this.#isWaiting = true
        void this.#retry(connection)
      }
    }
    this.#owner.onStateChange()
  }

  async #retry({ url, channels }: Connection): Promise<void> {
    const refused = this.isSolo ? undefined : await refusedChannel(url, channels)
    if (this.#isClosed) return
    if (refused === undefined) {
      const wait = Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** Math.min(this.#failures++, 10))
      this.#schedule(wait * (0.75 + Math.random() / 2))
    } else {
      this.#isWaiting = false
      this.#owner.onRefused(refused)
    }
  }
}

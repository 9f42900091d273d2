/**
 * Streams for many listeners: the tabs of a browser in the shared worker, or one tab by itself. Channels are the union
 * over the listeners, as few connections as hold them: at most 100 to one, and a share by itself, because what a share
 * and its batch both tell comes under one name only.
 *
 * Each listener has a cursor for each channel. A message goes to those whose cursor is before it, so nothing is delivered
 * twice; a connection opens from the oldest cursor of all that it serves, so nothing is left out. Messages of one
 * connection come in the order of their ids: all its listeners have everything up to its last id.
 */
export type StreamState = 'idle' | 'connecting' | 'live' | 'offline'
/** How far a channel is. */
export interface Place {
  /** Identifies this subscription; unsubscribing and subscribing again gives another id. */
  n: number
  /** After which message; null without a cursor: from now on, and what was read before is to be read again. */
  cursor: number | null
}
export type Cursors = Record<string, Place>
export interface Message {
  id: number
  channel: string
  /** Of the following that it is for. */
  n: number
  type: string
  payload: Record<string, unknown>
}
export interface Listener {
  hear(message: Message): void
  /** Missed messages are no longer in the change log: the page must load its data again. */
  reset(): void
  state(state: StreamState): void
  /** How far each of its channels is, or was until it left them. */
  at(cursors: Cursors): void
}
export interface Member {
  /** All that it wants from now on. Cursors count for channels that are new; of the others the hub knows better. */
  want(cursors: Cursors): void
  /** Tells how far its channels are. */
  ask(): void
  leave(): void
}
export interface Hub {
  join(listener: Listener): Member
  /** A sign-in or sign-out changes what may be followed. */
  reconnect(): void
}

interface Pair extends Place {
  /** The first connection that brings all after the cursor, by its number. */
  since: number
}
interface Connection {
  n: number
  url: string
  source: EventSource
  channels: ReadonlySet<string>
  lastId: number | null
  open: boolean
}
interface Stream {
  /** Of one channel alone, because the server refuses it beside others, or refused it. */
  solo: boolean
  channels: Set<string>
  current: Connection | null
  /** Goes on until the current one is open. */
  before: Connection | null
  failures: number
  cut: boolean
  /** Until it may be tried again. */
  waits: boolean
  timer: ReturnType<typeof setTimeout> | null
}
interface Joined {
  listener: Listener
  pairs: Map<string, Pair>
  state: StreamState
}

const KINDS = ['project', 'batch', 'metrics', 'logs', 'resources', 'host', 'hosts', 'dashboard', 'share']
const MAX_CHANNELS = 100
/** How long a channel without subscribers is still followed, so that coming back to a page costs nothing. */
const LINGER_MS = 5_000
const MAX_WAIT_MS = 30_000

export function createHub(): Hub {
  const members = new Set<Joined>()
  const streams = new Set<Stream>()
  /** Channels that may not be followed: each is requested alone and does not delay the others. */
  const refused = new Set<string>()
  let made = 0

  const pairsOf = (channels: ReadonlySet<string>): Pair[] =>
    [...members].flatMap(({ pairs }) =>
      [...pairs].filter(([channel]) => channels.has(channel)).map(([, pair]) => pair),
    )

  /** What a connection has brought lies behind all that it serves. */
  function settle({ n, channels, lastId }: Connection): void {
    if (lastId === null) return
    for (const pair of pairsOf(channels))
      if (pair.since <= n && (pair.cursor === null || pair.cursor < lastId)) pair.cursor = lastId
  }
  function settleAll(): void {
    for (const { before, current } of streams) {
      if (before !== null) settle(before)
      if (current !== null) settle(current)
    }
  }

  /** Gives every channel its stream, and opens and closes what that asks for. */
  function arrange(): void {
    const homeless = new Set([...members].flatMap(({ pairs }) => [...pairs.keys()]))
    for (const channel of refused) if (!homeless.has(channel)) refused.delete(channel)
    const alone = (channel: string): boolean => channel.startsWith('share:') || refused.has(channel)
    for (const stream of streams) {
      for (const channel of stream.channels) {
        if (homeless.has(channel) && alone(channel) === stream.solo) homeless.delete(channel)
        else stream.channels.delete(channel)
      }
    }
    for (const channel of homeless) {
      const solo = alone(channel)
      const roomy = solo
        ? undefined
        : [...streams].find((one) => !one.solo && one.channels.size < MAX_CHANNELS)
      if (roomy !== undefined) roomy.channels.add(channel)
      else streams.add(newStream(channel, solo))
    }
    for (const stream of streams) {
      if (stream.channels.size === 0) {
        drop(stream)
        streams.delete(stream)
      } else if (!stream.waits) {
        const { current } = stream
        if (current === null || !serves(current, stream.channels)) connect(stream)
        else if (current.channels.size > stream.channels.size && stream.timer === null)
          schedule(stream, LINGER_MS)
      }
    }
    tellStates()
  }

  const serves = (connection: Connection, channels: ReadonlySet<string>): boolean =>
    [...channels].every((channel) => connection.channels.has(channel)) &&
    pairsOf(channels).every(({ since }) => since <= connection.n)

  function schedule(stream: Stream, delayMs: number): void {
    if (stream.timer !== null) clearTimeout(stream.timer)
    stream.timer = setTimeout(() => {
      stream.timer = null
      stream.waits = false
      const { current, channels } = stream
      if (current?.channels.size === channels.size && serves(current, channels)) return
      connect(stream)
      tellStates()
    }, delayMs)
  }

  function drop(stream: Stream): void {
    if (stream.timer !== null) clearTimeout(stream.timer)
    for (const one of [stream.before, stream.current]) {
      if (one === null) continue
      settle(one)
      one.source.close()
    }
    stream.timer = stream.before = stream.current = null
  }

  function connect(stream: Stream): void {
    if (stream.timer !== null) clearTimeout(stream.timer)
    stream.timer = null
    const old = stream.current
    if (old !== null) {
      settle(old)
      if (old.open) {
        stream.before?.source.close()
        stream.before = old
      } else old.source.close()
    }
    const channels = new Set(stream.channels)
    const pairs = pairsOf(channels)
    const cursors = pairs.flatMap(({ cursor }) => cursor ?? [])
    const from = cursors.length === 0 ? null : Math.min(...cursors)
    const query = new URLSearchParams([...channels].sort().map((name) => ['channel', name]))
    if (from !== null) query.set('last_event_id', String(from))
    const url = `/api/sse?${query}`
    const source = new EventSource(url)
    const connection: Connection = { n: ++made, url, source, channels, lastId: from, open: false }
    stream.current = connection
    // Those that are new begin here; the others go on with whichever of the two brings a message first.
    for (const pair of pairs) pair.since = Math.min(pair.since, connection.n)
    source.onopen = () => opened(stream, connection)
    source.onerror = () => failed(stream, connection)
    for (const kind of KINDS)
      source.addEventListener(kind, (event) => receive(connection, event as MessageEvent<string>))
    source.addEventListener('reset', (event) =>
      reset(connection, Number((event as MessageEvent).lastEventId)),
    )
  }

  function opened(stream: Stream, connection: Connection): void {
    connection.open = true
    if (stream.current !== connection) return
    stream.failures = 0
    stream.cut = false
    if (stream.before !== null) {
      settle(stream.before)
      stream.before.source.close()
      stream.before = null
    }
    // What was refused and is not any more goes back to the others.
    if ([...stream.channels].some((channel) => refused.delete(channel))) arrange()
    tellStates()
    // Who has no cursor may have read something that is older than what comes now.
    for (const { listener, pairs } of members) {
      const blind = [...pairs].filter(
        ([channel, { cursor, since }]) =>
          cursor === null && since === connection.n && connection.channels.has(channel),
      )
      for (const [, pair] of blind) pair.since = 0
      if (blind.length > 0) listener.reset()
    }
  }

  function failed(stream: Stream, connection: Connection): void {
    connection.open = false
    const over = connection.source.readyState === EventSource.CLOSED
    if (stream.before === connection) {
      settle(connection)
      if (over) stream.before = null
    } else if (stream.current === connection) {
      stream.cut = true
      // It reconnects by itself after a cut, but not after an answer that is not a stream.
      if (over) {
        settle(connection)
        stream.current = null
        stream.waits = true
        void giveUp(stream, connection)
      }
    }
    tellStates()
  }

  async function giveUp(stream: Stream, { url, channels }: Connection): Promise<void> {
    const channel = stream.solo ? undefined : await refusalOf(url, channels)
    if (!streams.has(stream)) return
    if (channel === undefined) {
      const wait = Math.min(MAX_WAIT_MS, 500 * 2 ** Math.min(stream.failures++, 10))
      schedule(stream, wait * (0.75 + Math.random() / 2))
    } else {
      stream.waits = false
      refused.add(channel)
      arrange()
    }
  }

  function receive(connection: Connection, event: MessageEvent<string>): void {
    const id = Number(event.lastEventId)
    const { channel, type, payload } = JSON.parse(event.data) as Omit<Message, 'id' | 'n'>
    connection.lastId = id
    for (const { listener, pairs } of members) {
      const pair = pairs.get(channel)
      if (pair === undefined || pair.since > connection.n) continue
      if (pair.cursor !== null && pair.cursor >= id) continue
      pair.cursor = id
      listener.hear({ id, channel, n: pair.n, type, payload })
    }
  }

  function reset(connection: Connection, id: number): void {
    connection.lastId = id
    for (const pair of pairsOf(connection.channels)) pair.cursor = id
    for (const member of members) {
      if (![...member.pairs.keys()].some((channel) => connection.channels.has(channel))) continue
      tellCursors(member)
      member.listener.reset()
    }
  }

  const tellCursors = ({ listener, pairs }: Joined): void =>
    listener.at(Object.fromEntries([...pairs].map(([channel, { n, cursor }]) => [channel, { n, cursor }])))

  function tellStates(): void {
    for (const member of members) {
      const state = stateOf(member)
      if (state === member.state) continue
      member.state = state
      member.listener.state(state)
    }
  }

  function stateOf({ pairs }: Joined): StreamState {
    let state: StreamState = pairs.size === 0 ? 'idle' : 'live'
    for (const stream of streams) {
      const open = [stream.before, stream.current].filter((one) => one?.open)
      for (const channel of stream.channels) {
        const pair = pairs.get(channel)
        if (pair === undefined) continue
        if (open.some((one) => one?.channels.has(channel) && pair.since <= one.n)) continue
        if (stream.cut) return 'offline'
        state = 'connecting'
      }
    }
    return state
  }

  return {
    join(listener) {
      const member: Joined = { listener, pairs: new Map(), state: 'idle' }
      members.add(member)
      return {
        want(cursors) {
          settleAll()
          tellCursors(member)
          const before = member.pairs
          member.pairs = new Map()
          for (const [channel, place] of Object.entries(cursors)) {
            const known = before.get(channel)
            const same = known?.n === place.n
            member.pairs.set(channel, same ? known : { ...place, since: sinceOf(channel, place.cursor) })
          }
          arrange()
        },
        ask() {
          settleAll()
          tellCursors(member)
        },
        leave() {
          members.delete(member)
          arrange()
        },
      }
    },
    reconnect() {
      for (const stream of streams) drop(stream)
      streams.clear()
      refused.clear()
      arrange()
    },
  }

  /** A connection that has brought nothing past the cursor yet will bring all that lies behind it. */
  function sinceOf(channel: string, cursor: number | null): number {
    for (const { current } of streams) {
      if (cursor === null || current === null || current.lastId === null) continue
      if (current.channels.has(channel) && current.lastId <= cursor) return current.n
    }
    return Number.POSITIVE_INFINITY
  }
}

const newStream = (channel: string, solo: boolean): Stream => ({
  solo,
  channels: new Set([channel]),
  current: null,
  before: null,
  failures: 0,
  cut: false,
  waits: false,
  timer: null,
})

/** Which channel it is that the service refuses to a stream: EventSource does not tell. */
async function refusalOf(url: string, channels: ReadonlySet<string>): Promise<string | undefined> {
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

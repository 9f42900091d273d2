import { useEffect, useRef, useSyncExternalStore } from 'react'

/**
 * One stream for all that this tab follows. What a page shows rests on two reads: its data, and the changes from a
 * cursor on that was taken before the data was read (`mark`). So nothing is lost between them, and what comes twice is
 * merged by its keys. When the wanted channels change, a second connection opens from the mark, and the first one is
 * closed a moment after, so channels that stay wanted miss nothing either.
 */
export type StreamState = 'idle' | 'connecting' | 'live' | 'offline'
interface Message {
  channel: string | null
  type: string
  at: string
  payload: Record<string, unknown>
}
type Handler = (payload: Record<string, unknown>, type: string) => void

const KINDS = ['project', 'batch', 'metrics', 'logs', 'resources', 'host', 'hosts', 'dashboard', 'share']
const MARK_HOLDS_MS = 5_000
const OVERLAP_MS = 2_000

const followers = new Map<string, Set<Handler>>()
const resetWatchers = new Set<() => void>()
const stateWatchers = new Set<() => void>()
let state: StreamState = 'idle'
let current: EventSource | null = null
let followed = ''
let lastId: string | null = null
let failures = 0
let scheduled: ReturnType<typeof setTimeout> | null = null
let marked: { at: number; cursor: Promise<string | null> } | null = null

/** Takes a cursor that whatever is read from now on is not older than. */
export function mark(): Promise<string | null> {
  if (marked === null || Date.now() - marked.at > MARK_HOLDS_MS) {
    const cursor = fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"query":"{streamCursor}"}',
    })
      .then(async (answer) => (answer.ok ? String((await answer.json()).data.streamCursor) : null))
      .catch(() => null)
    marked = { at: Date.now(), cursor }
  }
  return marked.cursor
}

function setState(next: StreamState): void {
  if (next === state) return
  state = next
  for (const watcher of stateWatchers) watcher()
}

function schedule(delayMs: number): void {
  if (scheduled !== null) clearTimeout(scheduled)
  scheduled = setTimeout(() => {
    scheduled = null
    void connect()
  }, delayMs)
}

async function connect(): Promise<void> {
  const channels = [...followers.keys()].sort()
  const wanted = channels.join('\n')
  if (wanted === followed && current !== null && current.readyState !== EventSource.CLOSED) return
  const before = current
  if (channels.length === 0) {
    before?.close()
    current = null
    followed = ''
    setState('idle')
    return
  }
  const sameChannels = wanted === followed
  followed = wanted
  if (state !== 'offline') setState('connecting')
  const cursor = sameChannels && lastId !== null ? lastId : await mark()
  if (followed !== wanted) return
  const query = new URLSearchParams(channels.map((name) => ['channel', name]))
  if (cursor !== null) query.set('last_event_id', cursor)
  const source = new EventSource(`/api/sse?${query}`)
  current = source
  if (before !== null) setTimeout(() => before.close(), OVERLAP_MS)
  source.onopen = () => {
    failures = 0
    setState('live')
  }
  source.onerror = () => {
    if (current !== source) return
    setState('offline')
    // EventSource comes back by itself after a cut, but gives up after an answer that is not a stream.
    if (source.readyState !== EventSource.CLOSED) return
    current = null
    schedule(Math.min(30_000, 500 * 2 ** failures++) * (0.75 + Math.random() / 2))
  }
  for (const kind of KINDS) source.addEventListener(kind, receive)
  source.addEventListener('reset', (event) => {
    lastId = (event as MessageEvent).lastEventId
    for (const watcher of resetWatchers) watcher()
  })
}

function receive(event: Event): void {
  const { data, lastEventId } = event as MessageEvent<string>
  if (lastEventId !== '') lastId = lastEventId
  const message = JSON.parse(data) as Message
  for (const handler of followers.get(message.channel ?? '') ?? []) handler(message.payload, message.type)
}

/** Returns what ends it. Channels that come and go within a moment (a change of page) cost one connection. */
export function follow(channel: string, handler: Handler): () => void {
  const handlers = followers.get(channel) ?? new Set()
  followers.set(channel, handlers.add(handler))
  schedule(30)
  return () => {
    handlers.delete(handler)
    if (handlers.size === 0 && followers.get(channel) === handlers) followers.delete(channel)
    schedule(30)
  }
}

/** Called when what was missed is no longer in the log: what is shown must be read anew. */
export function onReset(watcher: () => void): () => void {
  resetWatchers.add(watcher)
  return () => resetWatchers.delete(watcher)
}

/** A sign-in or sign-out changes what may be followed. */
export function reconnect(): void {
  current?.close()
  current = null
  followed = ''
  lastId = null
  marked = null
  schedule(0)
}

export const useStreamState = (): StreamState =>
  useSyncExternalStore(
    (changed) => {
      stateWatchers.add(changed)
      return () => stateWatchers.delete(changed)
    },
    () => state,
  )

/** Follows a channel while the component stands. The handler may change at every render. */
export function useChannel(channel: string | null, handler: Handler): void {
  const latest = useRef(handler)
  useEffect(() => {
    latest.current = handler
  })
  useEffect(() => {
    if (channel === null) return
    return follow(channel, (payload, type) => latest.current(payload, type))
  }, [channel])
}

import { useEffect, useRef, useSyncExternalStore } from 'react'
import type { Cursors, Listener, Place, StreamState } from './hub.ts'
import { type Line, openLine } from './line.ts'

/**
 * What this tab follows. What a page shows rests on two reads: its data, and the changes from a cursor on that was
 * taken before the data was read (`mark`). So nothing is lost between them, and what is in both is merged by its keys.
 * One stream serves all tabs of the browser (`hub.ts`); a tab that stays hidden leaves it, and catches up from where
 * it was once it is looked at again.
 */
type Handler = (payload: Record<string, unknown>, type: string) => void
interface Mark {
  at: number
  cursor: Promise<number | null>
  /** It came with what was read, so it says nothing of another read that is under way. */
  withRead?: true
}

const MARK_HOLDS_MS = 5_000
/** A channel is followed from the oldest mark of this age: a read may take long. */
const READ_TAKES_MS = 15_000
/** Channels that come and go within a moment, as at a change of page, change nothing. */
const SETTLE_MS = 30
const HIDDEN_MS = 20_000
/** After a longer absence the page loads its data again instead of catching up message by message. */
const LONG_AWAY_MS = 10 * 60_000

const followers = new Map<string, Set<Handler>>()
const resetWatchers = new Set<() => void>()
const stateWatchers = new Set<() => void>()
/** How far each followed channel is. */
const places = new Map<string, Place>()
let followings = 0
let marks: Mark[] = []
let state: StreamState = 'idle'
let line: Line | null = null
let scheduled: ReturnType<typeof setTimeout> | null = null
let hiding: ReturnType<typeof setTimeout> | null = null
let awaySince: number | null = null

/** Takes a cursor; everything read from now on is at least as new. */
export async function mark(): Promise<void> {
  await newestMark().cursor
}
/** A read brings its own: the cursor that its answer is not older than. One that fails has read nothing. */
export function markBy(cursor: Promise<number>): void {
  const at = Date.now()
  marks = marks.filter((one) => at - one.at < READ_TAKES_MS)
  marks.push({ at, cursor: cursor.catch(() => null), withRead: true })
}

function newestMark(): Mark {
  const now = Date.now()
  marks = marks.filter(({ at }) => now - at < READ_TAKES_MS)
  const last = marks.findLast((one) => !one.withRead)
  if (last !== undefined && now - last.at < MARK_HOLDS_MS) return last
  const cursor = fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{streamCursor}"}',
  })
    .then(async (answer) => (answer.ok ? Number((await answer.json()).data.streamCursor) : null))
    .catch(() => null)
  const taken = { at: now, cursor }
  marks.push(taken)
  return taken
}

/** From where a channel is followed whose data is being read, or was read just now. */
async function oldestMark(): Promise<number | null> {
  const now = Date.now()
  const fresh = marks.filter(({ at }) => now - at < READ_TAKES_MS)
  const all = fresh.length > 0 ? fresh : [newestMark()]
  // Requests may overtake each other, so the first is not always the oldest.
  let oldest: number | null = null
  for (const { cursor, withRead } of all) {
    const at = await cursor
    if (at === null) {
      if (!withRead) return null
    } else if (oldest === null || at < oldest) oldest = at
  }
  return oldest ?? newestMark().cursor
}

function setState(next: StreamState): void {
  if (next === state) return
  state = next
  for (const watcher of stateWatchers) watcher()
}

function schedule(): void {
  if (scheduled !== null) clearTimeout(scheduled)
  scheduled = setTimeout(() => {
    scheduled = null
    void sendWanted()
  }, SETTLE_MS)
}

async function sendWanted(): Promise<void> {
  for (const channel of places.keys()) if (!followers.has(channel)) places.delete(channel)
  if ([...followers.keys()].some((channel) => !places.has(channel))) {
    if (state === 'idle') setState('connecting')
    const cursor = await oldestMark()
    for (const channel of followers.keys())
      if (!places.has(channel)) places.set(channel, { n: ++followings, cursor })
  }
  // Who looks away wants nothing, but knows from where on.
  if (awaySince !== null) return
  if (places.size === 0) setState('idle')
  if (line !== null) line.want(wanted())
  else if (places.size > 0) line = openLine(listener, wanted)
}

const wanted = (): Cursors => (awaySince === null ? Object.fromEntries(places) : {})

const listener: Listener = {
  hear({ id, channel, n, payload, type }) {
    const place = places.get(channel)
    if (place?.n !== n || (place.cursor !== null && place.cursor >= id)) return
    places.set(channel, { n, cursor: id })
    for (const handler of followers.get(channel) ?? []) handler(payload, type)
  },
  at(told) {
    for (const [channel, place] of Object.entries(told))
      if (places.get(channel)?.n === place.n && place.cursor !== null) places.set(channel, place)
  },
  reset() {
    for (const watcher of resetWatchers) watcher()
  },
  // Who looks away is shown no state.
  state(next) {
    if (awaySince === null) setState(next)
  },
}

/** Returns what ends it. */
export function follow(channel: string, handler: Handler): () => void {
  const handlers = followers.get(channel) ?? new Set()
  followers.set(channel, handlers.add(handler))
  schedule()
  return () => {
    handlers.delete(handler)
    if (handlers.size === 0 && followers.get(channel) === handlers) followers.delete(channel)
    schedule()
  }
}

/** Called when missed messages are no longer in the change log: the page must load its data again. */
export function onReset(watcher: () => void): () => void {
  resetWatchers.add(watcher)
  return () => resetWatchers.delete(watcher)
}

/** A sign-in or sign-out changes what may be followed, by every tab. */
export function reconnect(): void {
  marks = []
  line ??= openLine(listener, wanted)
  line.reconnect()
}

function pause(): void {
  hiding = null
  awaySince = Date.now()
  // What was told until now comes back by `at`.
  line?.want({})
}
function resume(): void {
  if (hiding !== null) clearTimeout(hiding)
  hiding = null
  if (awaySince === null) return
  const long = Date.now() - awaySince > LONG_AWAY_MS
  awaySince = null
  if (long) {
    places.clear()
    marks = []
    for (const watcher of resetWatchers) watcher()
  }
  setState(followers.size === 0 ? 'idle' : 'connecting')
  schedule()
}
function onVisibilityChange(): void {
  if (!document.hidden) resume()
  else hiding ??= setTimeout(pause, HIDDEN_MS)
}
document.addEventListener('visibilitychange', onVisibilityChange)
onVisibilityChange()

export const useStreamState = (): StreamState =>
  useSyncExternalStore(
    (changed) => {
      stateWatchers.add(changed)
      return () => stateWatchers.delete(changed)
    },
    () => state,
  )

/** Follows a channel while the component is mounted. The handler may change at every render. */
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

import { useEffect, useRef, useSyncExternalStore } from 'react'
import type { ChannelCursor } from './connection.ts'
import type { Cursors, Listener, StreamState } from './hub.ts'
import { type HubLink, openHubLink } from './hub-link.ts'
import { cursorOfReads, forgetReads } from './read-cursors.ts'

/**
 * The channels that this tab follows, each from the cursor of the read whose data it continues (`read-cursors.ts`). All
 * tabs of a browser share their streams (`hub.ts`). A tab that stays hidden unsubscribes, and continues from its cursors
 * once it is visible again.
 */
type Handler = (payload: Record<string, unknown>, type: string) => void

/** Delay before channels are subscribed to, so that a change of page does not reconnect. */
const DEBOUNCE_MS = 30
/** A tab that was hidden for this long unsubscribes. */
const HIDDEN_MS = 20_000
/** After a longer pause the page loads its data again instead of catching up message by message. */
const LONG_PAUSE_MS = 10 * 60_000

const handlers = new Map<string, Set<Handler>>()
const resetWatchers = new Set<() => void>()
const stateWatchers = new Set<() => void>()
const cursors = new Map<string, ChannelCursor>()
let subscriptions = 0
let state: StreamState = 'idle'
let link: HubLink | null = null
let debounce: ReturnType<typeof setTimeout> | null = null
let hideTimer: ReturnType<typeof setTimeout> | null = null
let pausedSince: number | null = null

function setState(next: StreamState): void {
  if (next === state) return
  state = next
  for (const watcher of stateWatchers) watcher()
}

function scheduleSubscribe(): void {
  if (debounce !== null) clearTimeout(debounce)
  debounce = setTimeout(() => {
    debounce = null
    void subscribe()
  }, DEBOUNCE_MS)
}

async function subscribe(): Promise<void> {
  for (const channel of cursors.keys()) if (!handlers.has(channel)) cursors.delete(channel)
  if ([...handlers.keys()].some((channel) => !cursors.has(channel))) {
    if (state === 'idle') setState('connecting')
    const cursor = await cursorOfReads()
    for (const channel of handlers.keys())
      if (!cursors.has(channel)) cursors.set(channel, { subscription: ++subscriptions, cursor })
  }
  // A paused tab follows nothing, but keeps its cursors.
  if (pausedSince !== null) return
  if (cursors.size === 0) setState('idle')
  if (link !== null) link.subscribe(wanted())
  else if (cursors.size > 0) link = openHubLink(listener, wanted)
}

const wanted = (): Cursors => (pausedSince === null ? Object.fromEntries(cursors) : {})

const listener: Listener = {
  onMessage({ id, channel, subscription, payload, type }) {
    const known = cursors.get(channel)
    if (known?.subscription !== subscription || (known.cursor !== null && known.cursor >= id)) return
    cursors.set(channel, { subscription, cursor: id })
    for (const handler of handlers.get(channel) ?? []) handler(payload, type)
  },
  onCursors(reported) {
    for (const [channel, next] of Object.entries(reported))
      if (cursors.get(channel)?.subscription === next.subscription && next.cursor !== null)
        cursors.set(channel, next)
  },
  onReset() {
    for (const watcher of resetWatchers) watcher()
  },
  onState(next) {
    if (pausedSince === null) setState(next)
  },
}

/** Follows a channel until the returned function is called. */
export function follow(channel: string, handler: Handler): () => void {
  const ofChannel = handlers.get(channel) ?? new Set()
  handlers.set(channel, ofChannel.add(handler))
  scheduleSubscribe()
  return () => {
    ofChannel.delete(handler)
    if (ofChannel.size === 0 && handlers.get(channel) === ofChannel) handlers.delete(channel)
    scheduleSubscribe()
  }
}

/** Calls `watcher` when missed messages are no longer in the change log: the page must load its data again. */
export function onReset(watcher: () => void): () => void {
  resetWatchers.add(watcher)
  return () => resetWatchers.delete(watcher)
}

/** Opens the streams of all tabs again: a sign-in or sign-out changes what may be followed. */
export function reconnect(): void {
  forgetReads()
  link ??= openHubLink(listener, wanted)
  link.reconnect()
}

function pause(): void {
  hideTimer = null
  pausedSince = Date.now()
  // The hub answers with the cursors that the tab has reached (`onCursors`).
  link?.subscribe({})
}
function resume(): void {
  if (hideTimer !== null) clearTimeout(hideTimer)
  hideTimer = null
  if (pausedSince === null) return
  const long = Date.now() - pausedSince > LONG_PAUSE_MS
  pausedSince = null
  if (long) {
    cursors.clear()
    forgetReads()
    for (const watcher of resetWatchers) watcher()
  }
  setState(handlers.size === 0 ? 'idle' : 'connecting')
  scheduleSubscribe()
}
function onVisibilityChange(): void {
  if (!document.hidden) resume()
  else hideTimer ??= setTimeout(pause, HIDDEN_MS)
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

import { loadedChunk, whenServiceIsBack } from '../availability.ts'
import type { Cursors, Hub, HubClient, Listener } from './hub.ts'
import { holdLock, onceReleased, type TabMessage, type WorkerMessage } from './worker-messages.ts'

/** Connects a tab with the hub in the shared worker, else with a hub of its own. */
export type HubLink = Pick<HubClient, 'subscribe'> & Pick<Hub, 'reconnect'>

const START_TIMEOUT_MS = 10_000
/** Interval of a tab's heartbeats; browsers let hidden tabs send one a minute. */
const HEARTBEAT_MS = 20_000
const MAX_MISSED_HEARTBEATS = 3
/** Attempts to load the code of a hub. */
const MAX_LOADS = 5

/** @param wanted the channels that the tab follows now; subscribed to at once, and again after the hub was lost */
export function openHubLink(listener: Listener, wanted: () => Cursors): HubLink {
  let link =
    typeof SharedWorker === 'undefined' ? ownHub(listener, wanted) : sharedHub(listener, wanted, fallBack)
  function fallBack(): void {
    link = ownHub(listener, wanted)
  }
  return {
    subscribe: (cursors) => link.subscribe(cursors),
    reconnect: () => link.reconnect(),
  }
}

/** Its code is loaded here, because few browsers lack shared workers. */
function ownHub(listener: Listener, wanted: () => Cursors): HubLink {
  let link: HubLink | null = null
  const start = async (attempts: number): Promise<void> => {
    try {
      const { Hub } = await loadedChunk(import('./hub.ts'))
      const hub = new Hub()
      const { subscribe } = hub.join(listener)
      link = { subscribe, reconnect: () => hub.reconnect() }
      subscribe(wanted())
    } catch {
      listener.onState('offline')
      await whenServiceIsBack()
      // A service with another version of the page lacks it for good.
      if (attempts > 1) await start(attempts - 1)
    }
  }
  void start(MAX_LOADS)
  return { subscribe: (cursors) => link?.subscribe(cursors), reconnect: () => link?.reconnect() }
}

function sharedHub(listener: Listener, wanted: () => Cursors, fallBack: () => void): HubLink {
  let port: MessagePort | null = null
  let unanswered = 0
  const heartbeats = setInterval(beat, HEARTBEAT_MS)
  const send = (message: TabMessage): void => port?.postMessage(message)
  const lock = holdLock()
  addEventListener('pagehide', () => send({ kind: 'leave' }))
  addEventListener('pageshow', ({ persisted }) => persisted && send({ kind: 'subscribe', cursors: wanted() }))
  start()

  function start(): void {
    port?.close()
    unanswered = 0
    let worker: SharedWorker
    try {
      worker = new SharedWorker(new URL('./tabs.worker.ts', import.meta.url), {
        type: 'module',
        name: 'live',
      })
    } catch {
      // `fallBack` may only run once `openHubLink` has its link.
      setTimeout(end)
      return
    }
    const mine = worker.port
    port = mine
    // A worker that cannot start sends no message, or raises an error.
    const timeout = setTimeout(() => port === mine && end(), START_TIMEOUT_MS)
    worker.onerror = () => port === mine && end()
    mine.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
      if (port !== mine) return
      unanswered = 0
      if (data.kind === 'started') clearTimeout(timeout)
      else if (data.kind === 'lock') void onceReleased(data.lock, () => port === mine && start())
      else receive(data)
    }
    send({ kind: 'subscribe', cursors: wanted() })
    void lock.then((name) => name !== undefined && send({ kind: 'reportCursors', lock: name }))
  }

  function receive(message: Exclude<WorkerMessage, { kind: 'started' | 'lock' }>): void {
    if (message.kind === 'subscribeAgain') send({ kind: 'subscribe', cursors: wanted() })
    else if (message.kind === 'onMessage') listener.onMessage(message.value)
    else if (message.kind === 'onCursors') listener.onCursors(message.value)
    else if (message.kind === 'onState') listener.onState(message.value)
    else listener.onReset()
  }

  function beat(): void {
    if (++unanswered > MAX_MISSED_HEARTBEATS) start()
    send({ kind: 'reportCursors' })
  }

  function end(): void {
    clearInterval(heartbeats)
    port?.close()
    port = null
    fallBack()
  }

  return {
    subscribe: (cursors) => send({ kind: 'subscribe', cursors }),
    reconnect: () => send({ kind: 'reconnect' }),
  }
}

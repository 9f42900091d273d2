import { type Cursors, createHub, type Hub, type Listener, type Member } from './hub.ts'
import { holdLock, onceFree, type WorkerMessage, type WorkerRequest } from './talk.ts'

/** The way from a tab to its streams: through the worker that all tabs share, else by streams of its own. */
export type Line = Pick<Member, 'want'> & Pick<Hub, 'reconnect'>

const HELLO_MS = 10_000
/** How often a tab says that it is there; browsers let hidden ones do so once a minute. */
const HEARTBEAT_MS = 20_000
const MISSED_HEARTBEATS = 3

/** @param wanted what the tab wants and how far it is: asked for at once, and whenever the other end knows nothing of it */
export function openLine(listener: Listener, wanted: () => Cursors): Line {
  let line =
    typeof SharedWorker === 'undefined' ? ownLine(listener, wanted) : sharedLine(listener, wanted, fallBack)
  function fallBack(): void {
    line = ownLine(listener, wanted)
  }
  return {
    want: (cursors) => line.want(cursors),
    reconnect: () => line.reconnect(),
  }
}

function ownLine(listener: Listener, wanted: () => Cursors): Line {
  const hub = createHub()
  const { want } = hub.join(listener)
  want(wanted())
  return { want, reconnect: hub.reconnect }
}

function sharedLine(listener: Listener, wanted: () => Cursors, fallBack: () => void): Line {
  let port: MessagePort | null = null
  let unanswered = 0
  const beating = setInterval(beat, HEARTBEAT_MS)
  const say = (said: WorkerRequest): void => port?.postMessage(said)
  const lock = holdLock()
  addEventListener('pagehide', () => say({ say: 'leave' }))
  addEventListener('pageshow', ({ persisted }) => persisted && say({ say: 'want', cursors: wanted() }))
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
      // Not before the caller has this line in hand.
      setTimeout(end)
      return
    }
    const mine = worker.port
    port = mine
    // A worker that does not start says nothing, or that there was an error.
    const patience = setTimeout(() => port === mine && end(), HELLO_MS)
    worker.onerror = () => port === mine && end()
    mine.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
      if (port !== mine) return
      unanswered = 0
      switch (data.tell) {
        case 'hello':
          return clearTimeout(patience)
        case 'lock':
          return void onceFree(data.lock, () => port === mine && start())
        case 'again':
          return say({ say: 'want', cursors: wanted() })
        case 'hear':
          return listener.hear(data.of)
        case 'at':
          return listener.at(data.of)
        case 'state':
          return listener.state(data.of)
        case 'reset':
          return listener.reset()
      }
    }
    say({ say: 'want', cursors: wanted() })
    void lock.then((name) => name !== undefined && say({ say: 'ask', lock: name }))
  }

  function beat(): void {
    if (++unanswered > MISSED_HEARTBEATS) start()
    say({ say: 'ask' })
  }

  function end(): void {
    clearInterval(beating)
    port?.close()
    port = null
    fallBack()
  }

  return {
    want: (cursors) => say({ say: 'want', cursors }),
    reconnect: () => say({ say: 'reconnect' }),
  }
}

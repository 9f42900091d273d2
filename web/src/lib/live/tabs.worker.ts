import { Hub, type HubClient, type Listener } from './hub.ts'
import { holdLock, onceReleased, type TabMessage, type WorkerMessage } from './worker-messages.ts'

/** The shared worker of all tabs: it follows the channels of all, and sends each tab the messages of its own. */

/** The part of the global scope that is used here; the types of pages do not include workers. */
const scope = globalThis as unknown as { onconnect: (event: MessageEvent) => void }

/** A tab without a message for this long is closed. Browsers let a hidden tab run once a minute. */
const TAB_TIMEOUT_MS = 150_000
const CHECK_MS = 20_000

interface Tab {
  lastMessageAt: number
  leave(): void
}

const hub = new Hub()
const lock = holdLock()
const tabs = new Set<Tab>()
setInterval(() => {
  for (const tab of tabs) if (Date.now() - tab.lastMessageAt > TAB_TIMEOUT_MS) tab.leave()
}, CHECK_MS)

scope.onconnect = ({ ports: [port] }) => {
  if (port === undefined) return
  const send = (message: WorkerMessage): void => port.postMessage(message)
  const listener: Listener = {
    onMessage: (value) => send({ kind: 'onMessage', value }),
    onReset: () => send({ kind: 'onReset', value: undefined }),
    onState: (value) => send({ kind: 'onState', value }),
    onCursors: (value) => send({ kind: 'onCursors', value }),
  }
  let client: HubClient | null = null
  const tab: Tab = {
    lastMessageAt: 0,
    leave() {
      client?.leave()
      client = null
      tabs.delete(tab)
    },
  }
  port.onmessage = ({ data }: MessageEvent<TabMessage>) => {
    tab.lastMessageAt = Date.now()
    if (data.kind === 'leave') return tab.leave()
    if (data.kind === 'reconnect') return hub.reconnect()
    if (client === null) {
      client = hub.join(listener)
      tabs.add(tab)
      if (data.kind === 'reportCursors') send({ kind: 'subscribeAgain' })
    }
    if (data.kind === 'subscribe') return client.subscribe(data.cursors)
    client.reportCursors()
    if (data.lock !== undefined) void onceReleased(data.lock, tab.leave)
  }
  send({ kind: 'started' })
  void lock.then((name) => name !== undefined && send({ kind: 'lock', lock: name }))
}

import { createHub, type Listener, type Member } from './hub.ts'
import { holdLock, onceFree, type WorkerMessage, type WorkerRequest } from './talk.ts'

/** One for all tabs of a browser: follows what any of them wants, and tells each what it asked for. */

/** The part of the global scope that is used here; the types of pages know no workers. */
const scope = globalThis as unknown as { onconnect: (event: MessageEvent) => void }

/** A tab that sent nothing for so long is closed. Browsers wake hidden ones once a minute. */
const GONE_MS = 150_000
const LOOK_MS = 20_000

interface Tab {
  heardAt: number
  leave(): void
}

const hub = createHub()
const lock = holdLock()
const tabs = new Set<Tab>()
setInterval(() => {
  for (const tab of tabs) if (Date.now() - tab.heardAt > GONE_MS) tab.leave()
}, LOOK_MS)

scope.onconnect = ({ ports: [port] }) => {
  if (port === undefined) return
  const tell = (told: WorkerMessage): void => port.postMessage(told)
  const listener: Listener = {
    hear: (of) => tell({ tell: 'hear', of }),
    reset: () => tell({ tell: 'reset', of: undefined }),
    state: (of) => tell({ tell: 'state', of }),
    at: (of) => tell({ tell: 'at', of }),
  }
  let member: Member | null = null
  const tab: Tab = {
    heardAt: 0,
    leave() {
      member?.leave()
      member = null
      tabs.delete(tab)
    },
  }
  port.onmessage = ({ data }: MessageEvent<WorkerRequest>) => {
    tab.heardAt = Date.now()
    if (data.say === 'leave') return tab.leave()
    if (data.say === 'reconnect') return hub.reconnect()
    if (member === null) {
      member = hub.join(listener)
      tabs.add(tab)
      if (data.say === 'ask') tell({ tell: 'again' })
    }
    if (data.say === 'want') return member.want(data.cursors)
    member.ask()
    if (data.lock !== undefined) void onceFree(data.lock, tab.leave)
  }
  tell({ tell: 'hello' })
  void lock.then((name) => name !== undefined && tell({ tell: 'lock', lock: name }))
}

import { PrimaryClient } from '../db/hosts.ts'

/** The NOTIFY channel of the change log (commit.ts). */
const NOTIFY_CHANNEL = 'changes'
const RETRY_MS = 500
/** A connection that a firewall swallowed looks open for minutes; one question in a while tells. */
const POLL_MS = 2_000
const TIMEOUT_MS = 2_000

export interface Listener {
  stop(): Promise<void>
}

/**
 * Keeps one connection of this process listening, and calls `ring` for every notification and after every (re)connect,
 * because notifications in between are lost. A lost connection is replaced within about 5 s; a notification
 * that is missed costs a poll's interval (tail.ts), never a change.
 *
 * This is the one place that uses `pg` rather than postgres.js: the latter gives up permanently if the first attempt
 * to listen again fails, as it does while the database restarts.
 */
export function startListening(options: {
  url: string
  ring: () => void
  failed: (error: unknown) => void
}): Listener {
  const stopping = new AbortController()
  /** A database that is away is complained of once, not with every attempt. */
  let failing = false

  /** Listens until the connection is lost or listening stops. */
  async function listen(): Promise<void> {
    const client = new PrimaryClient({
      connectionString: options.url,
      application_name: 'svc listen',
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      keepAlive: true,
    })
    let over = false
    const lost = new Promise<void>((resolve) => {
      client.once('end', resolve)
      client.once('error', () => resolve())
      if (stopping.signal.aborted) resolve()
      stopping.signal.addEventListener('abort', () => resolve(), { once: true })
    }).then(() => {
      over = true
    })
    client.on('error', () => {})
    client.on('notification', options.ring)
    const listening = (async (): Promise<void> => {
      await client.connect()
      await client.query(`listen ${NOTIFY_CHANNEL}`)
      failing = false
      options.ring()
      while (!over && !(await settlesWithin(lost, POLL_MS))) {
        await client.query('/* listen.alive */ select 1')
      }
    })()
    try {
      // A connection that is ended while it is made settles nothing by itself.
      await Promise.race([listening, lost])
    } finally {
      over = true
      listening.catch(() => {})
      client.end().catch(() => {})
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await listen().catch((error) => {
        if (!failing && !stopping.signal.aborted) options.failed(error)
        failing = true
      })
      if (!stopping.signal.aborted) await pause(RETRY_MS, stopping.signal)
    }
  }
  const running = run()
  return {
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Whether the promise settles within that time. */
function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms)
    void promise.then(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms)
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}

import { setTimeout as sleep } from 'node:timers/promises'
import { placeOf } from '../db/address.ts'
import { closeFormerPrimaryConnections, PrimaryClient } from '../db/hosts.ts'

/** The NOTIFY channel of the change log (commit.ts). */
const NOTIFY_CHANNEL = 'changes'
const RETRY_MS = 500
/** A connection that a firewall dropped looks open for minutes; a query from time to time finds out. */
const POLL_MS = 2_000
const TIMEOUT_MS = 2_000

export interface Listener {
  stop(): Promise<void>
}

/**
 * Keeps one connection of this process listening. Calls `notified` for every notification and after every (re)connect,
 * because notifications in between are lost. A lost connection is replaced within about 5 s; a missed notification
 * costs at most one poll interval (tail.ts), never a change. If another server answers after a reconnect (fail-over),
 * the other connections of this process to the former server are closed.
 *
 * Uses `pg` rather than postgres.js, which gives up permanently if the first attempt to listen again fails, as it does
 * while the database restarts.
 */
export function startListening(options: {
  url: string
  notified: () => void
  failed: (error: unknown) => void
}): Listener {
  const stopping = new AbortController()
  /** An unreachable database is reported once, not with every attempt. */
  let failing = false
  /** Which server answered last. */
  let server: string | undefined

  /** Listens until the connection is lost or listening stops. */
  async function listen(): Promise<void> {
    const client = new PrimaryClient({
      connectionString: options.url,
      name: 'listen',
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      keepAlive: true,
    })
    const lost = new AbortController()
    const lose = (): void => lost.abort()
    client.once('end', lose)
    client.on('error', lose)
    client.on('notification', options.notified)
    if (stopping.signal.aborted) lose()
    stopping.signal.addEventListener('abort', lose)
    const listening = (async (): Promise<void> => {
      await client.connect()
      const { rows } = await client.query(
        '/* listen.server */ select pg_postmaster_start_time()::text started',
      )
      const answering = `${placeOf(client.place)} ${rows[0]?.started}`
      if (server !== undefined && server !== answering) closeFormerPrimaryConnections(client)
      server = answering
      await client.query(`listen ${NOTIFY_CHANNEL}`)
      failing = false
      options.notified()
      while (!lost.signal.aborted) {
        await pause(POLL_MS, lost.signal)
        if (!lost.signal.aborted) await client.query('/* listen.alive */ select 1')
      }
    })()
    try {
      // A client that is ended while it connects never settles its promise.
      await Promise.race([listening, aborted(lost.signal)])
    } finally {
      lose()
      stopping.signal.removeEventListener('abort', lose)
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Waits, and less if the signal is aborted. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => {})

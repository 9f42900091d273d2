import { Socket } from 'node:net'
import { Client, type ClientConfig } from 'pg'
import { codeOf, messageOf } from '../thrown.ts'

/**
 * A database URL may name several hosts, of which only the primary accepts writes: `postgresql://a,b:5433/svc`. After a
 * failover, connections are opened to the new primary. `pg` supports only one host, so this file connects for it, and
 * it creates the sockets of both clients (`pg` and postgres.js).
 */

const DEFAULT_PORT = 5432
/** Timeout for asking one host whether it accepts writes. */
const CHECK_TIMEOUT_MS = 5_000

const HOSTS = /^([a-z]+:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/i

/** One URL per host, in order. `target_session_attrs` is removed because `pg` would take it for a setting. */
export function urlsOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = HOSTS.exec(url) ?? []
  if (!hosts.includes(',')) return [url]
  const rest = after.replace(/([?&])target_session_attrs=[^&]*&?/, '$1').replace(/[?&]$/, '')
  return hosts.split(',').map((host) => `${before}${host}${rest}`)
}

/** For each URL with several hosts, the index of the host that accepted writes last. A failed attempt advances it. */
const hostIndexes = new Map<string, number>()

/** The open sockets to each database, by its URL, with the address each one is connected to. */
const sockets = new Map<string, Map<Socket, string>>()

function openSocket(database: string): Socket {
  const socket = new Socket()
  const open = sockets.get(database) ?? new Map<Socket, string>()
  sockets.set(database, open)
  // A `close` listener would not work: postgres.js removes all listeners from a socket when it starts TLS.
  for (const one of open.keys()) if (one.destroyed) open.delete(one)
  socket.once('connect', () => {
    const { remoteAddress, remotePort } = socket
    // Unix sockets have no address.
    if (remoteAddress !== undefined) open.set(socket, `${remoteAddress}:${remotePort}`)
  })
  return socket
}

/**
 * Closes all connections to the database of `client` that lead to another address than the client's own, which is the
 * primary before a failover. A machine that is gone closes none of them, and TCP would take 15 minutes to give up.
 */
export function closeFormerPrimaryConnections(client: PrimaryClient): void {
  const open = sockets.get(client.databaseUrl)
  const address = open?.get(client.socket)
  if (open === undefined || address === undefined) return
  for (const [socket, other] of open) if (other !== address) socket.destroy()
}

/** The running search for the primary of each URL. Connections that break together share one search. */
const searches = new Map<string, Promise<string>>()

/**
 * Finds the host that accepts writes. `PrimaryClient` connects there next.
 * @returns the URL of that host; the given URL if it names only one host
 * @throws Error when no host accepts writes, with the answer of each host and the error code of the first
 */
export function findPrimary(url: string): Promise<string> {
  if (urlsOf(url).length < 2) return Promise.resolve(url)
  let search = searches.get(url)
  if (search === undefined) {
    search = searchPrimary(url).finally(() => searches.delete(url))
    searches.set(url, search)
  }
  return search
}

async function searchPrimary(url: string): Promise<string> {
  const reasons: string[] = []
  let code: string | undefined
  for (const _ of urlsOf(url)) {
    const client = new PrimaryClient({ connectionString: url, connectionTimeoutMillis: CHECK_TIMEOUT_MS })
    // The connection may break after the host has answered.
    client.on('error', () => {})
    try {
      await client.connect()
      return client.url
    } catch (error) {
      reasons.push(`${new URL(client.url).host}: ${messageOf(error) || codeOf(error)}`)
      code ??= codeOf(error)
    } finally {
      await client.end().catch(() => {})
    }
  }
  const message = `none of its hosts accepts writes (${reasons.join('; ')})`
  throw Object.assign(new Error(message), { code: code ?? '57P03' })
}

/** The address that postgres.js would connect to. */
interface Target {
  host: string[]
  port: number[]
  /** The path of a Unix socket. */
  path: string | false
}

/**
 * Creates the sockets of a postgres.js pool. If the URL names several hosts, they connect to the primary. The search in
 * postgres.js itself (`target_session_attrs`) loops without a pause and never fails while there is no primary. With
 * these sockets statements fail at once and requests get 503.
 */
export function poolSockets(url: string): (target: Target) => Promise<Socket> {
  const several = urlsOf(url).length > 1
  return async ({ path, host: [first = ''], port: [port = DEFAULT_PORT] }) => {
    const socket: Socket & { host?: string } = openSocket(url)
    try {
      if (!several && path) return socket.connect(path)
      const primary = several ? new URL(await findPrimary(url)) : undefined
      // postgres.js reads `host` for TLS.
      socket.host = primary === undefined ? first : decodeURIComponent(primary.hostname)
      socket.connect(Number(primary === undefined ? port : primary.port || DEFAULT_PORT), socket.host)
    } catch (error) {
      // postgres.js would keep a connection without a socket forever, but it replaces one whose socket breaks.
      socket.destroy(error as Error)
    }
    return socket
  }
}

/** A `pg` client that connects to the primary. When a host fails, the next attempt tries the next host. */
export class PrimaryClient extends Client {
  /** The URL of the database; may name several hosts. */
  readonly databaseUrl: string
  /** The URL of the host that this client connects to. */
  readonly url: string
  readonly socket: Socket
  /** The database URL if it names several hosts. */
  readonly #multiHostUrl: string | undefined
  readonly #hostIndex: number

  constructor(config: ClientConfig) {
    const { connectionString } = config
    const urls = connectionString === undefined ? [] : urlsOf(connectionString)
    const several = connectionString !== undefined && urls.length > 1
    const turn = several ? (hostIndexes.get(connectionString) ?? 0) : 0
    const url = urls[turn % urls.length] ?? ''
    const database = connectionString ?? ''
    const socket = openSocket(database)
    super({ ...config, ...(several && { connectionString: url }), stream: () => socket })
    this.databaseUrl = database
    this.url = url
    this.socket = socket
    this.#multiHostUrl = several ? connectionString : undefined
    this.#hostIndex = turn
  }

  override connect(): Promise<Client>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
    const connected = this.#connect()
    if (callback === undefined) return connected
    // Both callers (`pg` pools) pass a callback that treats a missing error as success.
    connected.then(() => callback(undefined as unknown as Error), callback)
    return undefined
  }

  async #connect(): Promise<Client> {
    try {
      await super.connect()
      if (this.#multiHostUrl === undefined) return this
      const { rows } = await this.query('/* hosts.primary */ select pg_is_in_recovery() standby')
      if (rows[0]?.standby !== true) return this
      await this.end().catch(() => {})
      // The code of a server that is starting, so that the connection is retried.
      throw Object.assign(new Error('the host is a standby'), { code: '57P03' })
    } catch (error) {
      if (this.#multiHostUrl !== undefined && (hostIndexes.get(this.#multiHostUrl) ?? 0) === this.#hostIndex)
        hostIndexes.set(this.#multiHostUrl, this.#hostIndex + 1)
      throw error
    }
  }
}

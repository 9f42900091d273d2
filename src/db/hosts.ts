import { Socket } from 'node:net'
import { Client, type ClientConfig } from 'pg'
import { codeOf, messageOf } from '../thrown.ts'

/**
 * A database URL may name several hosts, of which one accepts writes at a time: `postgresql://a,b:5433/svc`. After a
 * fail-over another one does; connections are made again there. `pg` knows one host only, so its connections are made
 * here; both clients get their sockets from here.
 */

const DEFAULT_PORT = 5432
/** How long one host may take to say whether it accepts writes. */
const CHECK_TIMEOUT_MS = 5_000

const HOSTS = /^([a-z]+:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/i

/** The URL of each of its hosts, in their order; without `target_session_attrs`, which `pg` takes for a setting. */
export function urlsOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = HOSTS.exec(url) ?? []
  if (!hosts.includes(',')) return [url]
  const rest = after.replace(/([?&])target_session_attrs=[^&]*&?/, '$1').replace(/[?&]$/, '')
  return hosts.split(',').map((host) => `${before}${host}${rest}`)
}

/** Of each URL with several hosts, the one that accepted writes last; a failed attempt moves on to the next. */
const turns = new Map<string, number>()

/** The open sockets to each database, by its URL, with the address that each is connected to. */
const sockets = new Map<string, Map<Socket, string>>()

function openSocket(database: string): Socket {
  const socket = new Socket()
  const open = sockets.get(database) ?? new Map<Socket, string>()
  sockets.set(database, open)
  // Not when they close: postgres.js takes every listener off a socket when it begins TLS.
  for (const one of open.keys()) if (one.destroyed) open.delete(one)
  socket.once('connect', () => {
    const { remoteAddress, remotePort } = socket
    // A Unix socket has none.
    if (remoteAddress !== undefined) open.set(socket, `${remoteAddress}:${remotePort}`)
  })
  return socket
}

/**
 * Breaks the connections to the database of `client` that lead to another address than its own: to the primary before a
 * fail-over. If that machine is gone it closes none of them, and TCP gives up after a quarter of an hour.
 */
export function leaveFormerPrimary(client: PrimaryClient): void {
  const open = sockets.get(client.databaseUrl)
  const address = open?.get(client.socket)
  if (open === undefined || address === undefined) return
  for (const [socket, other] of open) if (other !== address) socket.destroy()
}

/** The search for the primary of each URL that is under way: connections that break together look for it once. */
const searches = new Map<string, Promise<string>>()

/**
 * Of several hosts finds the one that accepts writes, where `PrimaryClient` connects next.
 * @returns its URL; of a single host the same URL
 * @throws where none does, with what each of them said and the code of the first
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
    // Its connection may break after it has answered.
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

/** What postgres.js says of where it would connect. */
interface Target {
  host: string[]
  port: number[]
  /** Of a Unix socket. */
  path: string | false
}

/**
 * Makes the sockets of a postgres.js pool. Where the URL names several hosts, they go to the one that accepts writes: its own
 * search for it (`target_session_attrs`) goes round without a pause and without an answer while no host is one; with these,
 * statements fail at once, and requests are answered with 503.
 */
export function poolSockets(url: string): (target: Target) => Promise<Socket> {
  const several = urlsOf(url).length > 1
  return async ({ path, host: [first = ''], port: [port = DEFAULT_PORT] }) => {
    const socket: Socket & { host?: string } = openSocket(url)
    try {
      if (!several && path) return socket.connect(path)
      const primary = several ? new URL(await findPrimary(url)) : undefined
      // postgres.js reads it for TLS.
      socket.host = primary === undefined ? first : decodeURIComponent(primary.hostname)
      socket.connect(Number(primary === undefined ? port : primary.port || DEFAULT_PORT), socket.host)
    } catch (error) {
      // postgres.js would keep a connection without a socket forever; one that breaks it makes again.
      socket.destroy(error as Error)
    }
    return socket
  }
}

/** A client that connects to the host that accepts writes; what fails at one host succeeds at the next attempt, if at all. */
export class PrimaryClient extends Client {
  /** The URL of the database, which may name several hosts. */
  readonly databaseUrl: string
  /** Of the host that it connects to. */
  readonly url: string
  readonly socket: Socket
  /** With several hosts. */
  readonly #several: string | undefined
  readonly #turn: number

  constructor(config: ClientConfig) {
    const { connectionString } = config
    const urls = connectionString === undefined ? [] : urlsOf(connectionString)
    const several = connectionString !== undefined && urls.length > 1
    const turn = several ? (turns.get(connectionString) ?? 0) : 0
    const url = urls[turn % urls.length] ?? ''
    const database = connectionString ?? ''
    const socket = openSocket(database)
    super({ ...config, ...(several && { connectionString: url }), stream: () => socket })
    this.databaseUrl = database
    this.url = url
    this.socket = socket
    this.#several = several ? connectionString : undefined
    this.#turn = turn
  }

  override connect(): Promise<Client>
  override connect(callback: (error: Error) => void): void
  override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
    const connected = this.#connect()
    if (callback === undefined) return connected
    // Both of its clients pass a callback that takes no error for a success.
    connected.then(() => callback(undefined as unknown as Error), callback)
    return undefined
  }

  async #connect(): Promise<Client> {
    try {
      await super.connect()
      if (this.#several === undefined) return this
      const { rows } = await this.query('/* hosts.primary */ select pg_is_in_recovery() standby')
      if (rows[0]?.standby !== true) return this
      await this.end().catch(() => {})
      // As a server says that is starting: it is tried again.
      throw Object.assign(new Error('the host is a standby'), { code: '57P03' })
    } catch (error) {
      if (this.#several !== undefined && (turns.get(this.#several) ?? 0) === this.#turn)
        turns.set(this.#several, this.#turn + 1)
      throw error
    }
  }
}

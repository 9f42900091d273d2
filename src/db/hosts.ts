import { Socket } from 'node:net'
import { Client, type ClientConfig } from 'pg'
import { codeOf, messageOf } from '../thrown.ts'

/**
 * A database URL may name several hosts, of which one accepts writes at a time: `postgresql://a,b:5433/svc`. After a
 * fail-over another one does; connections that break are made again there. `pg` knows one host only, so its connections
 * are made here; postgres.js gets its sockets from here.
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

/**
 * The sockets of a postgres.js pool whose URL names several hosts; undefined for one host. Its own search for a primary
 * (`target_session_attrs`) goes round without a pause and without an answer while no host is one; with these, statements
 * fail at once, and requests are answered with 503.
 */
export function primarySockets(url: string): (() => Promise<Socket>) | undefined {
  if (urlsOf(url).length < 2) return undefined
  return async () => {
    const socket: Socket & { host?: string } = new Socket()
    try {
      const { hostname, port } = new URL(await findPrimary(url))
      // postgres.js reads it for TLS.
      socket.host = decodeURIComponent(hostname)
      socket.connect(Number(port || DEFAULT_PORT), socket.host)
    } catch (error) {
      // postgres.js would keep a connection without a socket forever; one that breaks it makes again.
      socket.destroy(error as Error)
    }
    return socket
  }
}

/** A client that connects to the host that accepts writes; what fails at one host succeeds at the next attempt, if at all. */
export class PrimaryClient extends Client {
  /** Of the host that it connects to. */
  readonly url: string
  /** With several hosts. */
  readonly #several: string | undefined
  readonly #turn: number

  constructor(config: ClientConfig) {
    const { connectionString } = config
    const urls = connectionString === undefined ? [] : urlsOf(connectionString)
    const several = connectionString !== undefined && urls.length > 1
    const turn = several ? (turns.get(connectionString) ?? 0) : 0
    const url = urls[turn % urls.length] ?? ''
    super(several ? { ...config, connectionString: url } : config)
    this.url = url
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

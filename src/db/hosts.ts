import { Socket } from 'node:net'
import { Client, type ClientConfig } from 'pg'
import { codeOf, messageOf } from '../thrown.ts'
import { addressOf, type DatabaseAddress, type Host, placeOf } from './address.ts'
import { type Connected, connectTo } from './connect.ts'
import { passwordFor } from './password.ts'

/**
 * A database URL may name several hosts, of which only the primary accepts writes: `postgresql://a,b:5433/svc`. After a
 * failover, connections are opened to the new primary. This file connects for both clients (`pg` and postgres.js), which
 * otherwise support different parts of libpq's addresses.
 */

/** Timeout for asking one host whether it accepts writes. */
const CHECK_TIMEOUT_MS = 5_000

/** For each URL with several hosts, the index of the host that accepted writes last. A failed attempt advances it. */
const hostIndexes = new Map<string, number>()

/** The open sockets to each database, by its URL, with the address each one is connected to. */
const sockets = new Map<string, Map<Socket, string>>()

/** Remembers a socket while it is open. */
const remember =
  (database: string) =>
  (socket: Socket): void => {
    const open = sockets.get(database) ?? new Map<Socket, string>()
    sockets.set(database, open)
    // A `close` listener would not work: postgres.js removes all listeners from a socket when it is done with it.
    for (const one of open.keys()) if (one.destroyed) open.delete(one)
    const { remoteAddress, remotePort } = socket
    // Unix sockets have no address.
    if (remoteAddress !== undefined) open.set(socket, `${remoteAddress}:${remotePort}`)
  }

/**
 * Closes all connections to the database of `client` that lead to another address than the client's own, which is the
 * primary before a failover. A machine that is gone closes none of them, and TCP would take 15 minutes to give up.
 */
export function closeFormerPrimaryConnections(client: PrimaryClient): void {
  const open = sockets.get(client.databaseUrl)
  const address = client.socket && open?.get(client.socket)
  if (open === undefined || address === undefined) return
  for (const [socket, other] of open) if (other !== address) socket.destroy()
}

/** The running search for the primary of each URL. Connections that break together share one search. */
const searches = new Map<string, Promise<Host>>()

/**
 * Finds the host that accepts writes. `PrimaryClient` connects there next.
 * @returns that host; the only one if the URL names one
 * @throws Error when no host accepts writes, with the answer of each host and the error code of the first
 */
export async function findPrimary(url: string): Promise<Host> {
  const { hosts } = addressOf(url)
  if (hosts.length < 2) return hosts[0] as Host
  let search = searches.get(url)
  if (search === undefined) {
    search = searchPrimary(url, hosts).finally(() => searches.delete(url))
    searches.set(url, search)
  }
  return search
}

async function searchPrimary(url: string, hosts: readonly Host[]): Promise<Host> {
  const reasons: string[] = []
  let code: string | undefined
  for (const _ of hosts) {
    const client = new PrimaryClient({
      connectionString: url,
      name: 'search',
      connectionTimeoutMillis: CHECK_TIMEOUT_MS,
    })
    // The connection may break after the host has answered.
    client.on('error', () => {})
    try {
      await client.connect()
      return client.place
    } catch (error) {
      reasons.push(`${placeOf(client.place)}: ${messageOf(error) || codeOf(error)}`)
      code ??= codeOf(error)
    } finally {
      await client.end().catch(() => {})
    }
  }
  const message = `none of its hosts accepts writes (${reasons.join('; ')})`
  throw Object.assign(new Error(message), { code: code ?? '57P03' })
}

/** A socket of postgres.js, with what its patch reads for channel binding and the password. */
interface PoolSocket extends Socket {
  channelBinding?: Buffer | undefined
  password?: () => string
}

/**
 * Creates the sockets of a postgres.js pool. If the URL names several hosts, they connect to the primary. The search in
 * postgres.js itself (`target_session_attrs`) loops without a pause and never fails while there is no primary. With
 * these sockets statements fail at once and requests get 503.
 */
export function poolSockets(url: string): () => Promise<Socket> {
  const address = addressOf(url)
  const { connectTimeoutMs: timeoutMs } = address
  return async () => {
    try {
      const host = await findPrimary(url)
      const connected = await connectTo(address, host, { timeoutMs, opened: remember(url) })
      const stream: PoolSocket = connected.stream
      stream.channelBinding = connected.channelBinding
      stream.password = () => passwordFor(address, host)
      return stream
    } catch (error) {
      // postgres.js would keep a connection without a socket forever, but it replaces one whose socket breaks.
      return new Socket().destroy(error as Error)
    }
  }
}

/** SQL that sets `settings` for the rest of a session; undefined without settings. */
export function settingsSql(settings: Readonly<Record<string, string>>): string | undefined {
  const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`
  const calls = Object.entries(settings).map(
    ([name, value]) => `set_config(${literal(name)}, ${literal(value)}, false)`,
  )
  return calls.length === 0 ? undefined : `/* connection.settings */ select ${calls.join(', ')}`
}

interface PrimaryClientConfig extends ClientConfig {
  connectionString: string
  /** The purpose of the connection: the end of its `application_name`. */
  name: string
  /** Set after connecting: a pooler such as PgBouncer refuses them in the start-up message. */
  settings?: Readonly<Record<string, string>>
}

/** A `pg` client that connects to the primary. When a host fails, the next attempt tries the next host. */
export class PrimaryClient extends Client {
  /** The URL of the database; may name several hosts. */
  readonly databaseUrl: string
  /** The host that this client connects to. */
  readonly place: Host
  /** Once it is connected. */
  socket: Socket | undefined
  readonly #address: DatabaseAddress
  readonly #hostIndex: number
  readonly #timeoutMs: number
  readonly #settings: string | undefined
  #ended = false

  constructor({ connectionString: url, name, settings, ...config }: PrimaryClientConfig) {
    const address = addressOf(url)
    const turn = hostIndexes.get(url) ?? 0
    const place = address.hosts[turn % address.hosts.length] as Host
    super({
      ...config,
      host: 'localhost',
      port: place.port,
      user: address.user,
      database: address.database,
      password: () => passwordFor(address, place),
      // `connectTo` does it.
      ssl: false,
      application_name: `${address.name} ${name}`,
      ...(address.options !== undefined && { options: address.options }),
      // Replaced before it is used.
      stream: () => new Socket(),
    })
    this.databaseUrl = url
    this.place = place
    this.#address = address
    this.#hostIndex = turn
    const limit = config.connectionTimeoutMillis ?? 0
    this.#timeoutMs = limit > 0 ? Math.min(limit, address.connectTimeoutMs) : address.connectTimeoutMs
    this.#settings = settingsSql({ ...address.settings, ...settings })
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

  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    this.#ended = true
    return callback === undefined ? super.end() : (super.end(callback) as undefined)
  }

  async #connect(): Promise<Client> {
    try {
      this.#use(
        await connectTo(this.#address, this.place, {
          timeoutMs: this.#timeoutMs,
          opened: remember(this.databaseUrl),
        }),
      )
      await super.connect()
      if (this.#settings !== undefined) await this.query(this.#settings)
      if (!this.#address.primary) return this
      const { rows } = await this.query('/* hosts.primary */ select pg_is_in_recovery() standby')
      if (rows[0]?.standby !== true) return this
      // The code of a server that is starting, so that the connection is retried.
      throw Object.assign(new Error('the host is a standby'), { code: '57P03' })
    } catch (error) {
      await super.end().catch(() => {})
      if ((hostIndexes.get(this.databaseUrl) ?? 0) === this.#hostIndex && this.#address.hosts.length > 1)
        hostIndexes.set(this.databaseUrl, this.#hostIndex + 1)
      throw error
    }
  }

  /**
   * Gives `pg` a connected stream, on which it continues as after connecting by itself. Its public option `stream` is read
   * in the constructor, before it is known to which host to connect and whether the server's certificate can be bound.
   */
  #use({ stream, socket, channelBinding }: Connected): void {
    if (this.#ended) {
      stream.destroy()
      throw Object.assign(new Error('Connection terminated'), { code: 'CONNECTION_ENDED' })
    }
    this.socket = socket
    const self = this as unknown as { connection: { stream: Socket }; enableChannelBinding: boolean }
    self.connection.stream = Object.assign(stream, {
      connect: () => {
        process.nextTick(() => stream.emit('connect'))
        return stream
      },
    })
    self.enableChannelBinding = channelBinding !== undefined
  }
}

import { Client, type ClientConfig } from 'pg'

/**
 * A database URL may name several hosts, of which one accepts writes at a time: `postgresql://a,b:5433/svc`. After a
 * fail-over another one does; connections that break are made again there. postgres.js looks for it by itself
 * (`target_session_attrs`), `pg` knows one host only, so its connections are made here.
 */

const HOSTS = /^([a-z]+:\/\/(?:[^@/?]*@)?)([^/?]*)(.*)$/i

/** The URL of each of its hosts, in their order; without `target_session_attrs`, which `pg` takes for a setting. */
export function urlsOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = HOSTS.exec(url) ?? []
  if (!hosts.includes(',')) return [url]
  const rest = after.replace(/([?&])target_session_attrs=[^&]*&?/, '$1').replace(/[?&]$/, '')
  return hosts.split(',').map((host) => `${before}${host}${rest}`)
}

/** For postgres.js, which would take the first host that answers. One that is read only by setting is a primary too. */
export function withPrimary(url: string): string {
  if (urlsOf(url).length < 2) return url
  const plain = url
    .replace(/([?&])target_session_attrs=(read-write|primary|any)(&|$)/, '$1')
    .replace(/[?&]$/, '')
  if (/[?&]target_session_attrs=/.test(plain)) return url
  return `${plain}${plain.includes('?') ? '&' : '?'}target_session_attrs=primary`
}

/** Of each URL with several hosts, the one that accepted writes last; a failed attempt moves on to the next. */
const turns = new Map<string, number>()

/** Of several hosts finds the one that accepts writes, if one does, so that the next connection is made there. */
export async function findPrimary(url: string): Promise<void> {
  const urls = urlsOf(url)
  for (let n = 0; n < urls.length && urls.length > 1; n++) {
    const client = new PrimaryClient({ connectionString: url })
    const found = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => {})
    if (found) return
  }
}

/** A client that connects to the host that accepts writes; what fails at one host succeeds at the next attempt, if at all. */
export class PrimaryClient extends Client {
  readonly #url: string | undefined
  readonly #turn: number

  constructor(config: ClientConfig) {
    const { connectionString } = config
    const urls = connectionString === undefined ? [] : urlsOf(connectionString)
    const several = connectionString !== undefined && urls.length > 1
    const turn = several ? (turns.get(connectionString) ?? 0) : 0
    super(several ? { ...config, connectionString: urls[turn % urls.length] as string } : config)
    this.#url = several ? connectionString : undefined
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
      if (this.#url === undefined) return this
      const { rows } = await this.query('/* hosts.primary */ select pg_is_in_recovery() standby')
      if (rows[0]?.standby !== true) return this
      await this.end().catch(() => {})
      // As a server says that is starting: it is tried again.
      throw Object.assign(new Error('the host is a standby'), { code: '57P03' })
    } catch (error) {
      if (this.#url !== undefined && (turns.get(this.#url) ?? 0) === this.#turn)
        turns.set(this.#url, this.#turn + 1)
      throw error
    }
  }
}

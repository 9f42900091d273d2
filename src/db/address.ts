import { userInfo } from 'node:os'
import { COMPLETED, completedBy, IGNORED, isFault, judge } from './address-parameters.ts'

/**
 * The address of a database, read as libpq reads it, once, for both clients (`postgres` and `pg`) and every command. Neither
 * client reads the URL or the environment itself: they would read them differently.
 */
export interface DatabaseAddress {
  hosts: Host[]
  user: string
  database: string
  password: string | undefined
  /** Where the password is looked up if the address has none; undefined: `~/.pgpass`. */
  passfile: string | undefined
  tls: TlsSettings
  /** Whether connections are only made to a server that accepts writes. */
  primary: boolean
  /** The `-c name=value` of `options`. They are set after connecting, because poolers refuse them at start-up. */
  settings: Record<string, string>
  /** `options` of another form, which go into the start-up message. */
  options: string | undefined
  /** Comes before the purpose of a connection in its `application_name`. */
  name: string
  connectTimeoutMs: number
  /** Milliseconds without traffic after which TCP checks the connection; false: never. */
  keepAliveMs: number | false
}

export interface Host {
  /** A name, an IP address, or the folder of a Unix socket; empty: the local server, by its socket or as localhost. */
  name: string
  /** Where to connect instead of looking up the name, which certificates still have to match. */
  address: string | undefined
  port: number
}

export type SslMode = 'disable' | 'prefer' | 'require' | 'no-verify' | 'verify-ca' | 'verify-full'

export interface TlsSettings {
  mode: SslMode
  /** Paths of files; undefined: libpq's default in `~/.postgresql`, if it exists. */
  rootCert: string | undefined
  cert: string | undefined
  key: string | undefined
  crl: string | undefined
  keyPassword: string | undefined
  minVersion: string | undefined
  maxVersion: string | undefined
  sni: boolean
  /** TLS starts without the server being asked for it first. */
  direct: boolean
  channelBinding: 'disable' | 'prefer' | 'require'
}

export class AddressError extends Error {}

const DEFAULT_PORT = 5432
const CONNECT_TIMEOUT_S = 10
const KEEP_ALIVE_S = 60

type Parameters = Map<string, string>

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new AddressError('has a % that is not followed by two hexadecimal digits: write % itself as %25')
  }
}

/** Splits `host:port`. An IPv6 address is in brackets. */
function splitHost(text: string): { host: string; port: string } {
  const [, bracketed, name = '', port = ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(text) ?? []
  if (bracketed === undefined && name === '' && port === '' && text !== '')
    throw new AddressError('has a host that cannot be read: write an IPv6 address in brackets, as [::1]:5432')
  return { host: decode(bracketed ?? name), port }
}

const URL_FORM = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/s

/** Where secrets.ts does not find it. */
const PASSWORD_PARAMETER = /[?&]password=/

/** What a URL says, by libpq's names. @throws AddressError */
function parametersOf(url: string): Parameters {
  const form = URL_FORM.exec(url)
  if (form === null) throw new AddressError('must begin with postgresql://')
  const [, login, hosts = '', database = '', query = ''] = form
  const found: Parameters = new Map()
  const put = (name: string, value: string): void => void (value !== '' && found.set(name, value))
  if (login !== undefined) {
    const colon = login.indexOf(':')
    put('user', decode(colon < 0 ? login : login.slice(0, colon)))
    if (colon >= 0) put('password', decode(login.slice(colon + 1)))
  }
  const places = hosts.split(',').map(splitHost)
  if (hosts !== '') put('host', places.map(({ host }) => host).join(','))
  if (places.some(({ port }) => port !== '')) put('port', places.map(({ port }) => port).join(','))
  put('dbname', decode(database))
  for (const pair of query.split('&').filter((text) => text !== '')) {
    const equals = pair.indexOf('=')
    if (equals < 0) throw new AddressError(`has a parameter without a value: ${pair}`)
    const name = decode(pair.slice(0, equals))
    const value = decode(pair.slice(equals + 1))
    // As libpq does, for JDBC's sake.
    if (name === 'ssl') put('sslmode', value === 'true' || value === '1' ? 'require' : value)
    else put(name, value)
  }
  return found
}

/**
 * Completes a URL by libpq's environment variables, and checks it.
 * @param variable where the URL is from, for messages
 * @param primary whether it is the database that the service writes to, to which all of the variables apply
 * @returns a URL that says everything itself, and warnings
 * @throws AddressError with one line that names the variable and never a password
 */
export function completeAddress(
  url: string,
  env: Record<string, string | undefined>,
  { variable, primary }: { variable: string; primary: boolean },
): { url: string; warnings: string[] } {
  const sources = new Map<string, string>()
  const nameOf = (parameter: string): string => sources.get(parameter) ?? variable
  let found: Parameters
  try {
    found = parametersOf(url)
    for (const [name, parameter] of completedBy(primary)) {
      const value = env[name]
      if (value === undefined || value === '' || found.has(parameter)) continue
      // A port in the environment is not that of a host in the URL, unless the URL leaves it out, as in libpq.
      found.set(parameter, value)
      sources.set(parameter, name)
    }
  } catch (error) {
    throw error instanceof AddressError
      ? new AddressError(`${variable} is not valid: it ${error.message}`)
      : error
  }
  for (const [parameter, value] of found) {
    const fault = judge(parameter, value, primary)
    if (isFault(fault)) throw new AddressError(`${nameOf(parameter)} is not valid: ${fault.fault}`)
  }
  const warnings = [...found.keys()]
    .filter((parameter) => IGNORED.has(parameter))
    .map((parameter) => `${nameOf(parameter)}: ${parameter} is ignored, because Node.js cannot set it`)
  const asWritten = sources.size === 0 && warnings.length === 0 && !PASSWORD_PARAMETER.test(url)
  const complete = asWritten
    ? url
    : urlOf(new Map([...found].filter(([parameter]) => !IGNORED.has(parameter))))
  try {
    addressOf(complete)
  } catch (error) {
    throw error instanceof AddressError
      ? new AddressError(`${nameOf('port')} is not valid: it ${error.message}`)
      : error
  }
  return { url: complete, warnings }
}

/** The URL of parameters, in which the password is where `secrets.ts` looks for it. */
function urlOf(found: Parameters): string {
  const of = (name: string): string => encodeURIComponent(found.get(name) ?? '')
  const password = found.has('password') ? `:${of('password')}` : ''
  const login = found.has('user') || password !== '' ? `${of('user')}${password}@` : ''
  const hosts = (found.get('host') ?? '').split(',')
  const ports = (found.get('port') ?? '').split(',')
  if (ports.length > 1 && ports.length !== hosts.length)
    throw new AddressError(`names ${hosts.length} hosts and ${ports.length} ports`)
  const places = hosts.map((host, i) => {
    const port = (ports.length > 1 ? ports[i] : ports[0]) ?? ''
    const name = host.includes(':') ? `[${host}]` : encodeURIComponent(host)
    return port === '' ? name : `${name}:${port}`
  })
  const query = [...found]
    .filter(([name]) => !COMPLETED.has(name))
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `postgresql://${login}${places.join(',')}/${of('dbname')}${query.length === 0 ? '' : `?${query.join('&')}`}`
}

/**
 * Reads a URL. What it leaves out has libpq's default.
 * @throws AddressError
 */
export function addressOf(url: string): DatabaseAddress {
  const found = parametersOf(url)
  const get = (name: string): string | undefined => found.get(name)
  const user = get('user') ?? userInfo().username
  const { settings, options } = splitOptions(get('options'))
  const hosts = hostsOf(found)
  const session = get('target_session_attrs')
  return {
    hosts,
    user,
    database: get('dbname') ?? user,
    password: get('password'),
    passfile: get('passfile'),
    tls: tlsOf(found),
    primary: hosts.length > 1 || session === 'read-write' || session === 'primary',
    settings,
    options,
    name: get('application_name') ?? 'svc',
    connectTimeoutMs: secondsOf(get('connect_timeout'), CONNECT_TIMEOUT_S) * 1000,
    keepAliveMs: get('keepalives') === '0' ? false : secondsOf(get('keepalives_idle'), KEEP_ALIVE_S) * 1000,
  }
}

/** 0 means the default, as in libpq. */
const secondsOf = (text: string | undefined, fallback: number): number => Number(text ?? 0) || fallback

function hostsOf(found: Parameters): Host[] {
  const [names, addresses, ports] = ['host', 'hostaddr', 'port'].map((name) => found.get(name)?.split(','))
  const count = Math.max(names?.length ?? 1, addresses?.length ?? 1)
  if (ports !== undefined && ports.length !== 1 && ports.length !== count)
    throw new AddressError(`names ${count} hosts and ${ports.length} ports`)
  if (addresses !== undefined && names !== undefined && addresses.length !== names.length)
    throw new AddressError(`names ${names.length} hosts and ${addresses.length} addresses (hostaddr)`)
  return Array.from({ length: count }, (_, i) => {
    const port = Number((ports?.length === 1 ? ports[0] : ports?.[i]) || DEFAULT_PORT)
    if (!(port > 0 && port < 65_536)) throw new AddressError('names a port that is not between 1 and 65535')
    return { name: names?.[i] ?? '', address: addresses?.[i] || undefined, port }
  })
}

function tlsOf(found: Parameters): TlsSettings {
  const get = (name: string): string | undefined => found.get(name)
  const system = get('sslrootcert') === 'system'
  return {
    mode: (get('sslmode') ?? (system ? 'verify-full' : 'prefer')) as SslMode,
    rootCert: get('sslrootcert'),
    cert: get('sslcert'),
    key: get('sslkey'),
    crl: get('sslcrl'),
    keyPassword: get('sslpassword'),
    minVersion: get('ssl_min_protocol_version'),
    maxVersion: get('ssl_max_protocol_version'),
    sni: get('sslsni') !== '0',
    direct: get('sslnegotiation') === 'direct',
    channelBinding: (get('channel_binding') ?? 'prefer') as TlsSettings['channelBinding'],
  }
}

/** Splits `-c name=value --name=value`; a backslash keeps the next character, such as a space. */
function splitOptions(text: string | undefined): Pick<DatabaseAddress, 'settings' | 'options'> {
  const settings: Record<string, string> = {}
  const words = (text ?? '').match(/(?:\\.|[^\s\\])+/gs)?.map((word) => word.replace(/\\(.)/gs, '$1')) ?? []
  for (let i = 0; i < words.length; i++) {
    const word = words[i] as string
    const setting = word === '-c' ? words[++i] : /^(?:-c|--)(.+)$/s.exec(word)?.[1]
    const [, name, value] = /^([\w.-]+)=(.*)$/s.exec(setting ?? '') ?? []
    if (name === undefined || value === undefined) return { settings: {}, options: text }
    settings[name.replaceAll('-', '_')] = value
  }
  return { settings, options: undefined }
}

/** The name of a host for messages, with its port. */
export const placeOf = ({ name, address, port }: Host): string => {
  const shown = name || address || 'localhost'
  if (shown.startsWith('/')) return `${shown}/.s.PGSQL.${port}`
  return `${shown.includes(':') ? `[${shown}]` : shown}:${port}`
}

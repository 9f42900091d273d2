/** The parameters of libpq (its documentation, 34.1.2): which of their values this service supports, and why not. */

/** By the environment variable that sets it where the URL does not. */
const VARIABLES: Record<string, string> = {
  PGHOST: 'host',
  PGHOSTADDR: 'hostaddr',
  PGPORT: 'port',
  PGDATABASE: 'dbname',
  PGUSER: 'user',
  PGPASSWORD: 'password',
  PGPASSFILE: 'passfile',
  PGOPTIONS: 'options',
  PGAPPNAME: 'application_name',
  PGCONNECT_TIMEOUT: 'connect_timeout',
  PGTARGETSESSIONATTRS: 'target_session_attrs',
  PGLOADBALANCEHOSTS: 'load_balance_hosts',
  PGSSLMODE: 'sslmode',
  PGSSLNEGOTIATION: 'sslnegotiation',
  PGSSLCERT: 'sslcert',
  PGSSLKEY: 'sslkey',
  PGSSLROOTCERT: 'sslrootcert',
  PGSSLCRL: 'sslcrl',
  PGSSLCRLDIR: 'sslcrldir',
  PGSSLSNI: 'sslsni',
  PGSSLCERTMODE: 'sslcertmode',
  PGSSLMINPROTOCOLVERSION: 'ssl_min_protocol_version',
  PGSSLMAXPROTOCOLVERSION: 'ssl_max_protocol_version',
  PGCHANNELBINDING: 'channel_binding',
  PGREQUIREAUTH: 'require_auth',
  PGREQUIREPEER: 'requirepeer',
  PGGSSENCMODE: 'gssencmode',
  PGSERVICE: 'service',
}

/** Read by libpq, but either without effect on this service or read only where `service` is. */
const OTHER_VARIABLES = ['PGSERVICEFILE', 'PGKRBSRVNAME', 'PGGSSLIB', 'PGCLIENTENCODING', 'PGSYSCONFDIR']

/** All variables that `pg` or `postgres` would read by themselves. */
export const LIBPQ_VARIABLES: readonly string[] = [...Object.keys(VARIABLES), ...OTHER_VARIABLES]

const OF_THE_PRIMARY = new Set(['host', 'hostaddr', 'port', 'target_session_attrs'])

/** Each variable with its parameter. Those that choose the server are about the primary. */
export const completedBy = (primary: boolean): [variable: string, parameter: string][] =>
  Object.entries(VARIABLES).filter(([, parameter]) => primary || !OF_THE_PRIMARY.has(parameter))

/** Parts of a URL before its parameters. */
export const COMPLETED: ReadonlySet<string> = new Set(['host', 'port', 'user', 'password', 'dbname'])

/** Tuning that Node.js has no function for. */
export const IGNORED: ReadonlySet<string> = new Set([
  'keepalives_interval',
  'keepalives_count',
  'tcp_user_timeout',
])

type Verdict = { fault: string } | undefined
type Rule = (value: string, primary: boolean) => string | undefined

const any: Rule = () => undefined
const oneOf =
  (...values: string[]): Rule =>
  (value) =>
    values.includes(value) ? undefined : `it must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`
const seconds: Rule = (value) =>
  /^-?\d{1,9}$/.test(value) ? undefined : 'it must be a whole number of seconds'
/** Supported only with the value that means: without it. */
const only =
  (values: string[], instead: string): Rule =>
  (value) =>
    values.includes(value) ? undefined : `this service does not support it; ${instead}`
const never = (instead: string): Rule => only([], instead)
const tlsVersion = oneOf('TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3')

const sessionKind: Rule = (value, primary) => {
  const kinds = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby']
  if (!kinds.includes(value)) return oneOf(...kinds)(value, primary)
  const writes = value === 'read-write' || value === 'primary'
  if (primary && !writes && value !== 'any')
    return 'the service writes to this database; name a standby in SVC_DATABASE_READ_URL'
  if (!primary && writes) return 'it names a standby, which accepts no writes; leave it out'
  return undefined
}

const RULES: Record<string, Rule> = {
  host: any,
  hostaddr: any,
  port: any,
  dbname: any,
  user: any,
  password: any,
  passfile: any,
  options: any,
  application_name: any,
  fallback_application_name: any,
  connect_timeout: seconds,
  keepalives: oneOf('0', '1'),
  keepalives_idle: seconds,
  keepalives_interval: any,
  keepalives_count: any,
  tcp_user_timeout: any,
  target_session_attrs: sessionKind,
  load_balance_hosts: only(['disable'], 'leave it out: there is one primary'),
  client_encoding: (value) =>
    /^(auto|utf-?8)$/i.test(value) ? undefined : 'the service sends UTF-8; leave it out',
  sslmode: (value) =>
    value === 'allow'
      ? 'this service does not support it; use prefer'
      : oneOf('disable', 'prefer', 'require', 'no-verify', 'verify-ca', 'verify-full')(value, true),
  sslnegotiation: oneOf('postgres', 'direct'),
  sslcert: any,
  sslkey: any,
  sslpassword: any,
  sslrootcert: any,
  sslcrl: any,
  sslsni: oneOf('0', '1'),
  sslcompression: any,
  ssl_min_protocol_version: tlsVersion,
  ssl_max_protocol_version: tlsVersion,
  channel_binding: oneOf('disable', 'prefer', 'require'),
  gssencmode: only(['disable', 'prefer'], 'use TLS (sslmode)'),
  sslcertmode: only(['allow'], 'leave it out'),
  sslcrldir: never('name one file in sslcrl'),
  require_auth: never('use channel_binding=require'),
  requirepeer: never('leave it out'),
  service: never('write the address into the URL'),
  servicefile: never('write the address into the URL'),
  passphrase: never('use sslpassword'),
  replication: never('leave it out'),
  // Of node-postgres: it reads sslmode as libpq does.
  uselibpqcompat: any,
}

/** Parameters of other libraries, with what libpq has instead. */
const ELSEWHERE: Record<string, string> = {
  schema: 'options=-csearch_path%3DNAME',
  currentSchema: 'options=-csearch_path%3DNAME',
  search_path: 'options=-csearch_path%3DNAME',
  statement_timeout: 'SVC_READ_TIMEOUT_S',
  sslcertificate: 'sslcert',
  sslca: 'sslrootcert',
  sslaccept: 'sslmode',
}

/** Whether a parameter is supported with this value. */
export function judge(parameter: string, value: string, primary: boolean): Verdict {
  const rule = Object.hasOwn(RULES, parameter) ? RULES[parameter] : undefined
  if (rule === undefined) {
    const instead = Object.hasOwn(ELSEWHERE, parameter) ? `: use ${ELSEWHERE[parameter]}` : '; remove it'
    return { fault: `${parameter} is not a parameter of libpq${instead}` }
  }
  const fault = rule(value, primary)
  return fault === undefined ? undefined : { fault: `${parameter}: ${fault}` }
}

export const isFault = (verdict: Verdict): verdict is { fault: string } => verdict !== undefined

import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { AddressError, addressOf, completeAddress } from './db/address.ts'
import { isProviderSetting, type ProviderConfig, readProviders } from './oauth-config.ts'

/**
 * All configuration (contract §8) in one table, from which the values, their defaults and the page in
 * docs/operations.md are generated. Pure: takes an environment, returns a value or one clear error.
 */
const bool = z
  .enum(['true', 'false', '1', '0', 'yes', 'no'])
  .transform((v) => ['true', '1', 'yes'].includes(v))
const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`))
const positiveNumber = z
  .string()
  .regex(/^\d+(\.\d+)?$/, 'must be a number above 0')
  .transform(Number)
  .pipe(z.number().positive('must be above 0'))
const list = z.string().transform((v) =>
  v
    .split(',')
    .map((s) => s.trim())
    .filter((s) => s !== ''),
)
const mailAddress = z
  .string()
  .max(320)
  .regex(
    /^(?:[^\p{Cc}<>"]*<[^\s@<>"]+@[^\s@<>"]+>|[^\s@<>"]+@[^\s@<>"]+)$/u,
    'must be an address, or a name and an address such as Monitor <monitor@example.org>',
  )
/** `scheme://login@hosts/path?query`. Only the login, up to the last `@` before a `/`, may contain an `@`. */
const ADDRESS = /^\w+:\/\/(?:[^/?#]*@)?[^@/?#]*(?:\/[^@?#]*)?(?:\?[^@#=]*(?:=[^#]*)?)?$/
/** Whether a password with special characters is percent-encoded. Otherwise a part of it would be taken for the host. */
const isEncoded = (address: string): boolean => {
  const login = /^\w+:\/\/([^/?#]*)@/.exec(address)?.[1] ?? ''
  return ADDRESS.test(address) && !/%(?![\da-f]{2})/i.test(login)
}
const ENCODING =
  'special characters in its user or password must be percent-encoded: @ as %40, / as %2F, # as %23, ? as %3F, % as %25'
const postgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'must begin with postgresql://')
  .refine(isEncoded, ENCODING)

interface Key {
  type: z.ZodType<unknown, string>
  /** As written in the environment; undefined if the setting is optional. */
  fallback?: string | undefined
  what: string
}
const key = <T extends z.ZodType<unknown, string>, F extends string | undefined>(
  type: T,
  fallback: F,
  what: string,
) => ({ type, fallback, what })

export const CONFIG_KEYS = {
  SVC_HOST: key(z.string().min(1), '127.0.0.1', 'Address to listen on.'),
  SVC_PORT: key(wholeNumber(0, 65535), '8080', 'Port to listen on; 0 takes a free one.'),
  SVC_DATA_DIR: key(
    z.string().min(1),
    './.svc-data',
    'Where the embedded PostgreSQL keeps its data, and files of runs unless `SVC_FILES` is set.',
  ),
  SVC_DATABASE_URL: key(
    postgresUrl,
    undefined,
    'URL of an external PostgreSQL (15 or newer), read as libpq reads it. `DATABASE_URL` is an alias. If unset, an embedded PostgreSQL is started.',
  ),
  SVC_DATABASE_READ_URL: key(
    postgresUrl,
    undefined,
    'URL of a standby of that database. It answers exports and the reads that clients send to the replica (docs/scaling.md "A read replica").',
  ),
  SVC_DATABASE_READ_WAIT_S: key(
    positiveNumber,
    '1',
    'Seconds that such a read waits for the standby to catch up; after that the primary answers.',
  ),
  SVC_PUBLIC_URL: key(
    z.url({ protocol: /^https?$/, error: 'must be an address such as https://monitor.example.org' }),
    undefined,
    'The address that users open, with a path if the proxy has the service below one (`https://lab.example.org/monitor`). Used in links; with https, cookies are `Secure`.',
  ),
  SVC_ALLOWED_HOSTS: key(
    list,
    undefined,
    'Comma-separated host names that requests may use (`Host` header). Default: loopback names, the bind address and the host of `SVC_PUBLIC_URL`.',
  ),
  SVC_REPORTER_ORIGINS: key(
    list,
    undefined,
    'Comma-separated origins, such as `https://app.example.org`, whose pages may report with a token of their own (CORS). Default: none.',
  ),
  SVC_TRUST_PROXY: key(
    bool,
    'false',
    'Take the client address from `X-Forwarded-For`. Set it only behind a proxy that sets this header itself.',
  ),
  SVC_LOG_LEVEL: key(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'Lowest level that is logged.',
  ),
  SVC_LOG_FORMAT: key(
    z.enum(['auto', 'json', 'text']),
    'auto',
    'Format of the log: JSON lines, or text for readers of a terminal. `auto`: text if standard error is a terminal, JSON otherwise.',
  ),
  SVC_ACCESS_LOG: key(
    bool,
    'false',
    'Log every request: method, path, status, time, client address; never queries, tokens or cookies.',
  ),
  SVC_REGISTRATION: key(
    z.enum(['open', 'closed']),
    'open',
    'Whether anyone may register an account. The first user always may.',
  ),
  SVC_REGISTRATIONS_PER_HOUR: key(
    wholeNumber(1, 1e9),
    '10',
    'Accounts that one client address may register per hour, per server process.',
  ),
  SVC_REQUIRE_SECOND_FACTOR: key(
    bool,
    'false',
    'Whether people need a second factor: an authenticator app, a passkey, or the sign-in of an identity provider. Those without one can only set one up. API tokens are not affected.',
  ),
  SVC_ENCRYPTION_KEY: key(
    z.string().min(32, 'must be at least 32 characters'),
    undefined,
    'At least 32 random characters. Encrypts the secrets of authenticator apps and of channels in the database; if unset, they are stored unencrypted, like signing keys. If it is lost, users must set up their apps and channels again.',
  ),
  SVC_BACKUP_PASSPHRASE: key(
    z.string().min(12, 'must be at least 12 characters'),
    undefined,
    'Encrypts the output of `svc backup` and `svc wal-archive` in the `age` format. `svc restore` and `svc verify` need the same passphrase. Store it apart from the backups: without it they cannot be opened.',
  ),
  SVC_PROJECT_AUTOCREATE: key(
    bool,
    'true',
    'Whether an event for an unknown project creates the project (private, owned by the sender).',
  ),
  SVC_RATE_LIMIT_EVENTS_PER_S: key(
    positiveNumber,
    '20000',
    'Events per second that one token may send on average, per server process.',
  ),
  SVC_RATE_LIMIT_BURST: key(
    wholeNumber(1, 1e9),
    '200000',
    'Events that one token may send at once above that rate.',
  ),
  SVC_MAX_BODY_BYTES: key(
    wholeNumber(1024, 1024 * 1024 * 1024),
    String(8 * 1024 * 1024),
    'Maximum size of the body of a request with events in bytes, before and after decompression. Other bodies may have 1 MiB, or 64 KiB without a credential, if this is not less.',
  ),
  SVC_HEADERS_TIMEOUT_S: key(
    wholeNumber(1, 600),
    '10',
    'Seconds within which the headers of a request must arrive.',
  ),
  SVC_BODY_TIMEOUT_S: key(
    wholeNumber(1, 3600),
    '30',
    'Seconds within which the body of a request must arrive, unless it arrives at 16 KiB per second or more.',
  ),
  SVC_SOCKET_IDLE_TIMEOUT_S: key(
    wholeNumber(5, 86_400),
    '300',
    'Seconds after which a connection without traffic is closed. Slow downloads and live streams always have traffic.',
  ),
  SVC_MAX_REQUESTS_PER_ADDRESS: key(
    wholeNumber(1, 1_000_000),
    '500',
    'Concurrent requests of one client address, not counting events; a server process handles 1,000 in all. Events are limited per user. Behind a proxy that is not trusted (`SVC_TRUST_PROXY`) all clients share one address.',
  ),
  SVC_MAX_STREAMS_PER_ADDRESS: key(
    wholeNumber(1, 1_000_000),
    '50',
    'Live streams that one client address may have open. A browser uses one for all of its tabs. Raise it if many people share an address and there is no trusted proxy to tell them apart.',
  ),
  SVC_VISITOR_COST_PER_S: key(
    positiveNumber,
    '2500',
    'How much callers without a credential may read per second and network, about as rows; 40 seconds of it at once. 25,000 keep one processor core busy.',
  ),
  SVC_CREDENTIAL_COST_PER_S: key(
    positiveNumber,
    '50000',
    'The same for GraphQL with a session or token, per credential.',
  ),
  SVC_MAX_TOKENS_PER_USER: key(wholeNumber(1, 1_000_000), '100', 'Valid tokens per user.'),
  SVC_MAX_AGENTS_PER_USER: key(wholeNumber(1, 1_000_000), '200', 'Hosts with a registered agent per user.'),
  SVC_MAX_PROJECTS_PER_USER: key(
    wholeNumber(1, 1_000_000),
    '200',
    'Projects that one user may own, including those that events created.',
  ),
  SVC_MAX_SHARES_PER_USER: key(wholeNumber(1, 1_000_000), '1000', 'Active share links per user.'),
  SVC_MAX_VIEWS_PER_USER: key(wholeNumber(1, 1_000_000), '500', 'Saved views per user.'),
  SVC_MAX_REPORTS_PER_USER: key(wholeNumber(1, 1_000_000), '500', 'Reports per user.'),
  SVC_READ_TIMEOUT_S: key(
    wholeNumber(1, 86_400),
    '60',
    'Seconds after which a database read is cancelled; the answer is 503 `read_timeout`.',
  ),
  SVC_MAX_SERIES_PER_JOB: key(
    wholeNumber(1, 100_000),
    '1000',
    'Series per job; losses, learning rates and those that `define_metric` names have 32 more places. Values of further series are not stored, and the answer names these series.',
  ),
  SVC_SMTP_URL: key(
    z
      .string()
      .refine((text) => !/^smtps?:\/\//.test(text) || isEncoded(text), { error: ENCODING, abort: true })
      .pipe(z.url({ protocol: /^smtps?$/, error: 'must be an address such as smtp://mail.example.org:587' })),
    undefined,
    'URL of the mail server, such as `smtp://user:password@mail.example.org:587`, or `smtps://` for implicit TLS. If unset, mail is logged, not sent.',
  ),
  SVC_SMTP_FROM: key(
    mailAddress,
    undefined,
    'Sender address of mail. Default: `svc@` and the host of `SVC_PUBLIC_URL`, else `svc@localhost`.',
  ),
  SVC_MAIL_ALLOWED_DOMAINS: key(
    list,
    '',
    'Comma-separated domains whose addresses get mail without confirming the address. Subdomains are not included.',
  ),
  SVC_MAIL_PER_PROJECT_PER_HOUR: key(
    wholeNumber(1, 1e6),
    '100',
    'Mails per project and hour; further ones are combined into a digest per recipient.',
  ),
  SVC_MAIL_PER_RECIPIENT_PER_HOUR: key(
    wholeNumber(1, 1e6),
    '20',
    'Mails per recipient and hour, over all projects; further ones are combined into one digest.',
  ),
  SVC_WEBHOOK_PRIVATE: key(
    bool,
    'false',
    'Whether channels of rules may send to private networks, loopback and ports below 1024. If not, only public addresses are used.',
  ),
  SVC_STALL_TIMEOUT_MIN: key(positiveNumber, '15', 'Minutes without events after which a batch is stalled.'),
  SVC_LOST_AFTER_MIN: key(
    positiveNumber,
    '60',
    'Minutes without events after which a running batch is lost.',
  ),
  SVC_IDLE_JOB_THRESHOLD_MIN: key(
    positiveNumber,
    '10',
    'Minutes with a GPU utilisation under 5% after which a job is idle.',
  ),
  SVC_RETENTION_LOG_LINE_DAYS: key(
    positiveNumber,
    '14',
    'Days after which log lines are deleted, counted from the time of their events.',
  ),
  SVC_RETENTION_EVENT_DAYS: key(
    positiveNumber,
    undefined,
    'Days after which the raw payloads of all other events are deleted; if unset, they are kept. Batches, jobs, series and snapshots stay.',
  ),
  SVC_RETENTION_DELETED_DAYS: key(positiveNumber, '30', 'Days after which a batch in the trash is purged.'),
  SVC_ARCHIVE: key(
    z.string().regex(/^(off$|s3:\/\/[^/]+|(?!\w+:\/\/).)/, 'must be a folder, s3://bucket/prefix or off'),
    undefined,
    'Where events and epochs of finished batches are archived as Parquet: a folder, or `s3://bucket/prefix`; `off`: no further batches are archived. Default: `archive` in `SVC_DATA_DIR` for the embedded PostgreSQL; `off` with `SVC_DATABASE_URL`, because several servers may share it. Keep it set while it holds archived batches.',
  ),
  SVC_ARCHIVE_AFTER_HOURS: key(
    positiveNumber,
    '1',
    'Hours after the end and the last event of a batch after which it is archived.',
  ),
  SVC_ARCHIVE_URL: key(
    z.string().regex(/^(file:\/\/\/|s3:\/\/[^/]+)/, 'must be file:///folder or s3://bucket/prefix'),
    undefined,
    'The archive of earlier releases, instead of `SVC_ARCHIVE`: `file:///folder` or `s3://bucket/prefix`. Without `SVC_ARCHIVE_AFTER_DAYS` it is only read.',
  ),
  SVC_ARCHIVE_AFTER_DAYS: key(
    wholeNumber(1, 36_500),
    undefined,
    'Days, instead of `SVC_ARCHIVE_AFTER_HOURS`.',
  ),
  SVC_ARCHIVE_S3_ENDPOINT: key(
    z.url({ protocol: /^https?$/, error: 'must be an address such as https://s3.example.org' }),
    undefined,
    'Address of an S3 API other than that of AWS, for the archive and for `svc wal-archive s3://…`.',
  ),
  SVC_ARCHIVE_S3_REGION: key(
    z.string().min(1),
    undefined,
    'Region of the S3 API. Region and keys default to the AWS environment variables, configuration files and instance roles.',
  ),
  SVC_ARCHIVE_S3_ACCESS_KEY_ID: key(
    z.string().min(1),
    undefined,
    'Access key for S3. It needs the rights to read, write, list and delete.',
  ),
  SVC_ARCHIVE_S3_SECRET_ACCESS_KEY: key(z.string().min(1), undefined, 'Secret of that access key.'),
  SVC_FILES: key(
    z.string().regex(/^(s3:\/\/[^/]+|(?!\w+:\/\/).)/, 'must be a folder or s3://bucket/prefix'),
    undefined,
    'Where files, media and artifacts of runs are stored: a folder, or `s3://bucket/prefix` (with the endpoint, region and keys of `SVC_ARCHIVE_S3_…`). Default: `files` in `SVC_DATA_DIR`. Several servers of one database need the same store.',
  ),
  SVC_FILES_MAX_BYTES: key(
    wholeNumber(1, 1e15),
    String(5 * 1024 ** 3),
    'Maximum size of a file in bytes; larger ones are refused with 413 `file_too_large`.',
  ),
  SVC_FILES_PROJECT_MAX_BYTES: key(
    wholeNumber(0, 1e18),
    '0',
    'Bytes that the files of one project may take, each content counted once; 0: no limit. Beyond it 507 `storage_full`.',
  ),
  SVC_FILES_KEEP_FREE_BYTES: key(
    wholeNumber(0, 1e15),
    String(1024 ** 3),
    'Bytes that files leave free on the disk of their folder; beyond that 507 `storage_full`.',
  ),
  SVC_RETENTION_NOTIFICATION_DAYS: key(
    positiveNumber,
    '90',
    'Days after which the record of a fired rule and its mails is deleted. Nothing is mailed twice because of it.',
  ),
} as const satisfies Record<string, Key>

type Keys = typeof CONFIG_KEYS
type Value<K extends keyof Keys> =
  | z.output<Keys[K]['type']>
  | (Keys[K]['fallback'] extends string ? never : undefined)
type Raw = { -readonly [K in keyof Keys]: Value<K> }

/** The settings of the archive's object store (src/storage). */
interface ArchiveConfig {
  url: string
  s3: Record<'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey', string | undefined>
}

/** How many of each a user may have. */
export interface Quotas {
  tokens: number
  agents: number
  projects: number
  shares: number
  views: number
  reports: number
}

export interface Config {
  host: string
  port: number
  dataDir: string
  databaseUrl: string | undefined
  /** Serves long reads; undefined: the primary does. */
  replica: { url: string; waitS: number } | undefined
  publicUrl: string | undefined
  /** The path of `publicUrl`, such as `/monitor`; empty at the root of a host. Browsers see it before every path. */
  basePath: string
  allowedHosts: string[]
  reporterOrigins: string[]
  trustProxy: boolean
  logLevel: Raw['SVC_LOG_LEVEL']
  logFormat: Raw['SVC_LOG_FORMAT']
  accessLog: boolean
  registration: 'open' | 'closed'
  registrationsPerHour: number
  /** Sessions without a second factor may only set one up. */
  requireSecondFactor: boolean
  encryptionKey: string | undefined
  /** Encrypts backups and archives. */
  backupPassphrase: string | undefined
  /** External identity providers; empty by default. */
  identityProviders: ProviderConfig[]
  projectAutocreate: boolean
  rateLimit: { eventsPerS: number; burst: number }
  maxBodyBytes: number
  /** In seconds. */
  timeouts: { headers: number; body: number; idle: number; read: number }
  /** The cost of what may be read per second: by network without a credential, and by credential. */
  costPerS: { visitor: number; credential: number }
  /** Concurrent requests and streams per client address. */
  perAddress: { requests: number; streams: number }
  quotas: Quotas
  maxSeriesPerJob: number
  stallTimeoutMin: number
  lostAfterMin: number
  idleJobThresholdMin: number
  /** In days; undefined: forever. */
  retention: { logLine: number; event: number | undefined; deleted: number; notification: number }
  /** S3 settings, shared by the archive and svc wal-archive. */
  s3: ArchiveConfig['s3']
  /**
   * Undefined: nothing is archived, and archived batches cannot be read. `afterDays` undefined: no further batches are
   * archived. `own`: it is the folder in the data folder, which backups contain.
   */
  archive: (ArchiveConfig & { afterDays: number | undefined; own: boolean }) | undefined
  /** Where files of runs are, and how many bytes they may take; 0: no limit. */
  files: ArchiveConfig & { maxBytes: number; projectMaxBytes: number; keepFreeBytes: number }
  /** Undefined: mail is logged, not sent. */
  smtp: { url: string; from: string } | undefined
  /** Domains (lower case) that need no confirmation, and limits on mails per hour. */
  mail: { allowedDomains: string[]; perProject: number; perRecipient: number }
  /** Whether channels may send to private networks. */
  webhookPrivate: boolean
}

export class ConfigError extends Error {}

/** Variables that other parts of the product read from the same environment (specification §2.4, §4.5). */
const CLIENT_NAMES =
  /^SVC_(URL|TOKEN|READ_TOKEN|SECRET_REFS|WATCHDOG|DEMO_EMAIL|DEMO_PASSWORD|DEMO_LIVE_S|BATCH_ID|JOB_ID|RERUN_OF|RERUN_JOBS|RERUN_DONE|CMD_ID|TEST_.*|AGENT_.*|REPORTER_.*)$/

/**
 * Reads and cross-checks the environment.
 * @returns the configuration and warnings (unknown `SVC_*` names) for the log
 * @throws ConfigError with one line that names the variable
 */
export function readConfig(env: Environment): { config: Config; warnings: string[] } {
  const raw = parseSettings(env)
  const identityProviders = readProviders(env)
  if ('fault' in identityProviders) throw new ConfigError(identityProviders.fault)
  refuseContradictions(raw)
  const ignored = completeAddresses(env, raw)
  return { config: configOf(raw, identityProviders), warnings: [...ignored, ...warningsOf(env)] }
}

/**
 * Completes the databases' URLs by libpq's variables, such as `PGPASSWORD`.
 * @returns warnings
 * @throws ConfigError
 */
function completeAddresses(env: Environment, raw: Raw): string[] {
  const alias = present(env.SVC_DATABASE_URL) === undefined ? 'DATABASE_URL' : 'SVC_DATABASE_URL'
  const complete = (name: 'SVC_DATABASE_URL' | 'SVC_DATABASE_READ_URL', variable: string): string[] => {
    const url = raw[name]
    if (url === undefined) return []
    const primary = name === 'SVC_DATABASE_URL'
    const completed = completeAddress(url, env, { variable, primary })
    if (!primary && addressOf(completed.url).hosts.length > 1)
      throw new ConfigError(`${variable} is not valid: must name one host`)
    raw[name] = completed.url
    return completed.warnings
  }
  try {
    return [
      ...complete('SVC_DATABASE_URL', alias),
      ...complete('SVC_DATABASE_READ_URL', 'SVC_DATABASE_READ_URL'),
    ]
  } catch (error) {
    throw error instanceof AddressError ? new ConfigError(error.message) : error
  }
}

type Environment = Record<string, string | undefined>

/** Each setting by its own rule. @throws ConfigError */
function parseSettings(env: Environment): Raw {
  const values: Partial<Record<keyof Keys, unknown>> = {}
  for (const [name, { type, fallback }] of Object.entries(CONFIG_KEYS) as [keyof Keys, Key][]) {
    const set = name === 'SVC_DATABASE_URL' && present(env[name]) === undefined ? 'DATABASE_URL' : name
    const chosen = present(env[set]) ?? fallback
    if (chosen === undefined) continue
    const parsed = type.safeParse(chosen)
    if (!parsed.success) {
      // Never the value itself: it may contain a password.
      throw new ConfigError(`${set} is not valid: ${parsed.error.issues[0]?.message ?? 'bad value'}`)
    }
    values[name] = parsed.data
  }
  return values as Raw
}

/** @throws ConfigError for settings that need another one */
function refuseContradictions(raw: Raw): void {
  const { SVC_ARCHIVE: place, SVC_ARCHIVE_URL: earlier, SVC_DATABASE_URL: database } = raw
  if (place !== undefined && place !== 'off' && earlier !== undefined)
    throw new ConfigError('SVC_ARCHIVE and SVC_ARCHIVE_URL name two archives: unset one of them')
  if (raw.SVC_ARCHIVE_AFTER_DAYS !== undefined && (place ?? earlier) === undefined && database !== undefined)
    throw new ConfigError('SVC_ARCHIVE_AFTER_DAYS needs SVC_ARCHIVE, where batches are archived')
  if (raw.SVC_DATABASE_READ_URL !== undefined && raw.SVC_DATABASE_URL === undefined)
    throw new ConfigError(
      'SVC_DATABASE_READ_URL needs SVC_DATABASE_URL, the database that it is a standby of',
    )
}

function warningsOf(env: Environment): string[] {
  const known = (name: string): boolean =>
    name in CONFIG_KEYS || isProviderSetting(name) || CLIENT_NAMES.test(name)
  return Object.keys(env)
    .filter((name) => name.startsWith('SVC_') && !known(name))
    .map((name) => `${name} is not a setting of this service and is ignored`)
}

function configOf(raw: Raw, identityProviders: Config['identityProviders']): Config {
  const publicHost = raw.SVC_PUBLIC_URL === undefined ? [] : [new URL(raw.SVC_PUBLIC_URL).hostname]
  const s3 = {
    endpoint: raw.SVC_ARCHIVE_S3_ENDPOINT,
    region: raw.SVC_ARCHIVE_S3_REGION,
    accessKeyId: raw.SVC_ARCHIVE_S3_ACCESS_KEY_ID,
    secretAccessKey: raw.SVC_ARCHIVE_S3_SECRET_ACCESS_KEY,
  }
  return {
    host: raw.SVC_HOST,
    port: raw.SVC_PORT,
    dataDir: raw.SVC_DATA_DIR,
    databaseUrl: raw.SVC_DATABASE_URL,
    replica:
      raw.SVC_DATABASE_READ_URL === undefined
        ? undefined
        : { url: raw.SVC_DATABASE_READ_URL, waitS: raw.SVC_DATABASE_READ_WAIT_S },
    publicUrl: raw.SVC_PUBLIC_URL?.replace(/\/+$/, ''),
    basePath:
      raw.SVC_PUBLIC_URL === undefined ? '' : new URL(raw.SVC_PUBLIC_URL).pathname.replace(/\/+$/, ''),
    allowedHosts: raw.SVC_ALLOWED_HOSTS ?? ['localhost', '127.0.0.1', '[::1]', raw.SVC_HOST, ...publicHost],
    reporterOrigins: raw.SVC_REPORTER_ORIGINS ?? [],
    trustProxy: raw.SVC_TRUST_PROXY,
    logLevel: raw.SVC_LOG_LEVEL,
    logFormat: raw.SVC_LOG_FORMAT,
    accessLog: raw.SVC_ACCESS_LOG,
    registration: raw.SVC_REGISTRATION,
    registrationsPerHour: raw.SVC_REGISTRATIONS_PER_HOUR,
    requireSecondFactor: raw.SVC_REQUIRE_SECOND_FACTOR,
    encryptionKey: raw.SVC_ENCRYPTION_KEY,
    backupPassphrase: raw.SVC_BACKUP_PASSPHRASE,
    identityProviders,
    projectAutocreate: raw.SVC_PROJECT_AUTOCREATE,
    rateLimit: { eventsPerS: raw.SVC_RATE_LIMIT_EVENTS_PER_S, burst: raw.SVC_RATE_LIMIT_BURST },
    maxBodyBytes: raw.SVC_MAX_BODY_BYTES,
    timeouts: {
      headers: raw.SVC_HEADERS_TIMEOUT_S,
      body: raw.SVC_BODY_TIMEOUT_S,
      idle: raw.SVC_SOCKET_IDLE_TIMEOUT_S,
      read: raw.SVC_READ_TIMEOUT_S,
    },
    costPerS: { visitor: raw.SVC_VISITOR_COST_PER_S, credential: raw.SVC_CREDENTIAL_COST_PER_S },
    perAddress: {
      requests: raw.SVC_MAX_REQUESTS_PER_ADDRESS,
      streams: raw.SVC_MAX_STREAMS_PER_ADDRESS,
    },
    quotas: {
      tokens: raw.SVC_MAX_TOKENS_PER_USER,
      agents: raw.SVC_MAX_AGENTS_PER_USER,
      projects: raw.SVC_MAX_PROJECTS_PER_USER,
      shares: raw.SVC_MAX_SHARES_PER_USER,
      views: raw.SVC_MAX_VIEWS_PER_USER,
      reports: raw.SVC_MAX_REPORTS_PER_USER,
    },
    maxSeriesPerJob: raw.SVC_MAX_SERIES_PER_JOB,
    stallTimeoutMin: raw.SVC_STALL_TIMEOUT_MIN,
    lostAfterMin: raw.SVC_LOST_AFTER_MIN,
    idleJobThresholdMin: raw.SVC_IDLE_JOB_THRESHOLD_MIN,
    retention: {
      logLine: raw.SVC_RETENTION_LOG_LINE_DAYS,
      event: raw.SVC_RETENTION_EVENT_DAYS,
      deleted: raw.SVC_RETENTION_DELETED_DAYS,
      notification: raw.SVC_RETENTION_NOTIFICATION_DAYS,
    },
    s3,
    archive: archiveOf(raw, s3),
    files: {
      url: urlOfStore(raw.SVC_FILES ?? join(raw.SVC_DATA_DIR, 'files')),
      s3,
      maxBytes: raw.SVC_FILES_MAX_BYTES,
      projectMaxBytes: raw.SVC_FILES_PROJECT_MAX_BYTES,
      keepFreeBytes: raw.SVC_FILES_KEEP_FREE_BYTES,
    },
    smtp:
      raw.SVC_SMTP_URL === undefined
        ? undefined
        : { url: raw.SVC_SMTP_URL, from: raw.SVC_SMTP_FROM ?? `svc@${publicHost[0] ?? 'localhost'}` },
    mail: {
      allowedDomains: raw.SVC_MAIL_ALLOWED_DOMAINS.map((domain) => domain.toLowerCase().replace(/^@/, '')),
      perProject: raw.SVC_MAIL_PER_PROJECT_PER_HOUR,
      perRecipient: raw.SVC_MAIL_PER_RECIPIENT_PER_HOUR,
    },
    webhookPrivate: raw.SVC_WEBHOOK_PRIVATE,
  }
}

function archiveOf(raw: Raw, s3: Config['s3']): Config['archive'] {
  const { SVC_ARCHIVE: place, SVC_ARCHIVE_URL: earlier, SVC_ARCHIVE_AFTER_DAYS: days } = raw
  const ownUrl =
    raw.SVC_DATABASE_URL === undefined ? urlOfStore(join(raw.SVC_DATA_DIR, 'archive')) : undefined
  const chosen = place === undefined || place === 'off' ? earlier : urlOfStore(place)
  const url = chosen ?? ownUrl
  if (url === undefined) return undefined
  const onlyRead = place === 'off' || (place === undefined && earlier !== undefined && days === undefined)
  const afterDays = onlyRead ? undefined : (days ?? raw.SVC_ARCHIVE_AFTER_HOURS / 24)
  return { url, s3, afterDays, own: url === ownUrl }
}

/** A folder as an address. */
const urlOfStore = (place: string): string => (place.startsWith('s3://') ? place : pathToFileURL(place).href)

const present = (value: string | undefined): string | undefined =>
  value === undefined || value.trim() === '' ? undefined : value.trim()

/** A warning if other machines can reach the service while registration is open; else undefined. */
export function openRegistrationWarning(
  config: Pick<Config, 'host' | 'publicUrl' | 'registration'>,
): string | undefined {
  if (config.registration !== 'open') return undefined
  const publicHost = config.publicUrl === undefined ? undefined : new URL(config.publicUrl).hostname
  const open = [config.host, publicHost].find((host) => host !== undefined && !isLoopback(host))
  if (open === undefined) return undefined
  return `Registration is open and the service can be reached from other machines (${open}): anyone who can reach it can make an account. Set SVC_REGISTRATION=closed once all users have one.`
}

const isLoopback = (host: string): boolean =>
  /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host)

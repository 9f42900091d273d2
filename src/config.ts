import { z } from 'zod'

/**
 * All configuration (contract §8): one table from which the values, their defaults and the page in
 * docs/operations.md come. Pure: takes an environment, returns a value or one clear error.
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
  .regex(/^\d+(\.\d+)?$/, 'must be a number')
  .transform(Number)
  .pipe(z.number().positive('must be above 0'))
const list = z.string().transform((v) =>
  v
    .split(',')
    .map((s) => s.trim())
    .filter((s) => s !== ''),
)
const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgresql://')

interface Key {
  type: z.ZodType<unknown, string>
  /** As it would be written in the environment; undefined where the key is optional. */
  fallback?: string
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
    'Where the embedded PostgreSQL keeps its data. Not used with an external database.',
  ),
  SVC_DATABASE_URL: key(
    postgresUrl,
    undefined,
    'An external PostgreSQL (15 or newer). `DATABASE_URL` is read as its alias. Without it an embedded PostgreSQL starts.',
  ),
  SVC_PUBLIC_URL: key(
    z.url({ protocol: /^https?$/ }),
    undefined,
    'The address users open, for links, and for `Secure` cookies when it is https.',
  ),
  SVC_ALLOWED_HOSTS: key(
    list,
    undefined,
    'Comma-separated `Host` names that are answered. Default: loopback names, the bind address and the host of `SVC_PUBLIC_URL`.',
  ),
  SVC_TRUST_PROXY: key(
    bool,
    'false',
    'Take the client address from `X-Forwarded-For` (only behind a proxy that sets it).',
  ),
  SVC_LOG_LEVEL: key(
    z.enum(['debug', 'info', 'warn', 'error', 'silent']),
    'info',
    'Least level that is logged.',
  ),
  SVC_REGISTRATION: key(
    z.enum(['open', 'closed']),
    'open',
    'Whether anyone may register. The first user may always.',
  ),
  SVC_PROJECT_AUTOCREATE: key(
    bool,
    'true',
    'Whether the first event of an unknown project creates it (private, owned by the sender).',
  ),
  SVC_RATE_LIMIT_EVENTS_PER_S: key(
    positiveNumber,
    '2000',
    'Events per second that one token may send on average; counted in each server process.',
  ),
  SVC_RATE_LIMIT_BURST: key(
    wholeNumber(1, 1e9),
    '20000',
    'Events that one token may send at once before the rate limit holds it back.',
  ),
  SVC_MAX_BODY_BYTES: key(
    wholeNumber(1024, 1024 * 1024 * 1024),
    String(8 * 1024 * 1024),
    'Largest request body in bytes, before and after decompression.',
  ),
  SVC_STALL_TIMEOUT_MIN: key(
    positiveNumber,
    '15',
    'Minutes without an event after which a batch is stalled.',
  ),
  SVC_IDLE_JOB_THRESHOLD_MIN: key(
    positiveNumber,
    '10',
    'Minutes of GPU utilisation under 5% after which a job is idle.',
  ),
} as const satisfies Record<string, Key>

type Keys = typeof CONFIG_KEYS
type Value<K extends keyof Keys> =
  | z.output<Keys[K]['type']>
  | (Keys[K]['fallback'] extends string ? never : undefined)
type Raw = { [K in keyof Keys]: Value<K> }

export interface Config {
  host: string
  port: number
  dataDir: string
  databaseUrl: string | undefined
  publicUrl: string | undefined
  allowedHosts: string[]
  trustProxy: boolean
  logLevel: Raw['SVC_LOG_LEVEL']
  registration: 'open' | 'closed'
  projectAutocreate: boolean
  rateLimit: { eventsPerS: number; burst: number }
  maxBodyBytes: number
  stallTimeoutMin: number
  idleJobThresholdMin: number
}

export class ConfigError extends Error {}

/** Names that other parts of the product read from the same environment (specification §2.4, §4.5). */
const CLIENT_NAMES =
  /^SVC_(URL|TOKEN|DEMO_EMAIL|DEMO_PASSWORD|DEMO_LIVE_S|BATCH_ID|JOB_ID|RERUN_OF|RERUN_JOBS|RERUN_DONE|CMD_ID|TEST_.*|AGENT_.*|REPORTER_.*)$/

/**
 * Reads and cross-checks the environment.
 * @returns the configuration and warnings (unknown `SVC_*` names) for the log
 * @throws ConfigError with one line that names the variable
 */
export function readConfig(env: Record<string, string | undefined>): { config: Config; warnings: string[] } {
  const values: Partial<Record<keyof Keys, unknown>> = {}
  for (const [name, { type, fallback }] of Object.entries(CONFIG_KEYS) as [keyof Keys, Key][]) {
    const text = present(env[name]) ?? (name === 'SVC_DATABASE_URL' ? present(env.DATABASE_URL) : undefined)
    const chosen = text ?? fallback
    if (chosen === undefined) continue
    const parsed = type.safeParse(chosen)
    if (!parsed.success) {
      // Never the value itself: it may hold a password.
      throw new ConfigError(`${name} is not valid: ${parsed.error.issues[0]?.message ?? 'bad value'}`)
    }
    values[name] = parsed.data
  }
  const raw = values as Raw
  const warnings = Object.keys(env)
    .filter((name) => name.startsWith('SVC_') && !(name in CONFIG_KEYS) && !CLIENT_NAMES.test(name))
    .map((name) => `${name} is not a setting of this service and is ignored`)
  const publicHost = raw.SVC_PUBLIC_URL === undefined ? [] : [new URL(raw.SVC_PUBLIC_URL).hostname]
  return {
    warnings,
    config: {
      host: raw.SVC_HOST,
      port: raw.SVC_PORT,
      dataDir: raw.SVC_DATA_DIR,
      databaseUrl: raw.SVC_DATABASE_URL,
      publicUrl: raw.SVC_PUBLIC_URL?.replace(/\/+$/, ''),
      allowedHosts: raw.SVC_ALLOWED_HOSTS ?? ['localhost', '127.0.0.1', '[::1]', raw.SVC_HOST, ...publicHost],
      trustProxy: raw.SVC_TRUST_PROXY,
      logLevel: raw.SVC_LOG_LEVEL,
      registration: raw.SVC_REGISTRATION,
      projectAutocreate: raw.SVC_PROJECT_AUTOCREATE,
      rateLimit: { eventsPerS: raw.SVC_RATE_LIMIT_EVENTS_PER_S, burst: raw.SVC_RATE_LIMIT_BURST },
      maxBodyBytes: raw.SVC_MAX_BODY_BYTES,
      stallTimeoutMin: raw.SVC_STALL_TIMEOUT_MIN,
      idleJobThresholdMin: raw.SVC_IDLE_JOB_THRESHOLD_MIN,
    },
  }
}

const present = (value: string | undefined): string | undefined =>
  value === undefined || value.trim() === '' ? undefined : value.trim()

import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Config, openRegistrationWarning } from '../config.ts'
import { MAX_CONNECTIONS } from '../db/connection-limit.ts'
import { MIGRATIONS, migrationNames, pendingMigrations } from '../db/migrate.ts'
import { openReplica } from '../db/replica.ts'
import { openSql, type Sql } from '../db/sql.ts'
import { shareOfMemory } from '../memory.ts'
import { codeOf, messageOf } from '../thrown.ts'
import { sendTestMail } from '../workers/test-mail.ts'
import { checkArchive } from './archive-check.ts'
import { checkCluster } from './cluster-check.ts'
import { onDatabase } from './database.ts'
import { databaseFailure } from './database-failure.ts'
import { checkFiles } from './files-check.ts'
import { type Finding, failure, ok, warning } from './finding.ts'
import { memoryFinding } from './memory-check.ts'
import { checkPublicUrl } from './public-url-check.ts'

/** If the clocks differ by more than this, retention deletes nothing (docs/operations.md). */
const MAX_SKEW_MS = 5 * 60_000
const GIB = 1024 ** 3

/** Every check, in the order in which an operator would fix the findings. Findings are reported as each check ends. */
export async function* examine(
  config: Config,
  options: { warnings: readonly string[]; mailTo: string | undefined },
): AsyncGenerator<Finding> {
  for (const text of options.warnings)
    yield warning('settings', text, 'Correct the name, or take the variable away.')
  yield* checkDisk(config)
  yield memoryFinding(shareOfMemory(1, Number.POSITIVE_INFINITY), config.databaseUrl === undefined)
  yield* checkDatabase(config)
  yield* checkReplica(config)
  yield* checkArchive(config)
  yield* checkFiles(config)
  yield await checkMail(config, options.mailTo)
  yield* await checkPublicUrl(config)
  yield* checkProxy(config)
  yield checkRegistration(config)
}

function* checkDisk({ databaseUrl, dataDir }: Config): Generator<Finding> {
  if (databaseUrl !== undefined) return
  const folder = resolve(dataDir)
  try {
    const existing = nearestFolder(folder)
    accessSync(existing, constants.W_OK | constants.X_OK)
    const { bavail, blocks, bsize } = statfsSync(existing)
    const free = bavail * bsize
    const text = `${(free / GIB).toFixed(1)} GiB free of ${((blocks * bsize) / GIB).toFixed(1)} GiB under ${folder}`
    const advice =
      'PostgreSQL stops when the disk is full. Free space, move SVC_DATA_DIR, or keep less (SVC_RETENTION_…).'
    if (free < GIB / 2) yield failure('disk', text, advice)
    else if (free < 5 * GIB || bavail / blocks < 0.1) yield warning('disk', text, advice)
    else yield ok('disk', text)
  } catch (error) {
    yield failure(
      'disk',
      `the data folder ${folder} cannot be used (${codeOf(error)})`,
      'Make it writable for this user, or set SVC_DATA_DIR to another folder.',
    )
  }
}

/** The folder, or the nearest one above it that exists. */
function nearestFolder(folder: string): string {
  if (!existsSync(folder)) return nearestFolder(resolve(folder, '..'))
  if (!statSync(folder).isDirectory()) throw Object.assign(new Error(folder), { code: 'ENOTDIR' })
  return folder
}

async function* checkDatabase(config: Config): AsyncGenerator<Finding> {
  const found: Finding[] = []
  try {
    await onDatabase(config, async (url) => {
      const sql = openSql(url, { name: 'doctor', max: 1 })
      try {
        const database = await readDatabase(sql)
        const pending = (await pendingMigrations(sql, await migrationNames(MIGRATIONS))).length
        found.push(tablesFinding(database, pending))
        if (database.encoding !== 'UTF8')
          found.push(
            warning(
              'database',
              `its encoding is ${database.encoding}, which cannot store every text`,
              "Back it up, and restore into one made by: create database svc template template0 encoding 'UTF8'",
            ),
          )
        if (database.most < 50)
          found.push(
            warning(
              'database',
              `max_connections is ${database.most}`,
              `A server opens up to ${MAX_CONNECTIONS} connections: raise it to 50 for each server.`,
            ),
          )
        found.push(clockFinding(database.skewMs))
        for await (const finding of checkCluster(sql)) found.push(finding)
        if (pending === 0) found.push(await accountsFinding(sql))
      } finally {
        await sql.end({ timeout: 5 })
      }
    })
  } catch (error) {
    found.push(databaseFailure(error, config))
  }
  yield* found
}

interface DatabaseFacts {
  version: number
  shown: string
  bytes: number
  /** `server_encoding`. */
  encoding: string
  /** `max_connections`. */
  most: number
  /** Whether it is a standby, which accepts no writes. */
  standby: boolean
  /** Whether the account may create tables. */
  creates: boolean
  /** Between the clocks of this machine and of the database. */
  skewMs: number
}

async function readDatabase(sql: Sql): Promise<DatabaseFacts> {
  const before = Date.now()
  const [row] = await sql<(Omit<DatabaseFacts, 'skewMs'> & { ms: number })[]>`/* doctor.database */
    select current_setting('server_version_num')::int version, current_setting('server_version') shown,
           pg_database_size(current_database())::float8 bytes,
           (extract(epoch from clock_timestamp()) * 1000)::float8 ms,
           current_setting('server_encoding') encoding, current_setting('max_connections')::int most, pg_is_in_recovery() standby,
           coalesce(has_schema_privilege(current_schema(), 'create'), false)
             and (to_regnamespace('graphile_worker') is not null or has_database_privilege(current_database(), 'create')) creates`
  if (row === undefined) throw new Error('the database gave no answer')
  return { ...row, skewMs: Math.abs(row.ms - (before + Date.now()) / 2) }
}

function tablesFinding({ version, shown, bytes, standby, creates }: DatabaseFacts, pending: number): Finding {
  const what = `PostgreSQL ${shown.split(' ')[0]}, ${(bytes / 1e6).toFixed(0)} MB`
  if (version < 150_000)
    return failure('database', `${what} is too old`, 'The service needs PostgreSQL 15 or newer.')
  if (standby)
    return failure(
      'database',
      `${what}: it is a standby, which accepts no writes`,
      'Name the primary in SVC_DATABASE_URL, or all hosts: postgresql://db1,db2/svc. SVC_DATABASE_READ_URL is for a standby.',
    )
  if (!creates)
    return failure(
      'database',
      `${what}: this account may not create tables`,
      'Make the account in SVC_DATABASE_URL the owner of the database, or grant it create on the database and on the first schema of its search_path.',
    )
  return ok(
    'database',
    pending > 0
      ? `${what}; the next start brings it to this release (${pending} migrations)`
      : `${what}, with the tables of this release`,
  )
}

function clockFinding(skewMs: number): Finding {
  if (skewMs <= 5_000) return ok('clock', 'this machine and the database agree')
  const what = `this machine and the database differ by ${(skewMs / 1000).toFixed(0)} s`
  return skewMs > MAX_SKEW_MS
    ? failure('clock', what, 'Turn on NTP on both. Until then retention deletes nothing.')
    : warning('clock', what, 'Turn on NTP on both.')
}

async function accountsFinding(sql: Sql): Promise<Finding> {
  const [users] = await sql<{ all: number; admins: number }[]>`/* doctor.users */
    select count(*)::int "all", (count(*) filter (where role = 'admin' and disabled_at is null))::int admins from users`
  if (users === undefined || users.all === 0)
    return warning(
      'accounts',
      'there is no account yet, and the first one becomes the administrator',
      'Register it on the page, or: svc user create you@example.com',
    )
  if (users.admins === 0)
    return failure(
      'accounts',
      'no administrator can sign in',
      'svc user make-admin EMAIL, or svc user enable EMAIL',
    )
  return ok('accounts', `${users.all} in all, ${users.admins} of them administrators`)
}

async function* checkReplica({ databaseUrl, replica: settings }: Config): AsyncGenerator<Finding> {
  if (databaseUrl === undefined || settings === undefined) return
  const primary = openSql(databaseUrl, { name: 'doctor', max: 1 })
  const replica = openReplica(settings.url, {
    primary,
    waitMs: settings.waitS * 1000,
    settings: {},
    onStateChange: () => {},
  })
  try {
    const keepsUp = await replica.hasCaughtUp()
    const { bytes, seconds } = await replica.lag()
    const [row] = await replica.sql<{ feedback: string }[]>`/* doctor.replica */
      select current_setting('hot_standby_feedback') feedback`
    const behind = `${bytes} bytes of log behind, ${seconds?.toFixed(1) ?? 'an unknown number of'} s`
    if (!keepsUp)
      yield warning(
        'replica',
        `${behind}: the primary answers for it`,
        'See what holds up replay on the standby: pg_stat_wal_receiver, pg_is_wal_replay_paused(), its disk.',
      )
    else if (row?.feedback !== 'on')
      yield warning(
        'replica',
        `${behind}; hot_standby_feedback is off, so long exports are cancelled`,
        'Set hot_standby_feedback = on at the standby.',
      )
    else yield ok('replica', behind)
  } catch (error) {
    yield warning(
      'replica',
      `cannot be used, so the primary answers for it: ${messageOf(error)}`,
      'Check SVC_DATABASE_READ_URL: it names one standby of the database in SVC_DATABASE_URL.',
    )
  } finally {
    await replica.close()
    await primary.end({ timeout: 1 })
  }
}

async function checkMail(config: Config, to: string | undefined): Promise<Finding> {
  if (config.smtp === undefined)
    return warning('mail', 'no mail server is set, so mail is logged and not sent', 'Set SVC_SMTP_URL.')
  const { host } = new URL(config.smtp.url)
  try {
    const response = await sendTestMail(config.smtp, to, new Date())
    return to === undefined
      ? ok('mail', `${host} accepts the sign-in; svc doctor --mail EMAIL also sends a mail`)
      : ok('mail', `${host} took a test mail to ${to}: ${response ?? ''}`)
  } catch (error) {
    return failure(
      'mail',
      `the mail server ${host} cannot be used: ${messageOf(error)}`,
      'Check SVC_SMTP_URL and SVC_SMTP_FROM, and that this machine may reach the server.',
    )
  }
}

function* checkProxy({ host, publicUrl, trustProxy }: Config): Generator<Finding> {
  const loopback = /^(localhost|127\.|\[?::1)/.test(host)
  const behind = publicUrl !== undefined && new URL(publicUrl).hostname !== 'localhost'
  if (behind && !trustProxy)
    yield warning(
      'proxy',
      'SVC_TRUST_PROXY is off: behind a proxy all clients count as one address, and share its limits',
      'Set SVC_TRUST_PROXY=true, if a proxy that sets X-Forwarded-For is the only way in.',
    )
  else if (trustProxy && !loopback)
    yield warning(
      'proxy',
      `SVC_TRUST_PROXY is on and the service listens on ${host}: who reaches that port can forge an address`,
      'Let only the proxy reach the port.',
    )
  else yield ok('proxy', trustProxy ? 'client addresses come from X-Forwarded-For' : 'not used')
}

function checkRegistration(config: Config): Finding {
  const exposed = openRegistrationWarning(config)
  if (exposed !== undefined)
    return warning(
      'registration',
      'anyone who can reach the service can make an account',
      'Set SVC_REGISTRATION=closed once all users have one.',
    )
  return ok('registration', config.registration === 'closed' ? 'closed' : 'open to people on this machine')
}

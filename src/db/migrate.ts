import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { required } from '../checked.ts'
import { codeOf, messageOf } from '../thrown.ts'
import { logsOf, type OutsideTransaction, outsideTransaction } from './migration-script.ts'
import { type AppliedMigration, newerMigrations } from './newer-database.ts'
import type { Db, Sql, Tx } from './sql.ts'

/** Prisma Migrate takes the same advisory lock, so its CLI and a starting server exclude each other. */
export const MIGRATION_LOCK = 72707369

/** The migrations of this release. */
export const MIGRATIONS = join(import.meta.dirname, '../../prisma/migrations')

/** How long a migration waits for a table lock, and the pause before it is retried. */
const LOCK_WAIT = '1s'
const BUSY_RETRY_MS = 1_000
const LOCK_RETRY_MS = 100
const PROGRESS_MS = 5_000

/**
 * Applies the pending migrations of `dir` (Prisma's layout: `<name>/migration.sql`, in order of name), as `prisma
 * migrate deploy` would. Each runs in one transaction together with its row in `_prisma_migrations`, so a failed one
 * leaves no trace and is retried at the next start. A migration that consists of one CREATE INDEX CONCURRENTLY, or of
 * one DO block that commits, runs outside a transaction while other servers keep writing: an index that was left
 * invalid is rebuilt, and an interrupted DO block keeps the steps that it committed. No migration waits more than a
 * second for a table lock, because all other statements on the table would queue behind it; it is retried instead. Two
 * servers may call this at once: each migration is applied by one of them.
 * @returns the names of the migrations that this call applied
 * @throws Error when a migration fails, and when the database has one that is not in `dir` and does not allow servers
 * without it (`allowsEarlierReleases`)
 */
export async function migrate(
  sql: Sql,
  dir: string,
  options: { log: (message: string) => void },
): Promise<string[]> {
  const names = await migrationNames(dir)
  const done: string[] = []
  let waiting = false
  // Of a new database, which has nothing that could take long, only the result is logged.
  let isNew = false
  for (;;) {
    const step = await sql
      .begin((tx) => nextStep(tx, dir, names, done.length === 0 ? options.log : undefined))
      .catch(busyIfLocked)
    if (step === undefined) {
      if (isNew) options.log(`created the tables (${done.length} migrations)`)
      return done
    }
    // Poll instead of waiting inside a transaction: an open transaction keeps a snapshot, and the index build of the
    // server that holds the lock waits for all snapshots.
    if (step === LOCKED_BY_OTHER) {
      if (!waiting) options.log('waiting for another server to finish its migrations')
      waiting = true
      await sleep(LOCK_RETRY_MS)
      continue
    }
    if (step === BUSY) {
      await sleep(BUSY_RETRY_MS)
      continue
    }
    isNew ||= step.isFirst
    const log = isNew ? () => {} : options.log
    if (step.outside === undefined || (await runOutsideTransaction(sql, step, step.outside, log))) {
      log(`applied migration ${step.name}`)
      done.push(step.name)
    }
  }
}

interface Step {
  name: string
  script: string
  /** Set if the migration still has to run outside a transaction. */
  outside: OutsideTransaction | undefined
  /** Whether the database had no migration before. */
  isFirst: boolean
}

/**
 * Applies the next migration in this transaction, unless it has to run outside one.
 * @returns undefined when no migration is left
 */
async function nextStep(
  tx: Tx,
  dir: string,
  names: string[],
  warn: ((message: string) => void) | undefined,
): Promise<Step | typeof LOCKED_BY_OTHER | undefined> {
  if (!(await tryMigrationLock(tx))) return LOCKED_BY_OTHER
  await ensureTable(tx)
  const applied = await appliedMigrations(tx)
  const newer = newerMigrations(applied, names)
  if (warn) {
    if (newer.length > 0)
      warn(`the database is of a newer release (${newer.join(', ')}), which lets this one run on it`)
    await warnAboutEdits(
      applied.filter((row) => names.includes(row.migration_name)),
      dir,
      warn,
    )
  }
  const name = names.find((one) => !applied.some((row) => row.migration_name === one))
  if (name === undefined) return undefined
  const script = await readScript(dir, name)
  const outside = outsideTransaction(script)
  if (outside === undefined) await apply(tx, name, script)
  return { name, script, outside, isFirst: applied.length === 0 }
}

/** Another server holds the migration lock. */
const LOCKED_BY_OTHER = Symbol('turn of others')
/** Another transaction held a table lock for longer than a migration waits. */
const BUSY = Symbol('busy')
export const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK = '40P01'

function busyIfLocked(error: Error): typeof BUSY {
  if (codeOf(error) === LOCK_NOT_AVAILABLE || codeOf(error.cause) === LOCK_NOT_AVAILABLE) return BUSY
  throw error
}

/**
 * Runs the migration on a reserved connection without a transaction, and records it.
 * @returns false when another server applied it meanwhile, or when it has to be retried
 */
async function runOutsideTransaction(
  sql: Sql,
  { name, script }: Step,
  outside: OutsideTransaction,
  log: (message: string) => void,
): Promise<boolean> {
  const connection = await sql.reserve()
  let progressTimer: NodeJS.Timeout | undefined
  try {
    await connection`/* migrate.index_no_limits */ select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)`
    while (!(await tryLock(connection, 'pg_try_advisory_lock'))) await sleep(LOCK_RETRY_MS)
    if ((await appliedMigrations(connection)).some((row) => row.migration_name === name)) return false
    const what = outside === 'steps' ? 'changing rows in steps' : `building index ${outside.index}`
    log(`migration ${name}: ${what} while other servers go on`)
    const [self] = await connection<{ pid: number }[]>`/* migrate.pid */ select pg_backend_pid() as pid`
    progressTimer = setInterval(() => void logProgress(sql, required(self).pid, name, log), PROGRESS_MS)
    if (outside === 'steps' || !(await isBuilt(connection, outside.index))) await connection.unsafe(script)
    await record(connection, name, script)
    return true
  } catch (error) {
    // A starting server of an earlier release waits for the migration lock with an open snapshot, for which the index
    // build waits in turn; and a step may deadlock with a writer. Both are retried.
    if (codeOf(error) === DEADLOCK) return false
    throw new Error(`migration ${name} failed: ${messageOf(error)}`, { cause: error })
  } finally {
    clearInterval(progressTimer)
    await connection`/* migrate.unlock */ select pg_advisory_unlock(${MIGRATION_LOCK})`.catch(() => {})
    await connection`/* migrate.index_limits */ reset statement_timeout`.catch(() => {})
    await connection`/* migrate.index_lock_limit */ reset lock_timeout`.catch(() => {})
    await connection`/* migrate.own_name */ reset application_name`.catch(() => {})
    connection.release()
  }
}

// Drops what an interrupted build left. On Citus, DROP INDEX without `if exists` fails for an index that no shard has yet,
// and CREATE INDEX CONCURRENTLY would mark a complete index as invalid.
async function isBuilt(sql: Sql, index: string): Promise<boolean> {
  const [found] = await sql<{ valid: boolean }[]>`/* migrate.index_state */
    select indisvalid valid from pg_index where indexrelid = to_regclass(${index})`
  if (found?.valid === false) await sql.unsafe(`/* migrate.drop_invalid */ drop index if exists ${index}`)
  return found?.valid === true
}

/**
 * A migration in steps sets its `application_name` to this prefix and its progress, for this log and for
 * pg_stat_activity.
 */
const STEPS_PREFIX = 'svc migration: '

async function logProgress(
  sql: Sql,
  pid: number,
  name: string,
  log: (message: string) => void,
): Promise<void> {
  const [row] = await sql<{ phase: string; part: number | null }[]>`/* migrate.progress */
    select phase, round(100.0 * coalesce(nullif(tuples_done, 0), blocks_done)
      / nullif(coalesce(nullif(tuples_total, 0), blocks_total), 0))::int as part
    from pg_stat_progress_create_index where pid = ${pid}
    union all
    select substr(application_name, length(${STEPS_PREFIX}) + 1), null
    from pg_stat_activity where pid = ${pid} and application_name like ${`${STEPS_PREFIX}%`}`.catch(() => [])
  if (row) log(`migration ${name}: ${row.phase}${row.part === null ? '' : `, ${row.part} %`}`)
}

/** Which of these migrations the database lacks; none if it is newer. For /readyz. */
export async function pendingMigrations(sql: Sql, names: readonly string[]): Promise<string[]> {
  const applied = (await tableExists(sql)) ? await appliedMigrations(sql) : []
  const finished = new Set(applied.filter((row) => row.finished_at).map((row) => row.migration_name))
  return names.filter((name) => !finished.has(name))
}

/** The migrations of `dir` in order, for a restore, which applies them within its own transaction (db/dump). */
export async function migrationScripts(
  dir: string,
): Promise<{ name: string; script: string; checksum: string }[]> {
  const names = await migrationNames(dir)
  return Promise.all(
    names.map(async (name) => {
      const script = await readScript(dir, name)
      return { name, script, checksum: checksum(withoutCr(script)) }
    }),
  )
}

/** The names of the migrations in `dir`, in order. A release that is unpacked over a running server adds to them. */
export async function migrationNames(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

export async function tryMigrationLock(tx: Tx): Promise<boolean> {
  // A pool's time limits are meant for requests. A migration may take as long as it needs.
  await tx`/* migrate.no_limits */ select set_config('statement_timeout', '0', true), set_config('lock_timeout', ${LOCK_WAIT}, true)`
  return tryLock(tx, 'pg_try_advisory_xact_lock')
}

async function tryLock(db: Db, how: 'pg_try_advisory_xact_lock' | 'pg_try_advisory_lock'): Promise<boolean> {
  const [row] = await db<{ ours: boolean }[]>`
    /* migrate.try_lock */ select ${db.unsafe(how)}(${MIGRATION_LOCK}) as ours`
  return row?.ours === true
}

async function tableExists(db: Db): Promise<boolean> {
  const [row] = await db<{ exists: boolean }[]>`
    /* migrate.table_exists */ select to_regclass('_prisma_migrations') is not null as exists`
  return row?.exists === true
}

/** The same columns as in the table that Prisma creates. */
export const CREATE_MIGRATIONS_TABLE = `
  /* migrate.create_table */ create table _prisma_migrations (
    id varchar(36) primary key not null,
    checksum varchar(64) not null,
    finished_at timestamptz,
    migration_name varchar(255) not null,
    logs text,
    rolled_back_at timestamptz,
    started_at timestamptz not null default now(),
    applied_steps_count integer not null default 0)`

async function ensureTable(tx: Tx) {
  if (!(await tableExists(tx))) await tx.unsafe(CREATE_MIGRATIONS_TABLE)
}

const appliedMigrations = (db: Db) => db<AppliedMigration[]>`
  /* migrate.applied */ select migration_name, checksum, finished_at, logs
  from _prisma_migrations where rolled_back_at is null order by started_at, migration_name`

async function warnAboutEdits(applied: AppliedMigration[], dir: string, log: (message: string) => void) {
  for (const row of applied) {
    const script = await readScript(dir, row.migration_name)
    if (![checksum(script), checksum(withoutCr(script))].includes(row.checksum))
      log(`migration ${row.migration_name} was edited after it was applied; the database keeps the old one`)
  }
}

async function apply(tx: Tx, name: string, script: string) {
  const transaction = await transactionId(tx)
  try {
    await tx.unsafe(script) // no parameters, so the simple protocol is used, which accepts a whole file
  } catch (error) {
    throw new Error(`migration ${name} failed and was undone: ${messageOf(error)}`, { cause: error })
  }
  if ((await transactionId(tx)) !== transaction)
    throw new Error(`migration ${name} ends its transaction: take BEGIN, COMMIT and ROLLBACK out of it`)
  await record(tx, name, script)
}

async function record(db: Db, name: string, script: string) {
  await db`
    /* migrate.record */ insert into _prisma_migrations
      (id, checksum, migration_name, logs, started_at, finished_at, applied_steps_count)
    values (${randomUUID()}, ${checksum(withoutCr(script))}, ${name}, ${logsOf(script)},
      now(), clock_timestamp(), 1)`
}

async function transactionId(tx: Tx): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`/* migrate.transaction */ select pg_current_xact_id()::text as id`
  return row?.id
}

const readScript = (dir: string, name: string) => readFile(join(dir, name, 'migration.sql'), 'utf8')
const checksum = (script: string) => createHash('sha256').update(script).digest('hex')
/** Git may check files out with CRLF on Windows. Prisma treats both forms as the same migration. */
const withoutCr = (script: string) => script.replaceAll('\r\n', '\n')

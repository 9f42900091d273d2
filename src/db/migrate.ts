import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db, Sql, Tx } from './sql.ts'

/** The advisory lock that Prisma Migrate itself takes, so that its CLI and a starting server exclude each other. */
export const MIGRATION_LOCK = 72707369

interface Applied {
  migration_name: string
  checksum: string
  finished_at: string | null
}

/**
 * Applies the migrations of `dir` (Prisma's layout: `<name>/migration.sql`, in order of name) that the database does
 * not have, as `prisma migrate deploy` would, and returns their names. Each runs in one transaction together with its
 * row in `_prisma_migrations`: one that fails leaves no trace and is tried again at the next start. (A statement that
 * cannot run in a transaction, such as CREATE INDEX CONCURRENTLY, therefore cannot be in a migration.) Two servers
 * may call this at once; each migration is applied by one of them. Rejects when a migration fails, and when the
 * database is newer than `dir`.
 */
export async function migrate(
  sql: Sql,
  dir: string,
  options: { log: (message: string) => void },
): Promise<string[]> {
  const names = await migrationNames(dir)
  const done: string[] = []
  for (;;) {
    const name = await sql.begin(async (tx) => {
      await takeTurn(tx, options.log)
      await ensureTable(tx)
      const applied = await appliedMigrations(tx)
      refuseUnusable(applied, names)
      if (done.length === 0) await warnOfEdits(applied, dir, options.log)
      const next = names.find((one) => !applied.some((row) => row.migration_name === one))
      if (next !== undefined) await apply(tx, dir, next)
      return next
    })
    if (name === undefined) return done
    options.log(`applied migration ${name}`)
    done.push(name)
  }
}

/** The names of the migrations in `dir` that the database lacks; none when it is newer. For /readyz. */
export async function pendingMigrations(sql: Sql, dir: string): Promise<string[]> {
  const names = await migrationNames(dir)
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

async function migrationNames(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true })
  return entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

async function takeTurn(tx: Tx, log: (message: string) => void) {
  // A pool's time limits are for requests; a migration may take as long as it must.
  await tx`/* migrate.no_limits */ select set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`
  const [first] = await tx<{ ours: boolean }[]>`
    /* migrate.try_lock */ select pg_try_advisory_xact_lock(${MIGRATION_LOCK}) as ours`
  if (first?.ours) return
  log('waiting for another server to finish its migrations')
  await tx`/* migrate.lock */ select pg_advisory_xact_lock(${MIGRATION_LOCK})`
}

async function tableExists(db: Db): Promise<boolean> {
  const [row] = await db<{ exists: boolean }[]>`
    /* migrate.table_exists */ select to_regclass('_prisma_migrations') is not null as exists`
  return row?.exists === true
}

/** Column for column the table that Prisma creates. */
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

const appliedMigrations = (db: Db) => db<Applied[]>`
  /* migrate.applied */ select migration_name, checksum, finished_at
  from _prisma_migrations where rolled_back_at is null order by started_at, migration_name`

function refuseUnusable(applied: Applied[], names: string[]) {
  const unknown = applied.filter((row) => !names.includes(row.migration_name))
  if (unknown.length > 0)
    throw new Error(
      `the database is newer than this release: it has ${unknown.map((row) => row.migration_name).join(', ')}. ` +
        'Start the release that wrote it, or a newer one.',
    )
  // We never leave such a row; Prisma's CLI does.
  const failed = applied.find((row) => row.finished_at === null)
  if (failed)
    throw new Error(
      `migration ${failed.migration_name} was begun by the Prisma CLI and not finished. Look at what it left, then run ` +
        `npx prisma migrate resolve --rolled-back ${failed.migration_name} (or --applied).`,
    )
}

async function warnOfEdits(applied: Applied[], dir: string, log: (message: string) => void) {
  for (const row of applied) {
    const script = await readScript(dir, row.migration_name)
    if (![checksum(script), checksum(withoutCr(script))].includes(row.checksum))
      log(`migration ${row.migration_name} was edited after it was applied; the database keeps the old one`)
  }
}

async function apply(tx: Tx, dir: string, name: string) {
  const script = await readScript(dir, name)
  const transaction = await transactionId(tx)
  try {
    await tx.unsafe(script) // without parameters: the simple protocol, which takes a whole file
  } catch (error) {
    throw new Error(`migration ${name} failed and was undone: ${(error as Error).message}`, { cause: error })
  }
  if ((await transactionId(tx)) !== transaction)
    throw new Error(`migration ${name} ends its transaction: take BEGIN, COMMIT and ROLLBACK out of it`)
  await tx`
    /* migrate.record */ insert into _prisma_migrations
      (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
    values (${randomUUID()}, ${checksum(withoutCr(script))}, ${name}, now(), clock_timestamp(), 1)`
}

async function transactionId(tx: Tx): Promise<string | undefined> {
  const [row] = await tx<{ id: string }[]>`/* migrate.transaction */ select pg_current_xact_id()::text as id`
  return row?.id
}

const readScript = (dir: string, name: string) => readFile(join(dir, name, 'migration.sql'), 'utf8')
const checksum = (script: string) => createHash('sha256').update(script).digest('hex')
/** Git may check a file out with CRLF on Windows; Prisma takes both for the same migration. */
const withoutCr = (script: string) => script.replaceAll('\r\n', '\n')

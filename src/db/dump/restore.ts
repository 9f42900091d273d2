import { randomUUID } from 'node:crypto'
import type { Client } from 'pg'
import { codeOf } from '../../thrown.ts'
import { CREATE_MIGRATIONS_TABLE, migrationScripts } from '../migrate.ts'
import { logsOf, withoutConcurrency } from '../migration-script.ts'
import { migrationsOf, withConnection } from './connection.ts'
import { copyIn } from './copy.ts'
import { copyInStatement, type DumpedObject, type DumpHeader, readDump } from './file.ts'
import { type SchemaObjects, schemaObjectsOf, sequencesOf, storedTables } from './tables.ts'

/**
 * How far the change log of a restored database starts beyond every cursor that the old database can have issued, even
 * if it continued for years after the backup. Streams with such a cursor get a reset.
 */
const CURSOR_GAP = 100_000_000_000
export const CHANGES_SEQUENCE = 'changes_seq_seq'
/** How often to try to lock the tables, when this deadlocks with running servers. */
const MAX_ATTEMPTS = 5
/** How long to wait for requests that hold a table lock. */
const LOCK_TIMEOUT = '60s'

export interface RestoreOptions {
  url: string
  migrations: string
  file: string
  /** Whether to delete the current data of the database. */
  replace: boolean
  /**
   * Whether the restored database replaces the saved one directly, as in an upgrade. Then pending commands and mail are
   * kept.
   */
  continues?: boolean
  now: Date
  /** For an encrypted backup. */
  passphrase?: string | undefined
  progress: (step: 'checked' | 'restored', rows: number, bytes: number) => void
  signal?: AbortSignal
  /** Stores an object of an archived batch. Without it, a backup that has some is refused. */
  object?: ((object: DumpedObject) => Promise<unknown>) | undefined
}

/**
 * Restores a backup into a database in one transaction. The file is read twice, the first time to check its hash.
 * Tables are created with the migrations that the saved database had, filled, and then upgraded with the remaining
 * migrations of this release. Servers may run meanwhile: their requests wait, and their streams get a reset. See
 * docs/operations.md "Backup and restore".
 * @returns when the backup was made, and how many rows it holds
 * @throws Error in a sentence, when the file is no complete backup or is of a newer release, or the database holds data
 */
export async function restore(options: RestoreOptions): Promise<{ createdAt: string; rows: number }> {
  const { url, file, signal, progress } = options
  const release = await migrationScripts(options.migrations)
  const header = await readDump(
    file,
    {
      header: ({ migrations, format }) => {
        refuseNewer(file, migrations, release)
        if (format === 2 && options.object === undefined)
          throw new Error(
            `${file} contains archived batches. Set SVC_ARCHIVE to the folder, or s3://bucket/prefix, that they are restored to`,
          )
      },
      progress: (rows, bytes) => {
        signal?.throwIfAborted()
        progress('checked', rows, bytes)
      },
    },
    options.passphrase,
  )
  return withConnection({ url, name: 'restore', shared: false, signal }, async (client) => {
    const made = schemaObjectsOf(release.map(({ script }) => script))
    const was = await clearTarget(client, made, options.replace, release)
    const total = await fill(client, options, header, release)
    await adjustRestored(client, header, { was, now: options.now, continues: options.continues === true })
    for (const step of release.filter(({ name }) => !header.migrations.includes(name)))
      await apply(client, step)
    await client.query('/* restore.end */ commit')
    // Without statistics, the first queries would use sequential scans.
    await client.query('/* restore.analyze */ analyze')
    await client.query("/* restore.notify */ select pg_notify('changes', '')")
    return { createdAt: header.createdAt, rows: total }
  })
}

type Migration = Awaited<ReturnType<typeof migrationScripts>>[number]

function refuseNewer(file: string, migrations: string[], release: readonly Migration[]): void {
  const unknown = migrations.filter((name) => !release.some((one) => one.name === name))
  if (unknown.length > 0)
    throw new Error(
      `${file} is of a newer release: it has ${unknown.join(', ')}. Restore it with that release, or a newer one`,
    )
}

/**
 * Begins the transaction and drops everything that the service created in the database. Other objects are kept.
 * @returns the last values of the sequences that were dropped
 */
async function clearTarget(
  client: Client,
  made: SchemaObjects,
  replace: boolean,
  release: readonly Migration[],
): Promise<Map<string, number>> {
  const applied = (await migrationsOf(client)) ?? []
  const unknown = applied.filter((name) => !release.some((one) => one.name === name))
  if (unknown.length > 0)
    throw new Error(
      `the database is newer than this release: it has ${unknown.join(', ')}. Restore with that release, or into another database`,
    )
  const tables = await beginWithTables(client, made.tables)
  if (!replace && (await hasData(client, tables)))
    throw new Error('the database holds data: restore into an empty one, or give that up with --replace')
  const was = new Map(
    (await sequencesOf(client, { tables, sequences: made.sequences })).map(({ name, last }) => [name, last]),
  )
  if (made.views.length > 0)
    await client.query(`/* restore.drop_views */ drop view if exists ${listOf(made.views)}`)
  const all = applied.length > 0 ? [...tables, '_prisma_migrations'] : tables
  if (all.length > 0) await client.query(`/* restore.drop_tables */ drop table ${listOf(all)}`)
  if (made.functions.length > 0)
    await client.query(`/* restore.drop_functions */ drop function if exists ${listOf(made.functions)}`)
  if (made.sequences.length > 0)
    await client.query(`/* restore.drop_sequences */ drop sequence if exists ${listOf(made.sequences)}`)
  return was
}

const listOf = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

/** Begins a transaction and locks the existing tables exclusively. */
async function beginWithTables(client: Client, names: readonly string[]): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    await client.query('/* restore.begin */ begin')
    try {
      const tables = (await storedTables(client, names)).map(({ name }) => name)
      await client.query(`/* restore.patience */ set local lock_timeout = '${LOCK_TIMEOUT}'`)
      if (tables.length > 0)
        await client.query(`/* restore.lock */ lock table ${listOf(tables)} in access exclusive mode`)
      await client.query('/* restore.patient */ set local lock_timeout = 0')
      return tables
    } catch (error) {
      const code = codeOf(error)
      if (code === '55P03')
        throw new Error('a server is using the database and did not let go of it; stop it, and try again')
      if (code !== '40P01' || attempt === MAX_ATTEMPTS) throw error
      await client.query('/* restore.again */ rollback')
    }
  }
}

/** A server that was started but never used has no users. */
async function hasData(client: Client, tables: readonly string[]): Promise<boolean> {
  for (const table of ['users', 'projects', 'events'].filter((name) => tables.includes(name))) {
    const { rowCount } = await client.query(`/* restore.holds_data */ select from "${table}" limit 1`)
    if (rowCount !== 0) return true
  }
  return false
}

async function fill(
  client: Client,
  options: RestoreOptions,
  header: DumpHeader,
  release: readonly Migration[],
): Promise<number> {
  const { file, signal, progress } = options
  await client.query(CREATE_MIGRATIONS_TABLE)
  for (const name of header.migrations) {
    const step = release.find((one) => one.name === name)
    if (step !== undefined) await apply(client, step)
  }
  // Rows that migrations insert are also in the backup, in their saved state.
  const own = header.tables.map(({ name }) => name)
  await client.query(`/* restore.empty */ truncate ${listOf(own)}`)
  let total = 0
  const again = await readDump(
    file,
    {
      async table(table, rows) {
        const stored = await copyIn(client, copyInStatement(table), rows)
        total += stored
      },
      object: options.object,
      progress: (rows, bytes) => {
        signal?.throwIfAborted()
        progress('restored', rows, bytes)
      },
    },
    options.passphrase,
  )
  if (again.createdAt !== header.createdAt) throw new Error(`${file} was replaced while it was read`)
  return total
}

/** Applies a migration within the transaction, as `migrate` does (db/migrate.ts). */
async function apply(client: Client, { name, script, checksum }: Migration): Promise<void> {
  await client.query(withoutConcurrency(script))
  await client.query(
    `/* restore.record_migration */ insert into _prisma_migrations
       (id, checksum, migration_name, logs, started_at, finished_at, applied_steps_count)
     values ($1, $2, $3, $4, clock_timestamp(), clock_timestamp(), 1)`,
    [randomUUID(), checksum, name, logsOf(script)],
  )
}

/** Changes what must differ from the state at the time of the backup. */
export async function adjustRestored(
  client: Client,
  header: Pick<DumpHeader, 'sequences' | 'changesSeq'>,
  { was, now, continues = false }: { was: ReadonlyMap<string, number>; now: Date; continues?: boolean },
): Promise<void> {
  // Higher than the values of either database, so that no number ever identifies two rows.
  const saved = new Map(header.sequences.map(({ name, last }) => [name, last]))
  for (const name of new Set([...saved.keys(), ...was.keys()]))
    await client.query(
      '/* restore.set_sequence */ select setval(to_regclass($1), $2, true) where to_regclass($1) is not null',
      [`"${name}"`, Math.max(saved.get(name) ?? 1, was.get(name) ?? 1)],
    )
  const seq =
    Math.max(header.changesSeq, was.get(CHANGES_SEQUENCE) ?? 0, saved.get(CHANGES_SEQUENCE) ?? 0) + CURSOR_GAP
  await client.query(
    `/* restore.first_change */ insert into changes (seq, channel, type) overriding system value
     values ($1, 'service', 'restored')`,
    [seq],
  )
  await client.query('/* restore.set_changes */ select setval($1::regclass, $2, true)', [
    CHANGES_SEQUENCE,
    seq,
  ])
  if (continues) return
  // Pending commands may have been executed since the backup. A restore must not start a training a second time.
  await client.query(
    `/* restore.cancel_commands */ update agent_commands
     set state = 'cancelled', finished_at = $1, failure_reason = 'the service was restored from a backup'
     where state = 'pending'`,
    [now.toISOString()],
  )
  // Their objects may be missing here: they are archived again.
  await client.query(`/* restore.distrust_archive */ do $$ begin
    if to_regclass('cold_batches') is not null then
      update cold_batches set state = 'warm', thawed_at = null where state in ('writing', 'verified');
    end if;
  end $$`)
  // Mail of the replaced and of the restored database must not be sent again.
  await client.query(`/* restore.drop_mail */ do $$ begin
    if to_regclass('graphile_worker.jobs') is not null then
      perform graphile_worker.force_unlock_workers(array_agg(distinct locked_by)) from graphile_worker.jobs;
      perform graphile_worker.complete_jobs(array_agg(id)) from graphile_worker.jobs;
    end if;
  end $$`)
}

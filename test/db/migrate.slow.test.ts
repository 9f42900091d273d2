import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded.ts'
import { migrate, migrationNames, pendingMigrations } from '../../src/db/migrate.ts'
import { openSql, type Sql } from '../../src/db/sql.ts'

let root: string
let database: EmbeddedPostgres
let admin: Sql
let sql: Sql
let dir: string
let said: string[]
let count = 0
const pools: Sql[] = []

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'svc-migrate-'))
  database = await startEmbedded({
    home: root,
    log: () => {},
    settings: { shared_buffers: '16MB' },
  })
  admin = openSql(database.url('postgres'), { name: 'test', max: 1 })
}, 240_000)

afterAll(async () => {
  await admin?.end({ timeout: 1 })
  await database?.stop()
  rmSync(root, { recursive: true, force: true, maxRetries: 10 })
})

beforeEach(async () => {
  const name = `migrate_${++count}`
  await admin.unsafe(`create database ${name}`)
  sql = connect(name)
  dir = join(root, name)
  said = []
  write('001_first', 'create table first (n int);\ninsert into first values (1);')
  write('002_second', 'create table second (n int);')
})

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end({ timeout: 1 })))
})

function connect(name = `migrate_${count}`) {
  const pool = openSql(database.url(name), { name: 'test', max: 3 })
  pools.push(pool)
  return pool
}

function write(name: string, script: string) {
  mkdirSync(join(dir, name), { recursive: true })
  writeFileSync(join(dir, name, 'migration.sql'), script)
}

const run = (pool = sql) => migrate(pool, dir, { log: (message) => said.push(message) })
const tables = async () =>
  (
    await sql<
      { name: string }[]
    >`select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`
  )
    .map((row) => row.name)
    .sort()

test('a migration that comes into the folder later is not pending for a server that started before', async () => {
  await run()
  const known = await migrationNames(dir)
  write('003_of_the_next_release', 'create table later (id int);')
  expect(await pendingMigrations(sql, known)).toEqual([])
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual(['003_of_the_next_release'])
})

test('migrations are applied in order of name, once, and recorded as Prisma records them', async () => {
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual(['001_first', '002_second'])
  expect(await run()).toEqual(['001_first', '002_second'])
  expect(said).toEqual(['created the tables (2 migrations)'])
  expect(await run()).toEqual([])
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual([])
  const rows = await sql`select * from _prisma_migrations order by started_at`
  expect(rows).toMatchObject([
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      migration_name: '001_first',
      // sha256sum of the file
      checksum: '74271d6ad523942b8c0b565a9dc12ac30a790cec81c16bd2ee8f3c8916df349a',
      finished_at: expect.any(String),
      rolled_back_at: null,
      logs: expect.stringMatching(/^applied by release \d/),
      applied_steps_count: 1,
    },
    { migration_name: '002_second' },
  ])
  write('003_third', 'create table third (n int);')
  expect(await run()).toEqual(['003_third'])
  expect(said.slice(1)).toEqual(['applied migration 003_third'])
})

test('two servers that start at once apply each migration once', async () => {
  write('003_slow', 'select pg_sleep(0.3); create table third (n int);')
  const both = await Promise.all([run(), run(connect())])
  expect(both.flat().sort()).toEqual(['001_first', '002_second', '003_slow'])
  expect(await sql`select n from first`).toEqual([{ n: 1 }])
  expect(await tables()).toEqual(['_prisma_migrations', 'first', 'second', 'third'])
})

test('a migration waits while the Prisma CLI holds its lock', async () => {
  const cli = connect()
  const holder = await cli.reserve()
  await holder`select pg_advisory_lock(72707369)`
  const running = run()
  while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(said).toEqual(['waiting for another server to finish its migrations'])
  expect(await tables()).toEqual([])
  await holder`select pg_advisory_unlock(72707369)`
  holder.release()
  expect(await running).toEqual(['001_first', '002_second'])
})

test('a migration that fails is rolled back, keeps earlier ones, and is retried', async () => {
  write('002_second', 'create table second (n int); create table half (n int); select 1 / 0;')
  await expect(run()).rejects.toThrow('migration 002_second failed and was undone: division by zero')
  expect(await tables()).toEqual(['_prisma_migrations', 'first'])
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual(['002_second'])
  write('002_second', 'create table second (n int);')
  expect(await run()).toEqual(['002_second'])
})

test('a migration that ends its own transaction is refused', async () => {
  write('003_commits', 'create table third (n int); commit; begin;')
  await expect(run()).rejects.toThrow(/003_commits ends its transaction/)
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual(['003_commits'])
})

test('an edited migration causes a warning, other line ends do not', async () => {
  await run()
  said = []
  write('001_first', 'create table first (n int);\r\ninsert into first values (1);')
  write('002_second', 'create table second (n bigint);')
  expect(await run()).toEqual([])
  expect(said).toEqual([
    'migration 002_second was edited after it was applied; the database keeps the old one',
  ])
})

test('a database that is newer than the release is refused and not changed', async () => {
  await run()
  rmSync(join(dir, '002_second'), { recursive: true })
  write('003_other', 'create table third (n int);')
  await expect(run()).rejects.toThrow(/the database is newer than this release: it has 002_second/)
  expect(await tables()).toEqual(['_prisma_migrations', 'first', 'second'])
})

test('a newer database whose later migrations allow earlier releases is used and not changed', async () => {
  write('003_third', '-- More.\n-- Servers of earlier releases may run on it.\ncreate table third (n int);')
  write(
    '004_index',
    '-- Servers of earlier releases may run on it.\ncreate index concurrently if not exists i on third (n);',
  )
  await run()
  for (const name of ['003_third', '004_index']) rmSync(join(dir, name), { recursive: true })
  said = []
  expect(await run()).toEqual([])
  expect(said).toEqual([
    'the database is of a newer release (003_third, 004_index), which lets this one run on it',
  ])
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual([])
  expect(await tables()).toEqual(['_prisma_migrations', 'first', 'second', 'third'])
  write('003_third', '-- More.\n-- Servers of earlier releases may run on it.\ncreate table third (n int);')
  write('005_fifth', 'create table fifth (n int);')
  await run()
  rmSync(join(dir, '005_fifth'), { recursive: true })
  await expect(run()).rejects.toThrow(
    /newer than this release: it has 005_fifth\. Start release \d+\.\d+\.\d+, or a newer one/,
  )
})

test('a migration that the Prisma CLI left unfinished is refused, and applied once it is marked rolled back', async () => {
  await run()
  write('003_third', 'create table third (n int);')
  await sql`insert into _prisma_migrations (id, checksum, migration_name) values ('x', 'x', '003_third')`
  await expect(run()).rejects.toThrow(/003_third was begun by the Prisma CLI and not finished/)
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual(['003_third'])
  await sql`update _prisma_migrations set rolled_back_at = now() where id = 'x'`
  expect(await run()).toEqual(['003_third'])
})

test('a migration is not subject to the time limits of the pool', async () => {
  write('003_slow', 'select pg_sleep(4);')
  const hurried = openSql(database.url(`migrate_${count}`), {
    name: 'test',
    settings: { statement_timeout: '3000' },
  })
  pools.push(hurried)
  expect(await run(hurried)).toContain('003_slow')
})

const BUILD = 'create unique index concurrently if not exists first_n on first (n);'

test('an index is built concurrently, outside a transaction, and recorded like other migrations', async () => {
  write('003_index', `-- why\n${BUILD}\n`)
  const other = connect()
  expect((await Promise.all([run(), run(other)])).flat().sort()).toEqual([
    '001_first',
    '002_second',
    '003_index',
  ])
  expect(await sql`select indisvalid from pg_index where indexrelid = 'first_n'::regclass`).toEqual([
    { indisvalid: true },
  ])
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual([])
  expect(await run()).toEqual([])
  expect(await sql`select 1 as free where pg_try_advisory_lock(72707369)`).toEqual([{ free: 1 }])
})

test('an invalid index of an interrupted build is built again', async () => {
  await run()
  await sql`insert into first values (1)`
  await expect(sql.unsafe(BUILD)).rejects.toThrow('could not create unique index')
  await sql`delete from first where ctid in (select max(ctid) from first)`
  write('003_index', BUILD)
  expect(await run()).toEqual(['003_index'])
  expect(await sql`select indisvalid from pg_index where indexrelid = 'first_n'::regclass`).toEqual([
    { indisvalid: true },
  ])
})

test('a migration does not queue for a lock on a table in use, so that no statement waits behind it', async () => {
  await run()
  write('003_alters', 'alter table first add column m int;')
  const reader = await connect().reserve()
  await reader`begin`
  await reader`select * from first`
  const running = run()
  // It waits a second at a time; in between, others get the table at once.
  const until = Date.now() + 3_000
  while (Date.now() < until) await sql`/* others */ insert into first values (2)`
  expect(await pendingMigrations(sql, await migrationNames(dir))).toEqual(['003_alters'])
  await reader`commit`
  reader.release()
  expect(await running).toEqual(['003_alters'])
})

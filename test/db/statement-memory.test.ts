import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql, transaction } from '../../src/db/sql.ts'
import { sqlFragment } from '../../src/db/sql-fragment.ts'
import { collectGarbage } from '../kit/collect-garbage.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

// What postgres.js keeps of statements (docs/decisions/0026).

/** `max_prepared` of postgres.js; the last that it forgot is dropped with the next statement. */
const MOST = 200 + 1

let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await freshDatabase()
  sql = openSql(database.url, { name: 'test', max: 1 })
})
afterAll(async () => {
  await sql.end()
  await database.drop()
})

test('a fragment with fragments inside has the same array each time', () => {
  const inner = (value: string) => sqlFragment`select ${value}::text`
  const outer = (value: string) => sqlFragment`with x as (${inner(value)}) select ${value}::int from x`
  expect(outer('1').words).toBe(outer('2').words)
  expect(outer('1').values).toEqual(['1', '1'])
  expect(sqlFragment`select ${'1'} from (${inner('1')})`.words).not.toBe(outer('1').words)
})

test('neither the array of a statement nor the variables of its caller are kept', async () => {
  const kept = await run(sql)
  await collectGarbage()
  expect(kept.map((one) => one.deref())).toEqual([undefined, undefined, undefined])
})

/** Runs a statement whose array is new; a statement that fails reads the stack of its caller. */
async function run(on: Sql): Promise<WeakRef<object>[]> {
  const large = { body: 'x'.repeat(1_000) }
  const made = ['select ', '::int'].map((word) => `${word} `)
  const words = Object.assign(made, { raw: made })
  const failing = Object.assign(['fail '], { raw: ['fail '] })
  const send = async () => [large.body.length, await on(words, 1)]
  await send()
  await expect(on(failing)).rejects.toMatchObject({ code: '42601' })
  return [new WeakRef(words), new WeakRef(failing), new WeakRef(large)]
}

test('a failed statement names its caller', async () => {
  const failure = await sql`select * from ${sql('no_such_table')}`.catch((error: Error) => error)
  expect((failure as Error).stack).toContain('statement-memory.test.ts')
})

/** Statements that differ in their texts, as a list with any limit does. */
const numbered = (on: Pick<Sql, 'unsafe'>, n: number) =>
  on.unsafe(`select ${n}::int + $1::int sum`, [1], { prepare: true }) as unknown as Promise<{ sum: number }[]>

const preparedNow = async (): Promise<number> => {
  const [row] = await sql<{ n: number }[]>`select count(*)::int n from pg_prepared_statements`
  return row?.n ?? 0
}

test('a connection keeps the statements that were used last, and the server drops the others', async () => {
  for (let n = 0; n < 3 * MOST; n++) {
    expect(await numbered(sql, n)).toEqual([{ sum: n + 1 }])
    if (n % 50 === 0) await expect(sql.unsafe('select $1::int / 0', [n], { prepare: true })).rejects.toThrow()
    // One that is used again and again stays.
    expect(await numbered(sql, 0)).toEqual([{ sum: 1 }])
  }
  expect(await preparedNow()).toBeLessThanOrEqual(MOST)
  const names = await sql<{ statement: string }[]>`select statement from pg_prepared_statements`
  expect(names.map(({ statement }) => statement)).toContain('select 0::int + $1::int sum')
})

test('statements that are sent together, in failed transactions too, give their own results', async () => {
  const sums = await Promise.all(Array.from({ length: 2 * MOST }, (_, n) => numbered(sql, 10_000 + n)))
  expect(sums.map(([row]) => row?.sum)).toEqual(sums.map((_, n) => 10_001 + n))
  const failed = transaction(sql, async (tx) => {
    await tx`select 1/0`.catch(() => {})
    await numbered(tx, 20_000)
  })
  await expect(failed).rejects.toMatchObject({ code: '22012' })
  const cursors: number[] = []
  for (let n = 0; n < 400; n += 20) {
    for await (const rows of sql`select generate_series(1, ${n}::int) n`.cursor(7)) cursors.push(rows.length)
    await Promise.all([numbered(sql, 30_000 + n), sql`select ${n}::int`, sql`select 1`])
  }
  expect(cursors.reduce((sum, n) => sum + n)).toBe(20 * ((19 * 20) / 2))
  expect(await preparedNow()).toBeLessThanOrEqual(MOST)
})

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql, transaction } from '../../src/db/sql.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

// What becomes of a connection of postgres.js that was lost (docs/decisions/0026).

let database: TestDatabase
let sql: Sql
let other: Sql
beforeAll(async () => {
  database = await freshDatabase()
  // One connection, so that the next transaction runs on the object of the lost one.
  sql = openSql(database.url, { name: 'test', max: 1 })
  other = openSql(database.url, { name: 'test', max: 1 })
  await other`create table written (by text)`
})
afterAll(async () => {
  await sql.end()
  await other.end()
  await database.drop()
})

function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

test.each([
  'writes once more',
  'returns',
  'throws',
])('a transaction that lost its connection and then %s does not affect the next transaction on the new connection', async (then) => {
  await other`delete from written`
  const resume = gate()
  let backend = 0
  const started = gate()
  const lost = transaction(sql, async (tx) => {
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() pid`
    backend = row?.pid ?? 0
    await tx`insert into written values ('lost')`
    started.open()
    await resume.opened
    if (then === 'throws') throw new Error('of its own')
    if (then === 'writes once more') await tx`insert into written values ('late')`
  })
  await started.opened
  const ended = expect(lost).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  await other`select pg_terminate_backend(${backend}, 5000)`
  await ended

  const following = transaction(sql, async (tx) => {
    await tx`insert into written values ('following')`
    resume.open()
    // Time for data that the lost connection still sends.
    await other`select pg_sleep(0.3)`
    expect(await other`select by from written`).toEqual([])
    await tx`insert into written values ('following')`
  })
  await following
  expect((await other`select by from written`).map((row) => row.by)).toEqual(['following', 'following'])
})

/** A pool of one connection that hands out its sockets, so that they can be broken at any moment. */
function openBreakable(): { pool: Sql; sockets: Socket[] } {
  const { hostname, port } = new URL(database.url)
  const sockets: Socket[] = []
  const socket = async (): Promise<Socket> => {
    const made = connect(Number(port), hostname)
    sockets.push(made)
    await once(made, 'connect')
    return made
  }
  return { pool: openSql(database.url, { name: 'test', max: 1, socket }), sockets }
}

/** Hands a statement to the connection of the pool, within this turn of the event loop. */
async function submit(pool: Sql): Promise<{ answer: Promise<unknown> }> {
  const answer = pool`select 2`.execute()
  answer.catch(() => {})
  // postgres.js hands it on in a microtask.
  await null
  await null
  return { answer }
}

test('a connection that is lost before a statement is written is opened again', async () => {
  const { pool, sockets } = openBreakable()
  await pool`select 1`
  const statement = await submit(pool)
  // The statement is written at the end of this turn of the event loop; the connection is closed before.
  sockets[0]?.emit('close', false)
  await expect(statement.answer).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect(await pool`select 3 n`).toEqual([{ n: 3 }])
  expect(sockets).toHaveLength(2)
  sockets[0]?.destroy()
  await pool.end()
})

test('a statement sent between a reset and the close of its connection is refused, and the next one answered', async () => {
  const { pool, sockets } = openBreakable()
  await pool`select 1`
  sockets[0]?.emit('error', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
  const statement = await submit(pool)
  sockets[0]?.emit('close', true)
  await expect(statement.answer).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
  expect(await pool`select 3 n`).toEqual([{ n: 3 }])
  sockets[0]?.destroy()
  await pool.end()
})

test('the error that ended a connection is not the answer to the first statement on the next', async () => {
  for (let n = 0; n < 3; n++) {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() pid`
    const sleeping = expect(sql`select pg_sleep(60)`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
    await expect
      .poll(() => other`select from pg_stat_activity where pid = ${row?.pid ?? 0} and state = 'active'`)
      .toHaveLength(1)
    await other`select pg_terminate_backend(${row?.pid ?? 0}, 5000)`
    await sleeping
    expect(await sql`select ${n}::int n`).toEqual([{ n }])
  }
})

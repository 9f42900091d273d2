import { expect, test } from 'vitest'
import { openSql } from '../../src/db/sql.ts'
import { openPair } from '../kit/standby.ts'

// Which of several hosts a pool is connected to (src/db/hosts.ts).

test('a connection that the primary ended during a query is opened again', async () => {
  const pair = await openPair()
  const sql = openSql(pair.both, { name: 'test', max: 1 })
  const admin = openSql(pair.primary, { name: 'test', max: 1 })
  try {
    await admin`create table t (n int)`
    for (let n = 0; n < 6; n++) {
      const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() pid`
      const sleeping = expect(sql`select pg_sleep(60)`).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' })
      for (let active = false; !active; ) {
        const rows =
          await admin`select from pg_stat_activity where pid = ${row?.pid ?? 0} and state = 'active'`
        active = rows.length > 0
      }
      await admin`select pg_terminate_backend(${row?.pid ?? 0}, 5000)`
      await sleeping
      await sql`insert into t values (${n})`
      expect(await sql`select pg_is_in_recovery() standby`).toEqual([{ standby: false }])
    }
  } finally {
    await sql.end()
    await admin.end()
    await pair.stop()
  }
}, 60_000)

test('while no host accepts writes, statements fail at once with the answer of each host', async () => {
  const pair = await openPair()
  const sql = openSql(pair.both, { name: 'test', max: 2 })
  try {
    await sql`create table t (n int)`
    pair.killPrimary()
    await expect
      .poll(() => sql`insert into t values (1)`.then(String, (error) => error.message), { timeout: 20_000 })
      .toMatch(/none of its hosts accepts writes \(127\.0\.0\.1:\d+: .*; 127\.0\.0\.1:\d+: .*\)/)
    await pair.promote()
    await expect
      .poll(() => sql`insert into t values (2)`.then(() => 'written', String), { timeout: 20_000 })
      .toBe('written')
  } finally {
    await sql.end()
    await pair.stop()
  }
}, 60_000)

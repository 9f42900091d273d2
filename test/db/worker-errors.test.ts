import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { databaseFault, isShutDown } from '../../src/db/sql.ts'
import { sqlStateOf } from '../../src/db/worker-errors.ts'

// How a coordinator reports errors of its workers: as an internal error with their message, as Citus 13 does.
const internal = (message: string, severity = 'ERROR') =>
  Object.assign(new Error(message), { code: 'XX000', severity })

test.each([
  ['new row for relation "log_lines_102024" violates check constraint "few_102024"', 'bad_value'],
  ['duplicate key value violates unique constraint "events_pkey_102008"', 'bad_value'],
  ['failure on connection marked as essential: 127.0.0.1:5433', 'unavailable'],
  ['could not commit transaction for shard 102008 on at least one active node', 'unavailable'],
  ['the database system is starting up', 'unavailable'],
  ['could not extend file "base/5/1234": No space left on device', 'unavailable'],
  ['deadlock detected', 'retry'],
  ['cache lookup failed for relation 1234', 'other'],
])('"%s" is classified as %s', (message, fault) => {
  expect(databaseFault(internal(message))).toBe(fault)
})

test('a unique violation on a worker is recognised by its code, and a crash of the coordinator counts as unavailable', () => {
  expect(sqlStateOf(internal('duplicate key value violates unique constraint "events_pkey_102008"'))).toBe(
    '23505',
  )
  const crash = 'cannot abort transaction 2266, it was already committed'
  expect(databaseFault(internal(crash, 'PANIC'))).toBe('unavailable')
  expect(databaseFault(internal(crash))).toBe('other')
})

test('a read that comes after the pool of Prisma was closed is none of the database’s faults', async () => {
  const pool = new Pool()
  await pool.end()
  const error = await pool.query('select 1').catch((fault: unknown) => fault)
  expect(isShutDown(error)).toBe(true)
  expect(databaseFault(error)).toBe('unavailable')
  expect(isShutDown(new Error('Connection terminated unexpectedly'))).toBe(false)
})

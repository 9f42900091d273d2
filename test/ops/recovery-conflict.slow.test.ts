import { type IncomingMessage, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { until } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openPair, type Pair } from '../kit/standby.ts'

// A standby cancels a read that is in the way of its replay (SQLSTATE 40001). The tests force that: the read waits for a
// table that a transaction of the primary has locked, and holds the lock of another one that the primary then locks too.

const PLACE = 'x-svc-read-from'
/**
 * Three pages of export.csv (500 jobs each). One has more bytes than the sockets between server and client hold, and the
 * server reads the next one ahead.
 */
const JOBS = 1_001
const PADDING = 'x'.repeat(50_000)
let pair: Pair
let app: TestApp
let primary: Sql
let standby: Sql
let session: string

beforeAll(async () => {
  pair = await openPair()
  app = await startTestApp({ databaseUrl: pair.primary, replica: { url: pair.standby, waitS: 100 } })
  primary = openSql(pair.primary, { name: 'test', max: 2 })
  standby = openSql(pair.standby, { name: 'test', max: 1 })
  await standby.unsafe('alter system set max_standby_streaming_delay = 0')
  await standby.unsafe('select pg_reload_conf()')
  await until(
    async () =>
      (await standby.unsafe('show max_standby_streaming_delay'))[0]?.max_standby_streaming_delay === '0',
  )
  session = (await app.register()).token
  const reporter = await app.reporterToken(session)
  const jobs = Array.from({ length: JOBS }, (_, n) => `job-${n}`)
  for (let from = 0; from < JOBS; from += 50) {
    const events = jobs
      .slice(from, from + 50)
      .flatMap((job_id) => [
        makeEvent('job_start', { job_id, data: { params: { padding: PADDING } } }),
        makeEvent('job_epoch', { job_id, data: { epoch: 1, loss: 0.5 } }),
      ])
    const { status, body } = await app.call('POST', '/api/events/batch', { token: reporter, body: events })
    expect([status, body.results.filter((one: { error?: unknown }) => one.error)]).toEqual([200, []])
  }
}, 120_000)
afterAll(async () => {
  await standby?.end({ timeout: 1 })
  await primary?.end({ timeout: 1 })
  await app?.stop()
  await pair?.stop()
})

/** Locks the table on both servers until `release`. */
async function lock(table: string): Promise<{ release: () => Promise<void> }> {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let held: Promise<unknown> = Promise.resolve()
  await new Promise<void>((locked) => {
    held = primary.begin(async (tx) => {
      await tx`/* test.lock */ lock table ${tx(table)} in access exclusive mode`
      locked()
      await released
    })
  })
  return {
    async release() {
      release()
      await held
    },
  }
}
const isLockedOnStandby = async (table: string): Promise<boolean> =>
  (
    await standby`/* test.locked */ select 1 from pg_locks
      where relation = ${table}::regclass and mode = 'AccessExclusiveLock' and granted`
  ).length > 0

/**
 * Cancels the read that `begin` starts while it waits for `locked`, by a lock of `held`.
 * @param held a table that the read has locked before
 */
async function conflict<T>(locked: string, held: string, begin: () => Promise<T>): Promise<T> {
  const first = await lock(locked)
  await until(() => isLockedOnStandby(locked))
  const answer = begin()
  answer.catch(() => {})
  await until(
    async () =>
      (
        await standby`/* test.waiting */ select 1 from pg_stat_activity
          where application_name = 'svc replica' and wait_event_type = 'Lock'`
      ).length > 0,
  )
  const conflicts = await conflictsOn()
  const second = await lock(held)
  await until(async () => (await conflictsOn()) > conflicts)
  await second.release()
  await first.release()
  return answer
}
const conflictsOn = async (): Promise<number> => {
  const [row] = await standby<
    { n: number }[]
  >`/* test.conflicts */ select sum(confl_lock)::int n from pg_stat_database_conflicts`
  return row?.n ?? 0
}

test.each([
  ['export.csv', 'job_progress', 'jobs'],
  ['metrics.csv', 'epochs', 'metric_chunks'],
  ['metrics.arrow', 'epochs', 'metric_chunks'],
])('%s whose first read is cancelled is read from the primary, and is complete; the next is read from the standby', async (file, locked, held) => {
  const read = () => app.call('GET', `/api/batches/batch-1/${file}`, { token: session })
  const answer = await conflict(locked, held, read)
  expect([answer.status, answer.headers[PLACE]]).toEqual([200, 'primary'])
  const whole = await read()
  expect(whole.headers[PLACE]).toBe('replica')
  const steady = (body: string) => (file === 'export.csv' ? body.replaceAll(/,running,.*/g, '') : body)
  expect(steady(answer.body) === steady(whole.body)).toBe(true)
})

test('a series that asks for the standby is read from the primary if that read is cancelled', async () => {
  const answer = await conflict('epochs', 'metric_chunks', () =>
    app.call('GET', '/api/batches/batch-1/metrics?key=loss', {
      token: session,
      headers: { [PLACE]: 'replica' },
    }),
  )
  expect([answer.status, answer.headers[PLACE]]).toEqual([200, 'primary'])
  expect(answer.body.series.length).toBe(JOBS)
})

test('an export that is cancelled after its first part is a broken download', async () => {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { authorization: `Bearer ${session}` }
    request(`${app.address}/api/batches/batch-1/export.csv`, { headers }, resolve).on('error', reject).end()
  })
  expect([answer.statusCode, answer.headers[PLACE]]).toEqual([200, 'replica'])
  const end = await conflict('job_progress', 'jobs', async () => {
    const error = new Promise<Error | undefined>((resolve) => {
      answer.once('error', resolve)
      answer.once('end', () => resolve(undefined))
    })
    answer.resume()
    return error
  })
  expect(end?.message).toBe('aborted')
})

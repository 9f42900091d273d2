import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openSql, type Sql, type Tx } from '../../src/db/sql.ts'
import { REBUILD_TASK, rebuildBloatedIndexes } from '../../src/workers/rebuild-indexes.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { openTransaction } from '../kit/open-transaction.ts'
import { openStream, SOON } from '../live/stream.ts'

// Indexes that archiving or retention emptied are rebuilt, and neither events nor streams wait for it.

const BATCH = 'still-running'
const ROWS = 60_000
const event = makeEvent('batch_start', { batch_id: BATCH })
let door: Door
let own: Sql
let lock: Awaited<ReturnType<Sql['reserve']>>
/** Keeps the hourly round of the server from running during these tests. */
const takeTask = () => lock`select pg_advisory_lock(7041779, hashtext(${REBUILD_TASK}))`
const leaveTask = () => lock`select pg_advisory_unlock(7041779, hashtext(${REBUILD_TASK}))`
beforeAll(async () => {
  door = await openDoor({ logLevel: 'info' })
  own = openSql(door.app.config.databaseUrl as string, { name: 'test rebuild', max: 2 })
  await door.send(event)
  await door.sql`alter table events set (autovacuum_enabled = off)`
  lock = await own.reserve()
  await takeTask()
})
afterAll(async () => {
  lock?.release()
  await own?.end({ timeout: 5 })
  await door?.stop()
})

/** Inserts events and deletes all but one in `keepOne`, as archiving does. */
async function fillAndEmpty(keepOne: number): Promise<void> {
  await own`
    insert into events (db_id, event_id, batch_key, type, ts, payload)
    select 1000000 + i, gen_random_uuid(), b.key, 8, now(), '{}' from generate_series(1, ${ROWS}::int) i, batches b where b.id = ${BATCH}`
  await own`delete from events where db_id > 1000000 and db_id % ${keepOne}::int > 0`
  // Another transaction may have been in the way of it.
  await expect
    .poll(async () => {
      await own.unsafe('vacuum analyze events')
      return (await statsOf('events_pkey')).rows
    }, SOON)
    .toBeLessThan(ROWS / keepOne + 100)
}
const forgetRows = () => own`delete from events where db_id > 1000000`
const statsOf = async (index: string) =>
  (
    await own<{ rows: number; bytes: number }[]>`
      select reltuples::float8 "rows", pg_relation_size(oid) bytes from pg_class where relname = ${index}`
  )[0] as { rows: number; bytes: number }
const leftovers = () =>
  own<{ name: string }[]>`
    select c.relname "name" from pg_index i join pg_class c on c.oid = i.indexrelid where not i.indisvalid`

const rebuild = (wait?: string) =>
  rebuildBloatedIndexes(
    {
      url: door.app.config.databaseUrl as string,
      log: pino({ level: 'silent' }),
      ...(wait !== undefined && { wait }),
    },
    new AbortController().signal,
  )
const phase = async () =>
  (await own<{ phase: string }[]>`select phase from pg_stat_progress_create_index`)[0]?.phase

/** A slow writer. */
const hold = (work: (tx: Tx) => Promise<unknown>) => openTransaction(door.sql, work)
const writer = (tx: Tx) => tx`lock table events in row exclusive mode`

beforeEach(forgetRows)

test('an index that is mostly empty is rebuilt once, which is logged, and it works as before', async () => {
  await fillAndEmpty(1_000)
  const before = await statsOf('events_pkey')
  await leaveTask()
  await door.app.runTask(REBUILD_TASK)
  await takeTask()
  const after = await statsOf('events_pkey')
  expect(before.bytes).toBeGreaterThan(2e6)
  expect(after.bytes).toBeLessThan(before.bytes / 10)
  const told = door.app
    .logged()
    .split('\n')
    .filter((line) => line.includes('was rebuilt'))
    .map((line) => JSON.parse(line))
  expect(told).toContainEqual(
    expect.objectContaining({ index: 'public.events_pkey', fromBytes: before.bytes, toBytes: after.bytes }),
  )
  expect(await rebuild()).toEqual([])
  expect((await door.send(event)).body).toMatchObject({ deduplicated: true })
})

test('an index that is half empty is left alone', async () => {
  await fillAndEmpty(2)
  const before = await statsOf('events_pkey')
  expect((await rebuild()).map(({ name }) => name)).not.toContain('public.events_pkey')
  expect(await statsOf('events_pkey')).toEqual(before)
})

test('events are stored and streamed while a rebuild waits for a writer', async () => {
  await fillAndEmpty(1_000)
  const stream = await openStream(door.app.address, [`logs:${BATCH}`], { token: door.session })
  const held = await hold(writer)
  const rebuilding = rebuild()
  try {
    await expect.poll(phase, SOON).toMatch(/waiting for writers/)
    const line = makeEvent('log_line', { batch_id: BATCH, data: { line: 'meanwhile', level: 'info' } })
    expect((await door.send(line)).status).toBe(200)
    await stream.find(({ data }) => JSON.stringify(data).includes('meanwhile'))
    expect(await phase()).toMatch(/waiting for writers/)
  } finally {
    await held.release()
    stream.cut()
  }
  expect((await rebuilding).map(({ name }) => name)).toContain('public.events_pkey')
})

test('the invalid index of a killed rebuild is dropped in the next round, which rebuilds', async () => {
  await fillAndEmpty(1_000)
  const held = await hold(writer)
  const killed = rebuild().catch((error: Error) => error)
  await expect.poll(phase, SOON).toMatch(/waiting for writers/)
  await own`select pg_terminate_backend(pid) from pg_stat_progress_create_index`
  expect(await killed).toBeInstanceOf(Error)
  await held.release()
  expect(await leftovers()).toHaveLength(1)
  expect((await rebuild()).map(({ name }) => name)).toContain('public.events_pkey')
  expect(await leftovers()).toEqual([])
})

test('a rebuild gives up when a transaction stays open, and leaves no invalid index once that has ended', async () => {
  await fillAndEmpty(1_000)
  const held = await hold(writer)
  expect(await rebuild('2s')).toEqual([])
  await held.release()
  expect((await rebuild()).map(({ name }) => name)).toContain('public.events_pkey')
  expect(await leftovers()).toEqual([])
})

test('a rebuild does not start while a transaction has been open for long', async () => {
  await fillAndEmpty(1_000)
  const held = await hold((tx) => tx`select pg_sleep(0.2)`)
  expect(await rebuild('100ms')).toEqual([])
  await held.release()
  expect(await leftovers()).toEqual([])
})

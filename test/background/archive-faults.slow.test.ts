import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import S3rver from 's3rver'
import { afterAll, expect, test } from 'vitest'
import { type Sql, transaction } from '../../src/db/sql.ts'
import { archivedBatches, faultOf, forgetArchived } from '../../src/domain/cold/index.ts'
import { openStore } from '../../src/storage/index.ts'
import { until } from '../faults/server-process.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { startTestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import type { Wanted } from './archive-once.ts'

// The archive on an S3 API, and the state after a kill during each of its works.

const NO_S3 = { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined }
const AT_ONCE = { settleMs: 0, thawedMs: 0, replacedMs: 0, noneForMs: 0, at: '0 0 29 2 *' }
const folder = mkdtempSync(join(tmpdir(), 'svc-archive-faults-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function trainingOf(batch_id: string, jobs: number, epochs: number) {
  const timestamp = new Date().toISOString()
  return [
    makeEvent('batch_start', { batch_id, timestamp }),
    ...Array.from({ length: jobs }, (_, j) => [
      makeEvent('job_start', { batch_id, job_id: `j${j}`, timestamp }),
      ...Array.from({ length: epochs }, (_, epoch) =>
        makeEvent('job_epoch', {
          batch_id,
          job_id: `j${j}`,
          timestamp,
          data: { epoch, loss: 1 / (epoch + j + 1) },
        }),
      ),
      makeEvent('log_line', { batch_id, job_id: `j${j}`, timestamp, data: { line: `of ${j}` } }),
      makeEvent('job_done', { batch_id, job_id: `j${j}`, timestamp }),
    ]).flat(),
    makeEvent('batch_done', { batch_id, timestamp }),
  ]
}

async function sendAll(door: Door, events: unknown[]): Promise<void> {
  for (let from = 0; from < events.length; from += 400)
    expect((await door.sendAll(events.slice(from, from + 400))).status).toBe(200)
}

const csvOf = async (door: Door, id: string): Promise<string> =>
  String((await door.app.call('GET', `/api/batches/${id}/metrics.csv`, { token: door.session })).body)

test('on an S3 API a batch is written, dropped, read back and removed', async () => {
  const s3 = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: join(folder, 's3'),
    configureBuckets: [{ name: 'runs', configs: [] }],
  })
  const { port } = (await s3.run()) as AddressInfo
  const archive = {
    url: 's3://runs/of lab',
    afterDays: 30,
    own: false,
    s3: {
      endpoint: `http://127.0.0.1:${port}`,
      region: undefined,
      accessKeyId: 'S3RVER',
      secretAccessKey: 'S3RVER',
    },
  }
  const clock = createClock()
  const door = await openDoor({ archive }, { now: clock.now, archive: AT_ONCE })
  try {
    await sendAll(door, trainingOf('b', 3, 50))
    const reader = (
      await door.app.call('POST', '/api/tokens', { token: door.session, body: { name: 'r', scope: 'read' } })
    ).body.token
    door.session = reader
    const before = await csvOf(door, 'b')
    clock.forward({ days: 31 })
    await door.app.runTask('archive')
    const [{ location }] =
      (await door.sql`select location from cold_batches where state = 'cold'`) as unknown as [
        { location: string },
      ]
    expect(await door.sql`select from events`).toHaveLength(8)
    const store = await openStore(archive)
    expect(await store.sizeOf(`${location}/manifest.json`)).toBeGreaterThan(500)
    expect(await store.sizeOf(`${location}/none.json`)).toBe(undefined)
    expect(await store.get(`${location}/none.json`)).toBe(undefined)
    // Charts, exports of series and log lines restore nothing.
    expect(await csvOf(door, 'b')).toBe(before)
    const read = (path: string) => door.app.call('GET', `/api/batches/b/${path}`, { token: door.session })
    const raw = () => read('jobs/j0/attempts/1/metrics')
    expect((await read('log-lines')).body.items).toHaveLength(3)
    expect(await door.sql`select from events`).toHaveLength(8)
    expect((await raw()).status).toBe(200)
    expect(await door.sql`select from events`).toHaveLength(3 * 53 + 2)
    expect(await csvOf(door, 'b')).toBe(before)
    await door.app.runTask('archive')
    await door.app.runTask('archive')
    expect(await store.sizeOf(`${location}/manifest.json`)).toBe(undefined)
    // The store is unreachable: nothing is dropped, reads of events get 503, and charts are drawn.
    await s3.close()
    await expect
      .poll(raw, { timeout: 20_000 })
      .toMatchObject({ status: 503, body: { code: 'archive_unreadable' } })
    expect(await csvOf(door, 'b')).toBe(before)
    store.close()
  } finally {
    await s3.close().catch(() => {})
    await door.stop()
  }
}, 120_000)

test('after a kill at any moment of archiving the rows or a verified archive exist, and the next server continues', async () => {
  const door = await openDoor()
  const url = door.app.config.databaseUrl as string
  try {
    // More than five runs finish, for any time of the kill.
    const ids = Array.from({ length: 12 }, (_, n) => `k${n}`)
    for (const id of ids) await sendAll(door, trainingOf(id, 4, 200))
    const reader = (
      await door.app.call('POST', '/api/tokens', { token: door.session, body: { name: 'r', scope: 'read' } })
    ).body.token
    door.session = reader
    const before = new Map<string, string>()
    for (const id of ids) before.set(id, await csvOf(door, id))
    await door.app.stop()
    await makeOld(door.sql)
    const archiveUrl = pathToFileURL(join(folder, 'killed')).href
    const run = () => start(url, archiveUrl)
    // Killed at moments of each step: at its first sign in the database, and some time after that. On a busy machine a
    // run may be over before its kill; most are not.
    let kills = 0
    for (const [n, state] of (['writing', 'verified', 'cold', 'writing', 'writing'] as const).entries()) {
      const child = run()
      const ended = once(child, 'exit')
      const signOf = () => (state === 'writing' ? allStates(door.sql) : stateOf(door.sql, state))
      const before = await signOf()
      await until(async () => child.exitCode !== null || (await signOf()) !== before)
      await sleep(n * 7)
      child.kill('SIGKILL')
      if ((await ended)[1] === 'SIGKILL') kills++
      for (const { id, state, rows } of await door.sql<{ id: string; state: string | null; rows: number }[]>`
        select b.id, c.state, (select count(*)::int from events e where e.batch_key = b.key) "rows"
        from batches b left join cold_batches c on c.batch_key = b.key`) {
        expect([id, rows], `${state} after ${n + 1} kills`).toEqual([id, state === 'cold' ? 10 : 4 * 203 + 2])
      }
    }
    expect(kills).toBeGreaterThan(2)
    expect(await once(run(), 'exit')).toEqual([0, null])
    expect(await stateOf(door.sql, 'cold')).toBe(ids.length)
    const again = await openReader(url, archiveUrl)
    try {
      for (const id of ids) {
        const csv = async () =>
          String((await again.call('GET', `/api/batches/${id}/metrics.csv`, { token: reader })).body)
        expect(await csv()).toBe(before.get(id))
        expect(await stateOf(door.sql, 'cold')).toBe(ids.length - ids.indexOf(id))
        // From the archive.
        expect(
          (await again.call('GET', `/api/batches/${id}/jobs/j0/attempts/1/metrics`, { token: reader }))
            .status,
        ).toBe(200)
        expect(await csv()).toBe(before.get(id))
        const [rows] = await door.sql<{ events: number; epochs: number }[]>`
          select (select count(*)::int from events e where e.batch_key = b.key) events,
            (select count(*)::int from epochs e where e.batch_key = b.key) epochs
          from batches b where b.id = ${id}`
        expect(rows).toEqual({ events: 4 * 203 + 2, epochs: 4 * 200 })
      }
    } finally {
      await again.stop()
    }
  } finally {
    await door.stop().catch(() => {})
  }
}, 300_000)

test('after a kill at any moment of the copy that retention makes, one whole archive is relied on', async () => {
  const { door, url, archiveUrl, at } = await archived('copied')
  try {
    await sendAll(door, trainingOf('c', 2, 40))
    await finish(door, url, archiveUrl)
    const store = await openStore({ url: archiveUrl, s3: NO_S3 })
    const relied = async () =>
      (await archivedBatches(door.sql))[0] as { location: string; manifestSha256: string }
    // Of a batch with the same files, without a kill: its calls are the moments.
    const lines = new Date(Date.now() + 2 * 86_400_000).toISOString()
    const first = await relied()
    let copied = false
    for (let moment = 1; !copied; moment++) {
      const [code, signal] = await once(start(url, archiveUrl, { lines, killedAt: moment }), 'exit')
      expect([0, 'SIGKILL']).toContain(signal ?? code)
      const now = await relied()
      expect(await faultOf(store, now), `killed at call ${moment}`).toBe(undefined)
      copied = now.location !== first.location
      // Not the call after the copy: nothing of it is left to be killed.
      expect(moment).toBeLessThan(60)
    }
    // What killed rounds wrote is removed when its time has come, and so is the first archive.
    await door.sql`update cold_removals set due_at = now()`
    expect(await once(start(url, archiveUrl, { lines }), 'exit')).toEqual([0, null])
    const { location } = await relied()
    expect(readdirSync(join(at, location, '..')).map((name) => join(location, '..', name))).toEqual([
      location,
    ])
    expect(readdirSync(join(at, location)).some((name) => name.startsWith('log_lines'))).toBe(false)
    const again = await openReader(url, archiveUrl)
    try {
      const raw = await again.call('GET', '/api/batches/c/jobs/j0/attempts/1/metrics', {
        token: door.session,
      })
      expect(raw.status).toBe(200)
      expect(await door.sql`select from events`).toHaveLength(2 * 43 + 2)
      expect(await door.sql`select from epochs`).toHaveLength(2 * 40)
      expect(await door.sql`select from events where type = 8 and payload is not null`).toHaveLength(0)
    } finally {
      await again.stop()
    }
    store.close()
  } finally {
    await door.stop().catch(() => {})
  }
}, 300_000)

test('after a kill at any moment of the deletion of objects, the next round removes the rest', async () => {
  const { door, url, archiveUrl, at } = await archived('deleted')
  try {
    for (const id of ['d0', 'd1', 'd2']) await sendAll(door, trainingOf(id, 1, 20))
    await finish(door, url, archiveUrl)
    const all = await archivedBatches(door.sql)
    const purged = all.filter(({ id }) => id !== 'd2')
    await transaction(door.sql, (tx) =>
      forgetArchived(
        tx,
        purged.map(({ key }) => key),
      ),
    )
    const kept = all.find(({ id }) => id === 'd2') as (typeof all)[number]
    const store = await openStore({ url: archiveUrl, s3: NO_S3 })
    // Before the first deletion, and after it before it is noted: the next call is the second deletion.
    for (const moment of [1, 2])
      expect(await once(start(url, archiveUrl, { killedAt: moment }), 'exit')).toEqual([null, 'SIGKILL'])
    expect(purged.some(({ location }) => existsSync(join(at, location)))).toBe(true)
    expect(await once(start(url, archiveUrl), 'exit')).toEqual([0, null])
    expect(purged.filter(({ location }) => existsSync(join(at, location)))).toEqual([])
    expect(await door.sql`select from cold_removals`).toHaveLength(0)
    expect(await faultOf(store, kept)).toBe(undefined)
    store.close()
  } finally {
    await door.stop().catch(() => {})
  }
}, 120_000)

test('a late event waits for a restore that is killed at any moment, and is stored once', async () => {
  const { door, url, archiveUrl } = await archived('late')
  try {
    await sendAll(door, trainingOf('l', 2, 40))
    await finish(door, url, archiveUrl)
    const [batch] = await archivedBatches(door.sql)
    const key = batch?.key as number
    const server = await openReader(url, archiveUrl)
    try {
      const { calls } = await ended(start(url, archiveUrl, { restore: key, counts: true }))
      await makeOld(door.sql)
      for (let moment = 1; moment <= calls; moment++) {
        // Archived again: that of the restore before, and the events that arrived since.
        await door.sql`update cold_batches set thawed_at = thawed_at - interval '2 days'`
        // A round leaves a batch that the server packs meanwhile to the next one.
        do expect(await once(start(url, archiveUrl), 'exit')).toEqual([0, null])
        while ((await stateOf(door.sql, 'cold')) !== 1)
        const other = start(url, archiveUrl, { restore: key, heldAt: moment })
        await once(other.stdout as NodeJS.ReadableStream, 'data')
        const event = makeEvent('job_epoch', {
          batch_id: 'l',
          job_id: 'j0',
          timestamp: LONG_AGO,
          data: { epoch: 1_000 + moment, loss: 1 },
        })
        const answer = server.call('POST', '/api/events', { token: door.token, body: event })
        // It waits for the restore that the other process holds.
        await until(
          async () =>
            (
              await door.sql`select from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock' and query like '%cold.lock_cold%'`
            ).length > 0,
        )
        other.kill('SIGKILL')
        expect((await answer).status, `killed at call ${moment}`).toBe(200)
        const repeated = await server.call('POST', '/api/events', { token: door.token, body: event })
        expect(repeated.body).toMatchObject({ deduplicated: true })
        expect(await door.sql`select from events`).toHaveLength(2 * 43 + 2 + moment)
        expect(await door.sql`select from epochs`).toHaveLength(2 * 40 + moment)
        await makeOld(door.sql)
      }
    } finally {
      await server.stop()
    }
  } finally {
    await door.stop().catch(() => {})
  }
}, 300_000)

const LONG_AGO = new Date(Date.now() - 100 * 86_400_000).toISOString()

const start = (url: string, archive: string, wanted: Wanted = {}) =>
  spawn(
    process.execPath,
    ['--import', 'tsx', join(import.meta.dirname, 'archive-once.ts'), url, archive, JSON.stringify(wanted)],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  )

/** What a process with `counts` says at its end. */
async function ended(child: ReturnType<typeof start>): Promise<{ calls: number }> {
  let said = ''
  child.stdout.on('data', (some) => (said += some))
  expect(await once(child, 'close')).toEqual([0, null])
  return { calls: Number(said) }
}

/** A server without an archive, and a folder for one. */
async function archived(name: string) {
  const door = await openDoor()
  const at = join(folder, name)
  return { door, url: door.app.config.databaseUrl as string, archiveUrl: pathToFileURL(at).href, at }
}

/** Stops the server and has all of its batches archived. The session is then a token to read with. */
async function finish(door: Door, url: string, archiveUrl: string): Promise<void> {
  const reader = { token: door.session, body: { name: 'r', scope: 'read' } }
  door.session = (await door.app.call('POST', '/api/tokens', reader)).body.token
  await door.app.stop()
  await makeOld(door.sql)
  expect(await once(start(url, archiveUrl), 'exit')).toEqual([0, null])
  expect(await stateOf(door.sql, 'cold')).toBe((await door.sql`select from batches`).length)
}

async function makeOld(sql: Sql): Promise<void> {
  await sql`update batches set ended_at = ended_at - interval '100 days'`
  await sql`update batch_progress set last_received_at = last_received_at - interval '100 days', last_seen_at = last_seen_at - interval '100 days'`
}

const stateOf = async (sql: Sql, state: string): Promise<number> =>
  (await sql<{ n: number }[]>`select count(*)::int n from cold_batches where state = ${state}`)[0]?.n ?? 0

/** Changes with every step of every batch. */
const allStates = async (sql: Sql): Promise<string> =>
  JSON.stringify(await sql`select batch_key, state from cold_batches order by batch_key`)

const openReader = (databaseUrl: string, url: string) =>
  startTestApp({ databaseUrl, archive: { url, afterDays: undefined, own: false, s3: NO_S3 } })

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import S3rver from 's3rver'
import { afterAll, expect, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { openStore } from '../../src/storage/index.ts'
import { until } from '../faults/server-process.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { startTestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

// The archive on an S3 API, and the state after a kill during archiving.

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
    await door.sql`update batches set ended_at = ended_at - interval '100 days'`
    await door.sql`update batch_progress set last_received_at = last_received_at - interval '100 days', last_seen_at = last_seen_at - interval '100 days'`
    const archiveUrl = pathToFileURL(join(folder, 'killed')).href
    const run = () =>
      spawn(
        process.execPath,
        ['--import', 'tsx', join(import.meta.dirname, 'archive-once.ts'), url, archiveUrl],
        {
          stdio: 'ignore',
        },
      )
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

const stateOf = async (sql: Sql, state: string): Promise<number> =>
  (await sql<{ n: number }[]>`select count(*)::int n from cold_batches where state = ${state}`)[0]?.n ?? 0

/** Changes with every step of every batch. */
const allStates = async (sql: Sql): Promise<string> =>
  JSON.stringify(await sql`select batch_key, state from cold_batches order by batch_key`)

const openReader = (databaseUrl: string, url: string) =>
  startTestApp({ databaseUrl, archive: { url, afterDays: undefined, own: false, s3: NO_S3 } })

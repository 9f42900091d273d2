import { setTimeout as sleep } from 'node:timers/promises'
import { EventSource } from 'eventsource'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql } from '../../src/db/sql.ts'
import { randomFrom } from '../../src/domain/random.ts'
import { commit, createWriter } from '../../src/stream/commit.ts'
import { type Door, makeEvent, openDoor, UNLIMITED } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { patienceMs, streamCuts, tellSeed } from '../kit/effort.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { channelsQuery } from './stream.ts'

/**
 * Two servers on one database, sixteen writers, and clients whose connections are cut and moved to another server all
 * the time: every message arrives, none twice, in the order of the log. And the
 * control: if writers announce nothing, this fails.
 */
const WRITERS = 16
const CLIENTS = 6
const CUTS = streamCuts(200)

let door: Door
let servers: TestApp[]
beforeAll(async () => {
  door = await openDoor()
  // A commit takes its time, as on a slow disk: between the number of a row and its being seen lie milliseconds, and
  // now and then a second.
  await door.sql`create function take_time() returns trigger language plpgsql as
    $$ begin perform pg_sleep(random() * case when random() < 0.03 then 1 else 0.004 end); return null; end $$`
  await door.sql`create constraint trigger slow_disk after insert on changes
    deferrable initially deferred for each row when (new.type = 'lines') execute function take_time()`
  const times = { retryMs: 4 }
  const databaseUrl = door.app.config.databaseUrl as string
  servers = await Promise.all(
    [1, 2].map(() => startTestApp({ ...UNLIMITED, databaseUrl }, { streamTimes: times })),
  )
})
afterAll(async () => {
  await Promise.all((servers ?? []).map((server) => server.stop()))
  await door?.stop()
})

let n = 0
/** Batches that have begun, with one job each. */
async function beginBatches(count: number) {
  const ids = Array.from({ length: count }, () => `batch-${++n}`)
  await door.sendAll(ids.map((id) => makeEvent('log_line', { batch_id: id })))
  const rows = await door.sql<{ id: string; key: number; job: number }[]>`
    select b.id, b.key, j.key job from batches b join jobs j on j.batch_key = b.key where b.id = any (${ids}::text[])`
  return rows.map((row) => ({ ...row }))
}

interface Client {
  ids: number[]
  dbIds: number[]
  close(): void
}

/** A real EventSource that only knows the proxy; it comes back by itself, with the cursor it has. */
function followThrough(address: string, channels: string[], cursor: number): Client {
  const ids: number[] = []
  const dbIds: number[] = []
  const source = new EventSource(`${address}/api/sse?${channelsQuery(...channels)}&last_event_id=${cursor}`, {
    fetch: (url, init) =>
      fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${door.session}` } }),
  })
  source.addEventListener('logs', ({ data, lastEventId }) => {
    ids.push(Number(lastEventId))
    for (const { db_id } of JSON.parse(data).payload.lines) dbIds.push(db_id)
  })
  source.addEventListener('reset', () => ids.push(Number.NaN))
  return { ids, dbIds, close: () => source.close() }
}

interface Outcome {
  /** Messages that the log holds and a client did not get, over all clients. */
  missing: number
  repeated: number
  outOfOrder: number
  /** Messages that were to arrive, over all clients. */
  expected: number
  cuts: number
  switches: number
  /** Lines that are in no message, or in several. */
  linesAmiss: number
}

/** Lets `write` run sixteen times side by side while the clients are cut, then compares with the log. */
async function runUnderCuts(
  what: string,
  write: (batch: { id: string; key: number; job: number }, writer: number) => Promise<void>,
  options: { cuts: number; mostMs: number; pieces?: { bytes: number; ms: number } },
): Promise<Outcome> {
  const draw = randomFrom(tellSeed(what))
  const batches = await beginBatches(3)
  const channels = batches.map(({ id }) => `logs:${id}`)
  const [{ cursor } = { cursor: 0 }] = await door.sql<
    { cursor: number }[]
  >`select max(seq) as cursor from changes`
  const proxy = await startCuttingProxy(
    servers.map((server) => server.address),
    draw,
    options.pieces ?? { bytes: 30_000, ms: 100 },
  )
  const clients = Array.from({ length: CLIENTS }, () => followThrough(proxy.address, channels, cursor))
  const begun = performance.now()
  const enough = () => proxy.counts.cuts >= options.cuts || performance.now() - begun > options.mostMs
  await Promise.all(
    Array.from({ length: WRITERS }, async (_, writer) => {
      while (!enough()) {
        await write(batches[Math.floor(draw() * batches.length)] as (typeof batches)[number], writer)
        // The log is to be read as it grows, not only filled.
        await sleep(draw() * 20)
      }
    }),
  )
  proxy.spare()
  const log = await door.sql<{ seq: number }[]>`
    select seq from changes where channel = any (${channels}::text[]) and seq > ${cursor} order by seq`
  const lines = await door.sql<{ db_id: number }[]>`
    select l.db_id from log_lines l
    where l.batch_key = any (${batches.map(({ key }) => key)}::bigint[]) and line like 'written %' order by l.db_id`
  const wanted = log.map(({ seq }) => seq)
  const last = wanted.at(-1) as number
  // A client with the last message gets no further ones.
  const settled = performance.now() + 20_000
  while (!clients.every(({ ids }) => ids.includes(last)) && performance.now() < settled) await sleep(20)
  for (const client of clients) client.close()
  await proxy.close()

  const outcome: Outcome = {
    missing: 0,
    repeated: 0,
    outOfOrder: 0,
    linesAmiss: 0,
    expected: wanted.length * CLIENTS,
    ...proxy.counts,
  }
  for (const { ids, dbIds } of clients) {
    const got = new Set(ids)
    outcome.missing += wanted.filter((seq) => !got.has(seq)).length
    outcome.repeated += ids.length - got.size
    outcome.outOfOrder += ids.filter((id, i) => i > 0 && !(id > (ids[i - 1] as number))).length
    const told = dbIds.toSorted((a, b) => a - b)
    if (JSON.stringify(told) !== JSON.stringify(lines.map((row) => row.db_id))) outcome.linesAmiss++
  }
  console.info(`${what}: ${JSON.stringify(outcome)}`)
  return outcome
}

/** Writers without HTTP: each commit of a line has a connection of its own, so that sixteen commit side by side. */
async function withWriters(
  unannounced: boolean,
  work: (write: Parameters<typeof runUnderCuts>[1]) => Promise<void>,
): Promise<void> {
  const sql = openSql(door.app.config.databaseUrl as string, {
    name: 'test writers',
    max: WRITERS,
    settings: { synchronous_commit: 'on' },
  })
  // Without a pace, so that the log is looked at in the middle of commits as often as can be.
  const writer = { ...createWriter(sql, { paceMs: 0 }), unannounced }
  let count = 0
  await work((batch) =>
    commit(writer, async (tx) => {
      const [row] = await tx<{ db_id: number }[]>`
        insert into log_lines (batch_key, db_id, job_key, ts, level, rank, line)
        select ${batch.key}, nextval('event_block'), ${batch.job}, now(), 'info', 20, ${`written ${++count}`}
        returning db_id`
      const id = row?.db_id as number
      return {
        result: undefined,
        changes: [
          { channel: `logs:${batch.id}`, type: 'lines', batchKey: batch.key, ids: { first: id, last: id } },
          { channel: 'dashboard', type: 'batches', keys: [batch.key] },
        ],
      }
    }),
  ).finally(() => sql.end({ timeout: 5 }))
}

const TIMEOUT = patienceMs(120)
const ALL_WELL = { missing: 0, repeated: 0, outOfOrder: 0, linesAmiss: 0 }

test('with sixteen writers, two servers and cuts at any byte every change arrives once, in order', {
  timeout: TIMEOUT,
}, async () => {
  await withWriters(false, async (write) => {
    const outcome = await runUnderCuts('announced', write, { cuts: CUTS, mostMs: TIMEOUT })
    expect(outcome).toMatchObject(ALL_WELL)
    expect(outcome.cuts).toBeGreaterThanOrEqual(CUTS)
    expect(outcome.switches).toBeGreaterThan(CUTS / 10)
    expect(outcome.expected).toBeGreaterThan(CUTS)
  })
})

test('the same with arrays of several batches sent to both servers', {
  timeout: TIMEOUT,
}, async () => {
  let count = 0
  const send = async (batch: { id: string }, writer: number) => {
    const server = servers[writer % servers.length] as TestApp
    const events = Array.from({ length: 1 + (count % 45) }, () =>
      makeEvent('log_line', {
        batch_id: batch.id,
        job_id: `job-${writer}`,
        data: { line: `written ${++count}`, level: 'info' },
      }),
    )
    const { status } = await server.call('POST', '/api/events/batch', { token: door.token, body: events })
    expect(status).toBe(200)
  }
  const outcome = await runUnderCuts('requests to both servers', send, { cuts: CUTS, mostMs: TIMEOUT })
  expect(outcome).toMatchObject(ALL_WELL)
  expect(outcome.cuts).toBeGreaterThanOrEqual(CUTS)
})

test('control: if writers announce nothing, messages are lost', { timeout: TIMEOUT }, async () => {
  await withWriters(true, async (write) => {
    let lost = 0
    // Ends with the first loss, which a slow machine may take several rounds to have. Longer pieces, because a client
    // that just came back is behind, and the slow commits are over before it comes to them.
    for (let round = 0; round < 20 && lost === 0; round++) {
      lost += (
        await runUnderCuts('unannounced', write, {
          cuts: 50,
          mostMs: 5_000,
          pieces: { bytes: 1_000_000, ms: 2_000 },
        })
      ).missing
    }
    expect(lost).toBeGreaterThan(0)
  })
})

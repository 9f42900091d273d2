/**
 * What an event, a value and a long run take of the disk, of WAL, of processor time and of memory. Every table counts with
 * its indexes and its TOAST. "Hot" is just after the events came; "packed" is when their batches are over, their series
 * packed and the tables vacuumed; "archived" when their batches are in the archive too, a folder, which is measured
 * beside the tables, without the room that they leave to the next runs. STORAGE_STEPS sets the length of the long runs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openSql, type Sql } from '../src/db/sql.ts'
import { EPOCHS_TYPE, EPOCHS_VERSION } from '../src/ingest/index.ts'
import { archiveAll } from './kit/archived.ts'
import { cpuMsOf, memoryMbOf } from './kit/cpu.ts'
import { inColumns, stepsOf, take, trainingsOf350Bytes, wholeRuns } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import { type Figure, printFigures } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'
import { countFrom, partsOf, type Sizes, sizesOf } from './kit/table-sizes.ts'

export const longMinutes = 4

const EVENTS = 100_000
const BATCHES = 4
const JOBS = 4
const METRICS = 4
const STEPS = Number(process.env.STORAGE_STEPS ?? 200_000)
const RUNS = 300
const EVENTS_OF_RUN = 60
const ARRAY = 500
const CONNECTIONS = 4
const SENDERS = 20
const COLD_WITHIN_MS = 240_000

/** Aims for a million steps. */
const RUN = { cpuS: 10, pssMb: 450 }

export async function benchStorage(): Promise<Figure[]> {
  return [
    ...(await onDatabase((on) => manyTrainings(on, false))),
    ...(await onDatabase((on) => manyTrainings(on, true))),
    ...(await onDatabase((on) => longRun(on, { metrics: 1, columns: false, hot: 200, cold: 45 }))),
    ...(await onDatabase((on) => longRun(on, { metrics: 1, columns: true, hot: 200, cold: 45 }))),
    ...(await onDatabase((on) => longRun(on, { metrics: 5, columns: true, hot: 60, cold: 25 }))),
    ...(await onDatabase(smallRuns)),
  ]
}

interface On {
  server: BenchServer
  sql: Sql
  pids: number[]
  url: string
}

async function onDatabase(work: (on: On) => Promise<Figure[]>): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  try {
    await sql`/* bench.inspect */ create extension if not exists pg_walinspect`
    return await work({ server, sql, pids: [server.pid, database.pid], url: database.url })
  } finally {
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

/** Jobs side by side, with the ids that our reporter makes (version 7) or with random ones (version 4). */
async function manyTrainings({ server, sql, pids, url }: On, randomIds: boolean): Promise<Figure[]> {
  const events = take(trainingsOf350Bytes({ batches: BATCHES, jobs: JOBS, randomIds }), EVENTS)
  const bytes = events.reduce((sum, event) => sum + Buffer.byteLength(event), 0) / EVENTS
  const measured = await measure(sql, pids, () => send(server, events))
  const packed = await whenPacked(server, sql, [
    ...new Set(events.map((e) => JSON.parse(e).batch_id as string)),
  ])
  const chunks = packed.tables.get('metric_chunks') ?? 0
  const what = `${bytes.toFixed(0)} bytes, ${METRICS} metrics, ${randomIds ? 'random ids' : "the reporter's ids"}`
  const each = (name: string, total: number, most: number, parts: string): Figure =>
    figureOf(`${name}: ${what}`, total / EVENTS, most, 'bytes an event', parts)
  const figures = [
    each('Tables hot', measured.hot.total, 300, partsOf(measured.hot, EVENTS)),
    each('Tables packed', packed.total, 60, partsOf(packed, EVENTS)),
    each('WAL', measured.wal.total, 400, `${measured.wal.parts(EVENTS)}; ${measured.perS} events/s`),
    {
      what: `CPU an event: ${what}`,
      value: `${((measured.cpuS / EVENTS) * 1e6).toFixed(1)} µs`,
      limit: 'server and PostgreSQL',
    },
  ]
  if (randomIds) return figures
  const archive = await archiveAll(url, sql)
  const archived = await sizesOf(sql)
  return [
    ...figures,
    each('Tables once archived', archived.total, 60, partsOf(archived, EVENTS)),
    each('Archive (Parquet)', archive.bytes, 60, `${archive.rows.toLocaleString('en')} rows`),
    figureOf('A value once packed, with its share of the times', chunks / (EVENTS * METRICS), 12, 'bytes'),
  ]
}

/** One job of very many steps, in arrays or as columns, as the reporter sends them. The aims are bytes a value. */
async function longRun(
  { server, sql, pids, url }: On,
  { metrics, columns, hot, cold }: { metrics: number; columns: boolean; hot: number; cold: number },
): Promise<Figure[]> {
  const memory = watchMemory(pids)
  const steps = stepsOf('long-run', metrics)
  const measured = await measure(sql, pids, async () => {
    for (let sent = 0; sent < STEPS; sent += 20_000)
      await send(server, take(steps, Math.min(20_000, STEPS - sent)), { connections: 1, columns })
  })
  const most = memory.stop()
  const packed = await whenPacked(server, sql, ['long-run'])
  const archive = await archiveAll(url, sql)
  const archived = await sizesOf(sql)
  const name = `${STEPS.toLocaleString('en')} steps × ${metrics} metric${metrics > 1 ? 's' : ''} ${columns ? 'as columns' : 'in arrays'}`
  const values = STEPS * metrics
  const each = (what: string, total: number, aim: number, parts: string): Figure =>
    figureOf(`${name}: ${what}`, total / values, aim, 'bytes a value', parts)
  const share = STEPS / 1_000_000
  return [
    each('tables hot', measured.hot.total, hot, partsOf(measured.hot, values)),
    each('tables packed', packed.total, cold, partsOf(packed, values)),
    each(
      'archived, tables and Parquet',
      archived.total + archive.bytes,
      cold,
      `${partsOf(archived, values)}, Parquet ${(archive.bytes / values).toFixed(1)}`,
    ),
    each('WAL', measured.wal.total, metrics === 1 ? 250 : 60, measured.wal.parts(values)),
    figureOf(`${name}: CPU`, measured.cpuS, RUN.cpuS * share, 's', `${measured.perS} events/s`),
    figureOf(`${name}: memory of all processes (PSS)`, most, RUN.pssMb, 'MB'),
  ]
}

/** Runs of a minute that send their events one by one: batch, job, epochs with ten metrics, ends. */
async function smallRuns({ server, sql, pids, url }: On): Promise<Figure[]> {
  const ids = Array.from({ length: RUNS }, (_, n) => `small-${n}`)
  const runs = ids.map((id) => wholeRuns([id], EVENTS_OF_RUN - 4))
  // A run sends its next event when the last one was answered.
  const bodies = Array.from({ length: EVENTS_OF_RUN }, (_, n) => runs.map((run) => run[n] as string)).flat()
  const events = RUNS * EVENTS_OF_RUN
  const measured = await measure(sql, pids, async () => {
    const { token } = server
    const load = await postAll(server.address, '/api/events', bodies, { connections: SENDERS, token })
    if (load.failures > 0) throw new Error(`${load.failures} events were refused`)
  })
  const packed = await whenPacked(server, sql, [])
  const archive = await archiveAll(url, sql)
  const archived = await sizesOf(sql)
  const each = (what: string, total: number, aim: number, parts: string): Figure =>
    figureOf(
      `${RUNS} runs of ${EVENTS_OF_RUN} single events: ${what}`,
      total / events,
      aim,
      'bytes an event',
      parts,
    )
  return [
    each('tables hot', measured.hot.total, 500, partsOf(measured.hot, events)),
    each('tables packed', packed.total, 500, partsOf(packed, events)),
    each(
      'archived, tables and Parquet',
      archived.total + archive.bytes,
      500,
      `${partsOf(archived, events)}, Parquet ${(archive.bytes / events).toFixed(0)}`,
    ),
    each('WAL', measured.wal.total, 1_000, measured.wal.parts(events)),
  ]
}

function figureOf(what: string, value: number, aim: number, unit: string, parts?: string): Figure {
  return {
    what,
    value: `${value.toFixed(value < 100 ? 1 : 0)} ${unit}${parts === undefined ? '' : ` (${parts})`}`,
    limit: `${aim} ${unit}`,
    ratio: value / aim,
    aim: { most: 1 },
  }
}

interface Measured {
  hot: Sizes
  wal: {
    total: number
    /** The kinds of records that it consists of, in bytes of each of so many. */
    parts(count: number): string
  }
  cpuS: number
  perS: number
}

async function measure(sql: Sql, pids: number[], work: () => Promise<void>): Promise<Measured> {
  await sql`/* bench.checkpoint */ checkpoint`
  await countFrom(sql)
  const [before] = await sql<{ lsn: string }[]>`/* bench.lsn_before */ select pg_current_wal_lsn() lsn`
  const cpu = sumCpu(pids)
  const begun = performance.now()
  await work()
  const seconds = (performance.now() - begun) / 1000
  const cpuS = (sumCpu(pids) - cpu) / 1000
  const hot = await sizesOf(sql)
  const from = before?.lsn as string
  const wal = await sql<{ kind: string; bytes: number; images: number }[]>`/* bench.wal */
    select "resource_manager/record_type" kind, combined_size::float8 bytes, fpi_size::float8 images
    from pg_get_wal_stats(${from}::pg_lsn, pg_current_wal_flush_lsn(), true) order by combined_size desc`
  const total = wal.reduce((sum, { bytes }) => sum + bytes, 0)
  const events = await sql<{ n: number }[]>`/* bench.events */ select count(*)::int n from events`
  return {
    hot,
    wal: {
      total,
      parts: (count) =>
        [
          // Smaller parts are left out.
          ...wal
            .filter(({ bytes }) => bytes > total / 40)
            .map(({ kind, bytes }) => `${kind} ${(bytes / count).toFixed(0)}`),
          `images of pages ${(wal.reduce((sum, { images }) => sum + images, 0) / count).toFixed(1)}`,
        ].join(', '),
    },
    cpuS,
    perS: Math.round((events[0]?.n ?? 0) / seconds),
  }
}

const sumCpu = (pids: number[]): number => pids.map(cpuMsOf).reduce((a, b) => a + b, 0)

/** Ends the batches, waits until their series are packed and their fields stored, and vacuums, as autovacuum does in time. */
async function whenPacked(server: BenchServer, sql: Sql, batches: string[]): Promise<Sizes> {
  const ends = batches.map((batchId) =>
    JSON.stringify({
      event_id: crypto.randomUUID(),
      schema_version: '1.1',
      event_type: 'batch_done',
      timestamp: new Date().toISOString(),
      batch_id: batchId,
      job_id: null,
      source: { project: 'bench' },
      data: { n_done: 1, n_failed: 0, total_elapsed_s: 1 },
    }),
  )
  if (ends.length > 0) await send(server, ends)
  const until = performance.now() + COLD_WITHIN_MS
  for (;;) {
    const waiting = await sql`/* bench.unpacked */
      select 1 from job_progress where coalesce(max_step, max_epoch) > coalesce(packed_step, packed_to, -9007199254740992)
      union all select 1 from batch_progress where not fields_known limit 1`
    if (waiting.length === 0) break
    if (performance.now() > until) throw new Error('the series were not packed in time')
    await sleep(500)
  }
  await sql.unsafe('/* bench.vacuum */ vacuum')
  return sizesOf(sql)
}

async function send(
  server: BenchServer,
  events: string[],
  { connections = CONNECTIONS, columns = false } = {},
): Promise<void> {
  const bodies: string[] = []
  for (let i = 0; i < events.length; i += ARRAY) {
    const some = events.slice(i, i + ARRAY)
    bodies.push(columns ? inColumns(some) : `[${some.join(',')}]`)
  }
  const { token } = server
  const load = await postAll(server.address, '/api/events/batch', bodies, {
    connections,
    token,
    ...(columns && { contentType: `${EPOCHS_TYPE};version=${EPOCHS_VERSION}` }),
  })
  if (load.failures > 0) throw new Error(`${load.failures} arrays were refused`)
}

/** The most that the processes together hold. */
function watchMemory(roots: number[]): { stop(): number } {
  let most = 0
  const look = (): void => {
    most = Math.max(
      most,
      roots.reduce((sum, root) => sum + memoryMbOf(root), 0),
    )
  }
  const timer = setInterval(look, 1_000)
  return {
    stop: () => {
      clearInterval(timer)
      look()
      return most
    },
  }
}

if (process.argv[1] === import.meta.filename) printFigures('Storage', await benchStorage())

/**
 * What an event, a value and a long run take of the disk, of WAL, of processor time and of memory. Every table counts with
 * its indexes and its TOAST. "Hot" is just after the events came; "cold" is when their jobs are over, their
 * series packed and the tables vacuumed; "archived" when their batches are in the archive too, a folder, which is
 * measured beside the tables. STORAGE_STEPS sets how many steps the long run has.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSql, type Sql } from '../src/db/sql.ts'
import { EPOCHS_TYPE, EPOCHS_VERSION } from '../src/ingest/index.ts'
import { archiveAll } from './kit/archived.ts'
import { cpuMsOf, descendantsOf } from './kit/cpu.ts'
import { inColumns, stepsOf, take, trainingsOf350Bytes } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import { type Figure, printFigures } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 4

const EVENTS = 100_000
const BATCHES = 4
const JOBS = 4
const METRICS = 4
const STEPS = Number(process.env.STORAGE_STEPS ?? 1_000_000)
const ARRAY = 500
const CONNECTIONS = 4
const PACKED_WITHIN_MS = 240_000
const MB = 1e6

/** Aims for a million steps. */
const RUN = { hotMb: 250, coldMb: 60, walMb: 250, cpuS: 10, pssMb: 450 }

export async function benchStorage(): Promise<Figure[]> {
  return [
    ...(await onDatabase(({ server, sql, pids, url }) => manyTrainings(server, sql, pids, false, url))),
    ...(await onDatabase(({ server, sql, pids, url }) => manyTrainings(server, sql, pids, true, url))),
    ...(await onDatabase(({ server, sql, pids }) => longRun(server, sql, pids, false))),
    ...(await onDatabase(({ server, sql, pids }) => longRun(server, sql, pids, true))),
  ]
}

async function onDatabase(
  work: (on: { server: BenchServer; sql: Sql; pids: number[]; url: string }) => Promise<Figure[]>,
): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  try {
    return await work({ server, sql, pids: [server.pid, database.pid], url: database.url })
  } finally {
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

/** Jobs side by side, with the ids that our reporter makes (version 7) or with random ones (version 4). */
async function manyTrainings(
  server: BenchServer,
  sql: Sql,
  pids: number[],
  randomIds: boolean,
  url: string,
): Promise<Figure[]> {
  const events = take(trainingsOf350Bytes({ batches: BATCHES, jobs: JOBS, randomIds }), EVENTS)
  const bytes = events.reduce((sum, event) => sum + Buffer.byteLength(event), 0) / EVENTS
  const measured = await measure(sql, pids, () => send(server, events))
  const cold = await whenCold(server, sql, [...new Set(events.map((e) => JSON.parse(e).batch_id as string))])
  const chunks = cold.tables.get('metric_chunks') ?? 0
  const what = `${bytes.toFixed(0)} bytes, ${METRICS} metrics, ${randomIds ? 'random ids' : "the reporter's ids"}`
  const each = (name: string, total: number, most: number, parts: string): Figure => ({
    what: `${name}: ${what}`,
    value: `${(total / EVENTS).toFixed(0)} bytes an event (${parts})`,
    limit: `${most} bytes`,
    ratio: total / EVENTS / most,
    aim: { most: 1 },
  })
  const figures = [
    each('Tables hot', measured.hot.total, 300, partsOf(measured.hot, EVENTS)),
    each('Tables cold', cold.total, 60, partsOf(cold, EVENTS)),
    each('WAL', measured.wal, 400, `${measured.perS} events/s`),
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
    {
      what: 'A value once packed, with its share of the times',
      value: `${(chunks / (EVENTS * METRICS)).toFixed(1)} bytes`,
      limit: '12 bytes',
      ratio: chunks / (EVENTS * METRICS) / 12,
      aim: { most: 1 },
    },
  ]
}

/** One job of very many steps with a single metric, in arrays or as columns. */
async function longRun(server: BenchServer, sql: Sql, pids: number[], columns: boolean): Promise<Figure[]> {
  const memory = watchMemory(pids)
  const steps = stepsOf('long-run')
  const measured = await measure(sql, pids, async () => {
    for (let sent = 0; sent < STEPS; sent += 20_000)
      await send(server, take(steps, Math.min(20_000, STEPS - sent)), { connections: 1, columns })
  })
  const most = memory.stop()
  const cold = await whenCold(server, sql, ['long-run'])
  const name = `${STEPS.toLocaleString('en')} steps × 1 metric ${columns ? 'as columns' : 'in arrays'}`
  const share = STEPS / 1_000_000
  const figure = (what: string, value: number, aim: number, unit: string, parts?: string): Figure => ({
    what: `${name}: ${what}`,
    value: `${value.toFixed(value < 100 ? 1 : 0)} ${unit}${parts === undefined ? '' : ` (${parts})`}`,
    limit: `${aim} ${unit}`,
    ratio: value / aim,
    aim: { most: 1 },
  })
  return [
    figure(
      'tables hot',
      measured.hot.total / MB,
      RUN.hotMb * share,
      'MB',
      `an event: ${partsOf(measured.hot, STEPS)}`,
    ),
    figure('tables cold', cold.total / MB, RUN.coldMb * share, 'MB', `an event: ${partsOf(cold, STEPS)}`),
    figure('WAL', measured.wal / MB, RUN.walMb * share, 'MB'),
    figure('CPU', measured.cpuS, RUN.cpuS * share, 's', `${measured.perS} events/s`),
    figure('memory of all processes (PSS)', most, RUN.pssMb, 'MB'),
  ]
}

interface Sizes {
  /** Bytes above those of the empty database. */
  total: number
  /** By table, with its indexes. */
  tables: Map<string, number>
  /** By table and by index. */
  parts: { name: string; bytes: number }[]
}

interface Measured {
  hot: Sizes
  wal: number
  cpuS: number
  perS: number
}

const empty = new WeakMap<Sql, Map<string, number>>()

async function measure(sql: Sql, pids: number[], work: () => Promise<void>): Promise<Measured> {
  await sql`/* bench.checkpoint */ checkpoint`
  empty.set(sql, new Map((await relations(sql)).map(({ name, bytes }) => [name, bytes])))
  const [before] = await sql<{ lsn: string }[]>`/* bench.lsn_before */ select pg_current_wal_lsn() lsn`
  const cpu = sumCpu(pids)
  const begun = performance.now()
  await work()
  const seconds = (performance.now() - begun) / 1000
  const cpuS = (sumCpu(pids) - cpu) / 1000
  const [wal] = await sql<{ bytes: number }[]>`/* bench.wal */
    select pg_wal_lsn_diff(pg_current_wal_lsn(), ${before?.lsn as string}::pg_lsn)::float8 bytes`
  const events = await sql<{ n: number }[]>`/* bench.events */ select count(*)::int n from events`
  return {
    hot: await sizesOf(sql),
    wal: wal?.bytes ?? Number.NaN,
    cpuS,
    perS: Math.round((events[0]?.n ?? 0) / seconds),
  }
}

const sumCpu = (pids: number[]): number => pids.map(cpuMsOf).reduce((a, b) => a + b, 0)

/** Ends the batches, waits until their series are packed and vacuums, as autovacuum does in time. */
async function whenCold(server: BenchServer, sql: Sql, batches: string[]): Promise<Sizes> {
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
  await send(server, ends)
  const until = performance.now() + PACKED_WITHIN_MS
  for (;;) {
    const waiting = await sql`/* bench.unpacked */
      select 1 from job_progress where coalesce(max_step, max_epoch) > coalesce(packed_step, packed_to, -9007199254740992) limit 1`
    if (waiting.length === 0) break
    if (performance.now() > until) throw new Error('the series were not packed in time')
    await sleep(500)
  }
  await sql.unsafe('/* bench.vacuum */ vacuum')
  return sizesOf(sql)
}

interface Relation {
  name: string
  table: string
  bytes: number
}

/** Tables with their TOAST, and indexes. */
const relations = (sql: Sql): Promise<readonly Relation[]> =>
  sql<Relation[]>`/* bench.relations */
    select c.relname as name, coalesce(t.relname, c.relname) as table,
      (case c.relkind when 'i' then pg_relation_size(c.oid) else pg_table_size(c.oid) end)::float8 bytes
    from pg_class c left join pg_index i on i.indexrelid = c.oid left join pg_class t on t.oid = i.indrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'i')`

async function sizesOf(sql: Sql): Promise<Sizes> {
  const before = empty.get(sql)
  const tables = new Map<string, number>()
  const parts: Sizes['parts'] = []
  let total = 0
  for (const { name, table, bytes } of await relations(sql)) {
    const more = bytes - (before?.get(name) ?? 0)
    total += more
    tables.set(table, (tables.get(table) ?? 0) + more)
    parts.push({ name, bytes: more })
  }
  return { total, tables, parts: parts.sort((a, b) => b.bytes - a.bytes) }
}

/** The largest parts, in bytes an event. */
const partsOf = ({ parts }: Sizes, events: number): string =>
  parts
    .slice(0, 7)
    .filter(({ bytes }) => bytes >= events)
    .map(({ name, bytes }) => `${name} ${(bytes / events).toFixed(0)}`)
    .join(', ')

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

/** The most that the processes together hold, each page counted once. */
function watchMemory(roots: number[]): { stop(): number } {
  let most = 0
  const look = (): void => {
    const pids = roots.flatMap((root) => [root, ...descendantsOf(root)])
    most = Math.max(
      most,
      pids.reduce((sum, pid) => sum + pssMbOf(pid), 0),
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

function pssMbOf(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    // It ended meanwhile.
    return 0
  }
}

if (process.argv[1] === import.meta.filename) printFigures('Storage', await benchStorage())

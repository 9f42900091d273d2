/**
 * Ingest against its named limits, in one run: arrays against a raw COPY of the same events, single events against a
 * server that does nothing. Rounds are interleaved and medians told; CPU comes from /proc, client left out.
 */
import { once } from 'node:events'
import { openSql, type Sql } from '../src/db/sql.ts'
import { cpuMsOf, rssMbOf } from './kit/cpu.ts'
import { stepsOf, take, trainingEvents } from './kit/events.ts'
import { percentile, postAll } from './kit/load.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import {
  type BenchDatabase,
  type BenchServer,
  startDatabase,
  startProcess,
  startServer,
  stopProcess,
} from './kit/server.ts'

const ARRAY = 500
/** One long run, the first of a new database, whose statements are planned for empty tables. */
const FIRST_EVENTS = 60_000
const ARRAY_EVENTS = 20_000
const SINGLE_EVENTS = 12_000
const ROUNDS = 5
/** The compiler of hot code takes 60 µs of each single event in the first round, 10 to 15 after three. */
const WARM_UP_ROUNDS = 3

export async function benchIngest(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const noop = await startProcess('bench/kit/noop-server.ts')
  const framework = await startProcess('bench/kit/noop-server.ts', { NOOP: 'fastify' })
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  try {
    await sql`create table raw_copy (id bigint generated always as identity primary key, event_id uuid unique, payload jsonb)`
    const result = {
      copy: [] as Round[],
      arrays: [] as Round[],
      noop: [] as Round[],
      framework: [] as Round[],
      singles: [] as Round[],
    }
    const latencies: number[] = []
    const firstRun = await arrayRound(server, database, take(stepsOf('first'), FIRST_EVENTS))
    const nextRun = await arrayRound(server, database, take(stepsOf('next'), FIRST_EVENTS))
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
      const arrayEvents = take(trainingEvents({ batches: 8, jobs: 8, tag: `a${round}` }), ARRAY_EVENTS)
      const singleEvents = take(trainingEvents({ batches: 16, jobs: 4, tag: `s${round}` }), SINGLE_EVENTS)
      const copy = await rawCopy(sql, database, arrayEvents)
      const arrays = await arrayRound(server, database, arrayEvents)
      const plain = await singleRound(noop.address, [noop.process.pid as number], singleEvents, 'none')
      const fast = await singleRound(
        framework.address,
        [framework.process.pid as number],
        singleEvents,
        'none',
      )
      const singles = await singleRound(
        server.address,
        [server.pid, database.pid],
        singleEvents,
        server.token,
      )
      if (round < 0) continue
      result.copy.push(copy)
      result.arrays.push(arrays)
      result.noop.push(plain)
      result.framework.push(fast)
      result.singles.push(singles)
      latencies.push(...singles.latenciesMs)
    }
    const rate = (rounds: Round[]): number => median(rounds.map((r) => r.perS))
    const cpu = (rounds: Round[]): string => `${median(rounds.map((r) => r.cpuMs)).toFixed(1)} ms CPU`
    const text = (rounds: Round[]): string =>
      `${Math.round(rate(rounds)).toLocaleString('en')}/s, ${cpu(rounds)}`
    const ratio = (a: Round[], b: Round[]): number => median(a.map((r, i) => r.perS / (b[i] as Round).perS))
    return [
      {
        what: 'First run of a new database, 60,000 events',
        value: text([firstRun]),
        limit: `the next run ${text([nextRun])}`,
        ratio: firstRun.perS / nextRun.perS,
        aim: { least: 0.5 },
      },
      {
        what: 'Arrays of 500, events',
        value: text(result.arrays),
        limit: `raw COPY ${text(result.copy)}`,
        ratio: ratio(result.arrays, result.copy),
        aim: { least: 0.5 },
      },
      {
        what: 'CPU per 1,000 events in arrays, node + PostgreSQL (ms)',
        value: cpu(result.arrays),
        limit: '36 ms',
        ratio: median(result.arrays.map((r) => r.cpuMs)) / 36,
        aim: { most: 1 },
      },
      {
        what: 'Single events, 64 connections',
        value: text(result.singles),
        limit: `no-op node:http ${text(result.noop)}`,
        ratio: ratio(result.singles, result.noop),
        aim: { least: 0.4 },
      },
      {
        what: 'Single events, 64 connections',
        value: text(result.singles),
        limit: `no-op Fastify ${text(result.framework)}`,
        ratio: ratio(result.singles, result.framework),
      },
      {
        what: 'Single events, p99 (ms)',
        value: `${percentile(latencies, 99).toFixed(1)} ms`,
        limit: '15 ms',
        ratio: percentile(latencies, 99) / 15,
        aim: { most: 1 },
      },
      {
        what: 'Memory of the server after it all',
        value: `${rssMbOf(server.pid)} MB`,
        limit: '400 MB',
        ratio: rssMbOf(server.pid) / 400,
        aim: { most: 1 },
      },
    ]
  } finally {
    await sql.end()
    await stopProcess(noop.process)
    await stopProcess(framework.process)
    await server.stop()
    await database.stop()
  }
}

interface Round {
  perS: number
  /** Per 1,000 events. */
  cpuMs: number
  latenciesMs: number[]
}

async function measured(pids: number[], events: number, run: () => Promise<number[]>): Promise<Round> {
  const before = pids.map(cpuMsOf).reduce((a, b) => a + b, 0)
  const from = performance.now()
  const latenciesMs = await run()
  const seconds = (performance.now() - from) / 1000
  const cpuMs = pids.map(cpuMsOf).reduce((a, b) => a + b, 0) - before
  return { perS: events / seconds, cpuMs: (cpuMs / events) * 1000, latenciesMs }
}

/** The client's CPU is left out here too: only the server side of COPY is counted, which favours the limit. */
function rawCopy(sql: Sql, database: BenchDatabase, events: string[]): Promise<Round> {
  const rows = events.map(
    (e) => `${(JSON.parse(e) as { event_id: string }).event_id}\t${e.replaceAll('\\', '\\\\')}\n`,
  )
  const chunks: string[] = []
  for (let i = 0; i < rows.length; i += ARRAY) chunks.push(rows.slice(i, i + ARRAY).join(''))
  return measured([database.pid], events.length, async () => {
    const stream = await sql`copy raw_copy (event_id, payload) from stdin`.writable()
    for (const chunk of chunks) if (!stream.write(chunk)) await once(stream, 'drain')
    stream.end()
    await once(stream, 'finish')
    return []
  })
}

function arrayRound(server: BenchServer, database: BenchDatabase, events: string[]): Promise<Round> {
  const bodies: string[] = []
  for (let i = 0; i < events.length; i += ARRAY) bodies.push(`[${events.slice(i, i + ARRAY).join(',')}]`)
  return measured([server.pid, database.pid], events.length, async () => {
    const load = await postAll(server.address, '/api/events/batch', bodies, {
      connections: 8,
      token: server.token,
    })
    if (load.failures > 0) throw new Error(`${load.failures} arrays were refused`)
    return load.latenciesMs
  })
}

function singleRound(address: string, pids: number[], events: string[], token: string): Promise<Round> {
  return measured(pids, events.length, async () => {
    const load = await postAll(address, '/api/events', events, { connections: 64, token })
    if (load.failures > 0) throw new Error(`${load.failures} events were refused`)
    return load.latenciesMs
  })
}

if (process.argv[1] === import.meta.filename) printFigures('Ingest', await benchIngest())

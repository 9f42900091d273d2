/**
 * What of ingest only shows over time and between servers: that the server's memory stays flat under millions of
 * events in arrays, and what two servers on one database reach together, each with batches of its own and both with
 * the same. INGEST_EVENTS sets how many events the long run has.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openSql, type Sql } from '../src/db/sql.ts'
import { cpuMsOf, rssMbOf } from './kit/cpu.ts'
import { take, trainingEvents } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 5

const EVENTS = Number(process.env.INGEST_EVENTS ?? 3_000_000)
const ARRAY = 500
const CHUNK = 20_000
const ROUNDS = 5

export async function benchIngestLong(): Promise<Figure[]> {
  const database = await startDatabase()
  const one = await startServer(database.url)
  // With the token of the first, whose project it is.
  const two = { ...(await startServer(database.url)), token: one.token }
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  try {
    const pids = [one.pid, two.pid, database.pid]
    const alone: Round[] = []
    const apart: Round[] = []
    const shared: Round[] = []
    for (let round = -1; round < ROUNDS; round++) {
      const rounds = [
        await arrays([one], pids, (server) => `alone${round}-${server}`),
        await arrays([one, two], pids, (server) => `apart${round}-${server}`),
        // The generator gives every event an id of its own, so the two send different events of the same jobs.
        await arrays([one, two], pids, () => `shared${round}`),
      ]
      if (round < 0) continue // the first warms up
      for (const [i, list] of [alone, apart, shared].entries()) list.push(rounds[i] as Round)
    }
    const deadlocks = await deadlocksIn(sql)
    const memory = await memoryOver(one, EVENTS)
    const rate = (rounds: Round[]): number => median(rounds.map((r) => r.perS))
    const text = (rounds: Round[]): string =>
      `${Math.round(rate(rounds)).toLocaleString('en')}/s, ${median(rounds.map((r) => r.cpuMs)).toFixed(1)} ms CPU`
    const ratio = (rounds: Round[]): number => median(rounds.map((r, i) => r.perS / (alone[i] as Round).perS))
    return [
      {
        what: 'Two servers, batches of their own, arrays of 500',
        value: text(apart),
        limit: `one server ${text(alone)}`,
        ratio: ratio(apart),
      },
      {
        what: 'Two servers, the same jobs, arrays of 500',
        value: text(shared),
        limit: `one server ${text(alone)}`,
        ratio: ratio(shared),
      },
      { what: 'Deadlocks of two servers on the same jobs', value: String(deadlocks), limit: 'none' },
      {
        what: `Most memory of the server over ${EVENTS.toLocaleString('en')} events in arrays`,
        value: `${memory.most} MB`,
        limit: '400 MB',
        ratio: memory.most / 400,
        aim: { most: 1 },
      },
      {
        what: 'The same: median of the last quarter against the second',
        value: `${memory.last} MB`,
        limit: `${memory.second} MB`,
        ratio: memory.last / memory.second,
        aim: { most: 1.1 },
      },
    ]
  } finally {
    await sql.end()
    await one.stop()
    await two.stop()
    await database.stop()
  }
}

interface Round {
  perS: number
  /** Per 1,000 events. */
  cpuMs: number
}

const sumCpu = (pids: number[]): number => pids.map(cpuMsOf).reduce((a, b) => a + b, 0)

/** CHUNK events in all, spread over the servers, four connections each. */
async function arrays(
  servers: BenchServer[],
  pids: number[],
  tag: (server: number) => string,
): Promise<Round> {
  const bodies = servers.map((_, i) =>
    arraysOf(trainingEvents({ batches: 8, jobs: 8, tag: tag(i) }), CHUNK / servers.length),
  )
  const before = sumCpu(pids)
  const from = performance.now()
  await Promise.all(servers.map((server, i) => send(server, bodies[i] as string[], 8 / servers.length)))
  const perS = CHUNK / ((performance.now() - from) / 1000)
  return { perS, cpuMs: ((sumCpu(pids) - before) / CHUNK) * 1000 }
}

/** Sends so many events of trainings that go on and on, and looks at the server's memory after each chunk. */
async function memoryOver(
  server: BenchServer,
  events: number,
): Promise<{ most: number; second: number; last: number }> {
  const training = trainingEvents({ batches: 8, jobs: 8, tag: 'long' })
  const seen: number[] = []
  for (let sent = 0; sent < events; sent += CHUNK) {
    await send(server, arraysOf(training, CHUNK), 8)
    seen.push(rssMbOf(server.pid))
  }
  const quarter = Math.ceil(seen.length / 4)
  return {
    most: Math.max(...seen),
    second: median(seen.slice(quarter, 2 * quarter)),
    last: median(seen.slice(-quarter)),
  }
}

function arraysOf(training: Generator<string>, count: number): string[] {
  const bodies: string[] = []
  for (let i = 0; i < count; i += ARRAY)
    bodies.push(`[${take(training, Math.min(ARRAY, count - i)).join(',')}]`)
  return bodies
}

async function send(server: BenchServer, bodies: string[], connections: number): Promise<void> {
  const load = await postAll(server.address, '/api/events/batch', bodies, {
    connections,
    token: server.token,
  })
  if (load.failures > 0) throw new Error(`${load.failures} arrays were refused`)
}

/** The server writes its counters a second after the fact. */
async function deadlocksIn(sql: Sql): Promise<number> {
  await sleep(1_500)
  const [row] = await sql<{ deadlocks: number }[]>`/* bench.deadlocks */
    select deadlocks from pg_stat_database where datname = current_database()`
  return row?.deadlocks ?? Number.NaN
}

if (process.argv[1] === import.meta.filename) printFigures('Ingest at length', await benchIngestLong())

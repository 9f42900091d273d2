/**
 * What work costs beside much stored work: the same ingest and the same reads on a database with 10,000 batches,
 * 100,000 jobs, 50M epoch values and 20M log lines, and on one with a hundredth of the batches, in turn, in one run.
 * Aim of goals.md: nothing grows past 1.3 times. CPU (server and PostgreSQL, from /proc) is the figure to trust on a
 * shared machine; p95 of the wall time stands beside it.
 *
 * GROWTH_BATCHES=1000 fills a tenth, in a tenth of the time; GROWTH_HOME=folder keeps what was filled for the next run.
 */
import { join } from 'node:path'
import { openSql } from '../src/db/sql.ts'
import { cpuMsOf } from './kit/cpu.ts'
import { take, trainingEvents } from './kit/events.ts'
import { fillGrown, type Grown, sizeOf } from './kit/grown.ts'
import { percentile, postAll } from './kit/load.ts'
import { fillProbes, PROBES } from './kit/probes.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { packAll } from './kit/series.ts'
import { type BenchDatabase, type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const long = true

const BATCHES = Number(process.env.GROWTH_BATCHES ?? 10_000)
const FEW = 100
const ARRAY = 500
const EVENTS = 10_000
const ROUNDS = 7
/** Requests of a probe in a round: enough for the kernel's hundredths of a second to tell. */
const REQUESTS = 20
const AIM = { most: 1.3 } as const

interface Side {
  database: BenchDatabase
  server: BenchServer
  filled: Grown
  stop: () => Promise<void>
}

interface Cost {
  cpuMs: number
  latenciesMs: number[]
}

export async function benchGrowth(): Promise<Figure[]> {
  const few = await open(FEW)
  const many = await open(BATCHES).catch(async (error) => {
    await few.stop()
    throw error
  })
  try {
    const figures: Figure[] = []
    const size = `${millions(many.filled.events)} events, ${many.filled.batches.toLocaleString('en')} batches`
    const beside = `${millions(few.filled.events)} events, ${few.filled.batches} batches`
    figures.push({ what: 'stored', value: size, limit: beside })
    figures.push(
      await compare('ingest in arrays, per 1,000 events', few, many, EVENTS / 1_000, (side, round) =>
        ingest(side, `growth${round}`, true),
      ),
      await compare('the same with random ids', few, many, EVENTS / 1_000, (side, round) =>
        ingest(side, `random${round}`, false),
      ),
    )
    for (const { what, path } of PROBES) {
      figures.push(await compare(what, few, many, REQUESTS, (side) => read(side, path)))
    }
    figures.push(...(await replay(few, many)))
    return figures
  } finally {
    await many.stop()
    await few.stop()
  }
}

async function open(batches: number): Promise<Side> {
  const kept = process.env.GROWTH_HOME
  const database = await startDatabase(kept === undefined ? undefined : join(kept, String(batches)))
  const sql = openSql(database.url, { name: 'bench', max: 1, settings: { jit: 'off' } })
  const server = await startServer(database.url)
  const tell = (message: string): void => console.error(`  ${batches}: ${message}`)
  try {
    const begun = performance.now()
    if ((await sql`select from projects where slug = 'probe'`).length === 0) {
      await fillGrown(sql, server.userId, batches, tell)
      await fillProbes(sql, server.userId)
      await packAll(sql)
      await sql.unsafe('vacuum (analyze)')
      await sql.unsafe('checkpoint')
      tell(`filled in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
    } else {
      await sql`update projects set owner_id = ${server.userId}`
      await sql`update users set role = 'admin' where id = ${server.userId}`
    }
    return {
      database,
      server,
      filled: sizeOf(batches),
      stop: async () => {
        await server.stop()
        await database.stop()
      },
    }
  } finally {
    await sql.end()
  }
}

/** Rounds in turn, each side first in every other one; the first warms up. */
async function compare(
  what: string,
  few: Side,
  many: Side,
  units: number,
  work: (side: Side, round: number) => Promise<number[]>,
): Promise<Figure> {
  const costs = new Map<Side, Cost[]>([
    [few, []],
    [many, []],
  ])
  for (let round = -1; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? [few, many] : [many, few]) {
      const before = cpuOf(side)
      const latenciesMs = await work(side, round)
      if (round >= 0) costs.get(side)?.push({ cpuMs: (cpuOf(side) - before) / units, latenciesMs })
    }
  }
  const told = (side: Side) => {
    const all = costs.get(side) as Cost[]
    return {
      cpu: median(all.map((c) => c.cpuMs)),
      p95: percentile(
        all.flatMap((c) => c.latenciesMs),
        95,
      ),
    }
  }
  const [large, small] = [told(many), told(few)]
  const text = ({ cpu, p95 }: { cpu: number; p95: number }) =>
    `${cpu.toFixed(1)} ms CPU, p95 ${p95.toFixed(1)} ms`
  return {
    what,
    value: text(large),
    limit: text(small),
    ratio: large.cpu / Math.max(small.cpu, 0.5),
    aim: AIM,
  }
}

const cpuOf = ({ database, server }: Side): number => cpuMsOf(database.pid) + cpuMsOf(server.pid)

async function ingest({ server }: Side, tag: string, reporterIds: boolean): Promise<number[]> {
  const events = take(trainingEvents({ batches: 8, jobs: 8, tag, reporterIds }), EVENTS)
  const bodies: string[] = []
  for (let i = 0; i < events.length; i += ARRAY) bodies.push(`[${events.slice(i, i + ARRAY).join(',')}]`)
  const load = await postAll(server.address, '/api/events/batch', bodies, {
    connections: 8,
    token: server.token,
  })
  if (load.failures > 0) throw new Error(`${load.failures} arrays were refused`)
  return load.latenciesMs
}

async function read({ server }: Side, path: string): Promise<number[]> {
  const latencies: number[] = []
  for (let i = 0; i < REQUESTS; i++) {
    const begun = performance.now()
    const answer = await fetch(`${server.address}${path}`, {
      headers: { authorization: `Bearer ${server.session}` },
    })
    const body = await answer.text()
    latencies.push(performance.now() - begun)
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${body}`)
  }
  return latencies
}

const LINES = 2_000

/** Two thousand log lines that a client missed, out of a log of changes that holds a day of everything. */
async function replay(few: Side, many: Side): Promise<Figure[]> {
  const cursors = new Map<Side, string>()
  for (const side of [few, many]) {
    cursors.set(side, await newestCursor(side))
    const bodies = Array.from({ length: LINES / 20 }, () => `[${lines(20).join(',')}]`)
    const { server } = side
    const load = await postAll(server.address, '/api/events/batch', bodies, {
      connections: 1,
      token: server.token,
    })
    if (load.failures > 0) throw new Error('the lines to replay were refused')
    await ingest(side, 'later', true)
  }
  return [
    await compare(
      `replay of ${LINES.toLocaleString('en')} missed lines`,
      few,
      many,
      REQUESTS,
      async (side) => {
        const latencies: number[] = []
        for (let i = 0; i < REQUESTS; i++) {
          const begun = performance.now()
          await follow(side, cursors.get(side) as string)
          latencies.push(performance.now() - begun)
        }
        return latencies
      },
    ),
  ]
}

function lines(count: number): string[] {
  const list: string[] = []
  for (const event of trainingEvents({ batches: 1, jobs: 1, tag: 'replay' })) {
    if (list.length === count) break
    const { event_id, ...rest } = JSON.parse(event)
    list.push(
      JSON.stringify({ ...rest, event_id, event_type: 'log_line', data: { line: 'missed', level: 'info' } }),
    )
  }
  return list
}

async function newestCursor({ server }: Side): Promise<string> {
  const answer = await fetch(`${server.address}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.session}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ streamCursor }' }),
  })
  return ((await answer.json()) as { data: { streamCursor: string } }).data.streamCursor
}

/** Reads the stream from the cursor on until every missed line has come. */
async function follow({ server }: Side, cursor: string): Promise<void> {
  const stop = new AbortController()
  const answer = await fetch(
    `${server.address}/api/sse?channel=${encodeURIComponent('logs:replay-batch-0')}&last_event_id=${cursor}`,
    { headers: { authorization: `Bearer ${server.session}` }, signal: stop.signal },
  )
  let seen = 0
  const decoder = new TextDecoder()
  for await (const chunk of answer.body as ReadableStream<Uint8Array>) {
    seen += decoder.decode(chunk, { stream: true }).split('"line":"missed"').length - 1
    if (seen >= LINES) break
  }
  stop.abort()
}

const millions = (n: number): string => `${(n / 1e6).toFixed(1)}M`

if (process.argv[1] === import.meta.filename) printFigures('Growth', await benchGrowth())

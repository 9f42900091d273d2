/**
 * What work costs beside much stored work: the same ingest and the same reads on a database with 10,000 batches,
 * 100,000 jobs, 50M epoch values and 20M log lines, and on one with a hundredth of the batches, in turn, in one run.
 * The aim: nothing grows past 1.3 times. CPU (server and PostgreSQL, from /proc) is the figure to trust on a
 * shared machine; p95 of the wall time is beside it.
 *
 * GROWTH_HOME=folder keeps what was filled for the next run; without it less is filled, which the table says.
 * GROWTH_BATCHES sets how many batches.
 */
import { openSql } from '../src/db/sql.ts'
import { rssMbOf } from './kit/cpu.ts'
import { arraysOf, take, trainingEvents, wholeRuns } from './kit/events.ts'
import { percentile, postAll } from './kit/load.ts'
import { PROBES } from './kit/probes.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { cpuOf, openSide, type Side } from './kit/side.ts'
import { compareSweeps } from './kit/sweeps.ts'

export const longMinutes = 10

/** The number of batches in the aim takes many minutes to fill, so it is measured where it is kept. */
const GOAL = 10_000
const BATCHES = Number(process.env.GROWTH_BATCHES ?? (process.env.GROWTH_HOME === undefined ? 1_500 : GOAL))
const FEW = 100
const ARRAY = 500
const EVENTS = 10_000
const INGEST = { times: 1, units: EVENTS / 1_000 }
/** Whole runs of a round. */
const RUNS = { times: 1, units: 300 }
const EPOCHS_OF_RUN = 20
const ROUNDS = 5
/** CPU of one side in a round of reads: enough for the kernel's hundredths of a second to tell. */
const MIN_CPU_MS = 300
const MIN_TIMES = 60
const MAX_WARM_MS = 10_000
const AIM = { most: 1.3 } as const
/** GROWTH_ONLY=words measures only what has one of them in its name: a probe, ingest, replay, sweep. */
const ONLY = process.env.GROWTH_ONLY?.split(',')
const asked = (what: string): boolean => ONLY === undefined || ONLY.some((word) => what.includes(word))

interface Cost {
  cpuMs: number
  latenciesMs: number[]
}

export async function benchGrowth(): Promise<Figure[]> {
  const few = await openSide(FEW)
  const many = await openSide(BATCHES).catch(async (error) => {
    await few.stop()
    throw error
  })
  if (process.env.GROWTH_FILL === 'only') {
    await many.stop()
    await few.stop()
    return []
  }
  try {
    const figures: Figure[] = []
    const size = `${millions(many.filled.events)} events, ${many.filled.batches.toLocaleString('en')} batches`
    const beside = `${millions(few.filled.events)} events, ${few.filled.batches} batches`
    figures.push({
      what: many.filled.batches < GOAL ? 'stored, less than the aim asks for' : 'stored',
      value: size,
      limit: beside,
    })
    // Reads first: what PostgreSQL tidies up after ingest, at times of its own, would be counted as theirs.
    for (const { what, path } of PROBES.filter(({ what }) => asked(what))) {
      figures.push(
        await compare(what, few, many, (side, _round, times) => repeated(times, () => read(side, path))),
      )
    }
    if (asked('ingest'))
      figures.push(
        await compare('ingest in arrays, per 1,000 events', few, many, ingesting('growth', true), INGEST),
        await compare('the same with random ids', few, many, ingesting('random', false), INGEST),
        await compare('whole runs of 20 epochs, per run', few, many, storingRuns, RUNS),
        memoryOf(few, many),
        await settle(few, many),
      )
    if (asked('replay')) figures.push(...(await replay(few, many)))
    if (asked('sweep')) figures.push(...(await compareSweeps(few, many)))
    return figures
  } finally {
    await many.stop()
    await few.stop()
  }
}

/** Work done so many times, and how long each took. */
type Work = (side: Side, round: number, times: number) => Promise<number[]>

/**
 * Rounds in turn, each side first in every other one. The first warms up and, without `times`, finds how often the work
 * is to be done for MIN_CPU_MS.
 */
async function compare(
  what: string,
  few: Side,
  many: Side,
  work: Work,
  { times, units }: { times?: number; units?: number } = {},
): Promise<Figure> {
  const costs = new Map<Side, Cost[]>([
    [few, []],
    [many, []],
  ])
  const often = times ?? (await timesFor(many, work))
  if (times === undefined) await work(few, -1, often)
  for (let round = times === undefined ? 0 : -1; round < ROUNDS; round++) {
    for (const side of round % 2 === 0 ? [few, many] : [many, few]) {
      const before = cpuOf(side)
      const latenciesMs = await work(side, round, often)
      if (round >= 0) costs.get(side)?.push({ cpuMs: (cpuOf(side) - before) / (units ?? often), latenciesMs })
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
    `${cpu.toFixed(2)} ms CPU, p95 ${p95.toFixed(1)} ms`
  return { what, value: text(large), limit: text(small), ratio: large.cpu / small.cpu, aim: AIM }
}

/**
 * Writes out what ingest left to be written, so that its cost is not taken for that of what follows: with random ids every
 * event touches another page of the index, which PostgreSQL would write over the minutes in which that is measured.
 */
async function settle(few: Side, many: Side): Promise<Figure> {
  const told: string[] = []
  for (const side of [many, few]) {
    const before = cpuOf(side)
    const sql = openSql(side.database.url, { name: 'bench', max: 1 })
    await sql`checkpoint`
    await sql.end()
    told.push(`${((cpuOf(side) - before) / (2 * (ROUNDS + 1) * INGEST.units)).toFixed(2)} ms CPU`)
  }
  const [value, limit] = told as [string, string]
  return { what: 'the checkpoint after both, per 1,000 of their events', value, limit }
}

/** A plan for all values is made at the sixth time on each of ten connections, so the work is done often before. */
async function timesFor(side: Side, work: Work): Promise<number> {
  const begun = performance.now()
  await work(side, -1, MIN_TIMES)
  for (let times = MIN_TIMES; ; times *= 2) {
    const before = cpuOf(side)
    await work(side, -1, times)
    const cpuMs = cpuOf(side) - before
    if (cpuMs >= MIN_CPU_MS || performance.now() - begun > MAX_WARM_MS)
      return Math.max(2, Math.ceil((times * MIN_CPU_MS) / Math.max(cpuMs, 10)))
  }
}

/** Both servers have done the same work since they started. */
function memoryOf(few: Side, many: Side): Figure {
  const [value, limit] = [rssMbOf(many.server.pid), rssMbOf(few.server.pid)]
  return {
    what: 'memory of the server afterwards',
    value: `${value} MB`,
    limit: `${limit} MB`,
    ratio: value / limit,
    aim: AIM,
  }
}

/** Of this run: on databases that are kept, events of an earlier one would be merged into what that one left. */
const RUN = Date.now().toString(36)

const ingesting =
  (tag: string, reporterIds: boolean): Work =>
  (side, round) =>
    ingest(side, `${tag}-${RUN}-${round}`, reporterIds)

async function ingest({ server }: Side, tag: string, reporterIds: boolean): Promise<number[]> {
  return send(server, take(trainingEvents({ batches: 8, jobs: 8, tag, reporterIds }), EVENTS))
}

/** New runs from their start to their end: what grows with the number of runs shows here, and not in long ones. */
const storingRuns: Work = ({ server }, round) => {
  const ids = Array.from({ length: RUNS.units }, (_, n) => `runs-${RUN}-${round}-${n}`)
  return send(server, wholeRuns(ids, EPOCHS_OF_RUN))
}

async function send(server: Side['server'], events: readonly string[]): Promise<number[]> {
  const load = await postAll(server.address, '/api/events/batch', arraysOf(events, ARRAY), {
    connections: 8,
    token: server.token,
  })
  if (load.failures > 0) throw new Error(`${load.failures} arrays were refused`)
  return load.latenciesMs
}

async function read({ server }: Side, path: string): Promise<void> {
  const answer = await fetch(`${server.address}${path}`, {
    headers: { authorization: `Bearer ${server.session}` },
  })
  const body = await answer.text()
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${body}`)
}

async function repeated(times: number, work: () => Promise<void>): Promise<number[]> {
  const latencies: number[] = []
  for (let i = 0; i < times; i++) {
    const begun = performance.now()
    await work()
    latencies.push(performance.now() - begun)
  }
  return latencies
}

const LINES = 2_000

/** Two thousand log lines that a client missed, out of a change log that holds a full day. */
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
    await compare(`replay of ${LINES.toLocaleString('en')} missed lines`, few, many, (side, _round, times) =>
      repeated(times, () => follow(side, cursors.get(side) as string)),
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

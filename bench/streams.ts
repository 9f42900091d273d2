/**
 * What 1,000 streams of /api/sse cost, by how many of them share a channel. `npx tsx bench/streams.ts [folder of another
 * checkout]` prints the CPU of a delivery; with another checkout both are measured in turn, and the table has the ratio.
 * Both must be built. CPU comes from /proc; that of the listeners and of PostgreSQL is left out.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSql } from '../src/db/sql.ts'
import { cpuMsOf } from './kit/cpu.ts'
import { openListeners } from './kit/listeners.ts'
import { postAll } from './kit/load.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

const STREAMS = 1_000
const ROUNDS = 3
const WARM_UP = 1
/** Arrays of events of a round: each is one commit, of five events of one batch. */
const MESSAGES = 150
const EVENTS = 5
const BATCHES = 1_000
const PROJECT = 'bench'

interface Case {
  path: string | ((n: number) => string)
  /** Streams that get a message of the batch with this number. */
  readers: number
  /** Which batches events are sent for: the first ones. */
  batches: number
  event: (batch: number) => object
}

const ofBatch = (n: number) => `b${n}`
const line = (n: number) => ({
  ...eventOf(n, 'log_line'),
  data: {
    line: 'epoch 17: learning rate dropped, loss plateau reached on the validation set',
    level: 'info',
  },
})
let epoch = 0
const point = (n: number) => ({
  ...eventOf(n, 'job_epoch'),
  data: { epoch: epoch++, loss: 0.25, accuracy: 0.75, val_loss: 0.5 },
})

const CASES: Record<string, Case> = {
  'log lines of one batch to all': {
    path: `/api/sse?channels=logs:${ofBatch(0)}`,
    readers: STREAMS,
    batches: 1,
    event: line,
  },
  'points of one batch to all': {
    path: `/api/sse?channels=metrics:${ofBatch(0)}`,
    readers: STREAMS,
    batches: 1,
    event: point,
  },
  'log lines of 100 batches, ten streams each': {
    path: (n) => `/api/sse?channels=logs:${ofBatch(n % 100)}`,
    readers: STREAMS / 100,
    batches: 100,
    event: line,
  },
  'log lines of 1,000 batches, one stream each': {
    path: (n) => `/api/sse?channels=logs:${ofBatch(n)}`,
    readers: 1,
    batches: BATCHES,
    event: line,
  },
}

const eventOf = (batch: number, type: string) => ({
  event_id: randomUUID(),
  schema_version: '1.1',
  event_type: type,
  timestamp: '2026-01-01T00:00:00Z',
  batch_id: ofBatch(batch),
  job_id: 'job',
  source: { project: PROJECT },
})

interface Side {
  server: BenchServer
  stop: () => Promise<void>
}

async function openSide(checkout: string | undefined): Promise<Side> {
  const database = await startDatabase()
  const settings = { SVC_MAX_STREAMS_PER_ADDRESS: '2000', SVC_VISITOR_COST_PER_S: '1000000' }
  const server = await startServer(database.url, settings, checkout)
  const stop = async () => {
    await server.stop()
    await database.stop()
  }
  const bodies: string[] = []
  for (let n = 0; n < BATCHES; n += 100)
    bodies.push(JSON.stringify(Array.from({ length: 100 }, (_, i) => line(n + i))))
  await send(server, bodies)
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  // Visitors may follow what is public, so no credential is part of what is measured.
  await sql`update projects set visibility = 'public' where slug = ${PROJECT}`
  await sql.end()
  return { server, stop }
}

async function send(server: BenchServer, bodies: string[]): Promise<void> {
  const options = { connections: 1, token: server.token }
  const { failures } = await postAll(server.address, '/api/events/batch', bodies, options)
  if (failures > 0) throw new Error(`${failures} arrays were refused`)
}

/** @returns CPU of the server for one delivered message, in µs */
async function round({ server }: Side, { path, readers, batches, event }: Case): Promise<number> {
  const listeners = await openListeners(server.address, path, STREAMS)
  // The events that are not shared by many are more, so that the time of a round is measurable.
  const messages = readers === STREAMS ? MESSAGES : MESSAGES * 4
  const bodies = Array.from({ length: messages }, (_, i) =>
    JSON.stringify(Array.from({ length: EVENTS }, () => event(i % batches))),
  )
  // What opening the streams left to do is not counted.
  await sleep(1_000)
  const cpu = cpuMsOf(server.pid)
  await send(server, bodies)
  const wanted = messages * readers
  const patience = performance.now() + 120_000
  while (listeners.frames() < wanted) {
    if (performance.now() > patience) throw new Error(`${listeners.frames()} of ${wanted} messages came`)
    await sleep(5)
  }
  const used = cpuMsOf(server.pid) - cpu
  listeners.close()
  await sleep(500)
  return (used / wanted) * 1_000
}

async function main(before: string | undefined): Promise<Figure[]> {
  const sides: Side[] = []
  try {
    for (const checkout of before === undefined ? [undefined] : [undefined, before])
      sides.push(await openSide(checkout))
    const figures: Figure[] = []
    for (const [what, one] of Object.entries(CASES)) {
      if (!what.includes(process.env.BENCH_ONLY ?? '')) continue
      const times: number[][] = sides.map(() => [])
      for (let n = 0; n < ROUNDS + WARM_UP; n++)
        for (const [s, side] of sides.entries()) {
          const us = await round(side, one)
          if (n >= WARM_UP) times[s]?.push(us)
        }
      const [now, then] = times.map(median)
      figures.push({
        what,
        value: `${now?.toFixed(1)} µs CPU a delivery`,
        limit: then === undefined ? '' : `${then.toFixed(1)} µs`,
        ...(now !== undefined && then !== undefined && { ratio: now / then, aim: { most: 2 } }),
      })
    }
    return figures
  } finally {
    for (const side of sides) await side.stop()
  }
}

printFigures('1,000 streams', await main(process.argv[2]))

/**
 * The live stream: from the answer to an event until each stream has the frame, and what a delivery costs, against a
 * server that only writes the same bytes to as many connections. CPU comes from /proc, the listeners' left out.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSql } from '../src/db/sql.ts'
import { cpuMsOf, rssMbOf } from './kit/cpu.ts'
import { openListeners } from './kit/listeners.ts'
import { percentile, postAll } from './kit/load.ts'
import { type Figure, printFigures } from './kit/report.ts'
import { type BenchServer, startDatabase, startProcess, startServer, stopProcess } from './kit/server.ts'

const STREAMS = [1, 100, 1_000]
/** Events of a latency round, and how far apart: what many trainings at once send, not a flood. */
const EVENTS = 100
const APART_MS = 40
/** Messages of a throughput round, as fast as they go; each has five lines. */
const MESSAGES = 300
const LINES = 5

export async function benchStream(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url, { SVC_MAX_STREAMS_PER_ADDRESS: '2000' })
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  const bare = await startProcess('bench/kit/noop-fanout.ts')
  try {
    await send(server, lineOf(0))
    // Visitors may follow what is public, so no credential is part of what is measured.
    await sql`update projects set visibility = 'public' where slug = 'bench'`
    const path = '/api/sse?channels=logs:bench'
    const figures: Figure[] = []
    for (const streams of STREAMS) figures.push(...(await latency(server, path, streams)))

    const streams = STREAMS.at(-1) as number
    const [ours, theirs] = [
      await throughput(server.address, server.pid, path, streams, () => flood(server)),
      await throughput(bare.address, bare.process.pid as number, '/', streams, () => floodBare(bare.address)),
    ]
    const text = ({ perCoreS, usEach }: typeof ours) =>
      `${Math.round(perCoreS).toLocaleString('en')}/s a core, ${usEach.toFixed(1)} µs CPU each`
    figures.push(
      {
        what: `Frames to ${streams} streams`,
        value: text(ours),
        limit: `only writing them ${text(theirs)}`,
        ratio: ours.perCoreS / theirs.perCoreS,
      },
      {
        what: `Memory of the server after it all`,
        value: `${rssMbOf(server.pid)} MB`,
        limit: '400 MB',
        ratio: rssMbOf(server.pid) / 400,
        aim: { most: 1 },
      },
    )
    return figures
  } finally {
    await sql.end()
    await stopProcess(bare.process)
    await server.stop()
    await database.stop()
  }
}

/** Single events, one after another; each has a mark that the listeners note. */
async function latency(server: BenchServer, path: string, streams: number): Promise<Figure[]> {
  const listeners = await openListeners(server.address, path, streams)
  const answered = new Map<number, number>()
  const sent = new Map<number, number>()
  for (let mark = 1; mark <= EVENTS; mark++) {
    const due = performance.now() + APART_MS
    sent.set(mark, performance.now())
    await send(server, lineOf(mark))
    answered.set(mark, performance.now())
    await sleep(Math.max(0, due - performance.now()))
  }
  await reach(
    () => [...listeners.arrivals.values()].reduce((n, times) => n + times.length, 0),
    EVENTS * streams,
  )
  listeners.close()
  const since = (begins: Map<number, number>): number[] =>
    [...listeners.arrivals].flatMap(([mark, times]) =>
      times.map((time) => time - (begins.get(mark) as number)),
    )
  const [accepted, whole] = [since(answered), since(sent)]
  const ms = (values: number[], p: number) => `${percentile(values, p).toFixed(1)} ms`
  return [
    {
      what: `Event accepted → frame received, ${streams} streams, p50 / p99`,
      value: `${ms(accepted, 50)} / ${ms(accepted, 99)}`,
      limit: `sent → received ${ms(whole, 50)} / ${ms(whole, 99)}; aim 300 ms`,
      ratio: percentile(accepted, 99) / 300,
      aim: { most: 1 },
    },
  ]
}

/** What a delivery costs when there is much to deliver. */
async function throughput(
  address: string,
  pid: number,
  path: string,
  streams: number,
  send: () => Promise<number>,
): Promise<{ perCoreS: number; usEach: number }> {
  const listeners = await openListeners(address, path, streams)
  const cpu = cpuMsOf(pid)
  const messages = await send()
  await reach(listeners.frames, messages * streams)
  const cpuMs = cpuMsOf(pid) - cpu
  listeners.close()
  const deliveries = messages * streams
  return { perCoreS: (deliveries / cpuMs) * 1000, usEach: (cpuMs / deliveries) * 1000 }
}

/** Each array is one commit while nothing else is written, so one message. @returns how many messages that makes */
async function flood(server: BenchServer): Promise<number> {
  const bodies = Array.from(
    { length: MESSAGES },
    () => `[${Array.from({ length: LINES }, () => lineOf(0)).join(',')}]`,
  )
  const { failures } = await postAll(server.address, '/api/events/batch', bodies, {
    connections: 1,
    token: server.token,
  })
  if (failures > 0) throw new Error(`${failures} arrays were refused`)
  return MESSAGES
}

async function floodBare(address: string): Promise<number> {
  const line = { db_id: 100_000, timestamp: '2026-01-01T00:00:00Z', job_id: 'job', level: 'info', line: TEXT }
  const payload = { lines: Array.from({ length: LINES }, () => line) }
  const data = { channel: 'logs:bench', type: 'lines', at: '2026-01-01T00:00:00.000000Z', payload }
  const frame = `id: 100000\nevent: logs\ndata: ${JSON.stringify(data)}\n\n`
  await postAll(
    address,
    '/',
    Array.from({ length: MESSAGES }, () => frame),
    { connections: 1, token: 'none' },
  )
  return MESSAGES
}

async function reach(count: () => number, wanted: number): Promise<void> {
  const patience = performance.now() + 60_000
  while (count() < wanted) {
    if (performance.now() > patience) throw new Error(`${count()} of ${wanted} frames came`)
    await sleep(5)
  }
}

const TEXT = 'epoch 17: learning rate dropped, loss plateau reached on the validation set'

const lineOf = (mark: number): string =>
  JSON.stringify({
    event_id: randomUUID(),
    schema_version: '1.1',
    event_type: 'log_line',
    timestamp: '2026-01-01T00:00:00Z',
    batch_id: 'bench',
    job_id: 'job',
    source: { project: 'bench' },
    data: { line: mark === 0 ? TEXT : `mark ${mark} ${TEXT}`, level: 'info' },
  })

async function send(server: BenchServer, body: string): Promise<void> {
  const response = await fetch(`${server.address}/api/events`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${server.token}` },
    body,
  })
  if (!response.ok) throw new Error(`an event was refused: ${await response.text()}`)
}

if (process.argv[1] === import.meta.filename) printFigures('Stream', await benchStream())

/**
 * How much memory the service needs (docs/install.md): resident memory of its process and of PostgreSQL, idle, at 1,000
 * events a second, and while a million points are exported. MEMORY_HEAP_MB=300 sets the limit of the heap.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openSql } from '../src/db/sql.ts'
import { memoryMbOf, rssMbOf } from './kit/cpu.ts'
import { arraysOf, take, trainingEvents } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import type { Figure } from './kit/report.ts'
import { fillBatch, SERIES } from './kit/series.ts'
import { type BenchDatabase, type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 2

const PER_S = 1_000
const SECONDS = 60
const ARRAY = 100
const JOBS = 100
const EPOCHS = Math.ceil(1_000_000 / JOBS / SERIES.length)
/** What deploy/systemd, deploy/helm and compose.yaml let the service take. */
const LIMIT_MB = 2_048

export async function benchMemory(): Promise<Figure[]> {
  const heap = process.env.MEMORY_HEAP_MB
  const database = await startDatabase()
  const env = heap === undefined ? {} : { NODE_OPTIONS: `--max-old-space-size=${heap}` }
  const server = await startServer(database.url, env)
  const sql = openSql(database.url, { name: 'bench', max: 2 })
  const measure = async (what: string, work: () => Promise<unknown>): Promise<Figure> =>
    figureOf(what, await peakDuring(server, database, work))
  try {
    const idle = await measure('idle', () => sleep(15_000))
    const ingest = await measure(`${PER_S} events a second`, () => sendSteadily(server))
    await fillBatch(sql, 'export', JOBS, EPOCHS)
    const exports = await measure('a million points exported, as Arrow, CSV and JSON', async () => {
      for (const file of ['metrics.arrow', 'metrics.csv', 'metrics']) await download(server, file)
    })
    return [idle, ingest, exports]
  } finally {
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

interface Peak {
  node: number
  postgres: number
}

async function peakDuring(
  server: BenchServer,
  database: BenchDatabase,
  work: () => Promise<unknown>,
): Promise<Peak> {
  const peak: Peak = { node: 0, postgres: 0 }
  const look = (): void => {
    peak.node = Math.max(peak.node, rssMbOf(server.pid))
    peak.postgres = Math.max(peak.postgres, memoryMbOf(database.pid))
  }
  const watch = setInterval(look, 250)
  try {
    await work()
    look()
    return peak
  } finally {
    clearInterval(watch)
  }
}

const figureOf = (what: string, { node, postgres }: Peak): Figure => ({
  what,
  value: `service ${node} MB, PostgreSQL ${postgres} MB`,
  limit: `${LIMIT_MB} MB for both`,
  ratio: (node + postgres) / LIMIT_MB,
  // The rest is for overload and for PostgreSQL's buffers, which a small database does not fill.
  aim: { most: 0.5 },
})

async function sendSteadily({ address, token }: BenchServer): Promise<void> {
  const training = trainingEvents({ batches: 8, jobs: 8, tag: 'steady' })
  for (let second = 0; second < SECONDS; second++) {
    const begun = performance.now()
    const bodies = arraysOf(take(training, PER_S), ARRAY)
    const load = await postAll(address, '/api/events/batch', bodies, { connections: 2, token })
    if (load.failures > 0) throw new Error(`${load.failures} arrays were refused`)
    await sleep(Math.max(0, 1_000 - (performance.now() - begun)))
  }
}

async function download({ address }: BenchServer, file: string): Promise<void> {
  const answer = await fetch(`${address}/api/batches/export/${file}`)
  if (answer.status !== 200 || answer.body === null) throw new Error(`${file}: ${answer.status}`)
  for await (const _ of answer.body as unknown as AsyncIterable<Uint8Array>);
}

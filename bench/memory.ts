/**
 * How much memory the service needs (docs/install.md): resident memory of its process and of PostgreSQL, idle, at 1,000
 * events a second, and while a million points are exported. MEMORY_HEAP_MB=300 sets the limit of the heap. Then what a
 * training takes that logs REPORTER_STEPS steps with the Python reporter as fast as it can: memory at its peak and a minute
 * later, processor time, and the time until everything is stored. MEMORY_ONLY=reporter measures only that.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openSql, type Sql } from '../src/db/sql.ts'
import { cpuMsOf, memoryMbOf, rssMbOf } from './kit/cpu.ts'
import { arraysOf, take, trainingEvents } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import type { Figure } from './kit/report.ts'
import { fillBatch, SERIES } from './kit/series.ts'
import { type BenchDatabase, type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 4

const PER_S = 1_000
const SECONDS = 60
const ARRAY = 100
const JOBS = 100
const EPOCHS = Math.ceil(1_000_000 / JOBS / SERIES.length)
/** What deploy/systemd, deploy/helm and compose.yaml let the service take. */
const LIMIT_MB = 2_048

const REPORTER_STEPS = Number(process.env.REPORTER_STEPS ?? 100_000)
const REPORTER = join(import.meta.dirname, '..', 'python', 'reporter', 'src')
const LOOP = `
import sys, svc_reporter as svc
run = svc.init(project="memory", quiet=True)
for step in range(int(sys.argv[1])):
    run.log({"loss": 1 / (step + 1), "accuracy": step / 1e6, "lr": 1e-3, "grad_norm": 0.5 + step % 7, "speed": 9e3 + step}, step=step)
run.flush(120)
run.finish()
`
/** Aims for all processes together. */
const REPORTER_AIMS = { peakMb: 250, laterMb: 150, serverCpuS: 5, storedS: 6 }

export async function benchMemory(): Promise<Figure[]> {
  return [...(process.env.MEMORY_ONLY === 'reporter' ? [] : await benchUses()), ...(await benchTraining())]
}

async function benchUses(): Promise<Figure[]> {
  const heap = process.env.MEMORY_HEAP_MB
  const database = await startDatabase()
  const env = {
    SVC_VISITOR_COST_PER_S: '1000000',
    ...(heap !== undefined && { NODE_OPTIONS: `--max-old-space-size=${heap}` }),
  }
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

/** One fast training with the reporter. */
async function benchTraining(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const sql = openSql(database.url, { name: 'bench', max: 1 })
  const pss = (): Peak => ({ node: memoryMbOf(server.pid), postgres: memoryMbOf(database.pid) })
  const cpu = (): Peak => ({ node: cpuMsOf(server.pid) / 1000, postgres: cpuMsOf(database.pid) / 1000 })
  let peak = pss()
  const watch = setInterval(() => {
    const now = pss()
    if (now.node + now.postgres > peak.node + peak.postgres) peak = now
  }, 250)
  try {
    const [before, begun] = [cpu(), performance.now()]
    await train(server, sql)
    const seconds = (performance.now() - begun) / 1000
    const after = cpu()
    await sleep(60_000)
    const later = pss()
    const spent = { node: after.node - before.node, postgres: after.postgres - before.postgres }
    const name = `reporter, ${REPORTER_STEPS.toLocaleString('en')} steps × 5 values`
    const figure = (what: string, unit: string, { node, postgres }: Peak, aim: number): Figure => ({
      what: `${name}: ${what}`,
      value: `${(node + postgres).toFixed(1)} ${unit}: service ${node.toFixed(1)}, PostgreSQL ${postgres.toFixed(1)}`,
      limit: `${aim} ${unit}`,
      ratio: (node + postgres) / aim,
      aim: { most: 1 },
    })
    return [
      figure('most memory (PSS)', 'MB', peak, REPORTER_AIMS.peakMb),
      figure('memory a minute later', 'MB', later, REPORTER_AIMS.laterMb),
      figure('processor time', 's', spent, REPORTER_AIMS.serverCpuS),
      {
        what: `${name}: until the script ends and all is stored`,
        value: `${seconds.toFixed(1)} s`,
        limit: `${REPORTER_AIMS.storedS} s`,
        ratio: seconds / REPORTER_AIMS.storedS,
        aim: { most: 1 },
      },
    ]
  } finally {
    clearInterval(watch)
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

/** Resolves when everything that the script logged is stored. */
async function train({ address, token }: BenchServer, sql: Sql): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'svc-reporter-'))
  try {
    const child = spawn('python3', ['-c', LOOP, String(REPORTER_STEPS)], {
      env: {
        ...process.env,
        PYTHONPATH: REPORTER,
        SVC_URL: address,
        SVC_TOKEN: token,
        SVC_REPORTER_DIR: home,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [code] = await once(child, 'exit')
    const [stored] = await sql<{ n: number }[]>`select count(*) n from events`
    if (code !== 0 || Number(stored?.n) < REPORTER_STEPS)
      throw new Error(`the training ended with ${code}, and ${stored?.n} events are stored`)
  } finally {
    await rm(home, { recursive: true, force: true })
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

/**
 * Asking for trials: how many a second with 10,000 in the history of the sweep, held against a new sweep on the same
 * server. Eight workers ask and report the end of each trial, as workers of short trainings do.
 */
import postgres from 'postgres'
import { type Figure, median } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 1

const HISTORY = 10_000
const WORKERS = 8
const SECONDS = 5
const ROUNDS = 3

export async function benchSweeps(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const sql = postgres(database.url, { onnotice: () => {} })
  try {
    await call(server, 'POST', '/api/projects', { slug: 'bench' }, server.session)
    const [empty, full] = [await newSweep(server), await newSweep(server)]
    await fill(sql, full)
    const rates: [number[], number[]] = [[], []]
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [i, sweep] of [empty, full].entries()) {
        const rate = await asksPerS(server, sweep)
        // The first round is for warming up.
        if (round > 0) rates[i]?.push(rate)
      }
    }
    const [alone, among] = [median(rates[0]), median(rates[1])]
    const read = await msOf(() => call(server, 'GET', `/api/sweeps/${full.id}`))
    const news = await msOf(() =>
      call(server, 'GET', `/api/sweeps/${full.id}/trials?limit=500&changed_after=${HISTORY}`),
    )
    return [
      {
        what: `trials asked and ended a second, ${HISTORY} in the history`,
        value: `${among.toFixed(0)}/s`,
        limit: '20/s',
        ratio: among / 20,
        aim: { least: 1 },
      },
      {
        what: 'the same, against a new sweep',
        value: `${among.toFixed(0)}/s`,
        limit: `${alone.toFixed(0)}/s`,
        ratio: among / alone,
        aim: { least: 0.5 },
      },
      {
        what: `the sweep with ${HISTORY} trials and its best one`,
        value: `${read.toFixed(0)} ms`,
        limit: '',
      },
      { what: 'the news of its history for a worker', value: `${news.toFixed(0)} ms`, limit: '' },
    ]
  } finally {
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

interface Sweep {
  id: string
  batch_id: string
}

const newSweep = (server: BenchServer): Promise<Sweep> =>
  call(server, 'POST', '/api/projects/bench/sweeps', {
    name: 'bench',
    method: 'random',
    metric: { name: 'val_loss', goal: 'minimize' },
    parameters: {
      lr: { min: 1e-5, max: 0.1, distribution: 'log_uniform_values' },
      depth: { min: 1, max: 9 },
    },
  })

/** Trials that have ended, as if workers had reported them. */
async function fill(sql: postgres.Sql, sweep: Sweep): Promise<void> {
  await sql`
    with b as (select key from batches where id = ${sweep.batch_id}),
    n as (select generate_series(0, ${HISTORY - 1}::int) n),
    j as (
      insert into jobs (batch_key, id, status, outcome, started_at, ended_at, params, metrics)
      select b.key, 'trial-' || n, 'completed', 'completed', now(), now(), '{"lr": 0.01, "depth": 3}',
        jsonb_build_object('val_loss', 1 / (n + 1.0))
      from b, n returning key, batch_key),
    p as (
      insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at)
      select key, batch_key, now(), now() from j),
    t as (
      insert into sweep_trials (sweep_id, number, job_id, params, worker, reserved_at, settled, changed)
      select ${sweep.id}, n, 'trial-' || n, '{"lr": 0.01, "depth": 3}', 'w', now(), true, n + 1 from n)
    update sweeps set next_number = ${HISTORY}, changes = ${HISTORY} where id = ${sweep.id}`
  await sql`analyze`
}

async function asksPerS(server: BenchServer, sweep: Sweep): Promise<number> {
  const until = performance.now() + SECONDS * 1000
  let asked = 0
  const work = async (worker: string): Promise<void> => {
    while (performance.now() < until) {
      const trial = await call(server, 'POST', `/api/sweeps/${sweep.id}/trials`, { worker })
      await call(server, 'POST', '/api/events', endOf(sweep.batch_id, trial.job_id))
      asked++
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, (_, i) => work(`w${i}`)))
  return asked / SECONDS
}

const endOf = (batchId: string, jobId: string) => ({
  event_id: crypto.randomUUID(),
  schema_version: '1.1',
  event_type: 'job_done',
  batch_id: batchId,
  job_id: jobId,
  timestamp: new Date().toISOString(),
  source: { project: 'bench' },
  data: { metrics: { val_loss: Math.random() } },
})

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 7; i++) {
    const begun = performance.now()
    await work()
    times.push(performance.now() - begun)
  }
  return median(times)
}

async function call(
  server: BenchServer,
  method: 'GET' | 'POST',
  path: string,
  body?: unknown,
  token = server.token,
  // biome-ignore lint/suspicious/noExplicitAny: a document of the service
): Promise<any> {
  const response = await fetch(server.address + path, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.status === 204 ? undefined : response.json()
}

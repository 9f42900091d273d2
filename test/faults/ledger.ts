import type { Sql } from '../../src/db/sql.ts'
import { makeEvent, type TestEvent } from '../ingest/sending.ts'
import { createClient } from '../kit/http.ts'

/**
 * What the clients of a server know: every event they made, and which of them were acknowledged under which db_id.
 * The checker holds the database to it.
 */
export interface Ledger {
  events: Map<string, TestEvent>
  acknowledged: Map<string, number>
  /** Answers that are never right, even after a kill. */
  wrong: string[]
}

export const newLedger = (): Ledger => ({ events: new Map(), acknowledged: new Map(), wrong: [] })

interface Result {
  db_id: number | null
  error?: unknown
}

/** One client's training runs without end: a batch of its own, and one that all clients write to. */
function* training(round: string, client: number, draw: () => number): Generator<TestEvent> {
  const own = `${round} client ${client}`
  const shared = `${round} shared`
  let second = 0
  const at = (): string => new Date(Date.UTC(2026, 2, 1, 10, 0, second++)).toISOString().replace('.000', '')
  yield makeEvent('batch_start', { batch_id: own, timestamp: at(), data: { n_total: 100 } })
  for (let job = 0; ; job++) {
    const job_id = `job ${job}`
    yield makeEvent('job_start', { batch_id: own, job_id, timestamp: at(), data: { model: 'm', lr: draw() } })
    for (let epoch = 0; epoch < 20; epoch++) {
      const data = { epoch, train_loss: draw(), acc: { top1: draw() } }
      yield makeEvent('job_epoch', { batch_id: own, job_id, timestamp: at(), data })
      // A series of its own in the same epochs of the same job: rows that are merged again and again.
      yield makeEvent('job_epoch', {
        batch_id: shared,
        job_id,
        timestamp: at(),
        data: { epoch, [`client ${client}`]: draw() },
      })
      if (epoch % 5 === 0) yield makeEvent('log_line', { batch_id: own, job_id, timestamp: at() })
      if (epoch % 7 === 0) {
        yield makeEvent('resource_snapshot', {
          batch_id: own,
          job_id,
          timestamp: at(),
          data: { gpu_util_pct: 50 },
        })
      }
    }
    if (job % 3 === 2) yield makeEvent('job_failed', { batch_id: own, job_id, timestamp: at() })
    else
      yield makeEvent('job_done', {
        batch_id: own,
        job_id,
        timestamp: at(),
        data: { metrics: { acc: draw() } },
      })
  }
}

export interface Load {
  /** Ends when the clients have noticed; nothing is sent afterwards. */
  stop(): Promise<void>
  /** From here on connections may break. */
  expectFailures(): void
}

/** Several clients at once, some with single events, some with arrays, until stopped. */
export function startLoad(
  ledger: Ledger,
  server: { address: string; token: string; round: string; draw: () => number; clients: number },
): Load {
  let running = true
  let fragile = false
  const clients = Array.from({ length: server.clients }, async (_, n) => {
    const http = createClient(server.address)
    const events = training(server.round, n, server.draw)
    const take = (): TestEvent => {
      const event = events.next().value as TestEvent
      ledger.events.set(event.event_id, event)
      return event
    }
    while (running) {
      const single = n % 2 === 0
      const sent = single ? [take()] : Array.from({ length: 1 + Math.floor(server.draw() * 40) }, take)
      try {
        const answer = await http.call('POST', single ? '/api/events' : '/api/events/batch', {
          token: server.token,
          body: single ? sent[0] : sent,
        })
        if (answer.status === 200) note(ledger, sent, single ? [answer.body] : answer.body.results)
        else if (!fragile || answer.status !== 503) {
          ledger.wrong.push(`${answer.status} ${JSON.stringify(answer.body)}`)
        }
      } catch (error) {
        if (!fragile) ledger.wrong.push(String(error))
        break
      }
    }
    http.close()
  })
  return {
    expectFailures() {
      fragile = true
    },
    async stop() {
      running = false
      await Promise.all(clients)
    },
  }
}

function note(ledger: Ledger, sent: TestEvent[], results: Result[]): void {
  for (const [i, { event_id }] of sent.entries()) {
    const result = results[i]
    const known = ledger.acknowledged.get(event_id)
    if (typeof result?.db_id !== 'number' || (known !== undefined && known !== result.db_id)) {
      ledger.wrong.push(`${event_id}: ${JSON.stringify(result)}, known as ${known}`)
    } else ledger.acknowledged.set(event_id, result.db_id)
  }
}

/** The acknowledged events that the database does not have under their db_id. */
export async function findLost(sql: Sql, { acknowledged }: Ledger): Promise<string[]> {
  const rows = await sql<{ event_id: string; db_id: number }[]>`
    select event_id, db_id from events where event_id = any (${[...acknowledged.keys()]}::uuid[])`
  const stored = new Map(rows.map((row) => [row.event_id, row.db_id]))
  return [...acknowledged].filter(([id, dbId]) => stored.get(id) !== dbId).map(([id]) => id)
}

/** Retries everything that was not acknowledged, as a reporter does. */
export async function sendRest(ledger: Ledger, server: { address: string; token: string }): Promise<void> {
  const rest = [...ledger.events.values()].filter((e) => !ledger.acknowledged.has(e.event_id))
  const http = createClient(server.address)
  for (let at = 0; at < rest.length; at += 500) {
    const sent = rest.slice(at, at + 500)
    const answer = await http.call('POST', '/api/events/batch', { token: server.token, body: sent })
    if (answer.status === 200) note(ledger, sent, answer.body.results)
    else ledger.wrong.push(`${answer.status} ${JSON.stringify(answer.body)}`)
  }
  http.close()
}

interface JobSum {
  status: string
  epochs: number
  lines: number
  snapshots: number
  metrics: Record<string, unknown>
  series: Record<string, { last: number; min: number; max: number; points: number }>
}
/** batch → job → what its events add up to. */
export type Sums = Record<
  string,
  { jobs: Record<string, JobSum>; counts: Record<string, number>; events: number }
>

/** What the ledger says the summaries must be. Times of one batch are all different, so order is time. */
export function expectedSums({ events }: Ledger): Sums {
  const sums: Sums = {}
  const points = new Map<JobSum, Map<string, Map<number, number>>>()
  const epochs = new Map<JobSum, Set<number>>()
  for (const event of events.values()) {
    const { batch_id, job_id, event_type, data } = event
    sums[batch_id] ??= { jobs: {}, counts: {}, events: 0 }
    const batch = sums[batch_id] as Sums[string]
    batch.events++
    if (job_id === null) continue
    batch.jobs[job_id] ??= { status: 'running', epochs: 0, lines: 0, snapshots: 0, metrics: {}, series: {} }
    const job = batch.jobs[job_id] as JobSum
    if (event_type === 'log_line') job.lines++
    if (event_type === 'resource_snapshot') job.snapshots++
    if (event_type === 'job_failed') job.status = 'failed'
    if (event_type === 'job_done') {
      job.status = 'completed'
      job.metrics = data.metrics as Record<string, unknown>
    }
    if (event_type !== 'job_epoch') continue
    const { epoch, acc, ...rest } = data as { epoch: number; acc?: { top1: number } }
    if (!epochs.has(job)) epochs.set(job, new Set())
    epochs.get(job)?.add(epoch)
    const named = { ...rest, ...(acc === undefined ? {} : { 'acc/top1': acc.top1 }) } as Record<
      string,
      number
    >
    for (const [name, value] of Object.entries(named)) {
      if (!points.has(job)) points.set(job, new Map())
      const series = points.get(job) as Map<string, Map<number, number>>
      series.set(name, (series.get(name) ?? new Map()).set(epoch, value))
    }
  }
  for (const batch of Object.values(sums)) {
    batch.counts = { jobs: 0, running: 0, completed: 0, failed: 0 }
    for (const job of Object.values(batch.jobs)) {
      batch.counts.jobs = (batch.counts.jobs ?? 0) + 1
      batch.counts[job.status] = (batch.counts[job.status] ?? 0) + 1
      job.epochs = epochs.get(job)?.size ?? 0
      for (const [name, values] of points.get(job) ?? []) {
        job.series[name] = {
          last: values.get(Math.max(...values.keys())) as number,
          min: Math.min(...values.values()),
          max: Math.max(...values.values()),
          points: values.size,
        }
      }
    }
  }
  return sums
}

/** The same, as the database has it: from the summaries, and the points, lines and events themselves. */
export async function storedSums(sql: Sql, prefix: string): Promise<Sums> {
  const batches = await sql`
    select b.key, b.id, p.n_jobs, p.n_running, p.n_completed, p.n_failed,
      (select count(*) from events v where v.batch_key = b.key) events
    from batches b join batch_progress p on p.batch_key = b.key where b.id like ${`${prefix}%`}`
  const jobs = await sql`
    select j.key, b.id batch, j.id, j.status, j.metrics, p.epochs, p.series, p.last_value, p.min_value, p.max_value,
      (select count(*) from log_lines l where l.job_key = j.key) lines,
      (select count(*) from resource_snapshots s where s.batch_key = j.batch_key and s.job_key = j.key) snapshots,
      (select count(*) from epochs e where e.job_key = j.key) rows,
      array(select count(e.vals[n]) from generate_subscripts(p.series, 1) n left join epochs e on e.job_key = j.key
        group by n order by n)::int[] points
    from jobs j join batches b on b.key = j.batch_key join job_progress p on p.job_key = j.key
    where b.id like ${`${prefix}%`}`
  const sums: Sums = {}
  for (const b of batches) {
    const counts = { jobs: b.n_jobs, running: b.n_running, completed: b.n_completed, failed: b.n_failed }
    sums[b.id] = { jobs: {}, counts, events: b.events }
  }
  for (const j of jobs) {
    const series: JobSum['series'] = {}
    for (const [n, name] of j.series.entries()) {
      series[name] = { last: j.last_value[n], min: j.min_value[n], max: j.max_value[n], points: j.points[n] }
    }
    const { status, metrics, epochs, lines, snapshots, rows } = j
    const job = { status, epochs, lines, snapshots, metrics, series }
    if (rows !== epochs) throw new Error(`${j.batch} ${j.id}: ${epochs} epochs counted, ${rows} stored`)
    ;(sums[j.batch] as Sums[string]).jobs[j.id] = job
  }
  return sums
}

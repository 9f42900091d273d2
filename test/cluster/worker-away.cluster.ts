import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { makeEvent, UNLIMITED } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { addressOf, awaitPrepared, createOnCluster, dropOnCluster } from '../kit/cluster.ts'
import { type Gate, startGate } from '../kit/gate.ts'

// A worker of a cluster goes away and comes back, under load through two servers (docs/scaling.md "A Citus cluster").

const nodes = inject('clusterNodes')
const name = `test_${randomBytes(6).toString('hex')}`
const BATCHES = Array.from({ length: 12 }, (_, i) => `run ${i}`)
const AWAY_MS = 4_000
/** What was prepared on the worker when it went is committed by Citus, which looks for that once a minute. */
const PATIENCE_MS = 150_000

let gates: Gate[]
let apps: TestApp[]
let sql: Sql
let session: string
let token: string
let going = true

beforeAll(async () => {
  gates = await Promise.all(nodes.slice(1).map(startGate))
  await createOnCluster(nodes, name, 8, gates)
  const url = addressOf(nodes[0] as string, { database: name })
  sql = openSql(url, { name: 'test', max: 2 })
  // Two servers that start on an empty database at the same time.
  apps = await Promise.all([1, 2].map(() => startTestApp({ ...UNLIMITED, databaseUrl: url })))
  const [app] = apps as [TestApp]
  session = (await app.register()).token
  token = await app.reporterToken(session)
})
afterAll(async () => {
  going = false
  for (const app of apps ?? []) await app.stop()
  await sql?.end({ timeout: 5 })
  // Not through the gates: a database is dropped on each node itself.
  await dropOnCluster(nodes, name)
  for (const gate of gates ?? []) await gate.shut()
})

interface Sent {
  batch: string
  event: ReturnType<typeof makeEvent>
  status: number
  /** Every answer it got, for when it is missing. */
  answers: unknown[]
}

const send = (n: number, body: unknown) =>
  (apps[n % apps.length] as TestApp).call('POST', '/api/events', { token, body })
const read = (path: string) => (apps[0] as TestApp).call('GET', path, { token: session })
const metricsOf = (batch: string) => read(`/api/batches/${encodeURIComponent(batch)}/metrics?keys=loss`)

/** The port of the worker that has each batch. */
async function workers(): Promise<Map<string, number>> {
  const rows = await sql<{ id: string; port: number }[]>`
    select b.id, n.nodeport port from batches b
    join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('events', b.key)
    join pg_dist_node n on n.groupid = p.groupid`
  return new Map(rows.map(({ id, port }) => [id, port]))
}

/** Sends epochs of the batch, one after another, while it is going. */
async function report(batch: string, n: number, sent: Sent[]): Promise<void> {
  for (let epoch = 0; going; epoch++) {
    const event = makeEvent('job_epoch', { batch_id: batch, data: { epoch, loss: epoch } })
    const { status, body } = await send(n + epoch, event)
    sent.push({ batch, event, status, answers: [body] })
  }
}

test(
  'while a worker is away its batches are answered with 503, the others as ever, and nothing is lost',
  async () => {
    for (const [n, batch] of BATCHES.entries())
      expect((await send(n, makeEvent('batch_start', { batch_id: batch }))).status).toBe(200)
    const workerOf = await workers()
    const [gate] = gates as [Gate]
    const lost = BATCHES.filter((batch) => workerOf.get(batch) === gate.port)
    const left = BATCHES.filter((batch) => workerOf.get(batch) !== gate.port)
    expect(lost.length).toBeGreaterThan(0)
    expect(left.length).toBeGreaterThan(0)

    const sent: Sent[] = []
    const reporters = BATCHES.map((batch, n) => report(batch, n, sent))
    await sleep(2_000)
    const before = sent.length
    expect(sent.every(({ status }) => status === 200)).toBe(true)

    await gate.shut()
    await sleep(AWAY_MS / 2)
    const during = sent.length
    // A read of its own batch, and of another; and the lists, which are on the coordinator.
    expect((await metricsOf(lost[0] as string)).status).toBe(503)
    expect((await metricsOf(left[0] as string)).status).toBe(200)
    expect((await read('/api/batches')).status).toBe(200)
    await sleep(AWAY_MS / 2)
    const away = sent.slice(during)
    await gate.open()
    // What was under way when the worker went may have been refused; from then on only its own batches are.
    const statuses = (batches: string[]) => [
      ...new Set(away.filter(({ batch }) => batches.includes(batch)).map(({ status }) => status)),
    ]
    expect(statuses(lost)).toEqual([503])
    expect(statuses(left)).toEqual([200])
    expect(before).toBeGreaterThan(0)

    // It is back by itself: within the next seconds everything is taken again.
    const from = performance.now()
    for (const batch of lost) {
      for (let n = 0; ; n++) {
        const event = makeEvent('log_line', { batch_id: batch, data: { line: 'back', level: 'info' } })
        if ((await send(n, event)).status === 200) break
        expect(performance.now() - from).toBeLessThan(PATIENCE_MS)
        await sleep(100)
      }
    }
    going = false
    await Promise.all(reporters)

    // As a reporter does: events that were not accepted are sent again, and repeats are recognised.
    for (const one of sent) {
      while (one.status !== 200) {
        const { status, body } = await send(0, one.event)
        one.status = status
        one.answers.push(body)
        if (one.status !== 200) await sleep(100)
      }
    }
    const acknowledged = new Set(sent.map(({ event }) => event.event_id))
    await awaitPrepared(
      nodes.map((node) => addressOf(node, { database: name })),
      PATIENCE_MS,
    )
    const rows = await sql<{ event_id: string }[]>`select event_id from events where type = 4`
    const stored = new Set(rows.map((row) => row.event_id))
    expect(sent.filter(({ event }) => !stored.has(event.event_id))).toEqual([])
    expect(stored.size).toBe(acknowledged.size)
    // Each was counted once, and is a point of its series.
    for (const batch of BATCHES) {
      const epochs = sent.filter((one) => one.batch === batch).length
      const [job] = (await read(`/api/batches/${encodeURIComponent(batch)}/jobs`)).body.items
      expect(job.epochs).toBe(epochs)
      const [series] = (await metricsOf(batch)).body.series
      expect(series.total_points).toBe(epochs)
    }
  },
  2 * PATIENCE_MS,
)

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { fragment } from '../../src/db/sql-fragment.ts'
import { append } from '../../src/stream/commit.ts'
import { makeEvent, UNLIMITED } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { addressOf, createOnCluster, dropOnCluster } from '../kit/cluster.ts'
import { type Gate, startGate } from '../kit/gate.ts'
import { type OpenTransaction, openTransaction } from '../kit/open-transaction.ts'
import { type OpenStream, openStream } from '../live/stream.ts'

// What streams send and the dashboard counts while a worker of a cluster is away (docs/scaling.md "A Citus cluster").

const nodes = inject('clusterNodes')
const name = `test_${randomBytes(6).toString('hex')}`
const BATCHES = Array.from({ length: 8 }, (_, i) => `run ${i}`)

let gates: Gate[]
let app: TestApp
let sql: Sql
let session: string
let token: string

beforeAll(async () => {
  gates = await Promise.all(nodes.slice(1).map(startGate))
  await createOnCluster(nodes, name, 8, gates)
  const url = addressOf(nodes[0] as string, { database: name })
  sql = openSql(url, { name: 'test', max: 2 })
  app = await startTestApp({ ...UNLIMITED, databaseUrl: url })
  session = (await app.register()).token
  token = await app.reporterToken(session)
})
afterAll(async () => {
  await app?.stop()
  await sql?.end({ timeout: 5 })
  // Not through the gates: a database is dropped on each node itself.
  await dropOnCluster(nodes, name)
  for (const gate of gates ?? []) await gate.shut()
})

async function send(...events: unknown[]): Promise<void> {
  const { status } = await app.call('POST', '/api/events/batch', { token, body: events })
  expect(status).toBe(200)
}
const line = (batch_id: string, text: string) =>
  makeEvent('log_line', { batch_id, data: { line: text, level: 'info' } })
const follow = (batch: string, lastEventId?: number): Promise<OpenStream> =>
  openStream(app.address, [`logs:${batch}`], {
    token: session,
    ...(lastEventId !== undefined && { lastEventId }),
  })
const linesOf = (stream: OpenStream): string[] =>
  stream.messages.flatMap(({ data }) => data.payload.lines).map((l: { line: string }) => l.line)

/** Two batches, the first on the worker behind this gate, the second on another. */
async function pairOf(gate: Gate): Promise<[string, string]> {
  const rows = await sql<{ id: string; here: boolean }[]>`
    select b.id, n.nodeport = ${gate.port} here from batches b
    join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('events', b.key)
    join pg_dist_node n on n.groupid = p.groupid`
  const one = (here: boolean) => rows.find((row) => row.here === here)?.id as string
  return [one(true), one(false)]
}

/** An append that is not committed: the stream waits for it, so what is written meanwhile is sent after it. */
const holdStream = (): Promise<OpenTransaction> =>
  openTransaction(sql, (tx) => fragment(tx, append([{ channel: 'dashboard', type: 'batches', keys: [] }])))

test('while a worker is away its batches wait in the stream and keep their GPU-hours; the others go on', async () => {
  for (const batch_id of BATCHES)
    await send(
      makeEvent('batch_start', { batch_id }),
      ...[0, 10, 20].map((minute) =>
        makeEvent('resource_snapshot', {
          batch_id,
          timestamp: `2026-03-01T10:${String(minute).padStart(2, '0')}:00Z`,
          data: { gpu_util_pct: 90 },
        }),
      ),
    )
  const summary = async () => (await app.call('GET', '/api/dashboard/summary', { token: session })).body
  const before = await summary()
  expect(before.gpu_hours).toBeGreaterThan(0)
  const [gate] = gates as [Gate]
  const [lost, left] = await pairOf(gate)
  const streams = { lost: await follow(lost), left: await follow(left) }
  await send(line(lost, 'before'), line(left, 'before'))
  const [first] = await streams.lost.reach(1)
  await streams.left.reach(1)

  const appending = await holdStream()
  await send(line(lost, 'untold'), line(left, 'told'))
  await gate.shut()
  await appending.release()
  await streams.left.reach(2)
  // One that comes back waits at the same place.
  const again = await follow(lost, first?.id)
  await expect.poll(summary).toMatchObject({ gpu_hours: before.gpu_hours, running: before.running })
  await send(line(left, 'on'))
  await streams.left.reach(3)
  expect(linesOf(streams.left)).toEqual(['before', 'told', 'on'])
  expect(linesOf(streams.lost)).toEqual(['before'])
  expect(linesOf(again)).toEqual([])

  await gate.open()
  await streams.lost.reach(2)
  await again.reach(1)
  await expect
    .poll(async () => (await app.call('POST', '/api/events', { token, body: line(lost, 'after') })).status)
    .toBe(200)
  await streams.lost.find(({ data }) => JSON.stringify(data).includes('"after"'))
  await again.find(({ data }) => JSON.stringify(data).includes('"after"'))
  expect(linesOf(streams.lost).slice(0, 3)).toEqual(['before', 'untold', 'after'])
  expect(linesOf(again).slice(0, 2)).toEqual(['untold', 'after'])
  for (const stream of [...Object.values(streams), again]) stream.cut()
})

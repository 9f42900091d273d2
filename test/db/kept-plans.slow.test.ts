import { randomUUID } from 'node:crypto'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded.ts'
import { makeEvent, UNLIMITED } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { type OpenStream, openStream } from '../live/stream.ts'

/**
 * A prepared statement keeps its plan until the statistics of a table change. In the first minute of a new database all
 * plans are made for empty tables. So every statement of ingest, of streams and of the workers needs one plan that is good at
 * any size. Here each plan is made on empty tables and never made again, and auto_explain logs what each
 * execution reads.
 */
const EPOCHS = 12_000
const MANY = 60
/** The events of one request, of which a stream picks those of its kind. */
const REQUEST = 500
/** What a statement may read besides the rows it is given and returns: a few are bounded by a constant. */
const CONSTANT = 5_000
const TASKS = ['watch', 'sweep', 'prune_changes', 'mail_digests']
/** Workers that are no task run every 5 s. */
const WORKER_ROUND_MS = 6_000

let home: string
let database: EmbeddedPostgres
let app: TestApp
let session: string
let token: string
const streams: OpenStream[] = []

beforeAll(async () => {
  home = memoryFolder('svc-plans-').path
  database = await startEmbedded({
    home,
    log: () => {},
    settings: {
      shared_buffers: '64MB',
      autovacuum: 'off',
      plan_cache_mode: 'force_generic_plan',
      session_preload_libraries: 'auto_explain',
      'auto_explain.log_min_duration': '0',
      'auto_explain.log_analyze': 'on',
      'auto_explain.log_timing': 'off',
      'auto_explain.log_format': 'json',
      'auto_explain.log_parameter_max_length': '0',
      log_destination: 'jsonlog',
    },
  })
  app = await startTestApp({ ...UNLIMITED, databaseUrl: database.url('postgres') })
  session = (await app.register()).token
  token = await app.reporterToken(session)
}, 90_000)

afterAll(async () => {
  for (const stream of streams) stream.cut()
  await app?.stop()
  await database?.stop()
  await rm(home, { recursive: true, force: true })
})

async function post(events: unknown[]): Promise<void> {
  for (let at = 0; at < events.length; at += REQUEST) {
    const body = events.slice(at, at + REQUEST)
    const answer = await app.call('POST', '/api/events/batch', { token, body })
    expect(answer.status).toBe(200)
    expect(answer.body.results.filter((result: { error?: unknown }) => result.error !== undefined)).toEqual(
      [],
    )
  }
}

const epochOf = (batch: string, epoch: number, data: Record<string, unknown>) =>
  makeEvent('job_epoch', { batch_id: batch, job_id: 'j', event_id: randomUUID(), data: { epoch, ...data } })

/**
 * Sends a run as reporters do: epochs with lines and snapshots between them, some of them twice, some merged, the end.
 * @param followed whether a stream follows it
 */
async function send(batch: string, epochs: number, followed: boolean): Promise<void> {
  const of = { batch_id: batch, job_id: 'j' }
  await post([makeEvent('batch_start', { batch_id: batch })])
  if (followed) await follow(batch)
  const events: unknown[] = [makeEvent('job_start', of)]
  for (let epoch = 0; epoch < epochs; epoch++) {
    events.push(epochOf(batch, epoch, { loss: 1 / (epoch + 1) }))
    if (epoch % 10 !== 0) continue
    events.push(makeEvent('log_line', of))
    events.push(makeEvent('resource_snapshot', { batch_id: batch, data: { gpu_util_pct: 50 } }))
  }
  await post(events)
  await post(events.slice(-REQUEST))
  const merged = Array.from({ length: Math.min(epochs, 400) }, (_, n) => epochOf(batch, n, { val_loss: n }))
  await post(merged)
  await post([makeEvent('job_done', of), makeEvent('batch_done', { batch_id: batch })])
}

const follow = async (batch: string): Promise<void> => {
  const channels = ['batch', 'metrics', 'logs', 'resources'].map((kind) => `${kind}:${batch}`)
  const stream = await openStream(app.address, [...channels, 'project:vision', 'dashboard'], {
    token: session,
  })
  expect(stream.status).toBe(200)
  streams.push(stream)
}

async function runWorkers(): Promise<void> {
  for (const task of TASKS) await app.runTask(task)
  await sleep(WORKER_ROUND_MS)
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: PlanNode[]
}

interface Execution {
  name: string
  /** Rows of tables, and pairs of rows that a join dropped. */
  read: number
  /** Rows that it was given, returned, or wrote; for each change of a stream, those of a request. */
  asked: number
  plan: PlanNode
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const readBy = (node: PlanNode): number => {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  const scanned = node['Relation Name'] !== undefined && node['Node Type'].endsWith('Scan')
  const rows = (scanned ? node['Actual Rows'] + removed : 0) + (node['Rows Removed by Join Filter'] ?? 0)
  return rows * node['Actual Loops']
}

const askedOf = (node: PlanNode, name: string): number => {
  const given = name.startsWith('live.') ? REQUEST : 1
  if (node['Node Type'] === 'Function Scan') return given * node['Actual Rows'] * node['Actual Loops']
  if (node['Node Type'] === 'ModifyTable') return (node.Plans ?? []).reduce((n, p) => n + p['Actual Rows'], 0)
  return 0
}

/** What was executed since then, from the log of the database. */
async function executionsSince(when: Date): Promise<Execution[]> {
  const folder = join(database.home, 'data', 'log')
  const executions: Execution[] = []
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.json'))) {
    for (const line of (await readFile(join(folder, file), 'utf8')).split('\n')) {
      if (!line.includes(' plan:')) continue
      const { message, timestamp } = JSON.parse(line) as { message: string; timestamp: string }
      if (new Date(timestamp.replace(' UTC', 'Z').replace(' ', 'T')) < when) continue
      const logged = JSON.parse(message.slice(message.indexOf('{'))) as {
        'Query Text': string
        Plan: PlanNode
      }
      const name = /\/\* ([\w.]+) \*\//.exec(logged['Query Text'])?.[1]
      if (name === undefined) continue
      const nodes = nodesOf(logged.Plan)
      executions.push({
        name,
        read: nodes.reduce((n, node) => n + readBy(node), 0),
        asked: logged.Plan['Actual Rows'] + nodes.reduce((n, node) => n + askedOf(node, name), 0),
        plan: logged.Plan,
      })
    }
  }
  return executions
}

test('plans that were made on empty tables read rows in proportion to those asked for', async () => {
  for (let n = 0; n < 12; n++) await send(`first-${n}`, 1, true)
  await runWorkers()
  const filledFrom = new Date()
  for (let n = 0; n < MANY; n++) await send(`many-${n}`, 5, false)
  await send('long', EPOCHS, true)
  await runWorkers()

  const executions = await executionsSince(filledFrom)
  const names = new Set(executions.map((execution) => execution.name))
  // What this is about was really executed, by all three.
  for (const name of [
    'ingest.load',
    'ingest.write',
    'epochs.load',
    'live.epochs',
    'packing.pack',
    'retention.sweep_slice',
  ])
    expect(names).toContain(name)
  const wasteful = executions.filter(({ read, asked }) => read > CONSTANT + 3 * asked)
  const worst = new Map<string, string>()
  for (const { name, read, asked, plan } of wasteful.sort((a, b) => a.read - b.read))
    worst.set(name, `${read} rows for ${asked}: ${JSON.stringify(plan).slice(0, 2_000)}`)
  expect(Object.fromEntries(worst)).toEqual({})
}, 180_000)

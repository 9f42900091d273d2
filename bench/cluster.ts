/**
 * Telemetry on a Citus cluster (docs/scaling.md "A Citus cluster"): what a group of events costs on one, two and four
 * workers and on the same PostgreSQL without Citus, and that the statements of ingest and of reads each go to one shard.
 * That is read from the coordinator's log: auto_explain writes the plan of every statement, with its count of tasks, and
 * Citus each COPY, whose target no plan shows. Set-ups are measured one after another, each in databases of its own.
 */
import { readFileSync } from 'node:fs'
import { installedCitus, startCluster } from '../scripts/cluster-nodes.mjs'
import { openSql } from '../src/db/sql.ts'
import { addressOf, createOnCluster } from '../test/kit/cluster.ts'
import { createClient } from '../test/kit/http.ts'
import { trainingEvents } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import { type Figure, median } from './kit/report.ts'
import { type BenchServer, startServer } from './kit/server.ts'

export const longMinutes = 3

const WORKERS = [1, 2, 4]
const SHARDS = 32
const EVENTS_PER_GROUP = 500
/** Groups of one batch, one after another; the first warm up. */
const GROUPS = 24
const WARM_UP = 4
/** Groups of several batches side by side. */
const BATCHES = 8
const GROUPS_PER_BATCH = 6

export async function benchCluster(): Promise<Figure[]> {
  if (installedCitus() === undefined)
    return [{ what: 'Not measured', value: 'Citus is not installed', limit: 'a Citus cluster' }]
  const cluster = await startCluster({ workers: Math.max(...WORKERS), spare: Math.max(...WORKERS) })
  try {
    const nodes = cluster.nodes.map(({ url }) => addressOf(url, { database: 'postgres' }))
    const [coordinator = ''] = nodes
    await run(coordinator, 'create database plain')
    const plain = await measured(addressOf(coordinator, { database: 'plain' }))
    const figures: Figure[] = []
    for (const workers of WORKERS) {
      const database = `workers_${workers}`
      await createOnCluster(nodes.slice(0, 1 + workers), database, SHARDS)
      const found = await measured(addressOf(coordinator, { database }))
      figures.push(...compared(workers, found, plain))
    }
    await createOnCluster(nodes, 'seen', SHARDS)
    const [{ log } = { log: '' }] = cluster.nodes
    figures.push(...(await shardsTouched(addressOf(coordinator, { database: 'seen' }), log)))
    return figures
  } finally {
    await cluster.stop()
  }
}

async function run(url: string, ...statements: string[]): Promise<void> {
  const sql = openSql(url, { name: 'bench', max: 1 })
  for (const statement of statements) await sql.unsafe(statement)
  await sql.end({ timeout: 5 })
}

const milliseconds = (n: number): string => `${n.toFixed(1)} ms`

/** Arrays of events that are all of one batch, as a reporter sends them. */
function groupsOf(batch: string, count: number): string[] {
  const events = trainingEvents({ batches: 1, jobs: 4, tag: batch })
  const group = (): string =>
    `[${Array.from({ length: EVENTS_PER_GROUP }, () => events.next().value).join(',')}]`
  return Array.from({ length: count }, group)
}

async function send(server: BenchServer, bodies: string[], connections: number) {
  const load = await postAll(server.address, '/api/events/batch', bodies, {
    connections,
    token: server.token,
  })
  if (load.failures > 0) throw new Error(`${load.failures} groups were not answered with 200`)
  return load
}

interface Measured {
  groupMs: number
  eventsPerS: number
}

async function measured(url: string): Promise<Measured> {
  const server = await startServer(url)
  try {
    const { latenciesMs } = await send(server, groupsOf('one', GROUPS), 1)
    const each = Array.from({ length: BATCHES }, (_, n) => groupsOf(`side-${n}`, GROUPS_PER_BATCH))
    const { seconds } = await send(
      server,
      Array.from({ length: GROUPS_PER_BATCH }, (_, i) => each.map((groups) => groups[i] as string)).flat(),
      BATCHES,
    )
    return {
      groupMs: median(latenciesMs.slice(WARM_UP)),
      eventsPerS: (BATCHES * GROUPS_PER_BATCH * EVENTS_PER_GROUP) / seconds,
    }
  } finally {
    await server.stop()
  }
}

function compared(workers: number, found: Measured, plain: Measured): Figure[] {
  const on = workers === 1 ? '1 worker' : `${workers} workers`
  return [
    {
      what: `A group of ${EVENTS_PER_GROUP} events of one batch, ${on}`,
      value: milliseconds(found.groupMs),
      limit: `without Citus ${milliseconds(plain.groupMs)}`,
      ratio: found.groupMs / plain.groupMs,
    },
    {
      what: `Events of ${BATCHES} batches side by side, ${on}`,
      value: `${Math.round(found.eventsPerS).toLocaleString('en')}/s`,
      limit: `without Citus ${Math.round(plain.eventsPerS).toLocaleString('en')}/s`,
      ratio: found.eventsPerS / plain.eventsPerS,
    },
  ]
}

/** Reads of one batch and its jobs, as pages and notebooks make them. */
const READS = [
  '/metrics?points=200',
  '/metrics.csv',
  '/metrics.arrow',
  '/log-lines',
  '/resources',
  '/jobs',
  '/delivery',
  '/delivery/jobs',
  '/timeline',
  '/jobs/job-0/attempts',
  '/jobs/job-0/attempts/1/metrics',
]

/** Has everything of one batch written and read, and tells from the log to how many shards each statement went. */
async function shardsTouched(url: string, log: string): Promise<Figure[]> {
  const name = new URL(url).pathname.slice(1)
  await run(
    url,
    `alter database ${name} set session_preload_libraries = 'auto_explain'`,
    `alter database ${name} set auto_explain.log_min_duration = 0`,
    `alter database ${name} set citus.log_remote_commands = on`,
    `alter database ${name} set log_min_messages = 'notice'`,
  )
  const server = await startServer(url)
  const from = readFileSync(log, 'utf8').length
  try {
    await send(server, groupsOf('seen', 3), 1)
    const http = createClient(server.address)
    for (const read of READS) {
      const { status, body } = await http.call('GET', `/api/batches/seen-batch-0${read}`, {
        token: server.session,
      })
      if (status !== 200) throw new Error(`${read} was answered with ${status} ${JSON.stringify(body)}`)
    }
    http.close()
  } finally {
    await server.stop()
  }
  return shardsIn(readFileSync(log, 'utf8').slice(from))
}

/** Statements that ask all batches, and belong to no request. */
const OF_ALL_BATCHES = /^(pack|sweep|gpu_hours|cluster)\./

function shardsIn(log: string): Figure[] {
  /** By name of the statement, the most tasks that one of its plans had. */
  const tasks = new Map<string, number>()
  for (const [, name, plan] of log.matchAll(
    /Query Text: \s*\/\* ([\w.]+) \*\/([\s\S]*?)(?=\n\d{4}-\d\d-\d\d )/g,
  )) {
    if (name === undefined || plan === undefined || OF_ALL_BATCHES.test(name)) continue
    for (const [, count] of plan.matchAll(/Task Count: (\d+)/g))
      tasks.set(name, Math.max(tasks.get(name) ?? 0, Number(count)))
  }
  const copied = new Map<string, Set<string>>()
  for (const [, table, shard] of log.matchAll(/issuing COPY public\.(\w+)_(\d+) /g)) {
    if (table === undefined || shard === undefined) continue
    copied.set(table, (copied.get(table) ?? new Set()).add(shard))
  }
  const most = [...tasks].toSorted(([, a], [, b]) => b - a)
  const several = most.filter(([, count]) => count > 1)
  return [
    {
      what: 'Statements that write and read one batch, of these on several shards',
      value:
        several.length === 0 ? `0 of ${tasks.size}` : several.map(([name, n]) => `${name}: ${n}`).join(', '),
      limit: 'by EXPLAIN of every statement',
      ratio: Math.max(...tasks.values()),
      aim: { most: 1 },
    },
    {
      what: `Tables that a group of one batch is copied to (${[...copied.keys()].join(', ')}), shards of each`,
      value: [...copied.values()].map((shards) => shards.size).join(', '),
      limit: 'by the COPY commands of the coordinator',
      ratio: Math.max(...[...copied.values()].map((shards) => shards.size)),
      aim: { most: 1 },
    },
  ]
}

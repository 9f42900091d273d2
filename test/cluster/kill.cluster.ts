import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCluster } from '../../scripts/cluster-nodes.mjs'
import { TELEMETRY_TABLES } from '../../src/db/cluster.ts'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { randomFrom } from '../../src/domain/random.ts'
import { expectedSums, findLost, newLedger, sendRest, startLoad, storedSums } from '../faults/ledger.ts'
import { firstToken, type ServerProcess, startServer, until } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { awaitPrepared } from '../kit/cluster.ts'
import { tellSeed } from '../kit/effort.ts'
import { createClient } from '../kit/http.ts'

// kill -9 of the nodes of a cluster, and a node that is added, under load through two service processes: nothing that was
// acknowledged is lost, all is back by itself once the node is, and after a repeat of the rest every sum is right. On a
// cluster of its own.

let cluster: Awaited<ReturnType<typeof startCluster>>
let servers: ServerProcess[] = []
let token: string

beforeAll(async () => {
  cluster = await startCluster({ workers: 3, spare: 1 })
  const sql = openSql(cluster.url, { name: 'test', max: 1 })
  await sql`alter database svc set citus.shard_count = 8`
  await sql.end({ timeout: 5 })
  // Both start on an empty database at the same time.
  servers = await Promise.all([startServer(settings()), startServer(settings())])
  token = await firstToken((servers[0] as ServerProcess).address)
})
afterAll(async () => {
  for (const server of servers) server.kill('SIGTERM')
  await Promise.all(servers.map((server) => server.ended))
  await cluster?.stop()
})

const settings = () => ({
  SVC_DATABASE_URL: cluster.url,
  SVC_RATE_LIMIT_EVENTS_PER_S: '1000000',
  SVC_RATE_LIMIT_BURST: '1000000',
})

/** A connection that sees all telemetry as local tables: the checker's joins are not for a distributed planner. */
async function openCopy(): Promise<Sql> {
  const sql = openSql(cluster.url, { name: 'test', max: 1 })
  for (const table of TELEMETRY_TABLES)
    await sql.unsafe(`create temporary table ${table} as select * from public.${table}`)
  return sql
}

/** Batches so many that each worker has some. */
const PROBES = Array.from({ length: 12 }, (_, i) => `probe ${i}`)

/** Waits until every server takes events of every worker's batches again. */
async function allBack(): Promise<void> {
  for (const { address } of servers) {
    const http = createClient(address)
    for (const batch_id of PROBES) {
      const body = makeEvent('log_line', { batch_id, data: { line: 'back', level: 'info' } })
      await until(
        async () => (await http.call('POST', '/api/events', { token, body })).status === 200,
        90_000,
      )
    }
    await until(async () => (await http.call('GET', '/readyz')).status === 200)
    http.close()
  }
}

/** Sends through all servers at once during `work`, and checks the database against the acknowledged events. */
async function underLoad(name: string, work: (acknowledged: () => number) => Promise<void>): Promise<void> {
  const draw = randomFrom(tellSeed(name))
  const runs = servers.map(({ address }, n) => {
    const round = `${name} ${n}`
    const ledger = newLedger()
    return { ledger, round, load: startLoad(ledger, { address, token, round, draw, clients: 3 }) }
  })
  const acknowledged = () => runs.reduce((sum, { ledger }) => sum + ledger.acknowledged.size, 0)
  // From the first event on: each session of the coordinator notices at its own next use of a worker that it was killed
  // in the test before.
  for (const { load } of runs) load.expectFailures()
  await until(() => acknowledged() > 300)
  await work(acknowledged)
  await allBack()
  const before = acknowledged()
  await until(() => acknowledged() > before + 100)
  await Promise.all(runs.map(({ load }) => load.stop()))
  for (const [n, { ledger }] of runs.entries()) {
    expect(ledger.wrong, servers[n]?.said()).toEqual([])
    await sendRest(ledger, { address: (servers[1 - n] as ServerProcess).address, token })
    expect(ledger.wrong, servers[n]?.said()).toEqual([])
  }
  await awaitPrepared(
    cluster.nodes.map(({ url }) => url),
    60_000,
  )
  const sql = await openCopy()
  try {
    for (const { ledger, round } of runs) {
      expect(await findLost(sql, ledger)).toEqual([])
      expect(await storedSums(sql, round)).toEqual(expectedSums(ledger))
    }
  } finally {
    await sql.end({ timeout: 5 })
  }
  console.info(`${name}: ${acknowledged()} events acknowledged, none lost`)
}

test('what a group copies to a worker is prepared there before the coordinator commits', async () => {
  const [coordinator] = cluster.nodes
  const sql = openSql(cluster.url, { name: 'test', max: 1 })
  await sql`alter database svc set citus.log_remote_commands = on`
  await sql`alter database svc set log_min_messages = notice`
  const from = readFileSync(coordinator?.log as string, 'utf8').length
  const server = await startServer(settings())
  const http = createClient(server.address)
  try {
    // Of the second one the batch and its job are known, so the group reads before it writes.
    for (const line of ['first', 'second']) {
      const body = makeEvent('log_line', { batch_id: 'prepared', data: { line, level: 'info' } })
      expect((await http.call('POST', '/api/events', { token, body })).status).toBe(200)
    }
  } finally {
    http.close()
    server.kill('SIGTERM')
    await server.ended
    await sql`alter database svc reset citus.log_remote_commands`
    await sql`alter database svc reset log_min_messages`
    await sql.end({ timeout: 5 })
  }
  const commands = readFileSync(coordinator?.log as string, 'utf8')
    .slice(from)
    .matchAll(
      /\[(\d+)\] NOTICE: {2}issuing (COPY public\.events|PREPARE TRANSACTION|COMMIT PREPARED|COMMIT)/g,
    )
  /** By session of the coordinator, what it had the worker do with each group. */
  const groups: string[][] = []
  const open = new Map<string, string[]>()
  for (const [, pid = '', command = ''] of commands) {
    if (command.startsWith('COPY')) {
      const group: string[] = []
      groups.push(group)
      open.set(pid, group)
    } else open.get(pid)?.push(command)
  }
  expect(groups.map((group) => group.slice(0, 2))).toEqual([
    ['PREPARE TRANSACTION', 'COMMIT PREPARED'],
    ['PREPARE TRANSACTION', 'COMMIT PREPARED'],
  ])
})

test('points of an epoch are merged although the worker failed between the two phases of the commit before', async () => {
  const [coordinator, ...workers] = cluster.nodes
  const configure = (...settings: string[]) =>
    coordinator?.sql('postgres', ...settings, 'select pg_reload_conf()')
  const onWorkers = async <T>(ask: (sql: Sql) => Promise<T[]>): Promise<T[]> =>
    (
      await Promise.all(
        workers.slice(0, 2).map(async ({ url }) => {
          const sql = openSql(url, { name: 'test', max: 1 })
          return ask(sql).finally(() => sql.end({ timeout: 5 }))
        }),
      )
    ).flat()
  const prepared = () =>
    onWorkers(async (sql) => [...(await sql`select gid from pg_prepared_xacts where database = 'svc'`)])
  const http = createClient((servers[0] as ServerProcess).address)
  const send = (key: string) =>
    http.call('POST', '/api/events', {
      token,
      body: makeEvent('job_epoch', { batch_id: 'cut', data: { epoch: 0, [key]: 1 } }),
    })
  try {
    expect((await send('a')).status).toBe(200)
    await until(async () => (await prepared()).length === 0)
    // Nothing is recovered unless a server asks for it, and the coordinator's commit waits for a standby that does not exist.
    await configure(
      'alter system set citus.recover_2pc_interval = -1',
      "alter system set synchronous_standby_names = 'none'",
    )
    const second = send('b')
    await until(async () => (await prepared()).length > 0)
    await onWorkers(
      (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = 'svc' and application_name like 'citus_internal%'`,
    )
    await configure('alter system reset synchronous_standby_names')
    expect((await second).status).toBe(200)
    expect((await prepared()).length).toBeGreaterThan(0)

    expect((await send('c')).status).toBe(200)
    const sql = openSql(cluster.url, { name: 'test', max: 1 })
    const rows =
      await sql`select vals from epochs where batch_key = (select key from batches where id = 'cut')`
    await sql.end({ timeout: 5 })
    expect(rows).toEqual([{ vals: [1, 1, 1] }])
  } finally {
    await configure(
      'alter system reset synchronous_standby_names',
      'alter system reset citus.recover_2pc_interval',
    )
    http.close()
  }
})

test.each([
  { victims: [1], what: 'a worker' },
  { victims: [0], what: 'the coordinator' },
  { victims: [0, 2], what: 'the coordinator and a worker' },
  { victims: [1, 2], what: 'both workers' },
])('kill -9 of $what loses no acknowledged event, and all is back by itself', async ({ victims, what }) => {
  await underLoad(`kill of ${what}`, async () => {
    for (const victim of victims) cluster.nodes[victim]?.kill()
    await sleep(1_000)
    for (const victim of victims) await cluster.nodes[victim]?.start()
  })
}, 240_000)

test('a worker that is added takes its part of the shards under load, and nothing is lost', async () => {
  const sql = openSql(cluster.url, { name: 'test', max: 1 })
  const shardsOf = async (port: number) =>
    (
      await sql<{ n: number }[]>`select count(*)::int n from citus_shards
        where nodeport = ${port} and table_name = 'public.events'::regclass`
    )[0]?.n
  try {
    const { port } = cluster.nodes[3] as (typeof cluster.nodes)[number]
    expect(await shardsOf(port)).toBe(0)
    await underLoad('a worker more', async (acknowledged) => {
      await sql`select citus_add_node('127.0.0.1', ${port})`
      const before = acknowledged()
      await sql`select rebalance_table_shards(shard_transfer_mode => 'auto')`
      // It does not stand still meanwhile.
      expect(acknowledged()).toBeGreaterThan(before)
    })
    expect(await shardsOf(port)).toBeGreaterThan(1)
  } finally {
    await sql.end({ timeout: 5 })
  }
}, 240_000)

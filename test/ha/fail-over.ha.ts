import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { openSql } from '../../src/db/sql.ts'
import { randomFrom } from '../../src/domain/random.ts'
import { findLost, type Load, newLedger, sendRest, startLoad } from '../faults/ledger.ts'
import { firstToken, type ServerProcess, startServer, until } from '../faults/server-process.ts'
import { otherThan, type PatroniPair, startPatroni } from '../kit/patroni.ts'

/**
 * The patroni.yml of docs/scaling.md, word for word but for addresses, folders and passwords, in the real Patroni and etcd:
 * a service under load whose database loses its primary, its standby, and switches over. The tests go on from each other.
 */
const SCALING = readFileSync(join(import.meta.dirname, '../../docs/scaling.md'), 'utf8')
/** What docs/scaling.md promises. */
const BACK_WITHIN_MS = 30_000

const ledger = newLedger()
let pair: PatroniPair
let server: ServerProcess
let token: string
let load: Load

beforeAll(async () => {
  const text = /```yaml\n(scope: [\s\S]*?)```/.exec(SCALING)?.[1]
  if (text === undefined) throw new Error('docs/scaling.md has no patroni.yml')
  pair = await startPatroni(parse(text))
  const leader = await pair.leader()
  if (leader === undefined) throw new Error('there is no leader')
  const sql = openSql(pair.adminUrl(leader), { name: 'test', max: 1 })
  await sql.unsafe("create role svc login password 'secret'")
  await sql.unsafe('create database svc owner svc')
  await sql.end()
  server = await startServer({ SVC_DATABASE_URL: pair.url, SVC_RATE_LIMIT_EVENTS_PER_S: '1000000' })
  token = await firstToken(server.address)
  load = startLoad(ledger, { address: server.address, token, round: 'r', draw: randomFrom(1), clients: 4 })
  await until(() => ledger.acknowledged.size > 500)
  load.expectFailures()
}, 180_000)
afterAll(async () => {
  await load?.stop()
  server?.kill('SIGTERM')
  await server?.ended
  await pair?.stop()
})

/** How long it takes until events are acknowledged again. */
async function backAfter(what: string, begun = performance.now()): Promise<number> {
  const stored = ledger.acknowledged.size
  await until(() => ledger.acknowledged.size > stored + 200, 120_000)
  const ms = Math.round(performance.now() - begun)
  console.info(`${what}: events are acknowledged again after ${(ms / 1000).toFixed(1)} s`)
  return ms
}

async function nothingLost(): Promise<void> {
  const leader = await pair.leader()
  const sql = openSql(pair.adminUrl(leader as 'db1', 'svc'), { name: 'test', max: 1 })
  // The load goes on while this is read.
  const sofar = { ...ledger, acknowledged: new Map(ledger.acknowledged) }
  expect((await findLost(sql, sofar)).slice(0, 10), pair.logs()).toEqual([])
  await sql.end()
}

test('after kill -9 of the primary and its Patroni the standby takes over; nothing acknowledged is lost', async () => {
  const first = await pair.leader()
  const begun = performance.now()
  await pair.kill(first as 'db1')
  expect(await backAfter('primary killed', begun), pair.logs()).toBeLessThan(BACK_WITHIN_MS)
  expect(await pair.leader()).toBe(otherThan(first as 'db1'))
  await nothingLost()
  const returned = performance.now()
  pair.start(first as 'db1')
  await until(() => pair.isPaired(), 90_000)
  console.info(
    `the old primary is the standby ${Math.round(performance.now() - returned)} ms after its start`,
  )
}, 240_000)

test('a planned switch-over loses nothing acknowledged', async () => {
  const leader = await pair.leader()
  const begun = performance.now()
  await pair.switchOver(otherThan(leader as 'db1'))
  expect(await backAfter('switch-over', begun), pair.logs()).toBeLessThan(BACK_WITHIN_MS)
  expect(await pair.leader()).toBe(otherThan(leader as 'db1'))
  await nothingLost()
  await until(() => pair.isPaired(), 90_000)
}, 240_000)

test('after kill -9 of the standby the primary continues alone; every event that was sent is stored once', async () => {
  const standby = otherThan((await pair.leader()) as 'db1')
  const begun = performance.now()
  await pair.kill(standby)
  expect(await backAfter('standby killed', begun), pair.logs()).toBeLessThan(BACK_WITHIN_MS)
  await load.stop()
  await sendRest(ledger, { address: server.address, token })
  expect(ledger.wrong, server.said()).toEqual([])
  expect(ledger.acknowledged.size).toBe(ledger.events.size)
  await nothingLost()
  console.info(`${ledger.acknowledged.size} events were acknowledged`)
}, 240_000)

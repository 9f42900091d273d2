import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { randomFrom } from '../../src/domain/random.ts'
import { firstToken, type ServerProcess, startServer } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { patienceMs, tellSeed } from '../kit/effort.ts'
import { createClient } from '../kit/http.ts'
import { openStream } from './stream.ts'

/**
 * Two servers in processes of their own, which write to different batches at the same time. Their commits take long,
 * and some of them very long. Followers move from one server to the other with their cursor.
 */
const BATCHES = 6
const FOLLOWERS = 4
/** Each server is sent as many events as a follower takes in so many stays. */
const MOVES = 20
/** Messages that it takes from a server before it moves. */
const STAY = 8

let database: TestDatabase
let sql: Sql
let servers: ServerProcess[] = []
let token: string
beforeAll(async () => {
  database = await freshDatabase()
  sql = openSql(database.url, { name: 'test', max: 4 })
  const settings = {
    SVC_DATABASE_URL: database.url,
    SVC_RATE_LIMIT_EVENTS_PER_S: '1000000',
    SVC_RATE_LIMIT_BURST: '1000000',
  }
  servers = [await startServer(settings), await startServer(settings)]
  token = await firstToken((servers[0] as ServerProcess).address)
  const client = createClient((servers[0] as ServerProcess).address)
  await client.call('POST', '/api/events/batch', { token, body: ids.map((id) => line(id, 'first')) })
  client.close()
  // Visitors can subscribe to public projects.
  await sql`update projects set visibility = 'public'`
  await sql`create function take_time() returns trigger language plpgsql as
    $$ begin perform pg_sleep(case when random() < 0.1 then 0.3 else random() * 0.02 end); return null; end $$`
  await sql`create constraint trigger slow_disk after insert on changes
    deferrable initially deferred for each row when (new.type = 'lines') execute function take_time()`
}, 120_000)
afterAll(async () => {
  for (const server of servers) server.kill('SIGKILL')
  await Promise.all(servers.map((server) => server.ended))
  await sql?.end({ timeout: 5 })
  await database?.drop()
})

const ids = Array.from({ length: BATCHES }, (_, i) => `batch-${i}`)
const line = (id: string, text: string) =>
  makeEvent('log_line', { batch_id: id, data: { line: text, level: 'info' } })

/** Follows all batches, from one server to the other, until it has the message of `last()`. */
async function followAround(cursor: number, draw: () => number, last: () => number | undefined) {
  const seqs: number[] = []
  const lines: { batch: string; line: string }[] = []
  let resets = 0
  let moves = 0
  let at = cursor
  const isDone = (): boolean => at === last()
  while (!isDone()) {
    const { address } = servers[(moves + Math.floor(draw() * 2)) % 2] as ServerProcess
    const stream = await openStream(
      address,
      ids.map((id) => `logs:${id}`),
      { lastEventId: at },
    )
    const want = 1 + Math.floor(draw() * STAY)
    while (stream.messages.length < want && !isDone()) {
      await sleep(2)
      at = stream.messages.at(-1)?.id ?? at
    }
    stream.cut()
    for (const { id, event, data } of stream.messages) {
      if (event === 'reset') resets++
      else seqs.push(id)
      for (const one of data.payload.lines ?? []) lines.push({ batch: data.channel, line: one.line })
    }
    at = stream.messages.at(-1)?.id ?? at
    moves++
  }
  return { seqs, lines, resets, moves }
}

test('two server processes write at the same time with slow commits: every subscriber gets every change once, in order, at either server', {
  timeout: patienceMs(240),
}, async () => {
  const draw = randomFrom(tellSeed('processes'))
  const [{ cursor } = { cursor: 0 }] = await sql<{ cursor: number }[]>`select max(seq) as cursor from changes`
  let last: number | undefined
  const following = Promise.all(
    Array.from({ length: FOLLOWERS }, () => followAround(cursor, draw, () => last)),
  )
  let together = 0
  let writing = true
  const watching = (async () => {
    while (writing) {
      const [row] = await sql<{ n: number }[]>`
        select count(*) as n from pg_locks
        where locktype = 'advisory' and objsubid = 2 and classid between 1041000000 and 1045194303`
      together = Math.max(together, row?.n ?? 0)
      await sleep(10)
    }
  })()
  await Promise.all(
    servers.map(async ({ address }, server) => {
      const client = createClient(address)
      for (let i = 0; i < MOVES * STAY; i++) {
        // Every batch is written at both servers.
        const id = ids[Math.floor(draw() * BATCHES)] as string
        const { status } = await client.call('POST', '/api/events', {
          token,
          body: line(id, `${server}-${i}`),
        })
        expect(status).toBe(200)
      }
      client.close()
    }),
  )
  writing = false
  await watching
  const log = await sql<{ seq: number }[]>`
    select seq from changes where type = 'lines' and seq > ${cursor} order by seq`
  last = log.at(-1)?.seq
  for (const { seqs, lines, resets, moves } of await following) {
    expect(resets).toBe(0)
    expect(moves).toBeGreaterThan(2)
    expect(seqs).toEqual(log.map(({ seq }) => seq))
    // One message of one event: each client waits for its answer before it sends the next.
    for (const server of [0, 1])
      expect(lines.map((one) => one.line).filter((text) => text.startsWith(`${server}-`))).toEqual(
        Array.from({ length: MOVES * STAY }, (_, i) => `${server}-${i}`),
      )
  }
  // Otherwise the test proves nothing: the two servers must have committed at the same time.
  expect(together).toBeGreaterThan(1)
})

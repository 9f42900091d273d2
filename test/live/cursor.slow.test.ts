import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { createWriter } from '../../src/stream/commit.ts'
import { pruneChanges } from '../../src/stream/prune.ts'
import { type Door, makeEvent, openDoor, openSecond } from '../ingest/sending.ts'
import type { TestApp } from '../kit/app.ts'
import { type OpenStream, openStream, SOON } from './stream.ts'

/** Cursors: replay without gap or repeat, at any server; resets; the joint of a first query and its stream. */
let door: Door
let second: TestApp
beforeAll(async () => {
  door = await openDoor()
  second = await openSecond(door)
})
afterAll(async () => {
  await second?.stop()
  await door?.stop()
})

let n = 0
async function beginBatch(): Promise<string> {
  const id = `batch-${++n}`
  await door.send(makeEvent('batch_start', { batch_id: id }))
  return id
}
const line = (batch: string, text: string) =>
  makeEvent('log_line', { batch_id: batch, data: { line: text, level: 'info' } })

const open = (address: string, id: string, lastEventId?: number): Promise<OpenStream> =>
  openStream(address, [`logs:${id}`], {
    token: door.session,
    ...(lastEventId === undefined ? {} : { lastEventId }),
  })
const linesOf = (stream: OpenStream): string[] =>
  stream.messages.flatMap(({ data }) => data.payload.lines ?? []).map((l: { line: string }) => l.line)

test('a stream that reconnects gets the messages it missed, in order, at another server too', async () => {
  const id = await beginBatch()
  const stream = await open(door.app.address, id)
  for (const text of ['1', '2', '3']) await door.send(line(id, text))
  await stream.reach(3)
  const cursor = stream.messages[0]?.id as number
  stream.cut()
  for (const text of ['4', '5']) await door.send(line(id, text))
  for (const { address } of [door.app, second]) {
    const again = await open(address, id, cursor)
    await again.reach(4)
    await door.send(line(id, `live ${address}`))
    await again.find(({ data }) => JSON.stringify(data).includes(`live ${address}`))
    expect(linesOf(again).slice(0, 4)).toEqual(['2', '3', '4', '5'])
    const ids = again.messages.map((message) => message.id)
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
    again.cut()
  }
})

test('the id of the opening message is a cursor: changes before the first message are not lost', async () => {
  const id = await beginBatch()
  const stream = await open(door.app.address, id)
  const cursor = stream.lastId()
  stream.cut()
  await door.send(line(id, 'missed'))
  const again = await open(second.address, id, cursor)
  await again.reach(1)
  expect(linesOf(again)).toEqual(['missed'])
  again.cut()
})

test('Last-Event-ID has priority over last_event_id, which EventSource repeats with every attempt', async () => {
  const id = await beginBatch()
  const first = await open(door.app.address, id)
  await door.send(line(id, 'a'))
  await door.send(line(id, 'b'))
  const [a] = await first.reach(2)
  const path = `/api/sse?channels=logs:${id}`
  const query = await openStreamAt(`${path}&last_event_id=${(a?.id as number) - 1}`, {})
  await query.reach(2)
  const header = await openStreamAt(`${path}&last_event_id=0`, { 'last-event-id': String(a?.id) })
  await header.reach(1)
  expect(linesOf(query)).toEqual(['a', 'b'])
  expect(linesOf(header)).toEqual(['b'])
  for (const stream of [first, query, header]) stream.cut()

  function openStreamAt(at: string, headers: Record<string, string>): Promise<OpenStream> {
    const url = new URL(at, door.app.address)
    return openStream(door.app.address, [], { token: door.session, path: url.pathname + url.search, headers })
  }
})

test('after a long absence all changes arrive in order, many more than a stream may hold in memory', async () => {
  const id = await beginBatch()
  const first = await open(door.app.address, id)
  const cursor = first.lastId()
  first.cut()
  const texts = Array.from({ length: 700 }, (_, i) => `${i} ${'x'.repeat(i % 7 === 0 ? 9_000 : 100)}`)
  for (let at = 0; at < texts.length; at += 4) {
    await Promise.all([door.sendAll(texts.slice(at, at + 4).map((text) => line(id, text)))])
  }
  const again = await open(second.address, id, cursor)
  await again.reach(175)
  expect(linesOf(again)).toEqual(texts)
  again.cut()
})

test('streams that connect during writes get every change once', async () => {
  const id = await beginBatch()
  const start = await open(door.app.address, id)
  const cursor = start.lastId()
  start.cut()
  const total = 150
  const streams: OpenStream[] = []
  const joining = (async () => {
    for (let i = 0; i < 40; i++) {
      streams.push(await open(i % 2 === 0 ? door.app.address : second.address, id, cursor))
      await sleep(5)
    }
  })()
  for (let i = 0; i < total; i++) await door.send(line(id, String(i)))
  await joining
  const texts = Array.from({ length: total }, (_, i) => String(i))
  for (const stream of streams) {
    await stream.find(({ data }) => JSON.stringify(data.payload).includes(`"line":"${total - 1}"`))
    expect(linesOf(stream)).toEqual(texts)
    stream.cut()
  }
})

test('a stream from the streamCursor of a query continues its answer without a gap', async () => {
  const id = await beginBatch()
  const query = `{ streamCursor batch(id: "${id}") { logLines(first: 500) { edges { node { dbId } } } } }`
  let writing = true
  let written = 0
  const writer = (async () => {
    for (; writing; written++) await door.send(line(id, String(written)))
    await door.send(line(id, 'last'))
  })()
  const joined: { seen: Set<number>; stream: OpenStream }[] = []
  for (let i = 0; i < 12; i++) {
    const { body } = await door.app.call('POST', '/graphql', { token: door.session, body: { query } })
    const edges: { node: { dbId: number } }[] = body.data.batch.logLines.edges
    const seen = new Set(edges.map(({ node }) => Number(node.dbId)))
    const address = i % 2 === 0 ? door.app.address : second.address
    joined.push({ seen, stream: await open(address, id, Number(body.data.streamCursor)) })
    const before = written
    await vi.waitFor(() => expect(written).toBeGreaterThan(before + 1), SOON)
  }
  writing = false
  await writer
  const stored = await door.sql<{ db_id: number }[]>`
    select l.db_id from log_lines l join batches b on b.key = l.batch_key where b.id = ${id} order by l.db_id`
  expect(stored.length).toBeGreaterThan(20)
  for (const { seen, stream } of joined) {
    await stream.find(({ data }) => JSON.stringify(data.payload).includes('"line":"last"'))
    for (const { data } of stream.messages) for (const { db_id } of data.payload.lines) seen.add(db_id)
    expect([...seen].sort((a, b) => a - b)).toEqual(stored.map((row) => row.db_id))
    stream.cut()
  }
})

test('an unknown cursor is answered with a reset, and the stream continues from there', async () => {
  const id = await beginBatch()
  const stream = await open(door.app.address, id, 999_999_999)
  const [reset] = await stream.reach(1)
  expect(reset).toMatchObject({
    event: 'reset',
    data: { channel: null, type: 'reset', payload: { reason: 'cursor_unknown' } },
  })
  await door.send(line(id, 'after'))
  const [, message] = await stream.reach(2)
  expect(message?.id).toBeGreaterThan(reset?.id as number)
  expect(linesOf(stream)).toEqual(['after'])
  const again = await open(second.address, id, reset?.id)
  await again.reach(1)
  expect(linesOf(again)).toEqual(['after'])
  for (const one of [stream, again]) one.cut()
})

test('the change log is kept for 24 hours; an older cursor is answered with a reset, a newer one is not', async () => {
  const id = await beginBatch()
  const first = await open(door.app.address, id)
  const before = first.lastId() as number
  for (const text of ['old', 'older', 'young']) await door.send(line(id, text))
  const [old, older] = await first.reach(3)
  first.cut()
  const sql: Sql = openSql(door.app.config.databaseUrl as string, { name: 'test pruning', max: 2 })
  const writer = createWriter(sql)
  await sql`update changes set at = at - interval '25 hours' where seq <= ${older?.id as number}`
  expect(await pruneChanges(writer)).toBeGreaterThan(1)
  expect(await pruneChanges(writer)).toBe(0)

  const stale = await open(door.app.address, id, before)
  const [reset] = await stale.reach(1)
  expect(reset).toMatchObject({ event: 'reset', data: { payload: { reason: 'cursor_too_old' } } })
  const onEdge = await open(second.address, id, older?.id)
  await onEdge.reach(1)
  expect(linesOf(onEdge)).toEqual(['young'])
  expect(old?.id).toBeLessThan(older?.id as number)

  // A service without changes for long keeps its last change, so that cursors can still be compared.
  await sql`update changes set at = at - interval '48 hours'`
  await pruneChanges(writer)
  expect((await sql`select seq from changes`).length).toBe(1)
  const [{ last } = { last: 0 }] = await sql<{ last: number }[]>`select max(seq) last from changes`
  const quiet = await open(door.app.address, id, last)
  await door.send(line(id, 'again'))
  await quiet.reach(1)
  expect(linesOf(quiet)).toEqual(['again'])
  for (const stream of [stale, onEdge, quiet]) stream.cut()
  await sql.end()
})

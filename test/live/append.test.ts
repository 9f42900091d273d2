import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { openSql, type Sql, type Tx } from '../../src/db/sql.ts'
import { fragment } from '../../src/db/sql-fragment.ts'
import type { Change } from '../../src/stream/change.ts'
import { append, commit, createWriter } from '../../src/stream/commit.ts'
import { type Door, makeEvent, openDoor, openSecond } from '../ingest/sending.ts'
import type { TestApp } from '../kit/app.ts'
import { type OpenStream, openStream, SOON } from './stream.ts'

/** Commits that do not wait for each other, and readers that pass over none of them (docs/decisions/0020). */
let door: Door
let second: TestApp
let sql: Sql
beforeAll(async () => {
  door = await openDoor()
  second = await openSecond(door)
  sql = openSql(door.app.config.databaseUrl as string, { name: 'test appends', max: 8 })
})
const open: { end(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0)) await one.end()
})
afterAll(async () => {
  await sql?.end({ timeout: 5 })
  await second?.stop()
  await door?.stop()
})

let n = 0
async function beginBatch(): Promise<string> {
  const id = `batch-${++n}`
  await door.send(makeEvent('batch_start', { batch_id: id }))
  return id
}
const say = (batch: string, line: string): Promise<{ status: number }> =>
  door.send(makeEvent('log_line', { batch_id: batch, data: { line, level: 'info' } }))

/** Streams of these channels, one at each server. */
async function followChannels(channels: string[]): Promise<OpenStream[]> {
  const streams = await Promise.all(
    [door.app, second].map(({ address }) => openStream(address, channels, { token: door.session })),
  )
  for (const stream of streams) open.push({ end: async () => stream.cut() })
  return streams
}
const follow = (batch: string): Promise<OpenStream[]> => followChannels([`logs:${batch}`])
const linesOf = (stream: OpenStream): string[] =>
  stream.messages.flatMap(({ data }) => data.payload.lines ?? []).map((l: { line: string }) => l.line)

interface Held {
  pid: number
  /** Ends the transaction, if it is open. @returns how it ended */
  end(how?: 'commit' | 'rollback'): Promise<'committed' | 'rolled back'>
  done: Promise<'committed' | 'rolled back'>
}

/** A transaction that did `work` and is not committed yet, as one that waits for a slow disk. */
async function hold(work: (tx: Tx) => Promise<unknown>): Promise<Held> {
  let release: (how: 'commit' | 'rollback') => void = () => {}
  const released = new Promise<'commit' | 'rollback'>((resolve) => {
    release = resolve
  })
  return new Promise((ready, failed) => {
    let over = false
    const done = sql
      .begin(async (tx) => {
        const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() pid`
        await work(tx).catch((error) => {
          failed(error)
          throw error
        })
        const held: Held = {
          pid: row?.pid as number,
          async end(how = 'commit') {
            // Nothing can be sent on a connection that was killed.
            if (!over) release(how)
            return done
          },
          done,
        }
        open.push(held)
        ready(held)
        if ((await released) === 'rollback') throw new Error('rolled back')
      })
      .then(
        () => 'committed' as const,
        () => 'rolled back' as const,
      )
      .finally(() => {
        over = true
      })
  })
}

const holdAppend = (change: Change = { channel: 'dashboard', type: 'batches', keys: [] }): Promise<Held> =>
  hold((tx) => fragment(tx, append([change])))

async function metric(app: TestApp, name: string): Promise<number> {
  const text = await (await fetch(`${app.address}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}
const DELAY = 'svc_stream_delay_seconds'

test('an event is stored and answered while another transaction is committing', async () => {
  const batch = await beginBatch()
  const held = await holdAppend()
  expect((await say(batch, 'meanwhile')).status).toBe(200)
  const [row] = await sql`select from log_lines where line = 'meanwhile'`
  expect(row).toBeDefined()
  expect(await held.end()).toBe('committed')
})

test('a transaction that is committing delays later changes in the stream, and nothing else; then all arrive once and in order', async () => {
  const batch = await beginBatch()
  const streams = await follow(batch)
  await say(batch, 'before')
  for (const stream of streams) await stream.reach(1)
  const held = await holdAppend()
  const [first] = await sql<{ n: number }[]>`select last_value as n from changes_seq_seq`
  for (const line of ['1', '2', '3']) await say(batch, line)
  // Both servers have looked since, and say for how long they have been waiting.
  for (const app of [door.app, second])
    await vi.waitFor(async () => expect(await metric(app, DELAY)).toBeGreaterThan(0.2), SOON)
  for (const stream of streams) expect(linesOf(stream)).toEqual(['before'])
  await held.end()
  for (const stream of streams) {
    await stream.reach(4)
    expect(linesOf(stream)).toEqual(['before', '1', '2', '3'])
    expect(stream.messages[1]?.id).toBeGreaterThan(first?.n as number)
  }
  for (const app of [door.app, second])
    await vi.waitFor(async () => expect(await metric(app, DELAY)).toBe(0), SOON)
})

test.each(['rolled back', 'killed'] as const)('an append that is %s delays nothing any more', async (how) => {
  const batch = await beginBatch()
  const streams = await follow(batch)
  const held = await holdAppend()
  await say(batch, how)
  if (how === 'killed') await sql`select pg_terminate_backend(${held.pid}::int4)`
  else await held.end('rollback')
  expect(await held.done).toBe('rolled back')
  for (const stream of streams) {
    await stream.reach(1)
    expect(linesOf(stream)).toEqual([how])
  }
})

test('a long transaction without an append does not delay the stream', async () => {
  const batch = await beginBatch()
  const streams = await follow(batch)
  await hold((tx) => tx`create table elsewhere (n int)`)
  await say(batch, 'through')
  for (const stream of streams) await stream.reach(1)
})

test('a stream that opens during a commit gets the changes of that commit', async () => {
  const batch = await beginBatch()
  const [row] = await sql<{ key: number }[]>`select key from batches where id = ${batch}`
  const batchKey = row?.key as number
  const held = await holdAppend({ channel: `batch:${batch}`, type: 'summary', batchKey, keys: [] })
  // Another change is committed meanwhile, with a greater number.
  await say(await beginBatch(), 'later')
  const streams = await followChannels([`batch:${batch}`])
  await held.end()
  for (const stream of streams) {
    const [message] = await stream.reach(1)
    expect(message?.event).toBe('batch')
  }
})

test('the dashboard counts a batch whose commit ended after a later one had been counted', async () => {
  const failed = async (): Promise<number> =>
    (await door.app.call('GET', '/api/dashboard/summary', { token: door.session })).body.failed
  const batch = await beginBatch()
  const before = await failed()
  const [row] = await sql<{ key: number }[]>`select key from batches where id = ${batch}`
  const held = await hold(async (tx) => {
    await tx`update batches set status = 'failed', ended_at = now() where id = ${batch}`
    await fragment(tx, append([{ channel: 'dashboard', type: 'batches', keys: [row?.key as number] }]))
  })
  await beginBatch()
  expect(await failed()).toBe(before)
  await held.end()
  expect(await failed()).toBe(before + 1)
})

test('change numbers beyond 32 bits, as after a restore, are announced and found', async () => {
  await sql`select setval('changes_seq_seq', ${100_000_000_000 + 2 ** 31 - 2}::bigint)`
  const batch = await beginBatch()
  const streams = await follow(batch)
  for (let round = 0; round < 3; round++) {
    const held = await holdAppend()
    await say(batch, `${round}`)
    for (const app of [door.app, second])
      await vi.waitFor(async () => expect(await metric(app, DELAY)).toBeGreaterThan(0), SOON)
    for (const stream of streams) expect(linesOf(stream)).toHaveLength(round)
    await held.end()
    for (const stream of streams) await stream.reach(round + 1)
  }
})

/** Whether a commit ends while an append is under way. */
async function endsBeside(): Promise<boolean> {
  const held = await holdAppend()
  let ended = false
  const other = commit(createWriter(sql), async () => ({
    result: undefined,
    changes: [{ channel: 'dashboard', type: 'batches', keys: [] }],
  })).then(() => {
    ended = true
  })
  const waits = async (): Promise<boolean> =>
    (await sql`select from pg_locks where locktype = 'advisory' and not granted and objid = 7041777`).length >
    0
  await vi.waitFor(async () => expect(ended || (await waits())).toBe(true), SOON)
  const before = ended
  await held.end()
  await other
  return before
}

test('while a server of an older release without announcements runs, commits wait for each other as in that release', async () => {
  expect(await endsBeside()).toBe(true)
  // The heartbeat row of such a server, while it runs.
  const [server] = await sql<{ number: number }[]>`
    insert into servers (started_at, seen_at) values (now(), now() + interval '1 hour') returning number`
  expect(await endsBeside()).toBe(false)
  await sql`delete from servers where number = ${server?.number as number}`
  expect(await endsBeside()).toBe(true)
})

test('a commit waits for a writer of an older release without announcements, and that writer waits for it', async () => {
  const batch = await beginBatch()
  const streams = await follow(batch)
  const earlier = await hold(async (tx) => {
    await tx`select pg_advisory_xact_lock(7041777)`
    await tx`insert into changes (channel, type, keys) values ('dashboard', 'batches', '{}')`
  })
  let answered = false
  const sent = say(batch, 'after').then(() => {
    answered = true
  })
  await vi.waitFor(async () => {
    const waiting =
      await sql`select from pg_locks where locktype = 'advisory' and not granted and objid = 7041777`
    expect(waiting).toHaveLength(1)
  }, SOON)
  expect(answered).toBe(false)
  await earlier.end()
  await sent
  for (const stream of streams) await stream.reach(1)
})

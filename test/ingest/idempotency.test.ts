import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomFrom } from '../../src/domain/random.ts'
import type { TestApp } from '../kit/app.ts'
import { tellSeed } from '../kit/effort.ts'
import { type Door, makeEvent, openDoor, openSecond, type TestEvent } from './sending.ts'

// Specification §1.4: a repeat never creates a second row, and its side effects happen once. Two servers share the
// database, as replicas do.

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

interface Result {
  db_id: number
  deduplicated: boolean
}

async function post(app: TestApp, events: TestEvent[], single: boolean): Promise<Result[]> {
  const path = single ? '/api/events' : '/api/events/batch'
  const body = single ? events[0] : events
  const answer = await app.call('POST', path, { token: door.token, body })
  expect(answer.status).toBe(200)
  return single ? [answer.body] : answer.body.results
}

/** What an event may do at most once. */
async function effectsOf(prefix: string) {
  const like = `${prefix}%`
  const [row] = await door.sql`
    select
      (select count(*) from events v join batches b on b.key = v.batch_key where b.id like ${like}) events,
      (select count(*) from batches where id like ${like}) batches,
      (select count(*) from jobs j join batches b on b.key = j.batch_key where b.id like ${like}) jobs,
      (select coalesce(sum(n_jobs), 0)::int from batch_progress p join batches b on b.key = p.batch_key
        where b.id like ${like}) counted_jobs,
      (select coalesce(sum(epochs), 0)::int from job_progress p join batches b on b.key = p.batch_key
        where b.id like ${like}) epochs,
      (select count(*) from epochs e join jobs j on j.key = e.job_key join batches b on b.key = j.batch_key
        where b.id like ${like}) epoch_rows,
      (select count(*) from log_lines l join batches b on b.key = l.batch_key where b.id like ${like}) lines,
      (select count(*) from resource_snapshots s join batches b on b.key = s.batch_key where b.id like ${like}) snapshots`
  return row
}

test('an event sent many times at once, single and in arrays, to two servers, is stored once under one db_id', async () => {
  const draw = randomFrom(tellSeed('idempotency'))
  const ROUNDS = 60
  for (let round = 0; round < ROUNDS; round++) {
    const batch_id = `once ${round}`
    const job_id = 'j'
    const events = [
      makeEvent('job_epoch', { batch_id, job_id, data: { epoch: 1, train_loss: 1 } }),
      makeEvent('log_line', { batch_id, job_id }),
      makeEvent('resource_snapshot', { batch_id, job_id }),
      makeEvent('job_done', { batch_id, job_id }),
      makeEvent('batch_start', { batch_id }),
    ]
    const seen = new Map<string, Result[]>(events.map((e) => [e.event_id, []]))
    const sendOne = async (): Promise<void> => {
      const app = draw() < 0.5 ? door.app : second
      const single = draw() < 0.5
      const from = Math.floor(draw() * events.length)
      // An array may hold the same event twice.
      const sent = single
        ? [events[from] as TestEvent]
        : [...events.slice(from), ...events.slice(0, 1 + Math.floor(draw() * events.length))]
      const results = await post(app, sent, single)
      for (const [i, e] of sent.entries()) seen.get(e.event_id)?.push(results[i] as Result)
    }
    // Everything at least once, however the others are drawn.
    await Promise.all([post(door.app, events, false).then(keep), ...Array.from({ length: 9 }, sendOne)])
    function keep(results: Result[]): void {
      for (const [i, e] of events.entries()) seen.get(e.event_id)?.push(results[i] as Result)
    }
    for (const results of seen.values()) {
      expect(new Set(results.map((r) => r.db_id)).size).toBe(1)
      expect(results.filter((r) => !r.deduplicated)).toHaveLength(1)
    }
  }
  expect(await effectsOf('once ')).toEqual({
    events: 5 * ROUNDS,
    batches: ROUNDS,
    jobs: ROUNDS,
    counted_jobs: ROUNDS,
    epochs: ROUNDS,
    epoch_rows: ROUNDS,
    lines: ROUNDS,
    snapshots: ROUNDS,
  })
}, 240_000)

test('one event_id in two batches is two events, at any server and in any array', async () => {
  const draw = randomFrom(tellSeed('identity'))
  const RACES = 60
  for (let race = 0; race < RACES; race++) {
    const event_id = randomUUID()
    const here = makeEvent('log_line', { event_id, batch_id: `here ${race}` })
    const there = makeEvent('job_epoch', { event_id, batch_id: `there ${race}`, data: { epoch: 3, loss: 1 } })
    const sends = Array.from({ length: 6 }, () => {
      const sent =
        draw() < 0.3 ? [here, there] : draw() < 0.5 ? [here, there, here] : [draw() < 0.5 ? here : there]
      return { sent, app: draw() < 0.5 ? door.app : second, single: sent.length === 1 && draw() < 0.5 }
    })
    sends.push({ sent: [there, here], app: second, single: false })
    const answers = await Promise.all(sends.map(({ sent, app, single }) => post(app, sent, single)))
    const results = sends.flatMap(({ sent }, i) =>
      sent.map((event, n) => ({ batch: event.batch_id, ...(answers[i]?.[n] as Result) })),
    )
    const rows = await door.sql<{ id: string; db_id: number }[]>`
      select b.id, e.db_id from events e join batches b on b.key = e.batch_key where e.event_id = ${event_id} order by b.id`
    expect(rows.map((row) => row.id)).toEqual([here.batch_id, there.batch_id])
    for (const { id, db_id } of rows) {
      const own = results.filter((result) => result.batch === id)
      expect(new Set(own.map((result) => result.db_id))).toEqual(new Set([db_id]))
      expect(own.filter((result) => !result.deduplicated)).toHaveLength(1)
    }
  }
  expect(await effectsOf('here ')).toMatchObject({ events: RACES, lines: RACES, epochs: 0 })
  expect(await effectsOf('there ')).toMatchObject({
    events: RACES,
    epochs: RACES,
    epoch_rows: RACES,
    lines: 0,
  })
}, 240_000)

test('sets of events in opposite order, sent to two servers at once, are each stored once', async () => {
  const ROUNDS = 30
  for (let round = 0; round < ROUNDS; round++) {
    const events = Array.from({ length: 20 }, (_, i) =>
      makeEvent('job_epoch', {
        batch_id: `cross ${round} ${i % 4}`,
        job_id: `j${i % 3}`,
        data: { epoch: i },
      }),
    )
    const answers = await Promise.all([
      post(door.app, events, false),
      post(second, events.toReversed(), false).then((results) => results.reverse()),
      ...events.flatMap((e, i) => [post(i % 2 === 0 ? second : door.app, [e], true)]),
    ])
    const [there, back, ...singles] = answers as [Result[], Result[], ...Result[][]]
    for (const i of events.keys()) {
      const results = [there[i], back[i], singles[i]?.[0]] as Result[]
      expect(new Set(results.map((r) => r.db_id)).size).toBe(1)
      expect(results.filter((r) => !r.deduplicated)).toHaveLength(1)
    }
  }
  expect(await effectsOf('cross ')).toMatchObject({
    events: 20 * ROUNDS,
    batches: 4 * ROUNDS,
    epochs: 20 * ROUNDS,
    epoch_rows: 20 * ROUNDS,
  })
}, 240_000)

test('a repeat after a restart is still a repeat', async () => {
  const event = makeEvent('log_line', { batch_id: 'restart' })
  const [first] = await post(second, [event], true)
  await second.stop()
  second = await openSecond(door)
  expect(await post(second, [event], true)).toEqual([{ db_id: first?.db_id, deduplicated: true }])
})

test('a repeat is recognized by its batch and event_id, even if the rest of it differs', async () => {
  const event = makeEvent('log_line', { batch_id: 'same id' })
  const [first] = await post(door.app, [event], true)
  const other = makeEvent('batch_done', {
    event_id: event.event_id.toUpperCase(),
    batch_id: 'same id',
    source: { project: 'p2' },
  })
  expect(await post(door.app, [other], true)).toEqual([{ db_id: first?.db_id, deduplicated: true }])
  expect(await door.sql`select from projects where slug = 'p2'`).toHaveLength(0)
})

test('two batches may use the same event_id: the second event is kept, in its own project', async () => {
  const event = makeEvent('log_line', { batch_id: 'one batch' })
  const [first] = await post(door.app, [event], true)
  const other = makeEvent('batch_done', {
    event_id: event.event_id,
    batch_id: 'another batch',
    source: { project: 'p3' },
  })
  const [second] = await post(door.app, [other], true)
  expect(second).toEqual({ db_id: expect.any(Number), deduplicated: false })
  expect(second?.db_id).not.toBe(first?.db_id)
  expect(await post(door.app, [other, event], false)).toEqual([
    { db_id: second?.db_id, deduplicated: true },
    { db_id: first?.db_id, deduplicated: true },
  ])
  expect(await door.sql`select status from batches where id = 'another batch'`).toEqual([
    { status: 'completed' },
  ])
})

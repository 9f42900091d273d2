import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { patienceMs } from '../kit/effort.ts'
import type { Answer } from '../kit/http.ts'
import { type OpenTransaction, openTransaction } from '../kit/open-transaction.ts'
import { type Door, makeEvent, openDoor, openSecond, type TestEvent } from './sending.ts'

// A group is sent while the one before it is under way (src/ingest/pipelined-write.ts). Whether the first succeeds or fails, the
// second is stored exactly once, and never without it.

let door: Door
const cleanUps: (() => Promise<unknown>)[] = []
beforeEach(async () => {
  door = await openDoor()
  for (const batch_id of ['one', 'other']) {
    expect((await door.send(makeEvent('batch_start', { batch_id }))).status).toBe(200)
    for (const number of [1, 2]) expect((await door.send(epoch(batch_id, number))).status).toBe(200)
  }
})
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  await door.stop()
})

const epoch = (batch_id: string, number: number): TestEvent =>
  makeEvent('job_epoch', { batch_id, job_id: 'job', data: { epoch: number, loss: 1 / number } })

/** Blocks writes to the batch until it is released. */
async function hold(batchId: string): Promise<OpenTransaction> {
  const writer = await openTransaction(
    door.sql,
    (tx) => tx`
      select from batch_progress where batch_key = (select key from batches where id = ${batchId}) for update`,
  )
  cleanUps.push(writer.release)
  return writer
}

async function figure(name: string): Promise<number> {
  const { body } = await door.app.call('GET', '/metrics', { token: door.session })
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(body)?.[1])
}
/** How many events of this server wait for their group. */
const waiting = (): Promise<number> => figure('svc_ingest_waiting_events')
const underWay = (): Promise<number> => figure('svc_http_requests_in_flight')

async function untilWaiting(events: number): Promise<void> {
  const end = Date.now() + patienceMs(10)
  while ((await waiting()) !== events) {
    if (Date.now() > end) throw new Error(`${await waiting()} events wait, not ${events}`)
    await sleep(20)
  }
}

/** Sends each while those before it are under way; of three, the third has to wait. */
async function sendInARow(events: TestEvent[]): Promise<Promise<Answer>[]> {
  const answers: Promise<Answer>[] = []
  for (const [i, event] of events.entries()) {
    const before = await underWay()
    answers.push(door.send(event))
    const end = Date.now() + patienceMs(10)
    while ((await underWay()) <= before) if (Date.now() > end) throw new Error('the request does not arrive')
    if (i < 2) {
      await sleep(100)
      await untilWaiting(0)
    } else await untilWaiting(1)
  }
  return answers
}

const epochsOf = async (batchId: string): Promise<number[]> =>
  (
    await door.sql`
      select e.epoch from epochs e join jobs j on j.key = e.job_key join batches b on b.key = j.batch_key
      where b.id = ${batchId} order by e.epoch`
  ).map((row) => row.epoch)

const countedOf = async (batchId: string): Promise<unknown> =>
  (
    await door.sql`
      select p.epochs, p.max_step max_epoch from job_progress p join batches b on b.key = p.batch_key where b.id = ${batchId}`
  )[0]

test('the second group is applied to the result of the first and sent before the first has ended; the third waits', async () => {
  const held = await hold('one')
  const answers = await sendInARow([epoch('one', 3), epoch('one', 4), epoch('one', 5)])
  expect(await epochsOf('one')).toEqual([1, 2])
  await held.release()
  const given = await Promise.all(answers)
  expect(given.map((a) => a.status)).toEqual([200, 200, 200])
  // All were pipelined: a group that is applied step by step discards reserved ids and takes new ones.
  const ids = given.map((a) => a.body.db_id)
  expect(ids).toEqual([ids[0], ids[0] + 1, ids[0] + 2])
  expect(await epochsOf('one')).toEqual([1, 2, 3, 4, 5])
  expect(await countedOf('one')).toEqual({ epochs: 5, max_epoch: 5 })
  // What was remembered of the three still holds.
  expect((await door.send(epoch('one', 6))).body.deduplicated).toBe(false)
  expect(await countedOf('one')).toEqual({ epochs: 6, max_epoch: 6 })
})

test.for([
  'one',
  'other',
])('the first group is a repeat: the second, of batch %s, is stored once', async (batchId) => {
  const stored = makeEvent('log_line', { batch_id: 'one', job_id: 'job' })
  expect((await door.send(stored)).body.deduplicated).toBe(false)
  const held = await hold('one')
  const repeat = { ...epoch('one', 3), event_id: stored.event_id }
  const answers = await sendInARow([repeat, epoch(batchId, 4)])
  await held.release()
  const [first, next] = await Promise.all(answers)
  expect(first?.body.deduplicated).toBe(true)
  expect(next?.body.deduplicated).toBe(false)
  expect(await epochsOf(batchId)).toEqual([1, 2, 4])
  expect(await countedOf(batchId)).toEqual({ epochs: 3, max_epoch: 4 })
  if (batchId === 'other') expect(await epochsOf('one')).toEqual([1, 2])
  expect((await door.send(epoch('one', 7))).body.deduplicated).toBe(false)
  expect((await countedOf('one')) as { max_epoch: number }).toMatchObject({ max_epoch: 7 })
})

test('the second group is a repeat of the first: both have one db_id', async () => {
  const held = await hold('one')
  const event = epoch('one', 3)
  const answers = await sendInARow([event, event])
  await held.release()
  const [first, next] = await Promise.all(answers)
  expect(first?.body).toEqual({ db_id: expect.any(Number), deduplicated: false })
  expect(next?.body).toEqual({ db_id: first?.body.db_id, deduplicated: true })
  expect(await epochsOf('one')).toEqual([1, 2, 3])
})

test('another server wrote to the batch in the meantime: both groups are applied to what it wrote', async () => {
  const second = await openSecond(door)
  cleanUps.push(() => second.stop())
  const held = await hold('one')
  const foreign = second.call('POST', '/api/events', { token: door.token, body: epoch('one', 9) })
  await sleep(300)
  const answers = await sendInARow([epoch('one', 3), epoch('one', 4)])
  await held.release()
  expect((await foreign).status).toBe(200)
  for (const answer of answers) expect((await answer).status).toBe(200)
  expect(await epochsOf('one')).toEqual([1, 2, 3, 4, 9])
  expect(await countedOf('one')).toEqual({ epochs: 5, max_epoch: 9 })
})

test('epochs that arrive after later ones are recognised as new', async () => {
  const ids: number[] = []
  for (const number of [6, 4, 3, 5]) ids.push((await door.send(epoch('one', number))).body.db_id)
  // A group that is applied step by step would have discarded its ids and taken new ones.
  expect(ids).toEqual(ids.map((_, i) => (ids[0] as number) + i))
  expect(await epochsOf('one')).toEqual([1, 2, 3, 4, 5, 6])
  expect(await countedOf('one')).toEqual({ epochs: 6, max_epoch: 6 })
})

test('an epoch that another server stored after later epochs is merged with the stored one', async () => {
  const second = await openSecond(door)
  cleanUps.push(() => second.stop())
  expect((await door.send(epoch('one', 5))).status).toBe(200)
  const there = await second.call('POST', '/api/events', { token: door.token, body: epoch('one', 4) })
  expect(there.status).toBe(200)
  expect((await door.send(epoch('one', 4))).body.deduplicated).toBe(false)
  expect(await epochsOf('one')).toEqual([1, 2, 4, 5])
  expect(await countedOf('one')).toEqual({ epochs: 4, max_epoch: 5 })
})

test('the connection is lost during both groups: both are refused, and repeats are stored once', async () => {
  const held = await hold('one')
  const events = [epoch('one', 3), epoch('one', 4)]
  const answers = await sendInARow(events)
  const ended = await door.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'svc ingest' and wait_event_type = 'Lock' and datname = current_database()`
  expect(ended).toHaveLength(1)
  for (const answer of answers) expect((await answer).body.code).toBe('unavailable')
  await held.release()
  for (const event of events) {
    const again = await door.send(event)
    expect([again.status, again.body.deduplicated]).toEqual([200, false])
  }
  expect(await epochsOf('one')).toEqual([1, 2, 3, 4])
  expect(await countedOf('one')).toEqual({ epochs: 4, max_epoch: 4 })
})

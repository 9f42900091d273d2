import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'

/** A timestamp far ahead is stored as sent, and counts as its time of receipt (contract §10 "Time"). */
const clock = createClock()
let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, { now: clock.now })
  clock.forward({ hours: 1 })
})
afterAll(() => stage?.stop())

const FAR = '9999-12-31T23:59:59Z'
const at = () => clock.now().toISOString()
const get = async (path: string) => (await stage.get(path, stage.batchOwner.token)).body
const send = (...events: unknown[]) => stage.send(stage.batchOwner, events)

test('one event dated 9999 does not block later values', async () => {
  const epoch = (timestamp: string, train_loss: number) =>
    makeEvent('job_epoch', { batch_id: 'pinned', timestamp, data: { epoch: 1, train_loss } })
  const far = epoch(FAR, 1)
  await send(startOf({ id: 'pinned', timestamp: at() }), far)
  clock.forward({ minutes: 1 })
  await send(epoch(at(), 2))
  const [job] = (await get('/api/batches/pinned/jobs')).items
  expect(job.latest).toMatchObject({ epoch: 1, train_loss: 2 })
  const [stored] = await stage.app.sql`select payload, ts from events where event_id = ${far.event_id}`
  expect(JSON.parse(stored?.payload).timestamp).toBe(FAR)
  expect(Date.parse(stored?.ts)).toBeLessThanOrEqual(clock.now().getTime())
})

test('nor the liveness: its batch is stalled once it sends nothing', async () => {
  await send(startOf({ id: 'far', timestamp: FAR }))
  expect(await get('/api/batches/far')).toMatchObject({ status: 'running', stalled: false })
  clock.forward({ minutes: 16 })
  const batch = await get('/api/batches/far')
  expect(batch).toMatchObject({ stalled: true, eta_s: null })
  expect(Date.parse(batch.started_at)).toBeLessThanOrEqual(clock.now().getTime())
})

test('nor the order of lists: a batch that started later is above it', async () => {
  await send(startOf({ id: 'near', timestamp: at() }))
  const ids = (await get('/api/batches')).items.map((batch: { id: string }) => batch.id)
  expect(ids.indexOf('near')).toBeLessThan(ids.indexOf('far'))
})

test('events of one request with future timestamps keep their order', async () => {
  const lines = ['first', 'second', 'third'].map((line) =>
    makeEvent('log_line', { batch_id: 'lines', timestamp: FAR, data: { line, level: 'info' } }),
  )
  await send(startOf({ id: 'lines', timestamp: at() }), ...lines)
  const rows = await stage.app.sql<{ line: string }[]>`
    select line from log_lines l join batches b on b.key = l.batch_key where b.id = 'lines' order by l.ts`
  expect(rows.map(({ line }) => line)).toEqual(['first', 'second', 'third'])
})

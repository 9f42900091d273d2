import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const source = { project: 'vision' }
const delivery = async (id: string) =>
  (await stage.get(`/api/batches/${id}/delivery`, stage.viewer.token)).body
const send = (...events: unknown[]) => stage.send(stage.batchOwner, events)
const start = (batch_id: string) => makeEvent('batch_start', { batch_id, source })
const epoch = (batch_id: string, n: number) =>
  makeEvent('job_epoch', { batch_id, job_id: 'a', source, data: { epoch: n, train_loss: 1 } })
const end = (batch_id: string, receipt: unknown, event_type: 'batch_done' | 'batch_failed' = 'batch_done') =>
  makeEvent(event_type, { batch_id, source, data: { delivery: receipt } })
const receipt = (produced: number, dropped = 0) => ({
  produced,
  accepted: produced - dropped - 1,
  duplicate: 0,
  spilled: 0,
  dropped,
})

test('the receipt of a running batch is open, and counts each stored event once', async () => {
  const once = epoch('running', 0)
  await send(start('running'), once, once)
  await send(once)
  expect(await delivery('running')).toEqual({
    batch_id: 'running',
    state: 'open',
    stored: 2,
    reported: null,
    missing: null,
  })
})

test('a batch whose events have all arrived is complete', async () => {
  await send(start('whole'), epoch('whole', 0), end('whole', receipt(3)))
  expect(await delivery('whole')).toMatchObject({
    state: 'complete',
    stored: 3,
    missing: 0,
    reported: receipt(3),
  })
})

test('a late event completes a batch that lacked it', async () => {
  await send(start('late'), epoch('late', 0), end('late', receipt(4), 'batch_failed'))
  expect(await delivery('late')).toMatchObject({ state: 'incomplete', stored: 3, missing: 1 })
  await send(epoch('late', 1))
  expect(await delivery('late')).toMatchObject({ state: 'complete', stored: 4, missing: 0 })
})

test('what the reporter gave up on is not missing', async () => {
  await send(start('dropped'), epoch('dropped', 0), end('dropped', receipt(7, 4)))
  expect(await delivery('dropped')).toMatchObject({ state: 'complete', missing: 0, reported: { dropped: 4 } })
})

test.each([
  [undefined],
  [{ produced: 'many' }],
  [{ ...receipt(3), dropped: -1 }],
  [[3]],
])('an end with the receipt %j leaves it unknown', async (sent) => {
  const id = `odd-${JSON.stringify(sent)}`
  await send(start(id), end(id, sent))
  expect(
    (await stage.get(`/api/batches/${encodeURIComponent(id)}/delivery`, stage.viewer.token)).body,
  ).toMatchObject({ state: 'unknown', reported: null, missing: null, stored: 2 })
})

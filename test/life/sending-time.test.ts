import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'

/** Requests whose sending time is by another clock than the timestamps of their events (contract §10 "Time"). */
const clock = createClock()
let stage: Stage
beforeAll(async () => {
  stage = await openStage({ stallTimeoutMin: 15, lostAfterMin: 60 }, { now: clock.now })
  clock.forward({ minutes: 61 })
})
afterAll(() => stage?.stop())

const DAY_S = 86_400
const now = () => clock.now().getTime()
/** Sessions expire within these hours, so what is read is read with a token. */
const get = async (path: string) => (await stage.get(path, stage.batchOwner.read)).body

/** A request with a sending time `aheadS` seconds from now and events of `agoS` seconds ago. */
async function send(events: object[], aheadS: number, agoS = 0) {
  const timestamp = new Date(now() - agoS * 1000).toISOString()
  const { body } = await stage.app.call('POST', '/api/events/batch', {
    token: stage.batchOwner.reporter,
    body: events.map((event) => ({ ...event, timestamp })),
    headers: { 'x-svc-sent-at': new Date(now() + aheadS * 1000).toISOString() },
  })
  expect(body.results.filter((result: { error?: unknown }) => result.error)).toEqual([])
}
const epoch = (batch_id: string, n: number) =>
  makeEvent('job_epoch', { batch_id, data: { epoch: n, train_loss: 1 } })

const yearsTo9999S = (Date.parse('9999-06-01T00:00:00Z') - Date.now()) / 1000
describe.each([
  ['a year behind', -365 * DAY_S],
  ['20 minutes behind', -1_200],
  ['60 seconds behind', -60],
  ['10 minutes ahead', 600],
  ['20 minutes ahead', 1_200],
  ['2 days ahead', 2 * DAY_S],
  ['in the year 9999', yearsTo9999S],
])('a sending time %s, with events whose timestamps are right,', (name, aheadS) => {
  const id = `sent ${name}`
  const path = `/api/batches/${encodeURIComponent(id)}`

  test('does not make a reporting run stalled, and does not change its length', async () => {
    await send([startOf({ id }), makeEvent('job_start', { batch_id: id, data: { epochs: 10 } })], aheadS)
    for (const n of [0, 1, 2]) {
      clock.forward({ minutes: 10 })
      await send([epoch(id, n)], aheadS)
    }
    await stage.app.runTask('watch')
    const batch = await get(path)
    expect(batch).toMatchObject({ status: 'running', stalled: false })
    expect(batch.clock_skew_s).toBeCloseTo(-aheadS, 0)
    const [job] = (await get(`${path}/jobs`)).items
    for (const { elapsed_s } of [batch, job]) expect(Math.abs(elapsed_s - 1_800)).toBeLessThan(5)
    for (const { eta_s } of [batch, job]) expect(Math.abs(eta_s - 4_200)).toBeLessThan(300)
  })

  test('leaves a silent run stalled, then lost, until it reports again', async () => {
    clock.forward({ minutes: 16 })
    await stage.app.runTask('watch')
    expect(await get(path)).toMatchObject({ status: 'running', stalled: true, eta_s: null })
    clock.forward({ minutes: 46 })
    await stage.app.runTask('watch')
    expect(await get(path)).toMatchObject({ status: 'lost', eta_s: null })
    // What was made long before is no sign of life.
    await send([epoch(id, 3)], aheadS, Math.max(0, -aheadS) + 3_000)
    expect(await get(path)).toMatchObject({ status: 'lost' })
    await send([epoch(id, 4)], aheadS)
    expect(await get(path)).toMatchObject({ status: 'running', stalled: false })
    await send([makeEvent('batch_done', { batch_id: id })], aheadS)
  })
})

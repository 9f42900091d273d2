import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { SOON } from '../live/stream.ts'
import type * as clients from './clients.d.mts'

/** Subscriptions by GraphQL clients that people use, each with its own transport. */
let door: Door
let real: typeof clients
beforeAll(async () => {
  // A package of their own, which only this test installs.
  const cwd = fileURLToPath(new URL('.', import.meta.url))
  await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd })
  real = await import('./clients.mjs')
  door = await openDoor({}, { streamTimes: { retryMs: 20, pingMs: 100 } })
})
afterAll(() => door?.stop())

const POINTS = `subscription Points($id: ID!, $after: String) {
  metrics(batchId: $id, keys: ["loss"], after: $after) { series { steps } }
}`

test.each([
  'subscribeWithUrql',
  'subscribeWithApollo',
  'subscribeWithRelay',
] as const)('%s gets each point once, in order', async (name) => {
  const job = { batch_id: name, job_id: 'j' }
  await door.send(makeEvent('batch_start', { batch_id: name }))
  await door.send(makeEvent('job_start', { ...job, data: { model: 'm' } }))
  const { body } = await door.app.call('POST', '/graphql', {
    token: door.session,
    body: { query: '{ streamCursor }' },
  })
  const steps: number[] = []
  const end = real[name](
    {
      url: `${door.app.address}/graphql`,
      headers: { authorization: `Bearer ${door.session}` },
      query: POINTS,
      variables: { id: name, after: body.data.streamCursor },
    },
    (data) => {
      const { metrics } = data as { metrics: { series: { steps: number[] }[] } }
      for (const series of metrics.series) steps.push(...series.steps)
    },
  )
  for (const at of [1, 2]) {
    await door.send(makeEvent('job_epoch', { ...job, data: { epoch: at, loss: 1 / at } }))
    await expect.poll(() => steps.at(-1), SOON).toBe(at)
  }
  end()
  expect(steps).toEqual([1, 2])
})

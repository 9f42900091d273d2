import { tableFromIPC } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createWriter } from '../../src/stream/commit.ts'
import { createPacker } from '../../src/workers/pack.ts'
import { readSeriesFrames, SERIES_FRAMES } from '../../web/src/lib/api/series-frames.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'

// Steps are integers from -(2^53 - 1) to 2^53 - 1 (contract §11), such as tokens, in every form of an answer.

let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

const { MAX_SAFE_INTEGER: MOST, MIN_SAFE_INTEGER: LEAST } = Number
const edge = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -3, max: 3 }),
  fc
    .constantFrom(0, 2 ** 31, -(2 ** 31), 2 ** 32, -(2 ** 32), MOST - 3, LEAST + 3)
    .chain((near) => fc.integer({ min: near - 3, max: near + 3 })),
)

const download = async (path: string, accept = '*/*'): Promise<Buffer> => {
  const answer = await fetch(door.app.address + path, {
    headers: { authorization: `Bearer ${door.session}`, accept },
  })
  expect(answer.status).toBe(200)
  return Buffer.from(await answer.arrayBuffer())
}
const get = (path: string) => door.app.call('GET', path, { token: door.session })
const ask = async (query: string, variables = {}) => {
  const { body } = await door.app.call('POST', '/graphql', {
    token: door.session,
    body: { query, variables },
  })
  expect(body.errors).toBeUndefined()
  return body.data
}

/** The steps of a batch with one job and one series, as answers that take a range have them. */
async function answered(id: string, range?: { from: number; to: number }): Promise<Record<string, number[]>> {
  const path = `/api/batches/${encodeURIComponent(id)}/metrics${range ? `?from=${range.from}&to=${range.to}` : ''}`
  const json = await get(path)
  const frames = readSeriesFrames(new Uint8Array(await download(path, SERIES_FRAMES)).buffer)
  const { batch } = await ask(
    'query ($id: ID!, $range: EpochRange) { batch(id: $id) { metrics(range: $range) { steps } } }',
    { id, range },
  )
  return {
    json: json.body.series[0]?.steps ?? [],
    frames: frames[0]?.steps ?? [],
    graphql: batch.metrics[0]?.steps ?? [],
  }
}

/** The same of exports. */
async function exported(id: string): Promise<Record<string, number[]>> {
  const path = `/api/batches/${encodeURIComponent(id)}/metrics`
  const csv = (await download(`${path}.csv`)).toString().trim().split('\r\n').slice(1)
  const arrow = tableFromIPC(await download(`${path}.arrow`)).getChild('step')
  return { csv: csv.map((line) => Number(line.split(',')[2])), arrow: Array.from(arrow ?? [], Number) }
}

let runs = 0
test('any steps come back as they were sent, unpacked and packed, in JSON, bytes, CSV, Arrow and GraphQL', async () => {
  const packer = createPacker({
    sql: door.sql,
    writer: createWriter(door.sql),
    sizes: { chunk: 4, mostValues: 40, worthPacking: 1, runningWaits: 4, runningKeeps: 2 },
    againMs: 0,
  })
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(edge, { minLength: 1, maxLength: 20 }),
      fc.tuple(edge, edge),
      async (steps, [a, b]) => {
        const of = { batch_id: `edges ${++runs}`, job_id: 'a' }
        const events = steps.map((epoch) => makeEvent('job_epoch', { ...of, data: { epoch, loss: 1 } }))
        const { body } = await door.sendAll([...events, makeEvent('job_done', { ...of, data: {} })])
        expect(body.results.every((one: { error?: unknown }) => one.error === undefined)).toBe(true)
        const sorted = [...steps].sort((one, other) => one - other).map((step) => step + 0)
        const [from, to] = [Math.min(a, b) + 0, Math.max(a, b) + 0]
        for (const state of ['unpacked', 'packed']) {
          if (state === 'packed') await packer.round()
          const all = { ...(await answered(of.batch_id)), ...(await exported(of.batch_id)) }
          for (const [form, shown] of Object.entries(all))
            expect([state, form, shown]).toEqual([state, form, sorted])
          const within = sorted.filter((step) => step >= from && step <= to)
          for (const [form, shown] of Object.entries(await answered(of.batch_id, { from, to })))
            expect([state, form, shown]).toEqual([state, form, within])
        }
        const job = await get(`/api/batches/${encodeURIComponent(of.batch_id)}/jobs`)
        expect(job.body.items[0]).toMatchObject({ epochs: steps.length, latest: { epoch: sorted.at(-1) } })
      },
    ),
    { numRuns: 15 },
  )
}, 120_000)

test('attempts, gaps, samples and groups know tokens', async () => {
  const id = 'tokens'
  const of = { batch_id: id, job_id: 'a' }
  const BILLION = 1e9
  await door.sendAll([
    makeEvent('job_start', { ...of, data: { lr: 0.1, step_unit: 'tokens' } }),
    // Every fourth billion, but for one.
    ...Array.from({ length: 400 }, (_, i) => i)
      .filter((i) => i !== 7)
      .map((i) =>
        makeEvent('job_epoch', {
          ...of,
          data: { epoch: i * 4 * BILLION, loss: i === 200 ? 9 : 1 / (i + 1) },
        }),
      ),
  ])
  const last = 399 * 4 * BILLION
  const { batch } = await ask(`{ batch(id: "tokens") {
    metrics(sampling: {mode: M4, points: 40}) { steps values totalPoints sampled }
    jobs(first: 1) { edges { node { latest attempts { firstEpoch lastEpoch } epochTimes { epochs } } } }
    jobDeliveries(first: 1) { edges { node { firstEpoch lastEpoch every missing gaps } } }
  } }`)
  const [sampled] = batch.metrics
  expect(sampled).toMatchObject({ totalPoints: 399, sampled: true })
  expect(sampled.values).toContain(9)
  expect([sampled.steps[0], sampled.steps.at(-1)]).toEqual([0, last])
  const [{ node: job }] = batch.jobs.edges
  expect(job).toMatchObject({ latest: { epoch: last }, attempts: [{ firstEpoch: 0, lastEpoch: last }] })
  expect(job.epochTimes.epochs.at(-1)).toBe(last)
  expect(batch.jobDeliveries.edges[0].node).toMatchObject({
    firstEpoch: 0,
    lastEpoch: last,
    every: 4 * BILLION,
    missing: 1,
    gaps: [[28 * BILLION, 28 * BILLION]],
  })
  const groups = await get('/api/batches/tokens/metrics/groups?keys=loss&group_by=param.lr&points=10')
  const [group] = groups.body.groups
  expect([group.steps[0], group.ends.at(-1), group.total_points]).toEqual([0, last, 399])
})

test('a step that is not exact is 422 with the range, in events and in queries', async () => {
  const of = { batch_id: 'tokens', job_id: 'a' }
  for (const epoch of [2 ** 53, -(2 ** 53), 1e300, 0.5]) {
    const { status, body } = await door.send(makeEvent('job_epoch', { ...of, data: { epoch } }))
    expect([status, body.errors]).toEqual([
      422,
      [{ path: 'data.epoch', message: 'must be a whole number from -(2^53 - 1) to 2^53 - 1' }],
    ])
  }
  const { status, body } = await get(`/api/batches/tokens/metrics?from=${2 ** 53}`)
  expect([status, JSON.stringify(body.errors)]).toEqual([
    422,
    expect.stringContaining('-(2^53 - 1) to 2^53 - 1'),
  ])
  const graph = await door.app.call('POST', '/graphql', {
    token: door.session,
    body: { query: `{ batch(id: "tokens") { metrics(range: {from: ${2 ** 53}}) { steps } } }` },
  })
  expect(graph.body.errors[0].message).toContain('-(2^53 - 1) to 2^53 - 1')
})

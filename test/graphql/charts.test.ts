import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'

/** What a chart asks for is answered with the same numbers by GraphQL and by REST. */
let door: Door
const BATCH = 'drawn'
const START = Date.UTC(2026, 2, 1, 10)

beforeAll(async () => {
  door = await openDoor()
  const of = { batch_id: BATCH }
  const at = (ms: number) => new Date(START + ms).toISOString()
  const events = [makeEvent('batch_start', { ...of, timestamp: at(0) })]
  for (const [job, lr] of [0.1, 0.1, 0.01].entries()) {
    const job_id = `j${job}`
    events.push(
      makeEvent('job_start', { ...of, job_id, timestamp: at(job), data: { lr, where: '/home/ada/data' } }),
    )
    for (let epoch = 0; epoch < 90; epoch++) {
      const loss = epoch === 40 + job ? 'NaN' : epoch === 60 ? 900 : (epoch * 7919) % 13
      events.push(
        makeEvent('job_epoch', { ...of, job_id, timestamp: at(epoch * 1_111 + job), data: { epoch, loss } }),
      )
    }
  }
  expect((await door.sendAll(events)).status).toBe(200)
})
afterAll(() => door?.stop())

const rest = async (path: string) =>
  (await door.app.call('GET', `/api/batches/${BATCH}/metrics${path}`, { token: door.session })).body
const ask = async (query: string) =>
  (await door.app.call('POST', '/graphql', { token: door.session, body: { query } })).body
const METRIC = '{ job key steps values times smoothed smoothing { mean mass } totalPoints sampled nonFinite }'

test.each([
  ['?smooth=0.9&points=40', 'sampling: { mode: M4, points: 40, smooth: 0.9 }'],
  ['?x=relative&from=10.5&to=60', 'sampling: { mode: FULL, x: RELATIVE, between: { from: 10.5, to: 60 } }'],
  [
    '?x=wall&x_scale=log&y_scale=log&points=32&smooth=0.5',
    'sampling: { mode: M4, points: 32, x: WALL, xScale: LOG, yScale: LOG, smooth: 0.5 }',
  ],
  ['?from=10&to=20', 'range: { from: 10, to: 20 }'],
])('metrics%s', async (path, args) => {
  const { series } = await rest(path)
  const { data } = await ask(
    `{ batch(id: "${BATCH}") { metrics(${args}) ${METRIC} jobs { edges { node { metrics(${args}) ${METRIC} } } } } }`,
  )
  const expected = series.map((one: Record<string, unknown>) => ({
    job: one.job_id,
    key: one.key,
    steps: one.steps,
    values: one.values,
    times: one.times ?? null,
    smoothed: one.smoothed ?? null,
    smoothing: one.smoothing ?? null,
    totalPoints: one.total_points,
    sampled: one.sampled,
    nonFinite: one.non_finite,
  }))
  expect(expected).toHaveLength(3)
  expect(data.batch.metrics).toEqual(expected)
  const ofJobs = data.batch.jobs.edges.flatMap(({ node }: { node: { metrics: unknown[] } }) => node.metrics)
  expect(ofJobs.toReversed()).toEqual(expected)
})

test('groups and the range of the axis without outliers', async () => {
  const { data } = await ask(`{ batch(id: "${BATCH}") {
    metricGroups(groupBy: "param.lr", sampling: { mode: M4, points: 20, x: RELATIVE }) { group key jobs steps ends mean std min max n totalPoints nonFinite }
    metricClips(keys: ["loss"], share: 0.05) { key low high hidden } } }`)
  const { groups } = await rest('/groups?group_by=param.lr&points=20&x=relative')
  expect(data.batch.metricGroups).toEqual(
    groups.map(({ total_points, non_finite, ...one }: Record<string, unknown>) => ({
      ...one,
      totalPoints: total_points,
      nonFinite: non_finite,
    })),
  )
  expect(data.batch.metricClips).toEqual((await rest('?clip=0.05&points=4')).clips)
  // 900 at epoch 60 of each of three jobs is left out.
  expect(data.batch.metricClips[0].hidden).toBeGreaterThanOrEqual(3)
})

test('an anonymous share groups by the visible form of a parameter', async () => {
  const made = await door.app.call('POST', `/api/batches/${BATCH}/shares`, {
    token: door.session,
    body: { anonymous: true },
  })
  const shared = `{ sharedBatch(token: "${made.body.token}") { metricGroups(groupBy: "param.where") { group jobs } jobs { edges { node { params } } } } }`
  const { data } = await ask(shared)
  const [{ node }] = data.sharedBatch.jobs.edges
  expect(data.sharedBatch.metricGroups).toEqual([{ group: node.params.where, jobs: 3 }])
  expect(JSON.stringify(data)).not.toContain('/home/ada')
})

test.each([
  'metricGroups(groupBy: "param.") { key }',
  'metricClips(keys: ["loss"], share: 0.5) { key }',
  'metrics(sampling: { mode: M4, smooth: 1 }) { key }',
])('%s is refused', async (field) => {
  const { errors } = await ask(`{ batch(id: "${BATCH}") { ${field} } }`)
  expect(errors).toHaveLength(1)
})

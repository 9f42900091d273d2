import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createWriter } from '../../src/stream/commit.ts'
import { createPacker } from '../../src/workers/pack.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { assertProperty, patienceMs, propertyBounds } from '../kit/effort.ts'

/** One series over the values of another one of the same job. */
interface Point {
  epoch: number
  loss?: number
  tokens?: number
}
interface Answered {
  job_id: string
  key: string
  steps: number[]
  values: (number | string)[]
  x_values: number[]
  smoothed?: (number | string)[]
  total_points: number
  returned_points: number
}
let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

const written = (value: number): number | string => (Number.isFinite(value) ? value : String(value))
async function report(batch_id: string, jobs: Record<string, Point[]>, params: object = {}): Promise<void> {
  const events = Object.entries(jobs).flatMap(([job_id, points]) => [
    makeEvent('job_start', { batch_id, job_id, data: { ...params } }),
    ...points.map(({ epoch, loss, tokens }) =>
      makeEvent('job_epoch', {
        batch_id,
        job_id,
        data: {
          epoch,
          ...(loss !== undefined && { loss: written(loss) }),
          ...(tokens !== undefined && { tokens: written(tokens) }),
        },
      }),
    ),
  ])
  for (let at = 0; at < events.length; at += 500)
    expect((await door.sendAll(events.slice(at, at + 500))).status).toBe(200)
}
const get = (batch: string, query: string) =>
  door.app.call('GET', `/api/batches/${batch}/metrics${query}`, { token: door.session })
const seriesOf = async (batch: string, query: string): Promise<Answered[]> => {
  const { status, body } = await get(batch, `?${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.series
}

interface Joined {
  epoch: number
  x: number
  y: number
}
/** The definition: epochs that have both, by x, and by epoch where x is equal. */
const joinOf = (points: Point[], from = Number.NEGATIVE_INFINITY, to = Infinity, log = false): Joined[] =>
  points
    .flatMap(({ epoch, loss, tokens }) =>
      loss === undefined || tokens === undefined || !Number.isFinite(tokens)
        ? []
        : [{ epoch, x: tokens, y: loss }],
    )
    .filter(({ x }) => x >= from && x <= to && (!log || x > 0))
    .toSorted((a, b) => a.x - b.x || a.epoch - b.epoch)

const number = fc.oneof(
  { weight: 6, arbitrary: fc.double({ noNaN: true, min: -1e6, max: 1e13 }) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 9 }) },
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
)
const optional = fc.option(number, { nil: undefined, freq: 6 })
const pointsOfJob = fc
  .array(fc.record({ gap: fc.integer({ min: 1, max: 4 }), loss: optional, tokens: optional }), {
    minLength: 1,
    maxLength: 60,
  })
  .map((points) => {
    let epoch = -3
    return points.map(({ gap, loss, tokens }): Point => {
      epoch += gap
      return {
        epoch,
        ...(loss !== undefined && { loss: loss + 0 }),
        ...(tokens !== undefined && { tokens: tokens + 0 }),
      }
    })
  })
const asked = fc.record({
  jobs: fc.array(pointsOfJob, { minLength: 1, maxLength: 3 }),
  ends: fc.option(fc.tuple(fc.nat(59), fc.nat(59)), { nil: undefined }),
  points: fc.option(fc.integer({ min: 7, max: 40 }), { nil: undefined }),
  log: fc.boolean(),
  packed: fc.boolean(),
})

test(
  'a series with another one as x is the join of both by epoch, ordered by x',
  async () => {
    let run = 0
    const property = fc.asyncProperty(asked, async ({ jobs, ends, points, log, packed }) => {
      const batch = `join-${run++}`
      await report(batch, Object.fromEntries(jobs.map((job, i) => [`job ${i}`, job])))
      if (packed) {
        for (const i of jobs.keys())
          await door.send(makeEvent('job_done', { batch_id: batch, job_id: `job ${i}` }))
        await createPacker({ sql: door.sql, writer: createWriter(door.sql) }).round()
      }
      const all = jobs.flatMap((job) => joinOf(job).map(({ x }) => x))
      const places = ends?.map((n) => all[n % Math.max(1, all.length)] ?? 0).toSorted((a, b) => a - b)
      const [from, to] = places ?? []
      const range = places === undefined ? '' : `&from=${from}&to=${to}`
      const scale = log ? '&x_scale=log' : ''
      const found = await seriesOf(
        batch,
        `key=loss&x_key=tokens${range}${scale}${points === undefined ? '' : `&points=${points}`}`,
      )
      for (const [i, job] of jobs.entries()) {
        const should = joinOf(job, from, to, log)
        const is = found.find(({ job_id }) => job_id === `job ${i}`)
        expect(is === undefined).toBe(should.length === 0)
        if (is === undefined) continue
        expect(is.total_points).toBe(should.length)
        const rows = is.steps.map((epoch, n) => ({ epoch, x: is.x_values[n], y: is.values[n] }))
        const all = should.map(({ epoch, x, y }) => ({ epoch, x, y: written(y) }))
        if (points === undefined || should.length <= points) expect(rows).toEqual(all)
        else expectSample(rows, all, points)
      }
    })
    await assertProperty(property, propertyBounds('series over series', { runs: 60, seconds: 20 }))
  },
  patienceMs(60),
)

type Row = { epoch: number; x: number | undefined; y: number | string | undefined }
function expectSample(rows: Row[], all: Row[], points: number): void {
  expect(rows.length).toBeLessThanOrEqual(points)
  expect(all.filter((row) => rows.some(({ epoch }) => epoch === row.epoch))).toEqual(rows)
  expect([rows[0], rows.at(-1)]).toEqual([all[0], all.at(-1)])
  const heights = (some: Row[]): number[] => some.flatMap(({ y }) => (typeof y === 'number' ? [y] : []))
  expect([Math.min(...heights(rows)), Math.max(...heights(rows))]).toEqual([
    Math.min(...heights(all)),
    Math.max(...heights(all)),
  ])
}

/** Tokens rise unevenly and are reported every third epoch only; one spike, one outlier. */
const LONG: Point[] = Array.from({ length: 9_000 }, (_, epoch) => ({
  epoch,
  loss: epoch === 4_002 ? 999 : Math.sin(epoch / 40),
  ...(epoch % 3 === 0 && { tokens: (epoch / 9_000) ** 2 }),
}))

test('a long series is sampled along x, keeps its spike, and its mean includes every epoch', async () => {
  await report('long', { a: LONG })
  const [is] = await seriesOf('long', 'key=loss&x_key=tokens&points=480&smooth=0.9')
  const joined = joinOf(LONG)
  expect([is?.total_points, is?.values.includes(999)]).toEqual([3_000, true])
  expect(is?.returned_points).toBeLessThanOrEqual(480)
  const xs = is?.x_values ?? []
  // Eighty buckets of equal width on the axis: a quarter of the x-axis holds half of the epochs, yet a quarter of the points.
  const early = xs.filter((x) => x < 0.25).length / xs.length
  expect(early).toBeGreaterThan(0.2)
  expect(early).toBeLessThan(0.35)
  for (let bucket = 0; bucket < 80; bucket++) {
    const inside = ({ x }: { x: number }) => x >= (bucket + 0.01) / 80 && x <= (bucket + 0.99) / 80
    const lows = joined.filter(inside).map(({ y }) => y)
    if (lows.length === 0) continue
    const kept = xs.flatMap((x, n) =>
      x >= (bucket - 1) / 80 && x <= (bucket + 2) / 80 ? [Number(is?.values[n])] : [],
    )
    expect(Math.min(...kept)).toBeLessThanOrEqual(Math.min(...lows))
    expect(Math.max(...kept)).toBeGreaterThanOrEqual(Math.max(...lows))
  }
  const [whole] = await seriesOf('long', 'key=loss&smooth=0.9')
  for (const [n, step] of (is?.steps ?? []).entries()) expect(is?.smoothed?.[n]).toBe(whole?.smoothed?.[step])
})

test('bytes, jobs of several batches, groups, clips and GraphQL have the same axis', async () => {
  const jobs = {
    a: [1, 2, 3, 4].map((n) => ({ epoch: n, loss: n, tokens: 10 * n })),
    b: [1, 2, 3].map((n) => ({ epoch: n, loss: 3 * n, tokens: 20 * n })),
    'without tokens': [{ epoch: 1, loss: 7 }],
  }
  await report('few', jobs, { lr: 0.1 })
  expect((await seriesOf('few', 'x_key=tokens')).map(({ job_id, key }) => `${job_id} ${key}`)).toEqual([
    'a loss',
    'a tokens',
    'b loss',
    'b tokens',
  ])
  expect(await seriesOf('few', 'key=loss&x_key=nothing')).toEqual([])
  const { body } = await door.app.call('GET', '/api/jobs?batch=few', { token: door.session })
  const keys = body.items.map(({ key }: { key: string }) => key)
  const compared = await door.app.call(
    'GET',
    `/api/jobs/metrics?job_keys=${keys}&key=loss&x_key=tokens&from=15&to=40`,
    {
      token: door.session,
    },
  )
  expect(compared.body.series.map((one: Answered) => [one.x_values, one.values])).toEqual([
    [
      [20, 30, 40],
      [2, 3, 4],
    ],
    [
      [20, 40],
      [3, 6],
    ],
  ])
  const groups = await get('few', '/groups?key=loss&x_key=tokens&group_by=param.lr&points=6')
  expect(groups.body.groups).toHaveLength(1)
  const [group] = groups.body.groups
  expect([group.jobs, group.total_points, group.steps[0], group.ends.at(-1)]).toEqual([2, 7, 10, 60])
  expect(group.n.reduce((a: number, b: number) => a + b)).toBe(7)
  const clips = await get('few', '?key=loss&x_key=tokens&clip=0.2&points=4')
  expect(clips.body.clips).toMatchObject([{ key: 'loss', hidden: 2 }])
  const bytes = await fetch(`${door.app.address}/api/batches/few/metrics?key=loss&job=b&x_key=tokens`, {
    headers: { authorization: `Bearer ${door.session}`, accept: 'application/vnd.svc.series' },
  })
  const view = new DataView(await bytes.arrayBuffer())
  const begin = 4 + view.getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(view.buffer, 4, begin - 4)))
  expect(header.columns).toEqual(['values', 'x_values', 'steps'])
  expect([3, 4, 5].map((n) => view.getFloat64(begin + 8 * n, true))).toEqual([20, 40, 60])
  const graph = await door.app.call('POST', '/graphql', {
    token: door.session,
    body: {
      query: `{ batch(id: "few") { metrics(keys: ["loss"], jobs: ["b"], sampling: {mode: FULL, xKey: "tokens", between: {from: 30}}) { steps xValues values } } }`,
    },
  })
  expect(graph.body.data.batch.metrics).toEqual([{ steps: [2, 3], xValues: [40, 60], values: [6, 9] }])
})

test.each([
  ['?key=loss&x_key=tokens&x=wall', 'x_key'],
  ['?key=loss&x_key=', 'x_key'],
  ['?key=loss&from=1.5', 'from'],
  ['?key=loss&x=wall&to=1e300', 'to'],
])('%s is refused', async (query, path) => {
  const { status, body } = await get('few', query)
  expect([status, body.errors[0].path]).toEqual([422, path])
})

test('a series with itself as x is the diagonal', async () => {
  const [is] = await seriesOf('few', 'key=loss&job=a&x_key=loss')
  expect(is?.values).toEqual(is?.x_values)
})

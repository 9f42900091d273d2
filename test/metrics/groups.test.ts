import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'

/** Jobs of three groups, some without the param, with epochs, gaps and times of their own. */
const LRS = [0.1, 0.01, '0.1', undefined, 0.01, 0.1] as const
const BATCH = 'grouped'
const START = Date.UTC(2026, 2, 1, 10)
interface Point {
  job: number
  epoch: number
  ms: number
  value: number
}
const points: Point[] = []
let door: Door
const started = (job: number): number => START + job * 1_000
const get = (query: string) =>
  door.app.call('GET', `/api/batches/${BATCH}/metrics${query}`, { token: door.session })

beforeAll(async () => {
  door = await openDoor()
  const of = { batch_id: BATCH }
  const events = [makeEvent('batch_start', { ...of, timestamp: new Date(START).toISOString() })]
  let seed = 7
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  for (const [job, lr] of LRS.entries()) {
    const job_id = `job ${job}`
    const timestamp = new Date(started(job)).toISOString()
    events.push(makeEvent('job_start', { ...of, job_id, timestamp, data: lr === undefined ? {} : { lr } }))
    for (let epoch = job; epoch < 120; epoch += 1 + Math.floor(random() * 3)) {
      const ms = started(job) + epoch * 250 + Math.floor(random() * 200)
      const value = random() < 0.05 ? Number.NaN : 1e6 + random()
      points.push({ job, epoch, ms, value })
      const data = { epoch, loss: Number.isNaN(value) ? 'NaN' : value }
      events.push(makeEvent('job_epoch', { ...of, job_id, timestamp: new Date(ms).toISOString(), data }))
    }
  }
  expect((await door.sendAll(events)).status).toBe(200)
})
afterAll(() => door?.stop())

const nameOf = (job: number): string | null => (LRS[job] === undefined ? null : String(LRS[job]))
const axisOf = ({ job, epoch, ms }: Point, x: string): number =>
  x === 'epoch' ? epoch : (ms - (x === 'relative' ? started(job) : 0)) / 1000

/** Every finite value of the job up to this one, as the definition says. */
function smoothedOf(point: Point, weight: number): number {
  if (weight === 0 || Number.isNaN(point.value)) return point.value
  const before = points.filter((p) => p.job === point.job && p.epoch <= point.epoch && !Number.isNaN(p.value))
  let [sum, mass] = [0, 0]
  for (const { value } of before) {
    sum = sum * weight + value
    mass = mass * weight + 1
  }
  return sum / mass
}
const close = (is: unknown, should: number): void => {
  if (Number.isNaN(should)) expect(is).toBe('NaN')
  else expect(Math.abs((is as number) - should)).toBeLessThan(1e-8 * Math.max(1, Math.abs(should)))
}

test('mean, deviation, minimum and maximum are those of all points of all jobs of the group', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('epoch', 'relative', 'wall'),
      fc.constantFrom(4, 17, 60, 1_000),
      fc.constantFrom(0, 0.8),
      fc.boolean(),
      fc.boolean(),
      async (x, buckets, smooth, log, zoomed) => {
        const range: [number, number] =
          x === 'epoch'
            ? [20, 70]
            : x === 'relative'
              ? [5.5, 20.25]
              : [START / 1000 + 5.5, START / 1000 + 20.25]
        const query = `group_by=param.lr&points=${buckets}&x=${x}&x_scale=${log ? 'log' : 'linear'}&smooth=${smooth}${zoomed ? `&from=${range[0]}&to=${range[1]}` : ''}`
        const { status, body } = await get(`/groups?${query}`)
        expect(status).toBe(200)
        expect(body.groups.map((g: { group: unknown }) => g.group)).toEqual(['0.01', '0.1', null])
        for (const group of body.groups) {
          const mine = points.filter((p) => {
            const at = axisOf(p, x)
            const inside = !zoomed || (at >= range[0] && at <= range[1])
            return nameOf(p.job) === group.group && inside && (!log || at > 0)
          })
          expect(group.total_points).toBe(mine.length)
          expect(group.jobs).toBe(new Set(mine.map((p) => p.job)).size)
          expect(group.steps.length).toBeLessThanOrEqual(buckets)
          let told = 0
          for (const [i, first] of group.steps.entries()) {
            const here = mine.filter((p) => axisOf(p, x) >= first && axisOf(p, x) <= group.ends[i])
            const values = here.map((p) => smoothedOf(p, smooth)).filter((v) => !Number.isNaN(v))
            const mean = values.reduce((a, b) => a + b, 0) / values.length
            told += here.length
            expect(group.n[i]).toBe(values.length)
            close(group.mean[i], mean)
            const std = Math.sqrt(values.reduce((a, v) => a + (v - mean) ** 2, 0) / values.length)
            if (Number.isNaN(std)) expect(group.std[i]).toBe('NaN')
            else expect(Math.abs(group.std[i] - std)).toBeLessThan(1e-6)
            close(group.min[i], values.length === 0 ? Number.NaN : Math.min(...values))
            close(group.max[i], values.length === 0 ? Number.NaN : Math.max(...values))
          }
          expect(told).toBe(mine.length)
        }
      },
    ),
    { numRuns: 40 },
  )
}, 240_000)

test('with no more epochs than points a bucket is one epoch', async () => {
  const { body } = await get('/groups?group_by=param.lr&points=1000')
  for (const { steps, ends } of body.groups) expect(steps).toEqual(ends)
})

test('a long job without the series does not widen its buckets', async () => {
  const batch_id = 'lengths'
  const epoch = (job_id: string, data: Record<string, number>) =>
    makeEvent('job_epoch', { batch_id, job_id, data })
  const sent = await door.sendAll([
    makeEvent('batch_start', { batch_id }),
    ...['short', 'long'].map((job_id) => makeEvent('job_start', { batch_id, job_id })),
    ...Array.from({ length: 10 }, (_, n) => epoch('short', { epoch: n, loss: n, shared: n })),
    ...[0, 5_000].map((n) => epoch('long', { epoch: n, shared: n })),
  ])
  expect(sent.status).toBe(200)
  const stepsOf = async (key: string): Promise<number[]> => {
    const path = `/api/batches/${batch_id}/metrics/groups?group_by=status&points=100&key=${key}`
    return (await door.app.call('GET', path, { token: door.session })).body.groups[0].steps
  }
  expect(await stepsOf('loss')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(await stepsOf('shared')).toEqual([0, 5_000])
})

test('jobs can be grouped by fields other than parameters, too', async () => {
  const { body } = await get('/groups?group_by=status')
  expect(body.groups).toHaveLength(1)
  expect(body.groups[0]).toMatchObject({
    group: 'running',
    key: 'loss',
    jobs: 6,
    total_points: points.length,
  })
})

test('a number is one group however it was written; a text is not a number', async () => {
  const batch_id = 'written'
  const values = ['1', '1.0', '1.00e0', '0.10', '1e-1', '"2.10"', '"2.1"', '-0.0', '0']
  const events = [
    JSON.stringify(makeEvent('batch_start', { batch_id })),
    ...values.flatMap((value, n) => {
      const of = { batch_id, job_id: `job ${n}` }
      const start = JSON.stringify(makeEvent('job_start', { ...of, data: { momentum: 'as written' } }))
      return [
        start.replace('"as written"', value),
        JSON.stringify(makeEvent('job_epoch', { ...of, data: { epoch: 0, loss: 1 } })),
      ]
    }),
  ]
  const sent = await door.app.call('POST', '/api/events/batch', {
    token: door.token,
    body: `[${events.join()}]`,
  })
  expect(sent.status).toBe(200)
  const path = `/api/batches/${batch_id}/metrics/groups?group_by=param.momentum`
  const { body } = await door.app.call('GET', path, { token: door.session })
  expect((body.groups as { group: string; jobs: number }[]).map(({ group, jobs }) => [group, jobs])).toEqual([
    ['0', 2],
    ['0.1', 2],
    ['1', 3],
    ['2.1', 1],
    ['2.10', 1],
  ])
})

test.each([
  ['group_by=', 'group_by'],
  ['group_by=param.', 'group_by'],
  ['group_by=param.%00', 'group_by'],
  ['points=10', 'group_by'],
  ['group_by=status&clip=0.1', 'clip'],
  ['group_by=status&x=hours', 'x'],
  ['group_by=status&smooth=1', 'smooth'],
])('%s is refused', async (query, path) => {
  const { status, body } = await get(`/groups?${query}`)
  expect([status, body.code, body.errors[0].path]).toEqual([422, 'invalid_query', path])
})

test('a parameter groups under its bare name too', async () => {
  const [bare, named] = [await get('/groups?group_by=lr'), await get('/groups?group_by=param.lr')]
  expect(bare.status).toBe(200)
  expect(bare.body.groups.length).toBeGreaterThan(1)
  expect(bare.body.groups).toEqual(named.body.groups)
})

test('times, smoothed values and percentiles are added to the values on request', async () => {
  const { body } = await get('?job=job%200&x=relative&smooth=0.9&clip=0.1')
  const mine = points.filter((p) => p.job === 0)
  const [series] = body.series
  expect(series.steps).toEqual(mine.map((p) => p.epoch))
  expect(series.times).toEqual(mine.map((p) => (p.ms - START) / 1000))
  for (const [i, point] of mine.entries()) close(series.smoothed[i], smoothedOf(point, 0.9))
  expect(Object.keys(series.smoothing)).toEqual(['mean', 'mass'])
  const [{ key, low, high, hidden }] = body.clips
  expect(key).toBe('loss')
  expect(hidden).toBe(mine.filter((p) => p.value < low || p.value > high).length)
  expect(Object.keys((await get('?job=job%200')).body.series[0])).not.toContain('times')
})

test('bounds in epochs are whole numbers, bounds in seconds need not be', async () => {
  expect((await get('?from=1.5')).status).toBe(422)
  const { body } = await get('?job=job%200&x=relative&from=1.5&to=3.25')
  expect(body.series[0].times.every((s: number) => s >= 1.5 && s <= 3.25)).toBe(true)
  expect(body.series[0].total_points).toBe(
    points.filter((p) => p.job === 0 && p.ms >= START + 1_500 && p.ms <= START + 3_250).length,
  )
})

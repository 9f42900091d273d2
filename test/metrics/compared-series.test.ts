import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'

/** Three batches: two that their sender can read, one of another user. */
const START = Date.UTC(2026, 2, 1, 10)
interface Point {
  batch: string
  lr: number
  epoch: number
  value: number
}
const points: Point[] = []
let door: Door
let keys: Map<string, number>
const get = (path: string) => door.app.call('GET', `/api/jobs/metrics/${path}`, { token: door.session })

beforeAll(async () => {
  door = await openDoor()
  for (const [b, batch_id] of ['one', 'two'].entries()) {
    const events = []
    for (let job = 0; job < 3; job++) {
      const job_id = `job ${job}`
      const of = { batch_id, job_id, timestamp: new Date(START + job * 1_000).toISOString() }
      const lr = job === 0 ? 0.1 : 0.01
      events.push(makeEvent('job_start', { ...of, data: { lr } }))
      // Batches of different lengths, so that buckets of one are not those of the other.
      for (let epoch = b * 5; epoch < 40 + b * 30; epoch++) {
        const value =
          epoch === 7 && b === 0 && job === 0 ? 9_000 : ((epoch * 31 + job * 17 + b * 11) % 97) / 97
        points.push({ batch: batch_id, lr, epoch, value })
        events.push(makeEvent('job_epoch', { ...of, data: { epoch, loss: value } }))
      }
    }
    expect((await door.sendAll(events)).status).toBe(200)
  }
  const { body } = await door.app.call('GET', '/api/jobs?limit=100', { token: door.session })
  keys = new Map(
    (body.items as { batch_id: string; id: string; key: string }[]).map((job) => [
      `${job.batch_id} ${job.id}`,
      Number(job.key),
    ]),
  )
})
afterAll(() => door?.stop())

const all = (): string => [...keys.values()].join()

test.each(['param.lr', 'batch'])('jobs of several batches are in one group by %s', async (by) => {
  for (const buckets of [8, 1_000]) {
    const { status, body } = await get(`groups?job_keys=${all()}&key=loss&group_by=${by}&points=${buckets}`)
    expect(status).toBe(200)
    expect(body.groups.map((one: { group: string }) => one.group).sort()).toEqual(
      by === 'batch' ? ['one', 'two'] : ['0.01', '0.1'],
    )
    for (const one of body.groups) {
      const mine = points.filter((p) => (by === 'batch' ? p.batch : String(p.lr)) === one.group)
      expect([one.total_points, one.jobs]).toEqual([
        mine.length,
        by === 'batch' ? 3 : one.group === '0.1' ? 2 : 4,
      ])
      for (const [i, step] of one.steps.entries()) {
        const values = mine.filter((p) => p.epoch >= step && p.epoch <= one.ends[i]).map((p) => p.value)
        const mean = values.reduce((a, b) => a + b, 0) / values.length
        const std = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length)
        expect(one.n[i]).toBe(values.length)
        expect(one.mean[i]).toBeCloseTo(mean, 6)
        expect(one.std[i]).toBeCloseTo(std, 6)
        expect([one.min[i], one.max[i]]).toEqual([Math.min(...values), Math.max(...values)])
      }
    }
  }
})

test('jobs of several batches are in one answer, identified by their keys, with all points or sampled', async () => {
  const whole = await door.app.call('GET', `/api/jobs/metrics?job_keys=${all()}&key=loss`, {
    token: door.session,
  })
  expect(whole.status).toBe(200)
  const series = whole.body.series as { job_id: string; job_key: string; steps: number[]; values: number[] }[]
  expect(series.map((one) => Number(one.job_key)).sort()).toEqual([...keys.values()].sort())
  for (const { job_id, job_key, steps, values } of series) {
    const [name = ''] = [...keys].find(([, key]) => key === Number(job_key)) ?? []
    expect(name.endsWith(` ${job_id}`)).toBe(true)
    const { body } = await door.app.call(
      'GET',
      `/api/batches/${name.split(' ')[0]}/metrics?key=loss&job=${encodeURIComponent(job_id)}`,
      { token: door.session },
    )
    expect([steps, values]).toEqual([body.series[0].steps, body.series[0].values])
  }
  const sampled = await door.app.call(
    'GET',
    `/api/jobs/metrics?job_keys=${all()}&key=loss&points=4&from=5&to=20&x=epoch`,
    { token: door.session },
  )
  for (const one of sampled.body.series)
    expect([one.sampled, one.returned_points <= 4, one.total_points]).toEqual([true, true, 16])
  const none = await door.app.call('GET', `/api/jobs/metrics?job_keys=${all()}&key=nothing`, {
    token: door.session,
  })
  expect(none.body).toEqual({ series: [] })
})

test('the range without outliers is that of all jobs together, with the exact number of hidden points', async () => {
  const { body } = await get(`clip?job_keys=${all()}&key=loss&clip=0.01`)
  expect(body.high).toBeLessThan(2)
  expect(body.hidden).toBe(points.filter((p) => p.value < body.low || p.value > body.high).length)
  expect(body.hidden).toBeGreaterThan(0)
  const other = [...keys].filter(([name]) => name.startsWith('two')).map(([, key]) => key)
  const { body: second } = await get(`clip?job_keys=${other}&key=loss&clip=0.01&from=10&to=20`)
  const mine = points.filter((p) => p.batch === 'two' && p.epoch >= 10 && p.epoch <= 20)
  expect(second.hidden).toBe(mine.filter((p) => p.value < second.low || p.value > second.high).length)
})

test('jobs that the caller cannot read, and deleted ones, are left out', async () => {
  const stranger = await door.app.register('stranger@example.org')
  const none = await door.app.call('GET', `/api/jobs/metrics/clip?job_keys=${all()}&key=loss&clip=0.1`, {
    token: stranger.token,
  })
  expect(none.body).toEqual({ key: 'loss', low: null, high: null, hidden: 0 })
  const groups = await door.app.call(
    'GET',
    `/api/jobs/metrics/groups?job_keys=${all()}&key=loss&group_by=batch`,
    { token: stranger.token },
  )
  expect(groups.body).toEqual({ groups: [] })
  const series = await door.app.call('GET', `/api/jobs/metrics?job_keys=${all()}&key=loss`, {
    token: stranger.token,
  })
  expect(series.body).toEqual({ series: [] })
  await door.app.call('DELETE', '/api/batches/two', { token: door.session })
  const { body } = await get(`groups?job_keys=${all()}&key=loss&group_by=batch`)
  expect(body.groups.map((one: { group: string }) => one.group)).toEqual(['one'])
  await door.app.call('POST', '/api/batches/two/restore', { token: door.session })
})

test.each([
  ['groups?key=loss&group_by=batch', 'job_keys'],
  ['groups?job_keys=0&key=loss&group_by=batch', 'job_keys'],
  ['groups?job_keys=1,x&key=loss&group_by=batch', 'job_keys'],
  ['groups?job_keys=1&key=loss&group_by=param.', 'group_by'],
  ['clip?job_keys=1&key=loss', 'clip'],
  ['clip?job_keys=1&key=loss&clip=0.1&from=1.5', 'from'],
  [`clip?job_keys=${Array.from({ length: 1_001 }, (_, i) => i + 1)}&key=loss&clip=0.1`, 'job_keys'],
])('%s is refused', async (query, path) => {
  const { status, body } = await get(query)
  expect([status, body.errors[0].path]).toEqual([422, path])
})

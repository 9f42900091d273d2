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

test('a formula is a series of jobs: whole, zoomed, in groups and clipped', async () => {
  const formula = encodeURIComponent('=cummax(loss) * 2 - loss')
  const of = `job_keys=${all()}&key=${formula}`
  const read = async (more: string) =>
    (await door.app.call('GET', `/api/jobs/metrics?${of}${more}`, { token: door.session })).body.series
  const whole = await read('')
  expect(whole).toHaveLength(6)
  const first = points.filter((p, i) => p.batch === 'one' && i < 40)
  let most = Number.NEGATIVE_INFINITY
  const expected = first.map(({ value }) => {
    most = Math.max(most, value)
    return most * 2 - value
  })
  const one = whole.find((series: { job_key: string }) => Number(series.job_key) === keys.get('one job 0'))
  expect(one).toMatchObject({ key: '=cummax(loss) * 2 - loss', values: expected, total_points: 40 })
  // What came before the range counts, as it does for a mean.
  const zoomed = (await read('&from=20&to=30')).find((series: typeof one) => series.job_key === one.job_key)
  expect(zoomed.values).toEqual(expected.slice(20, 31))
  expect((await read('&x=relative'))[0].times).toHaveLength(40)
  const { body } = await get(`groups?${of}&group_by=batch&points=1000`)
  expect(body.groups.map((group: { group: string; jobs: number }) => [group.group, group.jobs])).toEqual([
    ['one', 3],
    ['two', 3],
  ])
  expect((await get(`clip?${of}&clip=0.05`)).body.hidden).toBeGreaterThan(0)
})

test('the series of one job is subtracted from others, at the steps that both have', async () => {
  const baseline = keys.get('two job 0')
  const { body } = await door.app.call(
    'GET',
    `/api/jobs/metrics?job_keys=${all()}&key=loss&minus=${baseline}&points=1000`,
    { token: door.session },
  )
  const of = (batch: string) => points.filter((p) => p.batch === batch && p.lr === 0.1)
  const [one, two] = [of('one'), of('two')]
  const found = body.series.find(
    (series: { job_key: string }) => Number(series.job_key) === keys.get('one job 0'),
  )
  expect(found.steps).toEqual(Array.from({ length: 35 }, (_, i) => i + 5))
  expect(found.values).toEqual(
    found.steps.map((step: number) => (one[step]?.value ?? 0) - (two[step - 5]?.value ?? 0)),
  )
  const own = body.series.find((series: { job_key: string }) => Number(series.job_key) === baseline)
  expect(new Set(own.values)).toEqual(new Set([0]))
  const missing = await door.app.call('GET', `/api/jobs/metrics?job_keys=${all()}&key=loss&minus=999999`, {
    token: door.session,
  })
  expect(missing).toMatchObject({ status: 404, body: { type: expect.stringContaining('job_not_found') } })
})

test('a formula that is not understood is refused with its place', async () => {
  const of = `job_keys=${all()}&key=`
  const refused = await door.app.call(
    'GET',
    `/api/jobs/metrics?${of}${encodeURIComponent('=loss + exec(1)')}`,
    { token: door.session },
  )
  expect(refused).toMatchObject({ status: 422, body: { type: expect.stringContaining('invalid_query') } })
  expect(refused.body.errors).toMatchObject([{ path: 'key', position: 9 }])
  expect((await get(`groups?${of}%3Dloss%2B&group_by=batch`)).status).toBe(422)
  const batches = await door.app.call(
    'GET',
    `/api/batches?columns=${encodeURIComponent('=best.loss - last.loss')}&columns=${encodeURIComponent('=nothing * 2')}`,
    { token: door.session },
  )
  const two = batches.body.items.find((batch: { id: string }) => batch.id === 'two')
  const values = points.filter((p) => p.batch === 'two').map((p) => p.value)
  const last = points.findLast((p) => p.batch === 'two')?.value ?? Number.NaN
  expect(two.columns['=best.loss - last.loss'].low).toBeCloseTo(Math.min(...values) - last, 12)
  expect(two.columns).not.toHaveProperty('=nothing * 2')
  expect(batches.body.unknown_names).toEqual(['nothing'])
  const refusedColumn = await door.app.call('GET', '/api/batches?columns=%3Dema(loss,0.5)', {
    token: door.session,
  })
  expect(refusedColumn.status).toBe(422)
  const sorted = await door.app.call('GET', '/api/batches?sort=%3Dloss*2', { token: door.session })
  expect(sorted.status).toBe(422)
  // The same through GraphQL, where `keys` are a list.
  const { body } = await door.app.call('POST', '/graphql', {
    token: door.session,
    body: { query: '{ batch(id: "one") { metrics(keys: ["=loss * 2"]) { job key values } } }' },
  })
  expect(body.data.batch.metrics).toHaveLength(3)
  expect(body.data.batch.metrics[0].values[3]).toBe(2 * (points[3]?.value ?? Number.NaN))
})

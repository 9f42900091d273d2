import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'

const COMMA = 'lr=0.1,bs=32'
const ID = 'sweep/1, of 2'
const PATH = `/api/batches/${encodeURIComponent(ID)}`
let door: Door
const get = (path: string, token: string | undefined = door.session) =>
  door.app.call('GET', path, token === '' ? {} : { token })
const at = (second: number) => new Date(Date.UTC(2026, 2, 1, 10) + second * 1000).toISOString()

beforeAll(async () => {
  door = await openDoor()
  const of = { batch_id: ID }
  const events = [makeEvent('batch_start', of)]
  for (let epoch = 0; epoch < 300; epoch++) {
    events.push(
      makeEvent('job_epoch', {
        ...of,
        job_id: 'plain',
        timestamp: at(epoch),
        data: {
          epoch,
          train_loss: epoch === 123 ? 99 : 1 / (epoch + 1),
          ...(epoch === 200 && { val_loss: 'NaN' }),
          ...(epoch === 201 && { val_loss: '-Infinity' }),
          ...(epoch > 201 && { val_loss: epoch }),
          'a,b': epoch % 7,
        },
      }),
    )
  }
  for (let epoch = 5; epoch < 10; epoch++) {
    events.push(
      makeEvent('job_epoch', { ...of, job_id: COMMA, timestamp: at(epoch), data: { epoch, a: 1, b: 2 } }),
    )
  }
  const levels = ['debug', 'info', 'custom', 'WARN', 'warning', 'error', 'FATAL']
  for (let n = 0; n < 70; n++) {
    events.push(
      makeEvent('log_line', {
        ...of,
        job_id: n % 2 === 0 ? 'plain' : COMMA,
        timestamp: at(n),
        data: { line: `line ${n} 100%_ÄÖ`, level: levels[n % 7] },
      }),
    )
  }
  for (let n = 0; n < 60; n++) {
    events.push(
      makeEvent('resource_snapshot', {
        ...of,
        timestamp: at(n * 30 + 0.25),
        data: {
          cpu_pct: n === 40 ? 100 : n,
          fan_rpm: 1000 + n,
          gpus: [
            { uuid: 'GPU-1', util_pct: 90, name: 'A100' },
            { index: 3, util_pct: n === 7 ? 'NaN' : 10 },
          ],
        },
      }),
    )
  }
  events.push(
    makeEvent('resource_snapshot', { ...of, job_id: 'plain', timestamp: at(5), data: { ram_mb: 5 } }),
  )
  expect((await door.sendAll(events)).status).toBe(200)
})
afterAll(() => door?.stop())

describe('metrics', () => {
  test('every series of every job is complete without the parameter points', async () => {
    const { status, headers, body } = await get(`${PATH}/metrics`)
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(body.series.map((s: { job_id: string; key: string }) => [s.job_id, s.key])).toEqual([
      [COMMA, 'a'],
      [COMMA, 'b'],
      ['plain', 'a,b'],
      ['plain', 'train_loss'],
      ['plain', 'val_loss'],
    ])
    expect(body.series[0]).toEqual({
      job_id: COMMA,
      key: 'a',
      steps: [5, 6, 7, 8, 9],
      values: [1, 1, 1, 1, 1],
      total_points: 5,
      returned_points: 5,
      sampled: false,
      non_finite: 0,
    })
    expect(body.series[3].values).toEqual(
      Array.from({ length: 300 }, (_, epoch) => (epoch === 123 ? 99 : 1 / (epoch + 1))),
    )
  })

  test('NaN and infinities are the strings "NaN", "Infinity" and "-Infinity"', async () => {
    const { body } = await get(`${PATH}/metrics?keys=val_loss`)
    expect(body.series[0].steps.slice(0, 3)).toEqual([200, 201, 202])
    expect(body.series[0].values.slice(0, 3)).toEqual(['NaN', '-Infinity', 202])
    expect(body.series[0].non_finite).toBe(2)
  })

  test('a sampled series keeps its ends, its spike, NaN and infinities', async () => {
    const { body } = await get(`${PATH}/metrics?keys=train_loss,val_loss&points=28`)
    const [train, val] = body.series
    expect(train).toMatchObject({ total_points: 300, sampled: true })
    expect(train.returned_points).toBe(train.steps.length)
    expect(train.returned_points).toBeLessThanOrEqual(28)
    expect(train.values).toContain(99)
    expect([train.steps[0], train.steps.at(-1)]).toEqual([0, 299])
    expect(val.values.slice(0, 2)).toEqual(['NaN', '-Infinity'])
    expect(val.returned_points).toBeLessThanOrEqual(28)
  })

  test('from and to are epochs, both included', async () => {
    const { body } = await get(`${PATH}/metrics?key=train_loss&from=122&to=124`)
    expect(body.series).toHaveLength(1)
    expect(body.series[0]).toMatchObject({ steps: [122, 123, 124], total_points: 3 })
    expect((await get(`${PATH}/metrics?from=1000`)).body).toEqual({ series: [] })
  })

  test.each([
    ['keys=a,b', ['a', 'b', 'a,b']],
    ['keys=a&keys=train_loss', ['a', 'train_loss']],
    ['key=a,b', ['a,b']],
    [`jobs=${encodeURIComponent(COMMA)}`, ['a', 'b']],
    [`job=${encodeURIComponent(COMMA)}&keys=b,none`, ['b']],
    ['jobs=plain&keys=a', []],
    ['keys=%00&keys=', []],
  ])('%s finds %j', async (query, keys) => {
    const { status, body } = await get(`${PATH}/metrics?${query}`)
    expect(status).toBe(200)
    expect(body.series.map((s: { key: string }) => s.key)).toEqual(keys)
  })

  test.each([
    ['points=3', 'points'],
    ['points=1.5', 'points'],
    ['points=x', 'points'],
    ['from=9007199254740992', 'from'],
    ['to=9&to=8', 'to'],
    ['kezs=loss', 'kezs'],
  ])('%s is refused', async (query, path) => {
    const { status, body } = await get(`${PATH}/metrics?${query}`)
    expect([status, body.code]).toEqual([422, 'invalid_query'])
    expect(body.errors[0].path).toBe(path)
  })
})

describe('log lines', () => {
  const numbers = (body: { items: { line: string }[] }) =>
    body.items.map(({ line }) => Number(line.split(' ')[1]))

  test('have pages that go forward, oldest first, until an empty one', async () => {
    const seen: number[] = []
    let query = 'limit=30'
    for (let pages = 0; ; pages++) {
      expect(pages).toBeLessThan(4)
      const { body } = await get(`${PATH}/log-lines?${query}`)
      seen.push(...numbers(body))
      if (body.next_after === null) break
      expect(body.next_after).toBe(body.items.at(-1).db_id)
      query = `limit=30&after=${body.next_after}`
    }
    expect(seen).toEqual(Array.from({ length: 70 }, (_, n) => n))
  })

  test('a line has its db_id, time, job, level in lower case and text', async () => {
    const { body } = await get(`${PATH}/log-lines?tail=1`)
    expect(body.items).toEqual([
      {
        db_id: expect.any(Number),
        timestamp: '2026-03-01T10:01:09Z',
        job_id: COMMA,
        level: 'fatal',
        line: 'line 69 100%_ÄÖ',
        stream: null,
      },
    ])
  })

  test('with tail are the last lines, and with before the lines before those', async () => {
    const { body } = await get(`${PATH}/log-lines?tail=5`)
    expect(numbers(body)).toEqual([65, 66, 67, 68, 69])
    const earlier = await get(`${PATH}/log-lines?limit=3&before=${body.items[0].db_id}`)
    expect(numbers(earlier.body)).toEqual([62, 63, 64])
  })

  test('level is the lowest severity', async () => {
    const levels = async (level: string) => {
      const { body } = await get(`${PATH}/log-lines?level=${level}&limit=500`)
      return [...new Set(body.items.map((l: { level: string }) => l.level))].toSorted()
    }
    expect(await levels('warning')).toEqual(['error', 'fatal', 'warn', 'warning'])
    expect(await levels('ERROR')).toEqual(['error', 'fatal'])
    expect(await levels('info')).toEqual(['custom', 'error', 'fatal', 'info', 'warn', 'warning'])
    expect(await levels('custom')).toEqual(['custom'])
    expect(await levels('nothing')).toEqual([])
  })

  test('q is a substring of the line, ignores case and has no wildcards', async () => {
    const found = async (q: string) =>
      numbers((await get(`${PATH}/log-lines?limit=500&q=${encodeURIComponent(q)}`)).body)
    expect(await found('LINE 7 ')).toEqual([7])
    expect(await found('äö')).toHaveLength(70)
    expect(await found('0%_')).toHaveLength(70)
    expect(await found('0_%')).toEqual([])
  })

  test('job_id is one exact id', async () => {
    const { body } = await get(`${PATH}/log-lines?limit=500&job_id=${encodeURIComponent(COMMA)}`)
    expect(numbers(body)).toEqual(Array.from({ length: 35 }, (_, n) => 2 * n + 1))
    expect((await get(`${PATH}/log-lines?job_id=lr=0.1`)).body).toEqual({ items: [], next_after: null })
  })

  test.each([
    'limit=501',
    'limit=0',
    'tail=1001',
    'after=-1',
    'q=%00',
    'level=%00',
    'cursor=x',
  ])('%s is refused', async (query) => {
    const { status, body } = await get(`${PATH}/log-lines?${query}`)
    expect([status, body.code]).toEqual([422, 'invalid_query'])
  })
})

describe('resources', () => {
  test('every measure of the batch and of each job is a series over time', async () => {
    const { body } = await get(`${PATH}/resources`)
    expect(body.series.map((s: { job_id: string; key: string }) => [s.job_id, s.key])).toEqual([
      [null, 'cpu_util_pct'],
      [null, 'fan_rpm'],
      [null, 'gpu_util_pct'],
      [null, 'gpus/3/util_pct'],
      [null, 'gpus/GPU-1/util_pct'],
      ['plain', 'ram_mb'],
    ])
    const start = Date.UTC(2026, 2, 1, 10) / 1000
    expect(body.series[0].steps.slice(0, 3)).toEqual([start, start + 30, start + 60])
    expect(body.series[0].timestamps.slice(0, 2)).toEqual([
      '2026-03-01T10:00:00.250Z',
      '2026-03-01T10:00:30.250Z',
    ])
    expect(body.series[0].values.slice(0, 3)).toEqual([0, 1, 2])
    expect(body.series[3].values[7]).toBe('NaN')
    expect(body.series[2].values[7]).toBe('NaN')
    expect(body.series[2].values[0]).toBe(50)
  })

  test('points samples them with their times, and keeps the spike', async () => {
    const { body } = await get(`${PATH}/resources?keys=cpu_util_pct&points=12`)
    const [cpu] = body.series
    expect(cpu).toMatchObject({ total_points: 60, sampled: true })
    expect(cpu.values).toContain(100)
    expect(cpu.timestamps.map((t: string) => Math.floor(Date.parse(t) / 1000))).toEqual(cpu.steps)
  })

  test('from and to are Unix seconds or instants', async () => {
    const start = Date.UTC(2026, 2, 1, 10) / 1000
    const bySeconds = await get(`${PATH}/resources?keys=fan_rpm&from=${start + 30}&to=${start + 60}`)
    expect(bySeconds.body.series[0].values).toEqual([1001, 1002])
    const byInstant = await get(
      `${PATH}/resources?keys=fan_rpm&from=2026-03-01T10:00:30Z&to=2026-03-01T10:01:00Z`,
    )
    expect(byInstant.body).toEqual(bySeconds.body)
    expect((await get(`${PATH}/resources?from=yesterday`)).status).toBe(422)
  })

  test('the filter jobs leaves out measures of the batch', async () => {
    const { body } = await get(`${PATH}/resources?jobs=plain`)
    expect(body.series.map((s: { key: string }) => s.key)).toEqual(['ram_mb'])
  })
})

test.each(['metrics', 'resources', 'log-lines'])('%s of a batch that is not visible is 404', async (part) => {
  const stranger = await door.stranger()
  const seen = await get(`${PATH}/${part}`, stranger.session)
  const missing = await get(`/api/batches/none/${part}`, stranger.session)
  expect([seen.status, seen.body.code]).toEqual([404, 'batch_not_found'])
  expect([missing.status, missing.body.code]).toEqual([404, 'batch_not_found'])
  expect((await get(`${PATH}/${part}`, '')).status).toBe(404)
  expect((await get(`${PATH}/${part}`, door.token)).status).toBe(403)
})

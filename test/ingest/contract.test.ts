import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { payloadText, withTemplate } from '../../src/domain/events/index.ts'
import { type Door, makeEvent, openDoor } from './sending.ts'

// Contract §1, sentence by sentence, over HTTP.

let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

let batches = 0
/** Each test in batches of its own. */
const newBatch = (): string => `contract ${++batches}`

const payloadOf = async (eventId: string): Promise<unknown> => {
  const [row] = await door.sql`select ${payloadText(door.sql)} payload from events e ${withTemplate(door.sql)}
    where e.event_id = ${eventId}`
  return row === undefined ? undefined : JSON.parse(row.payload)
}
const storedCount = async (batchId: string): Promise<number> => {
  const [row] =
    await door.sql`select count(*) n from events v join batches b on b.key = v.batch_key where b.id = ${batchId}`
  return row?.n
}
/** What the series of a job look like: name → [epoch, value], numbers that JSON lacks as words. */
const seriesOf = async (batchId: string, jobId = 'job-1'): Promise<Record<string, [number, unknown][]>> => {
  const rows = await door.sql`
    select e.epoch, to_jsonb(e.vals) vals, p.series from epochs e join job_progress p on p.job_key = e.job_key
    join jobs j on j.key = e.job_key join batches b on b.key = j.batch_key
    where b.id = ${batchId} and j.id = ${jobId} order by e.epoch`
  const series = new Map<string, [number, unknown][]>()
  for (const { epoch, vals, series: names } of rows) {
    for (const [n, value] of vals.entries()) {
      if (value !== null) series.set(names[n], [...(series.get(names[n]) ?? []), [epoch, value]])
    }
  }
  return Object.fromEntries(series)
}
const refusal = (code: string, status = 422) => ({ status, body: { code, status } })
const item = (code: string, status = 422) => ({
  db_id: null,
  deduplicated: false,
  error: { status, code, detail: expect.any(String) },
})
const stored = { db_id: expect.any(Number), deduplicated: false }

describe('one event', () => {
  test('is answered with an integer db_id, and a repeat of it with the same db_id', async () => {
    const event = makeEvent('batch_start', { batch_id: newBatch() })
    const first = await door.send(event)
    expect(first).toMatchObject({ status: 200, body: stored })
    expect(Number.isSafeInteger(first.body.db_id)).toBe(true)
    expect(Object.keys(first.body).sort()).toEqual(['db_id', 'deduplicated'])
    const again = await door.send(event)
    expect(again).toMatchObject({ status: 200, body: { db_id: first.body.db_id, deduplicated: true } })
    expect(await storedCount(event.batch_id)).toBe(1)
  })

  test('is a repeat when its event_id differs only in upper and lower case', async () => {
    const event = makeEvent('batch_start', { batch_id: newBatch() })
    const { body } = await door.send(event)
    const again = await door.send({ ...event, event_id: event.event_id.toUpperCase() })
    expect(again.body).toEqual({ db_id: body.db_id, deduplicated: true })
  })

  test('that is a repeat is answered before its data is validated', async () => {
    const event = makeEvent('job_epoch', { batch_id: newBatch(), data: { epoch: 1 } })
    const { body } = await door.send(event)
    const spoilt = { ...event, data: { epoch: 'one' } }
    expect((await door.send(spoilt)).body).toEqual({ db_id: body.db_id, deduplicated: true })
    expect((await door.sendAll([spoilt])).body).toEqual({
      results: [{ db_id: body.db_id, deduplicated: true }],
    })
    expect(await payloadOf(event.event_id)).toMatchObject({ data: { epoch: 1 } })
  })

  test('that is a repeat with a wrong envelope is refused', async () => {
    const event = makeEvent('batch_start', { batch_id: newBatch() })
    await door.send(event)
    expect(await door.send({ ...event, batch_id: '' })).toMatchObject(refusal('invalid_envelope'))
    expect(await door.send({ ...event, schema_version: '1.0' })).toMatchObject(
      refusal('unsupported_schema_version', 415),
    )
  })

  test('is refused in an array, with the address for arrays', async () => {
    const answer = await door.send([makeEvent('batch_start', { batch_id: newBatch() })] as never)
    expect(answer).toMatchObject(refusal('invalid_envelope'))
    expect(answer.body.detail).toBe('must be an object; an array of events goes to /api/events/batch')
  })

  test('is answered with a request id and the remaining rate limit', async () => {
    const { headers } = await door.send(makeEvent('batch_start', { batch_id: newBatch() }))
    expect(headers).toMatchObject({
      'x-request-id': expect.stringMatching(/\S/),
      'ratelimit-policy': expect.any(String),
      ratelimit: expect.any(String),
    })
  })

  test('that is refused is answered with problem+json', async () => {
    const answer = await door.send(makeEvent('job_epoch', { data: { epoch: 1.5 } }))
    expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(answer.body).toEqual({
      type: expect.any(String),
      title: expect.any(String),
      status: 422,
      detail: expect.any(String),
      code: 'invalid_event_data',
      instance: '/api/events',
      errors: [{ path: 'data.epoch', message: expect.any(String) }],
      request_id: answer.headers['x-request-id'],
    })
  })
})

describe('the envelope', () => {
  test.each([
    ['event_id', { event_id: 'not a uuid' }],
    ['event_id', { event_id: undefined }],
    ['schema_version', { schema_version: 1.1 }],
    ['schema_version', { schema_version: undefined }],
    ['event_type', { event_type: 'job_metric' }],
    ['event_type', { event_type: 'batch_heartbeat' }],
    ['timestamp', { timestamp: '2026-03-01T10:00:00+00:00' }],
    ['timestamp', { timestamp: '2026-03-01 10:00:00Z' }],
    ['timestamp', { timestamp: '2026-02-30T10:00:00Z' }],
    ['timestamp', { timestamp: '2026-03-01T24:00:00Z' }],
    ['batch_id', { batch_id: '' }],
    ['batch_id', { batch_id: 'x'.repeat(129) }],
    ['batch_id', { batch_id: 'a\tb' }],
    ['source', { source: undefined }],
    ['source.project', { source: {} }],
    ['source.project', { source: { project: 'a/b' } }],
    ['source.project', { source: { project: ' a' } }],
    ['source.project', { source: { project: 'x'.repeat(129) } }],
    ['source.host', { source: { project: 'vision', host: 1 } }],
    ['data', { data: undefined }],
  ])('with a wrong %s is 422 invalid_envelope: %o', async (path, fields) => {
    const batch_id = newBatch()
    const wrong = { ...makeEvent('batch_start', { batch_id }), ...fields }
    const answer = await door.send(wrong)
    expect(answer).toMatchObject(refusal('invalid_envelope'))
    expect(answer.body.errors.map((e: { path: string }) => e.path)).toEqual([path])
    expect((await door.sendAll([wrong])).body.results).toEqual([
      { ...item('invalid_envelope'), error: expect.objectContaining({ errors: answer.body.errors }) },
    ])
    expect(await storedCount(batch_id)).toBe(0)
  })

  test.each([
    'job_start',
    'job_epoch',
    'job_done',
    'job_failed',
    'log_line',
  ] as const)('of a %s needs a job_id of 1 to 128 characters', async (type) => {
    const batch_id = newBatch()
    for (const job_id of [null, undefined, '', 'x'.repeat(129), 7]) {
      const answer = await door.send({ ...makeEvent(type, { batch_id }), job_id })
      expect(answer).toMatchObject(refusal('invalid_envelope'))
      expect(answer.body.errors[0].path).toBe('job_id')
    }
    const longest = '\u{1F600}'.repeat(128)
    expect((await door.send(makeEvent(type, { batch_id, job_id: longest }))).status).toBe(200)
    expect(await door.sql`select id from jobs j where j.id = ${longest} limit 1`).toHaveLength(1)
  })

  test('of a batch event may leave job_id out, but not name a job', async () => {
    const { job_id: _, ...without } = makeEvent('batch_start', { batch_id: newBatch() })
    expect((await door.send(without)).status).toBe(200)
    expect(await door.send(makeEvent('batch_start', { job_id: 'x' }))).toMatchObject(
      refusal('invalid_envelope'),
    )
  })

  test('with another schema_version is 415, even if it has other faults', async () => {
    for (const schema_version of ['1.0', '2.0', '1.1.0', '']) {
      const faulty = { schema_version, event_type: 'nothing', data: { line: '\u0000' } }
      expect(await door.send(faulty)).toMatchObject(refusal('unsupported_schema_version', 415))
      expect((await door.sendAll([faulty])).body.results).toEqual([item('unsupported_schema_version', 415)])
    }
    expect(await door.send({ schema_version: 2 })).toMatchObject(refusal('invalid_envelope'))
  })

  test('keeps the fractions of a second', async () => {
    const batch_id = newBatch()
    for (const [i, timestamp] of ['2026-03-01T10:00:00.123Z', '2026-03-01T10:00:01.000001Z'].entries()) {
      const event = makeEvent('log_line', { batch_id, timestamp, data: { line: `${i}`, level: 'info' } })
      expect((await door.send(event)).status).toBe(200)
      expect(await payloadOf(event.event_id)).toMatchObject({ timestamp })
    }
    const rows = await door.sql`select ts from log_lines l join batches b on b.key = l.batch_key
      where b.id = ${batch_id} order by l.db_id`
    expect(rows.map((r) => r.ts)).toEqual(['2026-03-01T10:00:00.123Z', '2026-03-01T10:00:01.000001Z'])
  })

  test('is stored with its unknown keys, at the top level, in source and in data', async () => {
    const event = makeEvent('job_start', {
      batch_id: newBatch(),
      trace: { id: [1, { deep: 'x' }] },
      source: { project: 'vision', rack: 7 },
      data: { optimizer: { name: 'adam', betas: [0.9, 0.999] } },
    })
    expect((await door.send(event)).status).toBe(200)
    expect(await payloadOf(event.event_id)).toEqual(event)
    const [job] = await door.sql`select params from jobs j join batches b on b.key = j.batch_key
      where b.id = ${event.batch_id}`
    expect(job?.params).toEqual(event.data)
  })
})

describe('the data', () => {
  test.each([
    ['batch_start', { n_total: undefined }, 'data.n_total'],
    ['batch_start', { n_total: -1 }, 'data.n_total'],
    ['batch_start', { n_total: 1.5 }, 'data.n_total'],
    ['batch_start', { experiment_type: undefined }, 'data.experiment_type'],
    ['batch_done', { n_done: undefined }, 'data.n_done'],
    ['batch_done', { total_elapsed_s: 'soon' }, 'data.total_elapsed_s'],
    ['batch_failed', { reason: undefined }, 'data.reason'],
    ['job_epoch', { epoch: undefined }, 'data.epoch'],
    ['job_epoch', { epoch: 'NaN' }, 'data.epoch'],
    ['job_epoch', { epoch: 2 ** 53 }, 'data.epoch'],
    ['job_epoch', { epoch: -(2 ** 53) }, 'data.epoch'],
    ['job_epoch', { epoch: 1.5 }, 'data.epoch'],
    ['job_epoch', { train_loss: 'nan' }, 'data.train_loss'],
    ['job_epoch', { lr: null }, 'data.lr'],
    ['job_done', { metrics: [] }, 'data.metrics'],
    ['job_failed', { elapsed_s: undefined }, 'data.elapsed_s'],
    ['resource_snapshot', { gpus: [{ util_pct: 'high' }] }, 'data.gpus.0.util_pct'],
    ['log_line', { level: '' }, 'data.level'],
    ['log_line', { level: 'x'.repeat(33) }, 'data.level'],
    ['log_line', { line: 7 }, 'data.line'],
  ] as const)('of a %s with %o is 422 invalid_event_data at %s', async (type, data, path) => {
    const event = makeEvent(type, { batch_id: newBatch(), data })
    const answer = await door.send(event)
    expect(answer).toMatchObject(refusal('invalid_event_data'))
    expect(answer.body.errors.map((e: { path: string }) => e.path)).toContain(path)
    expect((await door.sendAll([event])).body.results[0].error).toMatchObject({
      status: 422,
      code: 'invalid_event_data',
      errors: answer.body.errors,
    })
    expect(await storedCount(event.batch_id)).toBe(0)
  })

  test('of a batch_start may have n_total_jobs in place of n_total', async () => {
    const batch_id = newBatch()
    await door.send(makeEvent('batch_start', { batch_id, data: { n_total: undefined, n_total_jobs: 7 } }))
    expect(await door.sql`select n_total from batches where id = ${batch_id}`).toEqual([{ n_total: 7 }])
  })

  test('of a batch_start with both n_total and n_total_jobs: n_total is used, both are stored', async () => {
    const event = makeEvent('batch_start', { batch_id: newBatch(), data: { n_total: 0, n_total_jobs: 7 } })
    await door.send(event)
    expect(await door.sql`select n_total from batches where id = ${event.batch_id}`).toEqual([{ n_total: 0 }])
    expect(await payloadOf(event.event_id)).toMatchObject({ data: { n_total: 0, n_total_jobs: 7 } })
  })

  test('may hold "NaN", "Infinity" and "-Infinity" in every numeric field, and they are stored as these numbers', async () => {
    const batch_id = newBatch()
    const data = {
      train_loss: 'NaN',
      val_loss: 'Infinity',
      lr: '-Infinity',
      batch_time_ms: 1e308,
      acc: 'NaN',
    }
    const event = makeEvent('job_epoch', { batch_id, data: { epoch: 0, ...data } })
    expect((await door.send(event)).status).toBe(200)
    expect(await payloadOf(event.event_id)).toEqual(event)
    expect(await seriesOf(batch_id)).toEqual(
      Object.fromEntries(Object.entries(data).map(([name, value]) => [name, [[0, value]]])),
    )
    const ends = [
      makeEvent('job_done', { batch_id, data: { elapsed_s: 'NaN', metrics: { loss: '-Infinity' } } }),
      makeEvent('batch_done', { batch_id, data: { total_elapsed_s: 'Infinity' } }),
      makeEvent('resource_snapshot', { batch_id, data: { gpu_util_pct: 'NaN', fan: 'Infinity' } }),
    ]
    expect((await door.sendAll(ends)).body.results).toEqual([stored, stored, stored])
    const [job] = await door.sql`select to_jsonb(j) row from jobs j join batches b on b.key = j.batch_key
      where b.id = ${batch_id}`
    expect(job?.row).toMatchObject({ reported_s: 'NaN', metrics: { loss: '-Infinity' } })
    const [batch] = await door.sql`select reported from batches where id = ${batch_id}`
    expect(batch?.reported).toMatchObject({ elapsed_s: 'Infinity' })
    const [snapshot] = await door.sql`select to_jsonb(s) row from resource_snapshots s
      join batches b on b.key = s.batch_key where b.id = ${batch_id}`
    expect(snapshot?.row).toMatchObject({ gpu_util_pct: 'NaN', extra: { fan: 'Infinity' } })
  })

  test.each([
    'data.train_loss',
    'data.my_series',
    'data.nested.deep.0',
    'data.metrics_list.0',
  ])('with a number that overflows a double at %s is 422', async (path) => {
    const batch_id = newBatch()
    const data: Record<string, string> = {
      'data.train_loss': '"train_loss":1e400',
      'data.my_series': '"my_series":-1e400',
      'data.nested.deep.0': '"nested":{"deep":[1e999]}',
      'data.metrics_list.0': '"metrics_list":[1e400]',
    }
    const text = JSON.stringify(makeEvent('job_epoch', { batch_id })).replace(
      '"epoch":0',
      `"epoch":0,${data[path]}`,
    )
    const answer = await door.send(text)
    expect(answer).toMatchObject(refusal('invalid_event_data'))
    expect(answer.body.errors.map((e: { path: string }) => e.path)).toEqual([path])
    expect((await door.sendAll(`[${text}]`)).body.results[0].error).toMatchObject({ status: 422 })
    expect(await storedCount(batch_id)).toBe(0)
  })

  test('of a job_epoch becomes series: extra numbers under their key, nested ones under a path with slashes, other types not at all', async () => {
    const batch_id = newBatch()
    const event = makeEvent('job_epoch', {
      batch_id,
      data: {
        epoch: 3,
        train_loss: 0.5,
        acc: { top1: 0.7, per_class: { cat: 1, dog: 'NaN' } },
        ['n'.repeat(128)]: 1,
        note: 'text',
        list: [1, 2],
        none: null,
        flag: true,
      },
    })
    expect((await door.send(event)).status).toBe(200)
    expect(await seriesOf(batch_id)).toEqual({
      train_loss: [[3, 0.5]],
      'acc/top1': [[3, 0.7]],
      'acc/per_class/cat': [[3, 1]],
      'acc/per_class/dog': [[3, 'NaN']],
      ['n'.repeat(128)]: [[3, 1]],
    })
    expect(await payloadOf(event.event_id)).toEqual(event)
  })

  test('of a job_epoch with a series name that is empty or longer than 128 characters is kept without that value', async () => {
    const batch_id = newBatch()
    const long = 'n'.repeat(129)
    const event = makeEvent('job_epoch', {
      batch_id,
      data: {
        epoch: 3,
        loss: 0.5,
        '': 1,
        [long]: 2,
        ['a'.repeat(64)]: { ['b'.repeat(64)]: 3 },
        acc: { '': 4 },
      },
    })
    const ignored = [
      { key: '', reason: 'empty_name' },
      { key: long, reason: 'name_too_long' },
      { key: `${'a'.repeat(64)}/${'b'.repeat(64)}`, reason: 'name_too_long' },
      { key: 'acc/', reason: 'empty_name' },
    ]
    const first = await door.send(event)
    expect(first).toEqual({ ...first, status: 200, body: { ...stored, ignored } })
    const { db_id } = first.body
    // The repeat has the same answer; that of an event without such names has no such field.
    expect((await door.send(event)).body).toEqual({ db_id, deduplicated: true, ignored })
    const answer = await door.sendAll([
      event,
      makeEvent('job_epoch', { batch_id, data: { epoch: 4, loss: 1 } }),
    ])
    expect(answer.body.results).toEqual([{ db_id, deduplicated: true, ignored }, stored])
    expect(await seriesOf(batch_id)).toEqual({
      loss: [
        [3, 0.5],
        [4, 1],
      ],
    })
    expect(await payloadOf(event.event_id)).toEqual(event)
    // A value that is not a number is refused as before.
    expect(
      await door.send(makeEvent('job_epoch', { batch_id, data: { epoch: 'three', '': 1 } })),
    ).toMatchObject(refusal('invalid_event_data'))
  })

  test('of a job may name 1,000 series over all its events; only the values of further series are dropped', async () => {
    const batch_id = newBatch()
    const names = (from: number, to: number) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, i) => [`s${from + i}`, i]))
    const epoch = (n: number, from: number, to: number) =>
      makeEvent('job_epoch', { batch_id, data: { epoch: n, ...names(from, to) } })
    const surplus = (...keys: string[]) => keys.map((key) => ({ key, reason: 'too_many_series' }))
    expect((await door.send(epoch(0, 0, 600))).status).toBe(200)
    // In one request: 400 more fit, then one more does not, then a known one does; another job counts by itself.
    const events = [
      epoch(1, 600, 1000),
      epoch(2, 999, 1001),
      epoch(3, 0, 1),
      { ...epoch(4, 1000, 1001), job_id: 'another' },
    ]
    const answer = await door.sendAll([...events, events[1]])
    expect(answer.body.results).toEqual([
      stored,
      { ...stored, ignored: surplus('s1000') },
      stored,
      stored,
      { ...stored, deduplicated: true, ignored: surplus('s1000') },
    ])
    const alone = epoch(5, 1000, 1002)
    expect((await door.send(alone)).body).toEqual({ ...stored, ignored: surplus('s1000', 's1001') })
    expect((await door.send(alone)).body).toMatchObject({
      deduplicated: true,
      ignored: surplus('s1000', 's1001'),
    })
    const series = await seriesOf(batch_id)
    expect(Object.keys(series)).toHaveLength(1000)
    expect(series.s999).toEqual([
      [1, 399],
      [2, 0],
    ])
    const [job] = await door.sql`
      select p.epochs from job_progress p join jobs j on j.key = p.job_key join batches b on b.key = j.batch_key
      where b.id = ${batch_id} and j.id = 'job-1'`
    expect(job?.epochs).toBe(5)
    const many = makeEvent('job_epoch', { batch_id, job_id: 'x', data: names(0, 1001) })
    expect((await door.send(many)).body).toEqual({ ...stored, ignored: surplus('s1000') })
  })

  test('of a job keeps its main series, by name and as its start declares, after 1,000 others', async () => {
    const batch_id = newBatch()
    const others = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`grad/${i}`, i]))
    const start = makeEvent('job_start', { batch_id, data: { main_series: ['reward', 'goal/*'] } })
    const main = { loss: 1, eval_loss: 2, learning_rate: 3, zz_loss: 4, reward: 5, 'goal/x': 6 }
    const first = makeEvent('job_epoch', { batch_id, data: { epoch: 0, ...others, other: 7, ...main } })
    const ignored = ['grad/1000', 'other'].map((key) => ({ key, reason: 'too_many_series' }))
    expect((await door.sendAll([start, first])).body.results).toEqual([stored, { ...stored, ignored }])
    const later = { 'goal/y': 8, val_loss: 9, late: 10 }
    expect(
      (await door.send(makeEvent('job_epoch', { batch_id, data: { epoch: 1, ...later } }))).body,
    ).toEqual({
      ...stored,
      ignored: [{ key: 'late', reason: 'too_many_series' }],
    })
    const series = await seriesOf(batch_id)
    expect(Object.keys(series)).toEqual(expect.arrayContaining([...Object.keys(main), 'goal/y', 'val_loss']))
    expect(Object.keys(series)).toHaveLength(1_008)
    // There are 32 places for them.
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`goal/${i}`, i]))
    await door.send(makeEvent('job_epoch', { batch_id, data: { epoch: 2, ...many } }))
    expect(Object.keys(await seriesOf(batch_id))).toHaveLength(1_032)
  })

  test('of a resource_snapshot is read from both spellings of its keys; the specified one has priority', async () => {
    const batch_id = newBatch()
    const snapshots = [
      { cpu_pct: 10, rss_mb: 20 },
      { cpu_pct: 10, rss_mb: 20, cpu_util_pct: 30, ram_mb: 40 },
      { gpu_util_pct: 5, gpus: [{ util_pct: 90 }] },
      { gpus: [{ index: 0, util_pct: 10 }, { index: 1, util_pct: 30 }, { index: 2 }], room: 'B' },
      { gpus: [{ index: 0, fan_pct: 7 }], net_mb: 3 },
    ].map((data) => makeEvent('resource_snapshot', { batch_id, data }))
    await door.sendAll(snapshots)
    const rows =
      await door.sql`select gpu_util_pct, cpu_util_pct, ram_mb, gpus, extra from resource_snapshots s
      join batches b on b.key = s.batch_key where b.id = ${batch_id} order by s.db_id`
    expect(rows).toMatchObject([
      { gpu_util_pct: null, cpu_util_pct: 10, ram_mb: 20, gpus: null, extra: null },
      { cpu_util_pct: 30, ram_mb: 40 },
      { gpu_util_pct: 5, gpus: [{ util_pct: 90 }] },
      { gpu_util_pct: 20 },
      { gpu_util_pct: null, gpus: [{ index: 0, fan_pct: 7 }], extra: { net_mb: '3' } },
    ])
  })

  test('of a log_line may have any level; known ones are compared in lower case, unknown ones count as info', async () => {
    const batch_id = newBatch()
    const levels = [
      'debug',
      'info',
      'Warning',
      'WARN',
      'error',
      'critical',
      'FATAL',
      'notice',
      '\u{1F525}'.repeat(32),
    ]
    const lines = levels.map((level, i) => makeEvent('log_line', { batch_id, data: { line: `${i}`, level } }))
    await door.sendAll(lines)
    const rows = await door.sql`select level, rank from log_lines l join batches b on b.key = l.batch_key
      where b.id = ${batch_id} order by l.db_id`
    expect(rows.map((r) => r.level)).toEqual(levels.map((level) => level.toLowerCase()))
    expect(rows.map((r) => r.rank)).toEqual([10, 20, 30, 30, 40, 50, 50, 20, 20])
  })

  test('may have keys such as __proto__ and constructor', async () => {
    const batch_id = newBatch()
    const base = JSON.stringify(makeEvent('job_epoch', { batch_id }))
    const text = base.replace(
      '"epoch":0',
      '"epoch":0,"__proto__":1,"constructor":{"prototype":2},"prototype":"NaN","hasOwnProperty":3',
    )
    const answer = await door.send(text)
    expect(answer.status).toBe(200)
    expect(Object.entries(await seriesOf(batch_id)).sort()).toEqual([
      ['__proto__', [[0, 1]]],
      ['constructor/prototype', [[0, 2]]],
      ['hasOwnProperty', [[0, 3]]],
      ['prototype', [[0, 'NaN']]],
    ])
  })
})

describe('text and depth', () => {
  test.each([
    ['a NUL', '\\u0000'],
    ['a lone high surrogate', '\\ud83d'],
    ['a lone low surrogate', '\\ude00'],
    ['surrogates in the wrong order', '\\ude00\\ud83d'],
  ])('%s anywhere is 422 invalid_text', async (_, bad) => {
    const batch_id = newBatch()
    const base = (mark: Record<string, unknown>) =>
      JSON.stringify(makeEvent('log_line', { batch_id, ...mark })).replaceAll('BAD', `x${bad}y`)
    const texts = [
      base({ data: { line: 'BAD' } }),
      base({ data: { BAD: 1 } }),
      base({ data: { more: [{ deep: ['BAD'] }] } }),
      base({ source: { project: 'vision', host: 'BAD' } }),
      base({ source: { project: 'BAD' } }),
      base({ BAD: 'x' }),
      base({ job_id: 'BAD' }),
    ]
    for (const text of texts) expect(await door.send(text)).toMatchObject(refusal('invalid_text'))
    const { body } = await door.sendAll(`[${texts.join(',')}]`)
    expect(body.results.map((r: { error: { code: string } }) => r.error.code)).toEqual(
      texts.map(() => 'invalid_text'),
    )
    expect(await storedCount(batch_id)).toBe(0)
  })

  test('text with a literal backslash before u0000, and an escaped surrogate pair, are valid', async () => {
    const line = 'C:\\u0000 \\ud83d 😀 \u2028\u2029'
    const event = makeEvent('log_line', { batch_id: newBatch(), data: { line } })
    expect((await door.send(event)).status).toBe(200)
    const escaped = JSON.stringify({ ...event, event_id: randomUUID() }).replace('😀', '\\ud83d\\ude00')
    expect((await door.send(escaped)).status).toBe(200)
    const rows = await door.sql`select line from log_lines l join batches b on b.key = l.batch_key
      where b.id = ${event.batch_id}`
    expect(rows.map((r) => r.line)).toEqual([line, line])
  })

  test('bytes that are not UTF-8 are refused', async () => {
    const text = JSON.stringify(makeEvent('log_line', { batch_id: newBatch(), data: { line: 'BAD' } }))
    const [before, after] = text.split('BAD')
    const bytes = Buffer.concat([
      Buffer.from(before as string),
      Buffer.from([0xff]),
      Buffer.from(after as string),
    ])
    expect(await door.send(bytes)).toMatchObject(refusal('invalid_text'))
  })

  test('64 levels are stored, 65 are 422 too_deep', async () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'x' : { a: nested(levels - 1) })
    const event = (levels: number) =>
      makeEvent('job_start', { batch_id: newBatch(), data: { x: nested(levels) } })
    const deepest = event(62)
    expect((await door.send(deepest)).status).toBe(200)
    expect(await payloadOf(deepest.event_id)).toEqual(deepest)
    expect(await door.send(event(63))).toMatchObject(refusal('too_deep'))
    expect((await door.sendAll([event(63), event(62)])).body.results).toEqual([item('too_deep'), stored])
    const abyss = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const text = JSON.stringify(event(0)).replace('"x":"x"', `"x":${abyss}`)
    expect(await door.send(text)).toMatchObject(refusal('too_deep'))
  })
})

describe('an array', () => {
  test('is answered by position, and an invalid event does not affect the others', async () => {
    const batch_id = newBatch()
    const good = () => makeEvent('log_line', { batch_id })
    const first = good()
    const { status, body } = await door.sendAll([
      first,
      { ...good(), schema_version: '1.0' },
      { ...good(), batch_id: '' },
      makeEvent('job_epoch', { batch_id, data: { epoch: 'x' } }),
      null,
      [],
      'text',
      first,
      good(),
    ])
    expect(status).toBe(200)
    expect(body.results).toEqual([
      stored,
      item('unsupported_schema_version', 415),
      {
        ...item('invalid_envelope'),
        error: expect.objectContaining({ status: 422, code: 'invalid_envelope' }),
      },
      {
        ...item('invalid_event_data'),
        error: expect.objectContaining({ status: 422, code: 'invalid_event_data' }),
      },
      ...Array(3).fill({
        ...item('invalid_envelope'),
        error: expect.objectContaining({ status: 422, code: 'invalid_envelope' }),
      }),
      { db_id: body.results[0].db_id, deduplicated: true },
      stored,
    ])
    expect(await storedCount(batch_id)).toBe(2)
  })

  test('with the same event_id twice: the second is a repeat of the first', async () => {
    const event = makeEvent('log_line', { batch_id: newBatch() })
    const other = { ...event, data: { line: 'not this one', level: 'info' } }
    const { body } = await door.sendAll([event, other])
    expect(body.results).toEqual([stored, { db_id: body.results[0].db_id, deduplicated: true }])
    expect(await payloadOf(event.event_id)).toEqual(event)
  })

  test('whose first event is refused stores the second one with the same event_id', async () => {
    const event = makeEvent('job_epoch', { batch_id: newBatch() })
    const { body } = await door.sendAll([{ ...event, data: { epoch: 'x' } }, event])
    expect(body.results).toMatchObject([{ db_id: null }, stored])
  })

  test('that is empty is 200 with no results', async () => {
    expect(await door.sendAll([])).toMatchObject({ status: 200, body: { results: [] } })
  })

  test.each([
    '{}',
    '"text"',
    'null',
    '7',
    JSON.stringify(makeEvent('batch_start')),
  ])('must be a JSON array: %s is 422', async (body) => {
    expect(await door.sendAll(body)).toMatchObject({ status: 422 })
  })

  test('of 500 events is accepted, of 501 is 413 too_many_events and stores nothing', async () => {
    const batch_id = newBatch()
    const events = Array.from({ length: 501 }, () => makeEvent('log_line', { batch_id }))
    expect(await door.sendAll(events)).toMatchObject(refusal('too_many_events', 413))
    expect(await storedCount(batch_id)).toBe(0)
    const { body } = await door.sendAll(events.slice(1))
    expect(body.results).toHaveLength(500)
    expect(new Set(body.results.map((r: { db_id: number }) => r.db_id)).size).toBe(500)
    expect(await storedCount(batch_id)).toBe(500)
  })

  test('is refused by the endpoint for single events', async () => {
    expect(await door.send([makeEvent('batch_start')])).toMatchObject(refusal('invalid_envelope'))
  })
})

describe('sizes', () => {
  const EVENT = 256 * 1024
  const BODY = 8 * 1024 * 1024
  const ofSize = (batch_id: string, bytes: number): string => {
    const event = makeEvent('log_line', { batch_id, data: { line: '' } })
    const room = bytes - Buffer.byteLength(JSON.stringify(event))
    return JSON.stringify({ ...event, data: { ...event.data, line: 'x'.repeat(room) } })
  }

  test('an event of 256 KiB is stored, one byte more is 413, single or in an array', async () => {
    const batch_id = newBatch()
    expect((await door.send(ofSize(batch_id, EVENT))).status).toBe(200)
    expect(await door.send(ofSize(batch_id, EVENT + 1))).toMatchObject(refusal('event_too_large', 413))
    const { body } = await door.sendAll(`[${ofSize(batch_id, EVENT)},${ofSize(batch_id, EVENT + 1)}]`)
    expect(body.results).toEqual([stored, item('event_too_large', 413)])
    expect(await storedCount(batch_id)).toBe(2)
  })

  test('the size of an event is counted in bytes, not in characters', async () => {
    const event = makeEvent('log_line', { batch_id: newBatch(), data: { line: '€'.repeat(88_000) } })
    expect(await door.send(event)).toMatchObject(refusal('event_too_large', 413))
    expect((await door.sendAll([event])).body.results).toEqual([item('event_too_large', 413)])
  })

  test('a body of 8 MiB is accepted, one byte more is 413, both uncompressed and after decompression', async () => {
    const batch_id = newBatch()
    const body = (bytes: number): Buffer => {
      const event = ofSize(batch_id, 200 * 1024)
      const events = Array.from({ length: 40 }, () =>
        event.replace(/"event_id":"[^"]+"/, `"event_id":"${randomUUID()}"`),
      )
      return Buffer.from(`[${events.join(',')}]`.padEnd(bytes, ' '))
    }
    const gzip = { 'content-encoding': 'gzip' }
    const post = (bytes: Buffer, headers = {}) =>
      door.app.call('POST', '/api/events/batch', { token: door.token, body: bytes, headers })
    expect((await post(body(BODY))).body.results).toEqual(Array(40).fill(stored))
    expect(await post(body(BODY + 1))).toMatchObject(refusal('body_too_large', 413))
    expect((await post(gzipSync(body(BODY)), gzip)).body.results).toEqual(Array(40).fill(stored))
    expect(await post(gzipSync(body(BODY + 1)), gzip)).toMatchObject(refusal('body_too_large', 413))
    expect(await storedCount(batch_id)).toBe(80)
  })

  test('a client that sends a whole body that is too long can read the 413, with and without Content-Length', async () => {
    const body = Buffer.alloc(24 * 1024 * 1024, ' ')
    const { address } = door.app
    const headers = { authorization: `Bearer ${door.token}`, 'content-type': 'application/json' }
    for (let i = 0; i < 4; i++) {
      const declared = await fetch(`${address}/api/events`, { method: 'POST', headers, body })
      expect(await declared.json()).toMatchObject({ status: 413, code: 'body_too_large' })
      const stream = new Blob([body]).stream()
      const chunked = await fetch(`${address}/api/events`, {
        method: 'POST',
        headers,
        body: stream,
        duplex: 'half',
      } as RequestInit)
      expect(await chunked.json()).toMatchObject({ status: 413, code: 'body_too_large' })
    }
  })

  test('with a query string is 422, for any body', async () => {
    for (const path of ['/api/events?dry_run=1', '/api/events/batch?dry_run=1']) {
      const answer = await door.app.call('POST', path, { token: door.token, body: [] })
      expect(answer).toMatchObject(refusal('invalid_query', 422))
      expect(answer.body.errors).toEqual([{ path: 'dry_run', message: 'is not known here' }])
      expect((await door.app.call('POST', path, { body: [] })).status).toBe(401)
    }
  })

  test('a gzip bomb is 413 and takes little memory', async () => {
    const bomb = gzipSync(Buffer.alloc(512 * 1024 * 1024, ' '), { level: 9 })
    const before = process.memoryUsage().rss
    const answers = await Promise.all(
      Array.from({ length: 4 }, () =>
        door.app.call('POST', '/api/events', {
          token: door.token,
          body: bomb,
          headers: { 'content-encoding': 'gzip' },
        }),
      ),
    )
    for (const answer of answers) expect(answer).toMatchObject(refusal('body_too_large', 413))
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024)
  })

  test('a body with Content-Encoding gzip that is not gzip, or with another encoding, is refused', async () => {
    const post = (body: Buffer | string, encoding: string) =>
      door.app.call('POST', '/api/events', {
        token: door.token,
        body,
        headers: { 'content-encoding': encoding },
      })
    const event = JSON.stringify(makeEvent('batch_start', { batch_id: newBatch() }))
    expect((await post(event, 'gzip')).status).toBe(422)
    expect((await post(gzipSync(event).subarray(0, 40), 'gzip')).status).toBe(422)
    expect((await post(event, 'br')).status).toBe(415)
    expect((await post(gzipSync(event), 'gzip')).status).toBe(200)
  })

  test('a body of another media type is 415, one that is not JSON is refused', async () => {
    const post = (body: string, type: string) =>
      door.app.call('POST', '/api/events', { token: door.token, body, headers: { 'content-type': type } })
    const event = JSON.stringify(makeEvent('batch_start', { batch_id: newBatch() }))
    const asText = await post(event, 'text/plain')
    expect(asText).toMatchObject(refusal('unsupported_media_type', 415))
    expect(asText.body.detail).toContain('application/json')
    expect((await post(event, 'application/json; charset=utf-8')).status).toBe(200)
    for (const text of ['', '{', 'nonsense', `${event}x`]) {
      expect(await door.send(text)).toMatchObject(refusal('invalid_json', 422))
    }
    const withNan = await door.send('{"loss": NaN}')
    expect(withNan).toMatchObject(refusal('invalid_json', 422))
    expect(withNan.body.detail).toContain("Unexpected token 'N'")
  })
})

describe('a start event that arrives late', () => {
  test('fills in the batch and the job that earlier events created', async () => {
    const batch_id = newBatch()
    await door.send(makeEvent('job_epoch', { batch_id, timestamp: '2026-03-01T10:00:05Z' }))
    expect(await door.sql`select status, started_at, n_total from batches where id = ${batch_id}`).toEqual([
      { status: 'running', started_at: '2026-03-01T10:00:05Z', n_total: null },
    ])
    await door.send(
      makeEvent('batch_start', { batch_id, timestamp: '2026-03-01T10:00:00Z', data: { n_total: 3 } }),
    )
    await door.send(
      makeEvent('job_start', {
        batch_id,
        timestamp: '2026-03-01T10:00:01Z',
        data: { model: 'resnet18', lr: 1e-3 },
      }),
    )
    expect(await door.sql`select status, started_at, n_total from batches where id = ${batch_id}`).toEqual([
      { status: 'running', started_at: '2026-03-01T10:00:00Z', n_total: 3 },
    ])
    expect(
      await door.sql`select j.started_at, model, params from jobs j join batches b on b.key = j.batch_key where b.id = ${batch_id}`,
    ).toEqual([{ started_at: '2026-03-01T10:00:01Z', model: 'resnet18', params: { lr: 1e-3 } }])
  })

  test('never overwrites what an event with a later timestamp set, in either order of arrival', async () => {
    const batch_id = newBatch()
    const start = (second: number, n_total: number) =>
      makeEvent('batch_start', { batch_id, timestamp: `2026-03-01T10:00:0${second}Z`, data: { n_total } })
    await door.send(start(2, 20))
    await door.send(start(1, 10))
    expect(await door.sql`select n_total from batches where id = ${batch_id}`).toEqual([{ n_total: 20 }])
    const epoch = (second: number, data: Record<string, unknown>) =>
      makeEvent('job_epoch', {
        batch_id,
        timestamp: `2026-03-01T10:00:0${second}Z`,
        data: { epoch: 1, ...data },
      })
    await door.sendAll([epoch(3, { train_loss: 3, a: 3 }), epoch(2, { train_loss: 2, b: 2 })])
    await door.send(epoch(1, { train_loss: 1, b: 1, c: 1 }))
    expect(await seriesOf(batch_id)).toEqual({ train_loss: [[1, 3]], a: [[1, 3]], b: [[1, 2]], c: [[1, 1]] })
  })

  test('with the timestamp of another event loses to the greater event_id', async () => {
    const batch_id = newBatch()
    const tail = randomUUID().slice(8)
    for (const [head, n_total] of [
      ['bbbbbbbb', 2],
      ['aaaaaaaa', 1],
    ] as const) {
      await door.send(makeEvent('batch_start', { batch_id, event_id: head + tail, data: { n_total } }))
    }
    expect(await door.sql`select n_total from batches where id = ${batch_id}`).toEqual([{ n_total: 2 }])
  })
})

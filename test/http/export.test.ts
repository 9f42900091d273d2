import { tableFromIPC } from 'apache-arrow'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createWriter } from '../../src/stream/commit.ts'
import { createPacker } from '../../src/workers/pack.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'

const ID = 'sweep "1", of 2 ü'
const PATH = `/api/batches/${encodeURIComponent(ID)}`
let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

const at = (ms: number) => new Date(Date.UTC(2026, 2, 1, 10) + ms).toISOString()
async function download(path: string): Promise<{ bytes: Buffer; headers: Headers }> {
  const answer = await fetch(door.app.address + path, {
    headers: { authorization: `Bearer ${door.session}` },
  })
  expect(answer.status).toBe(200)
  return { bytes: Buffer.from(await answer.arrayBuffer()), headers: answer.headers }
}

/** RFC 4180, to the letter. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let rest = text
  while (rest !== '') {
    const [whole, quoted, plain, end] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(rest) ?? []
    if (whole === undefined) throw new Error(`not CSV: ${rest.slice(0, 80)}`)
    row.push(quoted === undefined ? (plain as string) : quoted.replaceAll('""', '"'))
    if (end === '\r\n') {
      rows.push(row)
      row = []
    }
    rest = rest.slice(whole.length)
  }
  return rows
}

describe('export.csv', () => {
  test('has one row per job, with the columns of the contract in their order and the others sorted', async () => {
    const of = { batch_id: ID, timestamp: at(0) }
    await door.sendAll([
      makeEvent('batch_start', of),
      makeEvent('job_start', {
        ...of,
        job_id: '=cmd|x',
        data: {
          model: '+net, "big"',
          dataset: '-1.5e3',
          lr: 3e-4,
          'a,b': '@home',
          nested: { deep: [1, 'x"y'] },
          ok: true,
        },
      }),
      makeEvent('job_done', {
        ...of,
        job_id: '=cmd|x',
        timestamp: at(61_500),
        data: { elapsed_s: 61.5, metrics: { top1: 0.5, loss: 'NaN', constructor: 1 } },
      }),
      makeEvent('job_start', {
        ...of,
        job_id: 'second',
        data: { lr: -2, note: 'two\r\nlines', low: '-Infinity' },
      }),
      makeEvent('job_epoch', { ...of, job_id: 'second', timestamp: at(5_000), data: { epoch: 3, loss: 1 } }),
      makeEvent('job_failed', {
        ...of,
        job_id: 'second',
        timestamp: at(10_000),
        data: { reason: "-it's broken", elapsed_s: 10 },
      }),
    ])
    const { bytes, headers } = await download(`${PATH}/export.csv`)
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="sweep__1___of_2__.csv"; filename*=UTF-8''sweep%20%221%22%2C%20of%202%20%C3%BC.csv`,
    )
    const [head, ...rows] = parseCsv(bytes.toString())
    expect(head).toEqual(
      (
        'job_id,status,model,dataset,started_at,ended_at,elapsed_s,epochs,failure_reason,' +
        'param.a|b,param.low,param.lr,param.nested,param.note,param.ok,metric.constructor,metric.loss,metric.top1'
      )
        .split(',')
        .map((name) => name.replace('|', ',')),
    )
    expect(rows).toEqual([
      [
        "'=cmd|x",
        'completed',
        `'+net, "big"`,
        '-1.5e3',
        '2026-03-01T10:00:00Z',
        '2026-03-01T10:01:01.500Z',
        '61.5',
        '0',
        '',
        "'@home",
        '',
        '0.0003',
        '{"deep":[1,"x\\"y"]}',
        '',
        'true',
        '1',
        'NaN',
        '0.5',
      ],
      [
        'second',
        'failed',
        '',
        '',
        '2026-03-01T10:00:00Z',
        '2026-03-01T10:00:10Z',
        '10',
        '1',
        "'-it's broken",
        '',
        '-Infinity',
        '-2',
        '',
        'two\r\nlines',
        '',
        '',
        '',
        '',
      ],
    ])
  })

  test('has only the header for a batch without jobs', async () => {
    await door.send(makeEvent('batch_start', { batch_id: 'empty' }))
    const { bytes } = await download('/api/batches/empty/export.csv')
    expect(parseCsv(bytes.toString())).toHaveLength(1)
  })
})

describe('the export of series', () => {
  const JOBS = ['plain', 'lr=0.1,bs=32', '@at', 'running']
  type Point = [job: string, key: string, step: number, value: string, time: number]

  beforeAll(async () => {
    for (const job_id of JOBS) {
      const events = Array.from({ length: 400 }, (_, epoch) =>
        makeEvent('job_epoch', {
          batch_id: 'history',
          job_id,
          timestamp: at(epoch * 1_000 + (epoch % 3) * 0.5),
          data: {
            epoch: epoch * 2 - 100,
            loss: epoch === 7 ? 'NaN' : epoch === 8 ? '-Infinity' : Math.random() * 10 ** ((epoch % 40) - 20),
            ...(epoch % 5 === 0 && { 'val "x", y': -epoch / 3 }),
          },
        }),
      )
      await door.sendAll(events)
      if (job_id !== 'running') {
        await door.send(makeEvent('job_done', { batch_id: 'history', job_id, timestamp: at(500_000) }))
      }
    }
  })

  async function fromChart(query = ''): Promise<Point[]> {
    const { bytes } = await download(`/api/batches/history/metrics${query}`)
    const { series } = JSON.parse(bytes.toString())
    return series.flatMap((s: { job_id: string; key: string; steps: number[]; values: unknown[] }) =>
      s.steps.map((step, i): Point => [s.job_id, s.key, step, String(s.values[i]), timeOf(step)]),
    )
  }
  const timeOf = (step: number) => {
    const epoch = (step + 100) / 2
    return Date.parse(at(Math.floor(epoch * 1_000 + (epoch % 3) * 0.5)))
  }
  async function fromCsv(query = ''): Promise<Point[]> {
    const { bytes } = await download(`/api/batches/history/metrics.csv${query}`)
    const [head, ...rows] = parseCsv(bytes.toString())
    expect(head).toEqual(['job_id', 'key', 'step', 'value', 'timestamp'])
    return rows.map(([job, key, step, value, time]) => [
      (job as string).replace(/^'/, ''),
      key as string,
      Number(step),
      value as string,
      Date.parse(time as string),
    ])
  }
  async function fromArrow(query = ''): Promise<Point[]> {
    const { bytes, headers } = await download(`/api/batches/history/metrics.arrow${query}`)
    expect(headers.get('content-type')).toBe('application/vnd.apache.arrow.stream')
    const table = tableFromIPC(bytes)
    expect(table.schema.fields.map((f) => `${f.name}: ${f.type}`)).toEqual([
      'job_id: Dictionary<Int32, Utf8>',
      'key: Dictionary<Int32, Utf8>',
      'step: Int64',
      'value: Float64',
      'timestamp: Timestamp<MILLISECOND, UTC>',
    ])
    return table
      .toArray()
      .map(
        (row) => [row.job_id, row.key, Number(row.step), String(row.value), Number(row.timestamp)] as Point,
      )
  }

  test.each([
    'unpacked',
    'packed',
  ])('as CSV, as chart data and as Arrow has the same points, %s', async (state) => {
    if (state === 'packed') {
      await createPacker({ sql: door.sql, writer: createWriter(door.sql) }).round()
      const [chunks] = await door.sql`select count(*) n from metric_chunks`
      expect(chunks?.n).toBe(4 * 3)
    }
    const chart = await fromChart()
    expect(chart).toHaveLength(4 * (400 + 80))
    expect(chart.filter((p) => p[3] === 'NaN')).toHaveLength(4)
    expect(await fromCsv()).toEqual(chart)
    expect(await fromArrow()).toEqual(chart)
  })

  test('is limited by keys and jobs in the same way in all formats', async () => {
    const query = `?job=${encodeURIComponent('lr=0.1,bs=32')}&jobs=running&keys=loss`
    const chart = await fromChart(query)
    expect(chart).toHaveLength(800)
    expect(await fromCsv(query)).toEqual(chart)
    expect(await fromArrow(query)).toEqual(chart)
  })

  test('without points has a CSV header and an Arrow schema', async () => {
    expect(await fromCsv('?keys=none')).toEqual([])
    expect(await fromArrow('?keys=none')).toEqual([])
  })

  test('refuses unknown parameters, and is 404 for a batch that is not visible', async () => {
    const { session } = await door.stranger()
    for (const file of ['export.csv', 'metrics.csv', 'metrics.arrow']) {
      const unknown = await door.app.call('GET', `/api/batches/history/${file}?key_s=x`, {
        token: door.session,
      })
      expect([unknown.status, unknown.body.code]).toEqual([422, 'invalid_query'])
      const hidden = await door.app.call('GET', `/api/batches/history/${file}`, { token: session })
      expect([hidden.status, hidden.body.code]).toEqual([404, 'batch_not_found'])
    }
  })
})

test('that the client cancels leaves the database connection usable', async () => {
  for (let i = 0; i < 15; i++) {
    const leaving = new AbortController()
    const answer = await fetch(`${door.app.address}/api/batches/history/metrics.csv`, {
      headers: { authorization: `Bearer ${door.session}` },
      signal: leaving.signal,
    })
    await answer.body?.getReader().read()
    leaving.abort()
  }
  const { bytes } = await download('/api/batches/history/metrics?keys=loss&points=8')
  expect(JSON.parse(bytes.toString()).series).toHaveLength(4)
})

test('does not depend on the order in which events arrived', async () => {
  const answersAfter = async (batch_id: string, jobs: readonly string[]) => {
    await door.sendAll(
      jobs.flatMap((job_id) => [
        makeEvent('job_epoch', { batch_id, job_id, timestamp: at(5), data: { epoch: 1, loss: 1 } }),
        makeEvent('job_done', { batch_id, job_id, timestamp: at(9), data: { elapsed_s: 4 } }),
      ]),
    )
    const texts = ['export.csv', 'metrics.csv', 'metrics'].map(async (name) =>
      (await download(`/api/batches/${batch_id}/${name}`)).bytes.toString(),
    )
    const query = 'query ($id: ID!) { batch(id: $id) { metrics(keys: ["loss"]) { job key steps values } } }'
    const table = tableFromIPC((await download(`/api/batches/${batch_id}/metrics.arrow`)).bytes)
    const { body } = await door.app.call('POST', '/graphql', {
      token: door.session,
      body: { query, variables: { id: batch_id } },
    })
    return [...(await Promise.all(texts)), table.toArray().map(String), body.data.batch.metrics]
  }
  const forward = await answersAfter('forward', ['j1', 'j2', 'j3'])
  const backward = await answersAfter('backward', ['j3', 'j2', 'j1'])
  expect(backward).toEqual(forward)
})

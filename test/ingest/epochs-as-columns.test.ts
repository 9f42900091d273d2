import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { payloadText, withTemplate } from '../../src/domain/events/index.ts'
import { ACCEPT_POST, EPOCHS_TYPE } from '../../src/ingest/index.ts'
import { type Door, makeEvent, openDoor } from './sending.ts'

// Epochs of one job as columns (src/ingest/epochs.ts) are the events that the columns spell out, in every respect.

let plain: Door
let compact: Door
beforeAll(async () => {
  ;[plain, compact] = await Promise.all([openDoor(), openDoor()])
})
afterAll(async () => {
  await plain?.stop()
  await compact?.stop()
})

interface Columns {
  schema_version: unknown
  batch_id: unknown
  job_id: unknown
  source: unknown
  event_ids: unknown[]
  timestamps: unknown[]
  epochs: unknown[]
  series: Record<string, unknown[]>
}

async function post(door: Door, body: string, type = `${EPOCHS_TYPE};version=1`, path = '/api/events/batch') {
  const answer = await fetch(`${door.app.address}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${door.token}`, 'content-type': type, 'user-agent': 'svc-reporter/9' },
    body,
  })
  return { status: answer.status, headers: answer.headers, body: await answer.json() }
}

const isAbsent = (value: unknown): boolean => value === null

const spelledOut = ({ event_ids, timestamps, epochs, series, ...shared }: Columns) =>
  event_ids.map((event_id, i) => ({
    event_id,
    schema_version: shared.schema_version,
    event_type: 'job_epoch',
    timestamp: timestamps[i],
    batch_id: shared.batch_id,
    job_id: shared.job_id,
    source: shared.source,
    data: {
      epoch: epochs[i],
      ...Object.fromEntries(
        Object.entries(series).flatMap(([name, values]) => (isAbsent(values[i]) ? [] : [[name, values[i]]])),
      ),
    },
  }))

const values = fc.oneof(
  { weight: 8, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  fc.integer(),
  fc.constantFrom(null, 'NaN', '-Infinity', 'text', true, { top1: 0.5 }, [1], -0),
)
const epochs = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 40 }) },
  fc.constantFrom(1.5, '1', null, 2 ** 53, 2 ** 31, 2 ** 32 + 1, -7),
)
const instants = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.integer({ min: 0, max: 1e6 }).map((ms) => new Date(1.77e12 + ms).toISOString()),
  },
  fc.constantFrom(
    '2026-02-30T10:00:00Z',
    'yesterday',
    '2026-03-01T10:00:00.123456Z',
    '9999-12-31T23:59:59Z',
    5,
  ),
)
const rarely = <T>(usual: T, rare: T) =>
  fc.oneof({ weight: 15, arbitrary: fc.constant(usual) }, fc.constant(rare))
const columns = fc
  .integer({ min: 0, max: 30 })
  .chain((n) => {
    const column = (of: fc.Arbitrary<unknown>) => fc.array(of, { minLength: n, maxLength: n })
    return fc.record({
      schema_version: rarely('1.1', '2.0'),
      batch_id: rarely('one', 'in \u0000 it'),
      job_id: rarely('a', null),
      source: rarely<unknown>({ project: 'vision', host: 'h "1"', more: [1, { a: 2 }] }, {}),
      event_ids: column(fc.oneof({ weight: 20, arbitrary: fc.uuid() }, fc.constantFrom('no id', null))),
      timestamps: column(instants),
      epochs: column(epochs),
      series: fc.dictionary(
        fc.oneof(fc.constantFrom('loss', 'acc/top1', '7', 'é', '', 'x'.repeat(129)), fc.string()),
        column(values),
        { maxKeys: 4 },
      ),
    })
  })
  .filter(({ series }) => !Object.hasOwn(series, 'epoch') && !Object.hasOwn(series, '__proto__'))

/** Everything but the keys and the times of receipt. */
async function rowsOf({ sql }: Door): Promise<unknown[]> {
  const events = await sql`
    select e.event_id, b.id batch, j.id job, e.type, e.ts < timestamptz '9000-01-01' near, ${payloadText(sql)}::json payload,
      case when e.ts < now() - interval '1 minute' then e.ts end ts
    from events e ${withTemplate(sql)} join batches b on b.key = e.batch_key left join jobs j on j.key = e.job_key
    order by e.event_id`
  const points = await sql`
    select b.id batch, j.id job, e.epoch, e.vals, p.series, p.epochs, p.max_step, p.last_step, p.last_value, p.min_value, p.max_value
    from epochs e join jobs j on j.key = e.job_key join batches b on b.key = j.batch_key
    join job_progress p on p.job_key = j.key order by 1, 2, 3, 4`
  const jobs =
    await sql`select b.id batch, j.id, j.status, j.model from jobs j join batches b on b.key = j.batch_key order by 1, 2`
  return [[...events], [...points], [...jobs]]
}

const withoutIds = (results: { db_id: number | null }[]) =>
  results.map(({ db_id, ...rest }) => ({ ...rest, stored: db_id !== null }))

test('epochs sent as columns and the same events sent as an array get the same answers and become the same rows', async () => {
  await fc.assert(
    fc.asyncProperty(columns, async (one) => {
      const inColumns = await post(compact, JSON.stringify(one))
      const inArray = await plain.sendAll(spelledOut(one))
      expect(inColumns.status).toBe(inArray.status)
      expect(withoutIds(inColumns.body.results)).toEqual(withoutIds(inArray.body.results))
    }),
    { numRuns: 80 },
  )
  expect(await rowsOf(compact)).toEqual(await rowsOf(plain))
  expect((await compact.sql`select from events`).length).toBeGreaterThan(300)
})

const training = (batch: string, n = 60): Columns => ({
  schema_version: '1.1',
  batch_id: batch,
  job_id: 'job-1',
  source: { project: 'vision' },
  event_ids: Array.from({ length: n }, () => randomUUID()),
  timestamps: Array.from({ length: n }, (_, i) => new Date(Date.UTC(2026, 2, 1) + i).toISOString()),
  epochs: Array.from({ length: n }, (_, i) => i),
  series: { loss: Array.from({ length: n }, (_, i) => Math.exp(-i)) },
})

test('a repeat is recognised between the two formats, in either order', async () => {
  const once = training('once')
  const first = (await post(compact, JSON.stringify(once))).body.results
  expect(first.every((result: { deduplicated: boolean }) => !result.deduplicated)).toBe(true)
  const repeated = first.map(({ db_id }: { db_id: number }) => ({ db_id, deduplicated: true }))
  expect((await post(compact, JSON.stringify(once))).body.results).toEqual(repeated)
  expect((await compact.sendAll(spelledOut(once))).body.results).toEqual(repeated)
  const other = training('other')
  const sent = (await compact.sendAll(spelledOut(other))).body.results
  expect((await post(compact, JSON.stringify(other))).body.results).toEqual(
    sent.map(({ db_id }: { db_id: number }) => ({ db_id, deduplicated: true })),
  )
})

test('columns that are malformed, too long, of another version or sent to another route are refused as a whole', async () => {
  const good = training('refused')
  const refused = async (body: unknown, status: number, code: string, type?: string, path?: string) =>
    expect(await post(compact, JSON.stringify(body), type, path)).toMatchObject({ status, body: { code } })
  await refused({ ...good, epochs: good.epochs.slice(1) }, 422, 'invalid_envelope')
  await refused({ ...good, series: { loss: [1] } }, 422, 'invalid_envelope')
  await refused({ ...good, series: { epoch: good.epochs } }, 422, 'invalid_envelope')
  await refused({ ...good, event_type: 'log_line' }, 422, 'invalid_envelope')
  await refused(spelledOut(good), 422, 'invalid_envelope')
  await refused(training('refused', 501), 413, 'too_many_events')
  await refused(good, 415, 'unsupported_media_type', EPOCHS_TYPE)
  await refused(good, 415, 'unsupported_media_type', `${EPOCHS_TYPE};version=2`)
  await refused(good, 415, 'unsupported_media_type', `${EPOCHS_TYPE};version=1`, '/api/events')
  expect(await compact.sql`select from batches where id = 'refused'`).toHaveLength(0)
})

test('an answer to a reporter says that the service accepts columns', async () => {
  const event = makeEvent('job_epoch', { batch_id: 'advertised' })
  const { headers } = await post(compact, JSON.stringify([event]), 'application/json')
  expect(headers.get('accept-post')).toBe(ACCEPT_POST)
})

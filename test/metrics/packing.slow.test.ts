import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packJobs, readSeries, type SeriesQuery } from '../../src/domain/metrics/index.ts'
import { asTheyAre } from '../../src/domain/telemetry.ts'
import { commit, createWriter } from '../../src/stream/commit.ts'
import { storeFieldsOfBatches } from '../../src/workers/batch-fields.ts'
import { createPacker } from '../../src/workers/pack.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { assertProperty, patienceMs, propertyBounds } from '../kit/effort.ts'

let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

// Chunks of a handful, so that a few dozen epochs make many.
const SMALL = { chunk: 5, mostValues: 40, worthPacking: 1, runningWaits: 4, runningKeeps: 2 }

const value = fc.oneof(
  { weight: 8, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) as fc.Arbitrary<unknown> },
  { weight: 1, arbitrary: fc.constantFrom('NaN', 'Infinity', '-Infinity') },
)
const epochEvent = fc.record({
  job: fc.constantFrom('a', 'b, with a comma'),
  // 2^32 and 2^32 + 1 have the low parts of 0 and 1.
  epoch: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: -2, max: 40 }) },
    { weight: 2, arbitrary: fc.integer({ min: 2 ** 32 - 2, max: 2 ** 32 + 4 }) },
    fc.constantFrom(-(2 ** 31), 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 1e12, -1e12),
    fc.constantFrom(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  ),
  second: fc.integer({ min: 0, max: 59 }),
  values: fc.record({ loss: value, acc: value, 'odd "name"': value }, { requiredKeys: [] }),
})
const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      events: fc.array(epochEvent, { minLength: 1, maxLength: 30 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('start' as const, 'end' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pack' as const) }) },
)

const shown = (column: ArrayLike<number>) => Array.from(column, String)

async function bareSeries(batchId: string, { from, to }: SeriesQuery) {
  return door.sql<{ job: string; key: string; steps: number[]; values: number[]; times: number[] }[]>`
    select j.id job, s.name key, array_agg(e.step order by e.step) steps,
      array_agg(e.vals[s.n] order by e.step) values,
      array_agg(floor(extract(epoch from e.ts) * 1000)::float8 order by e.step) times
    from batches b join jobs j on j.batch_key = b.key join job_progress p on p.job_key = j.key
    cross join lateral unnest(p.series) with ordinality as s (name, n)
    join (select epoch_high * 4294967296 + epoch step, * from epochs) e on e.job_key = j.key and e.vals[s.n] is not null
    where b.id = ${batchId} and (${from ?? null}::bigint is null or e.step >= ${from ?? null}::bigint)
      and (${to ?? null}::bigint is null or e.step <= ${to ?? null}::bigint)
    group by j.key, j.id, s.name order by j.id, j.key, s.name collate "C"`
}

let runs = 0
test(
  'series are the same as the unpacked rows, for any events, late repeats and packing in between',
  async () => {
    const packer = createPacker({ sql: door.sql, writer: createWriter(door.sql), sizes: SMALL, againMs: 0 })
    let packed = 0
    await assertProperty(
      fc.asyncProperty(
        fc.array(command, { minLength: 3, maxLength: 14 }),
        fc.boolean(),
        fc.option(
          fc.oneof(
            fc.tuple(fc.integer({ min: -3, max: 41 }), fc.integer({ min: -3, max: 41 })),
            fc.tuple(fc.maxSafeInteger(), fc.maxSafeInteger()),
            fc.tuple(fc.constant(2 ** 32 - 1), fc.integer({ min: 2 ** 32, max: 2 ** 32 + 3 })),
          ),
        ),
        async (commands, atOnce, range) => {
          const batch_id = `packing ${++runs}`
          let clock = 0
          const perform = async (c: (typeof commands)[number]): Promise<void> => {
            if (c.do === 'pack') return void (await packer.round())
            const at = `2026-03-01T10:${String(++clock).padStart(2, '0')}`
            const events =
              c.do === 'send'
                ? c.events.map(({ job, epoch, second, values }) =>
                    makeEvent('job_epoch', {
                      batch_id,
                      job_id: job,
                      timestamp: `${at}:${String(second).padStart(2, '0')}.5004Z`,
                      data: { epoch, ...values },
                    }),
                  )
                : ['a', 'b, with a comma'].map((job_id) =>
                    makeEvent(c.do === 'start' ? 'job_start' : 'job_done', {
                      batch_id,
                      job_id,
                      timestamp: `${at}:59Z`,
                    }),
                  )
            const answer = await door.sendAll(events)
            expect(answer.body.results.every((r: { error?: unknown }) => r.error === undefined)).toBe(true)
          }
          if (atOnce) await Promise.all(commands.map(perform))
          else for (const c of commands) await perform(c)

          const [batch] = await door.sql<{ key: number; chunks: number }[]>`
            select b.key, (select count(*) from metric_chunks c join jobs j on j.key = c.job_key
              where j.batch_key = b.key) chunks from batches b where b.id = ${batch_id}`
          if (batch === undefined) return
          packed += batch.chunks
          for (const query of range === null ? [{}] : [{}, { from: range[0], to: range[1] }]) {
            const bare = await bareSeries(batch_id, query)
            const read = []
            for await (const s of readSeries(asTheyAre(door.sql), batch.key, query))
              read.push(structuredClone(s))
            const timed = []
            for await (const s of readSeries(asTheyAre(door.sql), batch.key, { ...query, timed: true }))
              timed.push(structuredClone(s))
            const expected = bare.map((s) => [s.job, s.key, shown(s.steps), shown(s.values)])
            expect(read.map((s) => [s.jobId, s.key, shown(s.steps), shown(s.values)])).toEqual(expected)
            expect(timed.map((s) => [s.jobId, s.key, shown(s.steps), shown(s.values)])).toEqual(expected)
            expect(timed.map((s) => shown(s.times))).toEqual(bare.map((s) => shown(s.times)))
          }
        },
      ),
      propertyBounds('packing', { runs: 150, seconds: 20 }),
    )
    // A slow machine tries fewer cases; most of them leave something packed.
    expect(packed).toBeGreaterThan(runs / 2)
  },
  patienceMs(60),
)

test('a job that ended is packed completely, and its epochs are read from chunks only', async () => {
  const events = Array.from({ length: 450 }, (_, epoch) =>
    makeEvent('job_epoch', { batch_id: 'whole', data: { epoch, loss: 1 / (epoch + 1) } }),
  )
  await door.sendAll([
    ...events,
    makeEvent('job_done', { batch_id: 'whole', timestamp: '2026-03-01T11:00:00Z' }),
  ])
  await createPacker({ sql: door.sql, writer: createWriter(door.sql) }).round()
  const [chunk] = await door.sql`
    select c.n, c.first_epoch, c.last_epoch, c.steps, octet_length(c.vals) bytes, p.packed_step packed_to
    from metric_chunks c join job_progress p on p.job_key = c.job_key join jobs j on j.key = c.job_key
    join batches b on b.key = j.batch_key where b.id = 'whole' and c.series_no = 0`
  expect(chunk).toMatchObject({
    n: 450,
    first_epoch: 0,
    last_epoch: 449,
    steps: null,
    bytes: 3600,
    packed_to: 449,
  })
})

test('the latest epochs of a running job stay unpacked, because they may still be merged into', async () => {
  const events = Array.from({ length: 400 }, (_, epoch) =>
    makeEvent('job_epoch', { batch_id: 'running', data: { epoch, loss: epoch } }),
  )
  await door.sendAll(events)
  const packer = createPacker({ sql: door.sql, writer: createWriter(door.sql) })
  await packer.round()
  const packedTo = async () =>
    (
      await door.sql`select packed_step packed_to from job_progress p join jobs j on j.key = p.job_key
      join batches b on b.key = j.batch_key where b.id = 'running'`
    )[0]?.packed_to
  expect(await packedTo()).toBe(335)
  await door.send(makeEvent('job_epoch', { batch_id: 'running', data: { epoch: 399, acc: 0.5 } }))
  expect(await packedTo()).toBe(335)
  await door.send(makeEvent('job_epoch', { batch_id: 'running', data: { epoch: 3, acc: 0.5 } }))
  expect(await packedTo()).toBe(null)
})

test('a job that runs on by its clock is packed to its last epoch once its batch has ended', async () => {
  const at = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
  const epoch = (n: number) =>
    makeEvent('job_epoch', { batch_id: 'ended', timestamp: at(n), data: { epoch: n, loss: 1 } })
  const data = { n_done: 0, n_failed: 0, total_elapsed_s: 1 }
  await door.sendAll([
    ...Array.from({ length: 40 }, (_, n) => epoch(n)),
    makeEvent('batch_done', { batch_id: 'ended', job_id: null, timestamp: at(-60), data }),
  ])
  await createPacker({ sql: door.sql, writer: createWriter(door.sql) }).round()
  const [job] = await door.sql`select packed_step, j.status, b.status batch from job_progress p
    join jobs j on j.key = p.job_key join batches b on b.key = j.batch_key where b.id = 'ended'`
  expect(job).toEqual({ status: 'running', batch: 'completed', packed_step: 39 })
})

test('a job whose chunks late events dissolve while it is packed is left to a later round', async () => {
  const epoch = (n: number) => makeEvent('job_epoch', { batch_id: 'late', data: { epoch: n, loss: n } })
  await door.sendAll([...Array(60).keys()].map((n) => epoch(2 * n)))
  const [job] = await door.sql<{ batch_key: number; key: number }[]>`
    select j.batch_key, j.key from jobs j join batches b on b.key = j.batch_key where b.id = 'late'`
  const { batch_key: batchKey, key } = job as { batch_key: number; key: number }
  const begun = new Set<number>()
  const pack = () =>
    commit(createWriter(door.sql), async (tx) => ({
      result: await packJobs(tx, batchKey, [key], SMALL, begun),
      changes: [],
    }))
  expect(await pack()).toEqual([key])
  expect(await pack()).toEqual([key])
  await door.send(epoch(1))
  expect(await pack()).toEqual([])
  expect(await door.sql`select from metric_chunks where batch_key = ${batchKey}`).toEqual([])
})

test('packing gives a batch another version, and leaves its stored fields as they are', async () => {
  const { sql } = door
  const epochs = Array.from({ length: 50 }, (_, epoch) =>
    makeEvent('job_epoch', { batch_id: 'fields', data: { epoch, loss: 1 / (epoch + 1) } }),
  )
  await door.sendAll([makeEvent('batch_start', { batch_id: 'fields' }), ...epochs])
  await door.send(makeEvent('batch_done', { batch_id: 'fields' }))
  await storeFieldsOfBatches({ sql, writer: createWriter(sql), log: { warn: expect.fail } as never })
  const [job] = await sql<{ key: number; batch: number }[]>`
    select j.key, b.key batch from jobs j join batches b on b.key = j.batch_key where b.id = 'fields'`
  const { key, batch } = job as { key: number; batch: number }
  const read = async () =>
    (
      await sql`select xmin::text version, fields_known known from batch_progress where batch_key = ${batch}`
    )[0]
  const before = await read()
  await sql.begin((tx) => packJobs(tx, batch, [key]))
  const after = await read()
  expect([before?.known, after?.known]).toEqual([true, true])
  expect(after?.version).not.toBe(before?.version)
})

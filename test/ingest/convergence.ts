import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventType } from '../../src/domain/events/index.ts'
import { randomFrom } from '../../src/domain/random.ts'
import type { TestApp } from '../kit/app.ts'
import { assertProperty, patienceMs, propertyBounds } from '../kit/effort.ts'
import { type Door, makeEvent, openDoor, openSecond, type TestEvent } from './sending.ts'
import { summariesOf } from './summary.ts'

// Contract §1 "Order of arrival does not matter": one server gets the events in order, each once; two servers on
// another database get them shuffled, repeated, in pieces, at the same time. Both must end with the same rows.

let canonical: Door
let shuffled: Door
let second: TestApp

// Few different values, so that events collide: the same second, the same epoch, the same field.
const instant = fc.constantFrom(
  '2026-03-01T10:00:00Z',
  '2026-03-01T10:00:01Z',
  '2026-03-01T10:00:01.000Z',
  '2026-03-01T10:00:01.5Z',
  '2026-03-01T10:00:01.500001Z',
  '2026-03-01T10:00:01.5000019Z',
  '2026-03-01T10:00:02Z',
  '2026-03-01T11:00:00Z',
  '2026-02-28T23:59:59.999999999Z',
)
const finite = fc.oneof(
  fc.constantFrom(0, 1, 0.5, -3, 1e-9, 1e300),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const numeric = fc.oneof(
  { weight: 6, arbitrary: finite as fc.Arbitrary<number | string> },
  { weight: 1, arbitrary: fc.constantFrom('NaN', 'Infinity', '-Infinity') },
)
const word = fc.constantFrom('adam', 'sgd', 'resnet18', 'with "quotes", \\ and {braces}', '', 'NULL')
const some = <T>(fields: Record<string, fc.Arbitrary<T>>) => fc.record(fields, { requiredKeys: [] })
const epochData = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: -1, max: 5 }) },
      // The low part of 2^32 + 1 is 1.
      fc.constantFrom(2 ** 32 + 1, 3e9, -1e12, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
    ),
    some<unknown>({
      train_loss: numeric,
      val_loss: numeric,
      lr: numeric,
      acc: some<unknown>({ top1: numeric, 'a,b "c" \\': numeric }),
      NULL: numeric,
      note: word,
    }),
  )
  .map(([epoch, rest]) => ({ epoch, ...rest }))
const environment = some<unknown>({ command: word, cwd: word, commit: word, gpus: fc.nat(8) })
const gpus = fc.array(some<unknown>({ index: fc.nat(3), util_pct: numeric, mem_mb: numeric, temp: finite }), {
  maxLength: 3,
})
const details = {
  name: word,
  group: word,
  notes: word,
  config: some<unknown>({ lr: finite, depth: fc.nat(9), 'a/b': word }),
  summary: some<unknown>({ best: numeric, last: finite }),
}
/** Optional fields of an end event. */
const atTheEnd = some<unknown>({ ...details, traceback: word })
const data: Record<EventType, fc.Arbitrary<Record<string, unknown>>> = {
  batch_start: fc
    .tuple(
      fc.nat(5),
      word,
      some<unknown>({
        command: word,
        cwd: word,
        env_snapshot: environment,
        tags: fc.array(word, { maxLength: 3 }),
        rerun_of: word,
        ...details,
        update: fc.boolean(),
      }),
    )
    .map(([n_total, experiment_type, rest]) => ({ n_total, experiment_type, ...rest })),
  batch_done: fc
    .tuple(fc.record({ n_done: fc.nat(5), n_failed: fc.nat(5), total_elapsed_s: numeric }), atTheEnd)
    .map(([fields, more]) => ({ ...fields, ...more })),
  batch_failed: fc
    .tuple(
      fc.record({ reason: fc.constantFrom('ValueError', 'stop_requested', 'OOM'), total_elapsed_s: numeric }),
      atTheEnd,
    )
    .map(([fields, more]) => ({ ...fields, ...more })),
  job_start: some<unknown>({
    model: word,
    dataset: word,
    lr: numeric,
    layers: fc.array(fc.nat(9)),
    opt: word,
    step_unit: word,
  }),
  job_epoch: epochData,
  job_done: some<unknown>({
    metrics: some<unknown>({ acc: numeric, f1: numeric, word }),
    elapsed_s: numeric,
    train_epochs: fc.nat(9),
    pruned: fc.boolean(),
  }),
  job_failed: fc
    .tuple(
      fc.record({ reason: fc.constantFrom('OOM', 'stop_requested', 'nan'), elapsed_s: numeric }),
      some<unknown>({ traceback: word }),
    )
    .map(([fields, more]) => ({ ...fields, ...more })),
  resource_snapshot: some<unknown>({
    gpu_util_pct: numeric,
    gpu_mem_mb: numeric,
    cpu_pct: numeric,
    cpu_util_pct: numeric,
    rss_mb: numeric,
    disk_free_mb: numeric,
    net_mb: numeric,
    gpus,
  }),
  log_line: fc
    .tuple(
      fc.record({ line: word, level: fc.constantFrom('info', 'WARN', 'fatal', 'Trace') }),
      some<unknown>({ stream: fc.constantFrom('stdout', 'stderr', 'elsewhere') }),
    )
    .map(([fields, more]) => ({ ...fields, ...more })),
}
const source = some<unknown>({ host: word, user: word, commit: word, command: word }).map((rest) => ({
  project: 'vision',
  ...rest,
}))

const eventOf = (type: EventType, ofJob: boolean): fc.Arbitrary<TestEvent> =>
  fc
    .record({
      event_id: fc.uuid(),
      timestamp: instant,
      batch_id: fc.constantFrom('a', 'b'),
      job_id: ofJob ? fc.constantFrom('x', 'y', 'NULL') : fc.constant(null),
      source,
      data: data[type],
    })
    .map((fields) => makeEvent(type, fields))
const anyEvent = fc.oneof(
  { weight: 2, arbitrary: eventOf('batch_start', false) },
  { weight: 1, arbitrary: eventOf('batch_done', false) },
  { weight: 1, arbitrary: eventOf('batch_failed', false) },
  { weight: 3, arbitrary: eventOf('job_start', true) },
  { weight: 12, arbitrary: eventOf('job_epoch', true) },
  { weight: 2, arbitrary: eventOf('job_done', true) },
  { weight: 2, arbitrary: eventOf('job_failed', true) },
  { weight: 1, arbitrary: eventOf('resource_snapshot', false) },
  { weight: 2, arbitrary: eventOf('resource_snapshot', true) },
  { weight: 2, arbitrary: eventOf('log_line', true) },
)

/** How the events are sent: order, repeats and grouping. */
const travel = fc.record({
  seed: fc.nat(),
  /** Of ten events, how many are sent a second time. */
  repeats: fc.integer({ min: 0, max: 5 }),
  /** Events per request, at most. */
  size: fc.constantFrom(1, 2, 5, 30),
  /** Requests on their way at the same time. */
  abreast: fc.constantFrom(1, 2, 8),
})

let run = 0

/** Once a tier: as many cases as fit into its time. */
export function testConvergence(effort: { runs: number; seconds: number }): void {
  beforeAll(async () => {
    canonical = await openDoor()
    shuffled = await openDoor()
    second = await openSecond(shuffled)
  })
  afterAll(async () => {
    await second?.stop()
    await Promise.all([canonical?.stop(), shuffled?.stop()])
  })

  test(
    'any order, grouping and repetition, through two servers at once, ends in the same rows',
    async () => {
      await assertProperty(
        fc.asyncProperty(
          fc.uniqueArray(anyEvent, { minLength: 1, maxLength: 40, selector: (e) => e.event_id.slice(0, 28) }),
          travel,
          async (drawn, how) => {
            const prefix = `run ${++run} `
            const events = drawn.map((e) => ({
              ...e,
              batch_id: prefix + e.batch_id,
              event_id: fresh(e.event_id),
            }))
            const inOrder = events.toSorted((a, b) =>
              `${a.timestamp}${a.event_id}` < `${b.timestamp}${b.event_id}` ? -1 : 1,
            )
            await sendWhole(canonical.app, canonical.token, inOrder)
            await sendShuffled(events, how)
            const expected = await summariesOf(canonical.sql, prefix)
            const actual = await summariesOf(shuffled.sql, prefix)
            // Different users sent them.
            for (const batch of [...(expected.batches ?? []), ...(actual.batches ?? [])])
              delete batch.owner_id
            checkSettled(inOrder, expected, 'first')
            checkSettled(inOrder, actual, 'any')
            expect(actual).toEqual(expected)
            checkAgainstModel(events, expected)
          },
        ),
        propertyBounds('convergence', effort),
      )
    },
    patienceMs(effort.seconds + 70),
  )
}

/** The same order of ids in every run and while shrinking, but no id twice in the database. */
const fresh = (eventId: string): string => eventId.slice(0, 28) + run.toString(16).padStart(8, '0')

async function sendWhole(app: TestApp, token: string, events: TestEvent[]): Promise<void> {
  const answer = await app.call('POST', '/api/events/batch', { token, body: events })
  expect(answer.body.results.filter((r: { error?: unknown }) => r.error !== undefined)).toEqual([])
}

async function sendShuffled(
  events: TestEvent[],
  how: { seed: number; repeats: number; size: number; abreast: number },
): Promise<void> {
  const draw = randomFrom(how.seed)
  const below = (n: number): number => Math.floor(draw() * n)
  const all = [...events, ...events.filter(() => below(10) < how.repeats)]
  for (let i = all.length - 1; i > 0; i--) {
    const j = below(i + 1)
    ;[all[i], all[j]] = [all[j] as TestEvent, all[i] as TestEvent]
  }
  const requests: TestEvent[][] = []
  for (let at = 0; at < all.length; ) {
    const size = 1 + below(how.size)
    requests.push(all.slice(at, at + size))
    at += size
  }
  await Promise.all(
    Array.from({ length: how.abreast }, async () => {
      for (let next = requests.shift(); next !== undefined; next = requests.shift()) {
        await sendWhole(draw() < 0.5 ? shuffled.app : second, shuffled.token, next)
      }
    }),
  )
}

/**
 * Arrival decides one thing, on purpose (contract §10): the first start that is applied settles the command, the host
 * and the environment of its batch, all of it at once. Where the order of arrival is known, that is the start of the
 * first event; else it is exactly what one of the starts said. Takes it out of the rows, which are then independent
 * of the order.
 */
function checkSettled(
  inOrder: TestEvent[],
  summaries: Awaited<ReturnType<typeof summariesOf>>,
  arrived: 'first' | 'any',
): void {
  for (const batch of summaries.batches ?? []) {
    // An update of a running batch starts nothing.
    const starts = inOrder.filter(
      (e) => e.batch_id === batch.id && e.event_type === 'batch_start' && e.data.update !== true,
    )
    const possible = starts.slice(0, arrived === 'first' ? 1 : undefined).map(settledBy)
    const { command, host, env_snapshot, start_fields } = batch
    if (starts.length === 0) expect([command, host, env_snapshot]).toEqual([null, null, null])
    else expect(possible).toContainEqual({ command, host, env_snapshot })
    delete batch.command
    delete batch.host
    delete batch.env_snapshot
    // Derived from them, among others.
    delete batch.search
    batch.start_fields =
      start_fields &&
      Object.fromEntries(
        Object.entries(start_fields as object).filter(
          ([name]) => name !== 'command' && name !== 'host' && !name.startsWith('env/'),
        ),
      )
  }
}

/** What one start says of these (contract §4 `env_snapshot`). */
function settledBy({ data, source }: TestEvent): Record<string, unknown> {
  const sent = (data.env_snapshot ?? {}) as Record<string, unknown>
  const environment: Record<string, unknown> = {
    commit: source.commit ?? null,
    command: data.command ?? source.command ?? null,
    cwd: data.cwd ?? null,
    hostname: source.host ?? null,
    ...sent,
  }
  return {
    command: data.command ?? source.command ?? sent.command ?? null,
    host: source.host ?? null,
    env_snapshot: environment,
  }
}

/** An independent model of the contract for epochs, lines and jobs: both servers could have the same fault. */
function checkAgainstModel(events: TestEvent[], summaries: Awaited<ReturnType<typeof summariesOf>>): void {
  const points = new Map<string, { by: string; value: unknown }>()
  const inOrder = events.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
  for (const e of inOrder) {
    if (e.event_type !== 'job_epoch') continue
    const { epoch, acc, ...series } = e.data
    for (const [name, value] of [
      ...Object.entries(series),
      ...Object.entries((acc as object) ?? {}).map(([k, v]) => [`acc/${k}`, v] as const),
    ]) {
      if (name === 'note') continue
      points.set(JSON.stringify([e.batch_id, e.job_id, epoch, name]), { by: e.event_id, value: plain(value) })
    }
  }
  const stored = (summaries.epochs ?? []).flatMap((row) =>
    Object.entries(row.values as object).map(
      ([name, value]) => [JSON.stringify([row.batch, row.job, row.epoch, name]), plain(value)] as const,
    ),
  )
  expect(Object.fromEntries(stored)).toEqual(
    Object.fromEntries([...points].map(([key, { value }]) => [key, value])),
  )
  for (const row of summaries.jobProgress ?? []) {
    const mine = inOrder.filter((e) => e.batch_id === row.batch && e.job_id === row.job)
    const epochs = mine.filter((e) => e.event_type === 'job_epoch').map((e) => e.data.epoch as number)
    expect(row).toMatchObject({
      epochs: new Set(epochs).size,
      max_epoch: epochs.length === 0 ? null : Math.max(...epochs),
      whole: true,
    })
    for (const [name, summary] of Object.entries(row.series as Record<string, Record<string, unknown>>)) {
      const values = [...points]
        .map(([key, { value }]) => [JSON.parse(key), value] as const)
        .filter(([[batch, job, , series]]) => batch === row.batch && job === row.job && series === name)
        .sort(([[, , a]], [[, , b]]) => a - b)
      const finite = values.map(([, v]) => v).filter((v) => typeof v === 'number')
      const infinite = values.flatMap(([, v]) => (/^-?Infinity$/.test(String(v)) ? [Number(v)] : []))
      const numbers = finite.length > 0 ? finite : infinite
      expect(summary).toEqual({
        last_epoch: values.at(-1)?.[0][2],
        last_value: values.at(-1)?.[1],
        min: numbers.length === 0 ? 'NaN' : written(Math.min(...numbers)),
        max: numbers.length === 0 ? 'NaN' : written(Math.max(...numbers)),
      })
    }
  }
  const count = (type: EventType): number => events.filter((e) => e.event_type === type).length
  expect(summaries.lines?.length).toBe(count('log_line'))
  expect(summaries.snapshots?.length).toBe(count('resource_snapshot'))
  for (const row of summaries.batchProgress ?? []) {
    const jobs = (summaries.jobs ?? []).filter((j) => j.batch === row.batch)
    const inStatus = (status: string): number => jobs.filter((j) => j.status === status).length
    expect(row).toMatchObject({
      n_jobs: jobs.length,
      n_running: inStatus('running'),
      n_completed: inStatus('completed'),
      n_failed: inStatus('failed'),
      n_stopped: inStatus('stopped'),
      n_lost: inStatus('lost'),
    })
  }
  for (const batch of summaries.batches ?? []) {
    const ofBatch = inOrder.filter((e) => e.batch_id === batch.id)
    const start = ofBatch.findLast((e) => e.event_type === 'batch_start' && e.data.update !== true)
    expect(batch.n_total).toBe(start?.data.n_total ?? null)
    expect({ config: batch.config, summary: batch.summary }).toEqual({
      config: mergedKeys(ofBatch, 'config'),
      summary: mergedKeys(ofBatch, 'summary'),
    })
    const jobs = (summaries.jobs ?? []).filter((j) => j.batch === batch.id)
    expect(jobs.map((j) => j.id)).toEqual(
      [...new Set(ofBatch.map((e) => e.job_id))].filter((id) => id !== null).sort(),
    )
    for (const job of jobs) {
      const last = ofBatch
        .filter((e) => e.job_id === job.id && /^job_(start|done|failed)$/.test(e.event_type))
        .toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
        .at(-1)
      // A job that reports after the end of its batch outlives it.
      const end = ofBatch
        .filter((e) => /^batch_(start|done|failed)$/.test(e.event_type) && e.data.update !== true)
        .toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
        .at(-1)
      const outlives = ofBatch.some(
        (e) => e.job_id === job.id && end !== undefined && timeOf(e) > timeOf(end),
      )
      const over = batch.status !== 'running' && !outlives
      const expected =
        last?.event_type === 'job_done'
          ? 'completed'
          : last?.event_type === 'job_failed'
            ? last.data.reason === 'stop_requested'
              ? 'stopped'
              : 'failed'
            : over
              ? 'lost'
              : 'running'
      expect(job.status).toBe(expected)
    }
  }
}

/** For each key the value of the latest event of the batch; an end is after a start with the same time. */
function mergedKeys(ofBatch: TestEvent[], name: 'config' | 'summary'): unknown {
  const saying = ofBatch
    .filter((e) => e.job_id === null && /^batch_/.test(e.event_type))
    .toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1))
  const merged = Object.assign({}, ...saying.map((e) => e.data[name] ?? {}))
  return Object.keys(merged).length === 0
    ? null
    : Object.fromEntries(Object.entries(merged).map(([key, value]) => [key, plain(value)]))
}

/** As JSON has it. */
const written = (value: number): number | string => (Number.isFinite(value) ? value : String(value))
/** A stored point has no negative zero. */
const plain = (value: unknown): unknown => (value === 0 ? 0 : value)
/** Time to the microsecond, then event_id. */
const orderOf = (e: TestEvent): string =>
  `${e.timestamp.slice(0, 19)}.${e.timestamp.slice(20, -1).slice(0, 6).padEnd(6, '0')} ${e.event_id}`
const timeOf = (e: TestEvent): string => orderOf(e).replace(/ .*/, '')
/** As `orderOf`, but within one instant an end comes after a start. */
const rankOf = (e: TestEvent): string => orderOf(e).replace(' ', /_start$/.test(e.event_type) ? ' 0' : ' 1')

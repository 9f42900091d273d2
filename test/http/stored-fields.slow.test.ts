import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import type { Known } from '../../src/domain/caller.ts'
import { every } from '../../src/domain/conditions.ts'
import { positionOf, type SortPosition } from '../../src/domain/keyset-pages.ts'
import {
  type BatchOrder,
  countBatches,
  EVERY_BATCH,
  FIELD_KINDS,
  listBatches,
  placesOfBatches,
  readQueries,
} from '../../src/domain/lists/index.ts'
import { metByStored } from '../../src/domain/lists/stored-conditions.ts'
import { matches, type Name, type Query, type Row, readName, termsOf } from '../../src/query/index.ts'
import { createWriter } from '../../src/stream/commit.ts'
import { storeFieldsOfBatches } from '../../src/workers/batch-fields.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

/** Lists of batches by fields of their jobs, compared with a simple reference, for any set of stored fields. */
const N = 80
const PAGE = 17
let database: TestDatabase
let sql: Sql
let admin: Known
let member: Known

type Value = number | string | boolean | null | { [name: string]: Value }
interface BatchField {
  of: Exclude<Name['of'], 'any'>
  name: string
}
const readField = (text: string): BatchField => {
  const { of, key } = readName(text)
  return { of: of as BatchField['of'], name: key }
}
interface Job {
  model: string | null
  status: string
  metrics: Record<string, Value>
  params: Record<string, Value>
  /** Last, least and greatest of each series. */
  series: Record<string, [number, number, number]>
  seen: number
  key: number
}
interface Batch {
  key: number
  id: string
  config: Record<string, Value>
  project: number
  start: number
  deleted: boolean
  jobs: Job[]
}
const batches: Batch[] = []

/** The same numbers in each run. */
let seed = 7
function below(n: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return Math.floor((seed / 2_147_483_648) * n)
}
const oneOf = <T>(values: readonly T[]): T => values[below(values.length)] as T

const PARAMS = ['lr', 'opt', 'mixed', 'a/b', 'long'] as const
const LONG = 'x'.repeat(199)
function makeParam(name: (typeof PARAMS)[number]): Value {
  switch (name) {
    case 'lr':
      return oneOf([0.1, 0.1, 0.01, 1, -3, 'NaN', 'Infinity'])
    case 'opt':
      return oneOf(['adam', 'sgd', 'Adam', 'ädam', '', true])
    case 'mixed':
      return oneOf([1, 2, 'two', '2', '1e-1', '0010', 'NaN', null, { deep: 1 }])
    case 'a/b':
      return oneOf([1, 2])
    case 'long':
      return oneOf([`${LONG}a`, `${LONG}aa`, `${LONG}ab`, `${LONG}b`])
  }
}

beforeAll(async () => {
  database = await freshDatabase()
  sql = database.sql
  const [a, m] = await sql<{ id: string }[]>`
    insert into users (email, email_key, name, role)
    values ('a@example.org', 'a@example.org', 'a', 'admin'), ('m@example.org', 'm@example.org', 'm', 'user') returning id`
  const as = (id: string, role: 'admin' | 'user'): Known => ({
    kind: 'known',
    user: { id, email: '', name: '', role },
    via: 'session',
    credentialId: id,
  })
  admin = as(a?.id as string, 'admin')
  member = as(m?.id as string, 'user')
  const projects = await sql<{ key: number }[]>`
    insert into projects (slug, display_name, owner_id)
    select 'p' || i, 'p' || i, case when i = 1 then ${m?.id as string}::uuid else ${a?.id as string}::uuid end
    from generate_series(0, 2) i returning key`
  for (let i = 0; i < N; i++) {
    const batch: Batch = {
      key: 0,
      id: `b${i}`,
      config: { lr: oneOf([0.1, 5]), nest: { deep: below(3) }, only: oneOf(['10', '1e-1', 'x']) },
      project: projects[below(3)]?.key as number,
      // Several start at the same instant.
      start: Date.UTC(2026, 0, 1) + below(40) * 1000,
      deleted: below(10) === 0,
      jobs: [],
    }
    const [made] = await sql<{ key: number }[]>`
      insert into batches (id, project_key, owner_id, status, started_at, deleted_at, config)
      values (${`b${i}`}, ${batch.project}, ${a?.id as string}, 'completed', ${new Date(batch.start)},
        ${batch.deleted ? new Date() : null}, ${JSON.stringify(batch.config)}::text::jsonb)
      returning key`
    batch.key = made?.key as number
    await sql`insert into batch_progress (batch_key, first_seen_at, last_seen_at) values (${batch.key}, now(), now())`
    for (let j = below(4); j > 0; j--) {
      const params = Object.fromEntries(
        PARAMS.filter(() => below(3) > 0).map((name) => [name, makeParam(name)]),
      )
      if (below(4) === 0) params.nest = { deep: below(3) }
      const series: Job['series'] = {}
      for (const name of ['loss', 'val/acc']) {
        if (below(5) === 0) continue
        const value = oneOf([Number.NaN, 0, 0.5, 0.5, 2, Number.POSITIVE_INFINITY])
        const finite = Number.isFinite(value) ? value : below(3) === 0 ? 1 : Number.NaN
        series[name] = [value, finite - below(2), finite + below(2)]
      }
      const metrics = { loss: oneOf([0.5, 2, 'NaN', '0.5']), done: oneOf([1, 2]) }
      const model = oneOf(['tiny', 'large', null])
      const status = oneOf(['completed', 'failed'])
      const [job] = await sql<{ key: number }[]>`
        insert into jobs (batch_key, project_key, id, status, started_at, params, metrics, model)
        values (${batch.key}, ${batch.project}, ${`j${j}`}, ${status}, ${new Date(batch.start)}, ${JSON.stringify(params)}::text::jsonb,
          ${JSON.stringify(metrics)}::text::jsonb, ${model}) returning key`
      batch.jobs.push({ params, metrics, model, status, series, seen: below(3), key: job?.key as number })
    }
    for (const job of batch.jobs) await saveProgress(batch, job)
    batches.push(batch)
  }
})
afterAll(() => database?.drop())

async function saveProgress(batch: Batch, { key, seen, series }: Job): Promise<void> {
  const values = (at: number) => `{${Object.values(series).map((value) => value[at])}}`
  await sql`
    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, series, last_epoch, last_value, min_value, max_value)
    values (${key}, ${batch.key}, now(), ${new Date(Date.UTC(2026, 1, 1, 0, 0, seen))}, ${Object.keys(series)},
      array_fill(1, array[${Object.keys(series).length}::int]),
      ${values(0)}::text::float8[], ${values(1)}::text::float8[], ${values(2)}::text::float8[])
    on conflict (job_key) do update set last_seen_at = excluded.last_seen_at, last_value = excluded.last_value,
      min_value = excluded.min_value, max_value = excluded.max_value`
}

/** What a batch has of the field, as numbers and texts. */
function valuesOf({ jobs }: Batch, { of, name }: BatchField): (number | string)[] {
  if (of === 'param') {
    return jobs.flatMap(({ params }) => {
      const value = params[name] ?? (params[name] === undefined ? inside(params, name) : null)
      if (value === null || typeof value === 'object') return []
      if (value === 'NaN' || value === 'Infinity') return [Number(value)]
      return [typeof value === 'boolean' ? String(value) : value]
    })
  }
  const known = jobs.filter(({ series }) => series[name] !== undefined)
  if (of === 'last') {
    const last = known.toSorted((x, y) => y.seen - x.seen || y.key - x.key)[0]
    return last === undefined ? [] : [last.series[name]?.[0] as number]
  }
  return known.map(({ series }) => series[name]?.[of === 'min' ? 1 : 2] as number)
}
function inside(value: Value, path: string): Value {
  return path
    .split('/')
    .reduce<Value>((at, name) => (at !== null && typeof at === 'object' ? (at[name] ?? null) : null), value)
}

const byBytes = (x: string, y: string): number => Buffer.compare(Buffer.from(x), Buffer.from(y))

/** The keys in order: numbers, texts, NaN, nothing; then newest first. */
function inOrder(field: BatchField, descending: boolean, among: readonly Batch[]): number[] {
  const sign = descending ? -1 : 1
  const greatest = field.of === 'max' || (field.of === 'param' && descending)
  const ranked = among.map((batch) => {
    const all = valuesOf(batch, field)
    const numbers = all.filter((v): v is number => typeof v === 'number' && !Number.isNaN(v))
    const texts = all.flatMap((v) => (typeof v === 'string' ? [[...v].slice(0, 200).join('')] : []))
    const nan = all.some(Number.isNaN)
    const number = numbers.length === 0 ? 0 : greatest ? Math.max(...numbers) : Math.min(...numbers)
    const sorted = texts.toSorted(byBytes)
    const rank = numbers.length > 0 ? 0 : texts.length > 0 ? 1 : nan ? 2 : 3
    // A text beside NaN counts as a text, without its words.
    const text = rank === 1 && !nan ? ((greatest ? sorted.at(-1) : sorted[0]) as string) : ''
    return { ...batch, rank, number, text }
  })
  const compare = (x: number, y: number): number => (x === y ? 0 : x < y ? -1 : 1)
  return ranked
    .toSorted(
      (x, y) =>
        x.rank - y.rank ||
        sign * compare(x.number, y.number) ||
        sign * byBytes(x.text, y.text) ||
        y.start - x.start ||
        y.key - x.key,
    )
    .map(({ key }) => key)
}

async function listed(caller: Known, order: BatchOrder | undefined, where: string[] = []): Promise<number[]> {
  const filter = { ...EVERY_BATCH, where: readQueries('batch', where) }
  const keys: number[] = []
  let after: SortPosition | undefined
  do {
    const rows = await listBatches(sql, caller, filter, { limit: PAGE + 1, after }, order)
    keys.push(...rows.slice(0, PAGE).map(({ key }) => key))
    const last = rows.length > PAGE ? rows[PAGE - 1] : undefined
    after = last && positionOf(last)
  } while (after !== undefined)
  expect(new Set(keys).size).toBe(keys.length)
  const [project] = await sql<{ key: number }[]>`select key from projects where slug = 'p1'`
  if (caller === member) {
    const scope = { together: [project?.key as number] }
    expect((await countBatches(sql, member, scope, filter)).get(0)).toBe(keys.length)
  }
  return keys
}

const seenBy = (caller: Known, own: number): Batch[] =>
  batches.filter(({ deleted, project }) => !deleted && (caller === admin || project === own))

const FIELDS = [
  ...['loss', 'val/acc', 'none'].flatMap((name) => ['last', 'min', 'max'].map((of) => `${of}.${name}`)),
  ...[...PARAMS, 'nest/deep', 'none'].map((name) => `param.${name}`),
]

async function compareOrders(): Promise<void> {
  const [own] = await sql<{ key: number }[]>`select key from projects where slug = 'p1'`
  for (const caller of [admin, member]) {
    for (const text of FIELDS) {
      const by = readField(text)
      for (const descending of [false, true])
        expect(await listed(caller, { by: { name: text }, descending }), `${text} ${descending}`).toEqual(
          inOrder(by, descending, seenBy(caller, own?.key as number)),
        )
    }
  }
}

const CONDITIONS = [
  ...['loss', 'lr', 'mixed', 'nest/deep'].flatMap((name) =>
    ['', 'param.', 'last.', 'min.', 'max.', 'final.', 'config.'].flatMap((of) =>
      ['<0.5', '<=0.5', '>0.1', '=0.5', '=2', '!=1', '=NaN', ':1'].map((rest) => `${of}${name}${rest}`),
    ),
  ),
  ...['opt', 'mixed', 'long', 'model'].flatMap((name) =>
    ['', 'param.'].flatMap((of) =>
      [
        '=adam',
        '<sgd',
        '>=sgd',
        '>two',
        '=two',
        ':ADAM',
        '!=adam',
        '=true',
        '=tiny',
        `<${LONG}ab`,
        `>${LONG}aa`,
        `=${LONG}ab`,
      ].map((rest) => `${of}${name}${rest}`),
    ),
  ),
]
/** What every condition finds while nothing is stored, so that all is computed. */
const found = new Map<string, number[]>()

const storeAll = (): Promise<void> =>
  storeFieldsOfBatches({ sql, writer: createWriter(sql), log: { warn: expect.fail } as never })
const unknown = async (): Promise<number> =>
  (await sql`select from batch_progress where not fields_known`).length

describe('lists ordered by fields of jobs', () => {
  test('are in order while no fields are stored', async () => {
    expect(await unknown()).toBe(N)
    await compareOrders()
    for (const text of CONDITIONS) found.set(text, await listed(admin, undefined, [text]))
    expect(
      [...found.values()].filter((keys) => keys.length > 0 && keys.length < N / 2).length,
    ).toBeGreaterThan(50)
  })

  test('are the same with all fields stored and with some of them', async () => {
    await storeAll()
    expect(await unknown()).toBe(0)
    await compareOrders()
    for (const [text, keys] of found) expect(await listed(admin, undefined, [text]), text).toEqual(keys)
    await sql`update batch_progress set last_seen_at = last_seen_at where batch_key % 3 = 0`
    expect(await unknown()).toBe(batches.filter(({ key }) => key % 3 === 0).length)
    await compareOrders()
    for (const [text, keys] of found) expect(await listed(admin, undefined, [text]), text).toEqual(keys)
  })

  test('can be filtered by the field of the order and by others', async () => {
    for (const stored of [false, true]) {
      if (stored) await storeAll()
      for (const text of FIELDS.filter((name) => !name.startsWith('param.long'))) {
        const by = readField(text)
        for (const rest of ['<=0.5', '>0', '=0.5', '=NaN', '>=sgd']) {
          const keys = new Set(
            found.get(`${text}${rest}`) ?? (await listed(admin, undefined, [`${text}${rest}`])),
          )
          for (const descending of [false, true])
            expect(
              await listed(admin, { by: { name: text }, descending }, [`${text}${rest}`]),
              `${text}${rest}`,
            ).toEqual(inOrder(by, descending, seenBy(admin, 0)).filter((key) => keys.has(key)))
        }
      }
    }
  })

  test('contain a batch whose fields are stored between the index scan and the list', async () => {
    const condition = 'last.loss<=0.5'
    const [key = 0] = await listed(admin, undefined, [condition])
    // As one that was never stored.
    await sql`update batch_progress set last_seen_at = last_seen_at where batch_key = ${key}`
    await sql`delete from batch_fields where batch_key = ${key}`
    const [query] = readQueries('batch', [condition])
    if (query === undefined) throw new Error('there is a query')
    const filter = { ...EVERY_BATCH, where: [query] }
    const order = { by: 'started_at', descending: true } as const
    const places = await placesOfBatches(sql, admin, { together: null }, filter, order)
    const met = await metByStored(sql, query, places)
    await storeAll()
    const rows = await sql<
      { key: number }[]
    >`select t.key from batches t where ${every(sql, met?.where ?? [])}`
    expect(rows.map((row) => row.key)).toContain(key)
  })

  test('are stored once per round, also for a batch that changes all the time', async () => {
    await storeAll()
    const key = batches[0]?.key as number
    await sql.unsafe(`create trigger always before update on batch_progress for each row
      when (new.batch_key = ${key}) execute function forget_batch_fields()`)
    await sql`update batch_progress set last_seen_at = last_seen_at where batch_key = ${key}`
    await storeAll()
    expect(await unknown()).toBe(1)
    await sql`drop trigger always on batch_progress`
  })

  test('show every change at once, without another round of storing', async () => {
    await storeAll()
    for (let i = 0; i < 12; i++) {
      const batch = oneOf(batches.filter(({ jobs }) => jobs.length > 0))
      const job = oneOf(batch.jobs)
      const series = oneOf(Object.keys(job.series).length > 0 ? Object.keys(job.series) : ['loss'])
      if (job.series[series] !== undefined) job.series[series] = [below(5), below(5), below(5)]
      batch.deleted = below(3) === 0
      await sql.begin(async (tx) => {
        await tx`update batch_progress set last_seen_at = now() where batch_key = ${batch.key}`
        await tx`update batches set deleted_at = ${batch.deleted ? new Date() : null} where key = ${batch.key}`
      })
      await saveProgress(batch, job)
    }
    expect(await unknown()).toBeGreaterThan(0)
    await compareOrders()
    await storeAll()
    await compareOrders()
  })
})

/** A batch as the reference evaluates queries on it. */
function rowOf(batch: Batch): Row {
  const { jobs } = batch
  const kept = (json: Record<string, Value>, name: string): Value =>
    json[name] === undefined ? inside(json, name) : (json[name] ?? null)
  return {
    field: (name) =>
      name === 'status'
        ? ['completed']
        : name === 'model'
          ? jobs.map(({ model }) => model)
          : name === 'id'
            ? [batch.id]
            : [],
    values: (of, name) => {
      switch (of) {
        case 'param':
          return name === 'model'
            ? jobs.map(({ model }) => model)
            : jobs.map(({ params }) => (name in params ? params[name] : inside(params, name)))
        case 'final':
          return jobs.map(({ metrics }) => kept(metrics, name))
        case 'config':
          return [kept(batch.config, name)]
        case 'best':
          return valuesInBatch(batch, { of: 'min', name })
        default:
          return valuesInBatch(batch, { of, name })
      }
    },
    texts: [batch.id],
  }
}
/** One value: the lowest or highest of the jobs, NaN where none is finite. */
function valuesInBatch(batch: Batch, field: BatchField): readonly unknown[] {
  const all = valuesOf(batch, field) as number[]
  const finite = all.filter((one) => !Number.isNaN(one))
  if (all.length === 0) return []
  return [
    finite.length === 0
      ? Number.NaN
      : field.of === 'max'
        ? Math.max(...finite)
        : field.of === 'min'
          ? Math.min(...finite)
          : finite[0],
  ]
}

const NAMES = [
  ...['loss', 'lr', 'opt', 'mixed', 'nest/deep', 'model', 'only', 'done', 'val/acc', 'none'],
  ...[
    'param.mixed',
    'param.lr',
    'last.loss',
    'min.loss',
    'best.loss',
    'final.loss',
    'config.only',
    'config.lr',
  ],
  ...['status', 'id'],
]
const OPERATORS = [':', '=', '!=', '<', '<=', '>', '>=']
const VALUES = [
  '0.5',
  '1',
  '2',
  '10',
  '1e-1',
  '0.1',
  'NaN',
  'adam',
  'ADAM',
  'two',
  'tiny',
  'x',
  'true',
  'b1',
  '"a b"',
]

function makeQuery(depth: number): string {
  const kind = below(depth > 2 ? 6 : 9)
  if (kind === 6) return `NOT (${makeQuery(depth + 1)})`
  if (kind > 6) return `(${makeQuery(depth + 1)}${kind === 7 ? ' OR ' : ' '}${makeQuery(depth + 1)})`
  if (kind === 5) return oneOf(['b1', 'nowhere'])
  const name = oneOf(NAMES)
  if (name === 'status') return oneOf(['status:completed', 'status!=failed', 'status:running'])
  return `${name}${oneOf(OPERATORS)}${oneOf(VALUES)}`
}

test('queries find in SQL what the reference finds, with all, some and no fields stored', async () => {
  const shown = batches.filter(({ deleted }) => !deleted)
  const newest = shown.toSorted((x, y) => y.start - x.start || y.key - x.key)
  const asked = Array.from({ length: 150 }, () => makeQuery(0))
  let some = 0
  for (const stored of ['no', 'all', 'some']) {
    if (stored === 'no') await sql`update batch_progress set fields_known = false`
    else await storeAll()
    if (stored === 'some')
      await sql`update batch_progress set last_seen_at = last_seen_at where batch_key % 3 = 0`
    for (const text of asked) {
      const [query] = readQueries('batch', [text]) as [Query]
      const wanted = newest.filter((batch) => matches(query, rowOf(batch), FIELD_KINDS.batch))
      if (wanted.length > 0 && wanted.length < shown.length && termsOf(query).length > 1) some++
      expect(await listed(admin, undefined, [text]), `${text} with ${stored} fields stored`).toEqual(
        wanted.map(({ key }) => key),
      )
    }
  }
  expect(some).toBeGreaterThan(30)
})

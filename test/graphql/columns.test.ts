import { execute, parse } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Graph, openGraph } from '../../src/db/prisma.ts'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { wideRows } from '../../src/db/wide-rows.ts'
import type { Known } from '../../src/domain/caller.ts'
import type { Field } from '../../src/domain/field.ts'
import { JOB_FIELDS, type JobRow, jobFields, jobView, jobViewOf } from '../../src/domain/jobs/index.ts'
import { asTheyAre } from '../../src/domain/telemetry.ts'
import { createContext } from '../../src/graphql/context.ts'
import { createGraphql, type Graphql } from '../../src/graphql/handlers.ts'
import { buildSchema } from '../../src/graphql/schema.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { workLimits } from '../kit/work-limits.ts'

// Columns pass the executor as one value (graphql/columns.ts), and of jobs only what is selected is read; what is answered
// must be what the executor of the reference implementation answers over the public schema.

let stage: Stage
let sql: Sql
let graph: Graph
let graphql: Graphql
const schema = buildSchema()

beforeAll(async () => {
  stage = await openStage()
  const url = stage.app.config.databaseUrl ?? ''
  sql = openSql(url, { name: 'columns', max: 4 })
  graph = openGraph(url, { max: 2 })
  graphql = createGraphql({
    schema,
    contextFor,
    log: stage.app.app.log as never,
    ...workLimits(),
  })
  const of = { batch_id: 'b', source: { project: 'vision' }, job_id: 'j' }
  const values = ['NaN', 'Infinity', '-Infinity', 0, -0, 1e-300, 1e300, 0.1 + 0.2]
  await stage.send(stage.owner, [
    startOf({ id: 'b' }),
    makeEvent('job_start', of),
    ...Array.from({ length: 300 }, (_, epoch) =>
      makeEvent('job_epoch', { ...of, data: { epoch: epoch * 3, loss: values[epoch % 8], even: epoch / 7 } }),
    ),
    ...[0, 1, 2].map((n) =>
      makeEvent('resource_snapshot', {
        ...of,
        timestamp: `2026-03-01T10:00:0${n}Z`,
        data: { ram_mb: n === 1 ? 'NaN' : n, gpus: [{ index: 0, util_pct: n }] },
      }),
    ),
  ])
})
afterAll(async () => {
  await graph?.close()
  await sql?.end({ timeout: 5 })
  await stage?.stop()
})

const contextFor = () =>
  createContext({
    caller: owner(),
    db: asTheyAre(sql),
    prisma: graph.prisma,
    clock: {
      now: new Date('2026-03-02T00:00:00Z'),
      startedAt: new Date(0),
      stallTimeoutMin: 15,
      lostAfterMin: 60,
      idleJobThresholdMin: 10,
    },
    live: { cursor: 0, follow: () => Promise.reject(new Error('nothing is followed here')) },
  })
const owner = (): Known => ({
  kind: 'known',
  via: 'session',
  credentialId: '',
  user: { id: stage.owner.id, email: stage.owner.email, name: 'owner', role: 'user' },
})

const ALL = `fragment all on Job { jobId key batchId status model dataset params finalMetrics latest startedAt endedAt
  elapsedS etaS epochs failureReason idle }`
const METRIC = '{ __typename job key steps values totalPoints returnedPoints sampled nonFinite }'
test.each([
  `{ batch(id: "b") { metrics ${METRIC} } }`,
  `{ batch(id: "b") { metrics(sampling: { mode: M4, points: 40 }) ${METRIC} } }`,
  `{ batch(id: "b") { metrics(keys: ["loss", "no"], range: { from: 10, to: 20 }, sampling: { mode: FULL }) ${METRIC} } }`,
  `{ batch(id: "b") { jobs { edges { node { a: metrics { s: steps s2: steps } metrics(keys: []) { values } } } } } }`,
  `query ($k: [String!]) { job(batchId: "b", id: "j") { ...m } } fragment m on Job { metrics(keys: $k) { ...c } } fragment c on Metric { values @include(if: true) steps @skip(if: true) }`,
  `{ batch(id: "b") { resources { job key steps timestamps values totalPoints nonFinite } } }`,
  `{ batch(id: "b") { resources(sampling: { mode: M4, points: 4 }) { key steps timestamps values } } }`,
  `{ batches { edges { node { id jobs { totalCount edges { cursor node { latest params } } } } } } }`,
  `{ batch(id: "b") { jobs { __typename edges { __typename cursor node { __typename ...all } } pageInfo { endCursor } } } } ${ALL}`,
  `{ jobs(first: 2) { edges { n: node { ... on Job { jobId } ... on Node { nodeId } ... { key } } } } }`,
  `{ project(slug: "vision") { jobs { totalCount edges { node { id: jobId id: jobId elapsedS } } e: edges { cursor } } } }`,
  `{ batch(id: "b") { jobs { edges { node { jobId } } } ...more } } fragment more on Batch { jobs { edges { node { params idle } } } }`,
  `{ batch(id: "b") { ...l jobs { edges { cursor } } } } fragment l on Batch { jobs { ...e } } fragment e on JobConnection { edges { node { latest } } }`,
  `{ batch(id: "b") { ... { ... on Batch { jobs { ...e } } } j: jobs { ...e } } } fragment e on JobConnection { edges { node { batchId finalMetrics } } }`,
  `{ batch(id: "b") { jobs { edges { node { jobId @skip(if: true) key ... @include(if: false) { model } } cursor @include(if: true) } } } }`,
  `{ batch(id: "b") { jobs { edges { node { __proto__: jobId constructor: status toString: model } } } } }`,
  `{ batch(id: "b") { jobs { edges { node { jobId eta { etaS } } } ...p } } } fragment p on JobConnection { edges { node { idle } } }`,
  `{ batch(id: "b") { logLines { totalCount edges { cursor node { dbId timestamp jobId level line } } } } no: batch(id: "no") { jobs { edges { cursor } } } }`,
  `{ jobs(orderBy: { by: LATEST, key: "even", direction: DESC }) { edges { cursor node { key startedAt endedAt failureReason dataset etaS epochs } } } }`,
  `{ jobs(first: 0) { edges { node { jobId } } } }`,
  `{ __schema { queryType { name } } batch(id: "b") { metrics { values } } }`,
  `{ batch(id: "b") { metrics(sampling: { mode: M4, points: 1 }) { values } } }`,
])('the answer is the same as that of graphql-js alone: %s', async (query) => {
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', url: '/graphql', headers, body: { query } }
  const { data } = JSON.parse((await graphql.answer(request, owner())).body)
  const reference = await execute({ schema, document: parse(query), contextValue: contextFor() })
  expect(data).toEqual(JSON.parse(JSON.stringify(reference.data)))
})

test('the published schema has lists of numbers', async () => {
  const query =
    '{ __type(name: "Metric") { fields { name type { kind ofType { kind ofType { ofType { name } } } } } } }'
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', url: '/graphql', headers, body: { query } }
  const { data } = JSON.parse((await graphql.answer(request, owner())).body)
  const steps = data.__type.fields.find(({ name }: { name: string }) => name === 'steps')
  expect(steps.type).toEqual({
    kind: 'NON_NULL',
    ofType: { kind: 'LIST', ofType: { ofType: { name: 'Step' } } },
  })
})

test('a value that does not fit its type gives the error of graphql-js', async () => {
  const query = '{ batch(id: "b") { id jobs { edges { node { jobId status model } } } } }'
  await sql`alter table jobs drop constraint jobs_status_check`
  await sql`update jobs set status = 'odd' where id = 'j'`
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', url: '/graphql', headers, body: { query } }
  const answer = JSON.parse((await graphql.answer(request, owner())).body)
  const reference = await execute({ schema, document: parse(query), contextValue: contextFor() })
  await sql`update jobs set status = 'running' where id = 'j'`
  expect(answer.data).toEqual({ batch: null })
  expect(reference.data).toEqual({ batch: null })
  const told = ({ path, locations }: { path?: unknown; locations?: unknown }) => ({ path, locations })
  expect(answer.errors.map(told)).toEqual(reference.errors?.map(told))
  expect(answer.errors).toHaveLength(1)
})

test('only the requested fields of jobs are read', async () => {
  const texts: string[] = []
  const told = openGraph(stage.app.config.databaseUrl ?? '', {
    max: 1,
    onStatement: (text) => void texts.push(text),
  })
  try {
    const db = createGraphql({
      schema,
      contextFor: () => ({ ...contextFor(), prisma: told.prisma }),
      ...workLimits(),
      log: stage.app.app.log as never,
    })
    const columns = async (fields: string) => {
      texts.length = 0
      const query = `{ batch(id: "b") { jobs { edges { node { ${fields} } } } } }`
      const headers = { 'content-type': 'application/json' }
      const request = { method: 'POST', url: '/graphql', headers, body: { query } }
      expect(JSON.parse((await db.answer(request, owner())).body).errors).toBeUndefined()
      const search = texts.find((text) => text.includes('FROM "public"."jobs"')) ?? ''
      return ['params', 'metrics', 'last_values', 'reported_s', 'gpu_busy_at', 'batches', 'series'].filter(
        (name) => search.includes(`"${name}"`),
      )
    }
    expect(await columns('jobId key status startedAt')).toEqual([])
    expect(await columns('params epochs')).toEqual(['params', 'last_values'])
    expect(await columns('elapsedS idle')).toEqual(['reported_s', 'gpu_busy_at', 'batches'])
    expect(await columns('finalMetrics batchId')).toEqual(['metrics', 'batches'])
    expect(await columns('jobId metrics { key }')).toEqual(['last_values', 'series'])
    expect(await columns('... on Job { ... { params @include(if: true) } } p: params')).toEqual(['params'])
    expect(await columns('nodeId')).toEqual(['batches'])
    expect(await columns('jobId attempts { n }')).toHaveLength(7)
  } finally {
    await told.close()
  }
})

test('a row of many columns keeps its shape and all values', async () => {
  const wide = sql<Record<string, unknown>[]>`/* columns.wide */
    select n, n::text t, null::text none, ${sql.unsafe(Array.from({ length: 30 }, (_, i) => `n + ${i} c${i}`).join(', '))}
    from generate_series(1, 3) n`
  const narrow =
    await sql`/* columns.narrow */ select n, n::text t, null::text none from generate_series(1, 3) n`
  const rows = await wideRows(wide, { same: 7 })
  expect(rows).toHaveLength(3)
  for (const [i, row] of rows.entries()) {
    expect(Object.keys(row)).toHaveLength(34)
    expect(row).toMatchObject({ ...narrow[i], same: 7, c29: i + 30 })
  }
})

test('a view of some fields has only these, with the same values', () => {
  const columns = Object.fromEntries(
    Object.values<Field>(jobFields).flatMap(({ column }) => (column === undefined ? [] : [[column, null]])),
  )
  const row: JobRow = {
    // Those that are not named below; only the table knows all.
    ...(columns as unknown as JobRow),
    key: 7,
    batch_key: 1,
    id: 'j',
    status: 'running',
    model: 'm',
    dataset: null,
    started_at: '2026-03-01T10:00:00Z',
    ended_at: null,
    failure_reason: null,
    step_unit: 'tokens',
    pruned: true,
    traceback: 'Traceback',
    batch_id: 'b',
    params: { lr: 1 },
    metrics: { acc: 'NaN' },
    reported_s: null,
    last_seen_at: '2026-03-01T10:05:00Z',
    epochs: 3,
    max_epoch: 2,
    last_values: [
      ['loss', '__proto__'],
      [0.5, 'NaN'],
    ],
    best_values: [
      ['loss', '__proto__'],
      [0.25, 'NaN'],
      [1, 'NaN'],
    ],
    series: ['loss', '__proto__'],
    gpu_first_at: null,
    gpu_last_at: null,
    gpu_low_samples: 0,
    batch_gpu_low_samples: 6,
    event_skews: [],
    gpu_busy_at: null,
    batch_gpu_first_at: '2026-03-01T23:40:00Z',
    batch_gpu_last_at: '2026-03-01T23:59:00Z',
    batch_gpu_busy_at: null,
  }
  for (const one of [row, { ...row, status: 'completed' as const, reported_s: Number.NaN }]) {
    const view = jobView(one, contextFor().clock, { etaS: 5 })
    const chosen = jobViewOf(['idle', 'latest'])(one, contextFor().clock, { etaS: 5 })
    expect(view.idle).toBe(one.status === 'running')
    expect(JSON.stringify(view.latest)).toBe('{"epoch":2,"loss":0.5,"__proto__":"NaN"}')
    expect(JSON.stringify(view.best)).toBe('{"loss":0.25,"__proto__":"NaN"}')
    expect(chosen).toEqual({ idle: view.idle, latest: view.latest })
    expect(jobViewOf(JOB_FIELDS)(one, contextFor().clock, { etaS: 5 })).toEqual(view)
  }
})

import { execute, parse } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Graph, openGraph } from '../../src/db/prisma.ts'
import { openSql, type Sql } from '../../src/db/sql.ts'
import type { Known } from '../../src/domain/caller.ts'
import { createContext } from '../../src/graphql/context.ts'
import { createGraphql, type Graphql } from '../../src/graphql/handlers.ts'
import { buildSchema } from '../../src/graphql/schema.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'

// Columns pass the executor as one leaf (graphql/columns.ts); what is answered must be what the executor of the
// reference implementation answers over the schema that is told.

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
  graphql = createGraphql({ schema, executable: buildSchema(), contextFor, log: stage.app.app.log as never })
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
    db: sql,
    prisma: graph.prisma,
    clock: {
      now: new Date('2026-03-02T00:00:00Z'),
      startedAt: new Date(0),
      stallTimeoutMin: 15,
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
  `{ __schema { queryType { name } } batch(id: "b") { metrics { values } } }`,
  `{ batch(id: "b") { metrics(sampling: { mode: M4, points: 1 }) { values } } }`,
])('the answer is that of the reference: %s', async (query) => {
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', url: '/graphql', headers, body: { query } }
  const { data } = JSON.parse((await graphql.answer(request, owner())).body)
  const reference = await execute({ schema, document: parse(query), contextValue: contextFor() })
  expect(data).toEqual(JSON.parse(JSON.stringify(reference.data)))
})

test('the schema that is told has lists of numbers', async () => {
  const query =
    '{ __type(name: "Metric") { fields { name type { kind ofType { kind ofType { ofType { name } } } } } } }'
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', url: '/graphql', headers, body: { query } }
  const { data } = JSON.parse((await graphql.answer(request, owner())).body)
  const steps = data.__type.fields.find(({ name }: { name: string }) => name === 'steps')
  expect(steps.type).toEqual({
    kind: 'NON_NULL',
    ofType: { kind: 'LIST', ofType: { ofType: { name: 'Int' } } },
  })
})

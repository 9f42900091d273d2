import { type GraphQLObjectType, parse, subscribe } from 'graphql'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Graph, openGraph } from '../../src/db/prisma.ts'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { batchFields } from '../../src/domain/batches/index.ts'
import type { Caller, Known } from '../../src/domain/caller.ts'
import { graphqlNames } from '../../src/domain/field.ts'
import { jobFields } from '../../src/domain/jobs/index.ts'
import { projectFields } from '../../src/domain/projects/index.ts'
import { asTheyAre } from '../../src/domain/telemetry.ts'
import { type Context, createContext } from '../../src/graphql/context.ts'
import { createGraphql, type Graphql } from '../../src/graphql/handlers.ts'
import { servedSchema } from '../../src/graphql/schema.ts'
import { makeFrame } from '../../src/stream/frame.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { workLimits } from '../kit/work-limits.ts'

// However many rows a nested query reads, it reads them in the same few statements.

let stage: Stage
let sql: Sql
let graph: Graph
let graphql: Graphql
let statements: string[] = []
/** Of internal errors, which answers do not show. */
const causes: unknown[] = []

beforeAll(async () => {
  stage = await openStage()
  const url = stage.app.config.databaseUrl ?? ''
  const onStatement = (text: string) => void statements.push(text.trim())
  sql = openSql(url, { name: 'counted', max: 4, onStatement })
  graph = openGraph(url, { max: 2, onStatement })
  graphql = createGraphql({
    schema: servedSchema(),
    ...workLimits(),
    log: { error: (about: { err?: unknown }) => causes.push(about.err) } as never,
    contextFor: (caller) =>
      contextOf(caller, { cursor: 0, follow: () => Promise.reject(new Error('nothing is followed here')) }),
  })
  const fill = async (project: string, batches: number, jobs: number) => {
    const events: unknown[] = []
    const source = { project }
    for (let b = 0; b < batches; b++) {
      const batch_id = `${project}-${b}`
      events.push(startOf({ id: batch_id, project }, { n_total: jobs }))
      for (let j = 0; j < jobs; j++) {
        events.push(makeEvent('job_start', { batch_id, source, job_id: `j${j}`, data: { lr: j } }))
        events.push(
          makeEvent('job_epoch', { batch_id, source, job_id: `j${j}`, data: { epoch: 0, loss: j } }),
        )
      }
    }
    for (let i = 0; i < events.length; i += 500) await stage.send(stage.owner, events.slice(i, i + 500))
  }
  // Older than those with batches, which then are first in their list.
  await sql`insert into projects (slug, display_name, owner_id)
    select 'more-' || n, 'More', ${stage.owner.id} from generate_series(1, 120) n`
  await fill('small', 1, 1)
  await fill('large', 25, 20)
  await more()
  // The driver asks for the types of the database once.
  await run('{ viewer { id } batches(first: 1) { totalCount } }', {})
})
afterAll(async () => {
  await graph?.close()
  await sql?.end({ timeout: 5 })
  await stage?.stop()
})

/** Rules, reports and links in the projects of the caller, and some rows of every other list. */
async function more(): Promise<void> {
  const id = stage.owner.id
  await sql`insert into notification_rules (project_key, name, trigger, created_at)
    select key, 'rule', 'batch_done', now() from projects where owner_id = ${id}`
  await sql`insert into notification_firings (rule_id, event_key, trigger, happened_at, fired_at, outcome)
    select r.id, 'e' || n, 'batch_done', now(), now(), 'mail' from notification_rules r, generate_series(1, 3) n`
  await sql`insert into reports (project_key, user_id, title, body) select key, ${id}, 'Report', 'Text' from projects where owner_id = ${id}`
  await sql`insert into saved_views (project_key, user_id, title, path) select key, ${id}, 'View', '/p/' from projects where owner_id = ${id}`
  await sql`insert into report_links (report_id, token_hash, created_by, created_at)
    select id, sha256(id::text::bytea), ${id}, now() from reports`
  await sql`insert into agents (user_id, hostname, version, token_hash, registered_at, last_seen_at, told_at)
    select ${id}, 'host-' || n, '1', sha256(n::text::bytea), now(), now(), now() from generate_series(1, 3) n`
}

const NOW = new Date()
const contextOf = (caller: Caller, live: Context['live']): Context =>
  createContext({
    caller,
    db: asTheyAre(sql),
    prisma: graph.prisma,
    clock: {
      now: NOW,
      startedAt: new Date(0),
      stallTimeoutMin: 15,
      lostAfterMin: 60,
      idleJobThresholdMin: 10,
    },
    live,
  })

const caller = (): Known => ({
  kind: 'known',
  via: 'session',
  credentialId: '',
  // An administrator in person sees the audit log too.
  user: { id: stage.owner.id, email: stage.owner.email, name: 'owner', role: 'admin' },
})

async function run(query: string, variables: Record<string, unknown>) {
  statements = []
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', url: '/graphql', headers, body: { query, variables } }
  const answer = JSON.parse((await graphql.answer(request, caller())).body)
  if (answer.errors !== undefined) throw new Error(JSON.stringify(answer.errors), { cause: causes.at(-1) })
  return { data: answer.data, count: statements.length, statements }
}

test('project > batch > job > metrics takes as many statements for 500 jobs as for one', async () => {
  const query = `query ($slug: String!) { project(slug: $slug) { batches(first: 50) { totalCount edges { node {
    id project { slug owner { name } } jobs(first: 100, where: { params: [{ key: "lr", op: GE, number: 0 }] }) {
      totalCount edges { node { jobId latest eta { etaS } metrics(sampling: { mode: M4, points: 100 }) { key steps values } } }
    }
    metrics { job key values }
  } } } } }`
  await run(query, { slug: 'small' })
  const one = await run(query, { slug: 'small' })
  const many = await run(query, { slug: 'large' })
  const { edges } = many.data.project.batches
  expect(edges).toHaveLength(25)
  expect(edges[0].node.jobs.edges).toHaveLength(20)
  expect(edges[24].node.jobs.edges[19].node.metrics).toEqual([{ key: 'loss', steps: [0], values: [0] }])
  expect(edges[0].node.metrics).toHaveLength(20)
  // Estimates of batches are kept for a second, so they may have been read just before.
  const read = ({ statements }: typeof one) => {
    // Of batches with many jobs it is not asked how far each job is.
    const names = statements.map(nameOf).filter((name) => name !== 'eta.progress')
    return names.filter((name, i) => !name.startsWith('eta.') || names.indexOf(name) === i).toSorted()
  }
  expect(read(many)).toEqual(read(one))
  expect(many.count).toBeLessThanOrEqual(20)
})

test('each level of the query is one statement', async () => {
  const query = `query ($slug: String!) { project(slug: $slug) { slug batches(first: 50) { edges { node {
    id jobs(first: 100) { totalCount edges { node { jobId params metrics { key steps values } } } }
  } } } } }`
  const { statements } = await run(query, { slug: 'large' })
  // Of batches with many jobs it is not asked how far each job is.
  const names = statements.map(nameOf).filter((name) => name !== 'eta.progress')
  expect(names).toEqual(
    expect.arrayContaining(['prisma', 'batches.search_keys', 'jobs.search_keys', 'metrics.read']),
  )
  // Estimates are read for batches and for jobs, unless they were a moment ago.
  const others = names.filter((name) => !name.startsWith('eta.') && name !== 'prisma')
  expect(others).toHaveLength(new Set(others).size)
  // The project, its batches and their jobs.
  expect(names.filter((name) => name === 'prisma')).toHaveLength(3)
  // Those of every list, of rights, of estimates and of the agents on the hosts.
  expect(names.length).toBeLessThanOrEqual(12)
})

test('nodes of one kind are read together', async () => {
  const ids = Array.from({ length: 20 }, (_, i) => Buffer.from(`Batch:large-${i}`).toString('base64'))
  const query =
    'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Batch { id jobs(first: 1) { edges { node { jobId } } } } } }'
  const { data, statements } = await run(query, { ids })
  expect(data.nodes[19]).toMatchObject({ id: 'large-19' })
  // Of batches with many jobs it is not asked how far each job is.
  const names = statements.map(nameOf).filter((name) => name !== 'eta.progress')
  expect(names.filter((name) => name === 'jobs.search_keys')).toHaveLength(1)
  // The batches and their jobs.
  expect(names.filter((name) => name === 'prisma')).toHaveLength(2)
  expect(names.length).toBeLessThanOrEqual(10)
})

/** Our statements begin with their name. */
const nameOf = (statement: string): string =>
  /\/\* ([\w.]+) \*\//.exec(statement.slice(0, 200))?.[1] ??
  (statement.startsWith('SELECT') ? 'prisma' : statement)

/** The fields of batches that are loaded for each row, with the statements that all rows together may take. */
const OF_BATCHES: [field: string, most: number][] = [
  ['logLines(first: 2) { totalCount edges { node { line } } }', 4],
  ['logLines(last: 2) { edges { node { line } } }', 3],
  ['logLines(first: 2, jobId: "j0") { totalCount edges { node { line } } }', 4],
  ['resources { key }', 3],
  ['resources(jobs: ["j0"]) { key }', 4],
  ['health { stalled reasons }', 4],
  ['timeline { step }', 4],
  ['agent { hostname }', 4],
  ['agentCommands(first: 2) { edges { node { state } } }', 4],
  ['shares { id }', 4],
  ['muted', 4],
  ['comments(first: 2) { totalCount edges { node { body } } }', 4],
  ['delivery { state }', 4],
  ['jobDeliveries(first: 2) { edges { node { missing } } }', 4],
  ['project { slug owner { name } }', 4],
  ['columns(names: ["best.loss"])', 4],
  ['jobs(first: 2) { totalCount edges { node { jobId latest } } }', 4],
  ['metrics(keys: ["loss"]) { values }', 4],
  ['metricGroups(groupBy: "param.lr", keys: ["loss"]) { group mean }', 4],
  ['metricGroups(groupBy: "param.lr", keys: ["loss"], sampling: { mode: FULL, x: RELATIVE }) { mean }', 4],
  ['metricClips(keys: ["loss"], share: 0.1) { key low }', 2],
  ['eta { etaS }', 4],
]
/** Likewise of jobs. */
const OF_JOBS: [field: string, most: number][] = [
  ['logLines(first: 2) { totalCount edges { node { line } } }', 4],
  ['resources { key }', 3],
  ['epochTimes { epochs }', 2],
  ['attempts { n status }', 4],
  ['attemptMetrics(n: 1, keys: ["loss"]) { series { values } }', 4],
  ['metrics(keys: ["loss"]) { values }', 4],
  ['eta { etaS }', 4],
]
/** Likewise of projects. */
const OF_PROJECTS: [field: string, most: number][] = [
  ['owner { name }', 0],
  ['role', 1],
  ['members { role user { name } }', 1],
  ['recipients', 1],
  ['fields { params }', 1],
  ['rules { items { name } }', 2],
  ['rules { items { firings(first: 2) { totalCount edges { node { messages { state } } } } } }', 4],
  ['links { opens }', 2],
  ['batches(first: 2) { totalCount edges { node { id } } }', 4],
  ['jobs(first: 2) { totalCount edges { node { jobId } } }', 4],
]
/** Fields whose values are in the row. */
const IN_ROW = ['nodeId', 'id', 'envSnapshot']

test.each([
  ['Batch', batchFields, OF_BATCHES],
  ['Job', jobFields, OF_JOBS],
  ['Project', projectFields, OF_PROJECTS],
] as const)('every field of %s that is loaded for each row is counted below', (type, declared, counted) => {
  const known = new Set([
    ...graphqlNames(declared),
    ...counted.map(([field]) => /^\w+/.exec(field)?.[0]),
    ...IN_ROW,
  ])
  const fields = Object.keys((servedSchema().getType(type) as GraphQLObjectType).getFields())
  expect(fields.filter((field) => !known.has(field))).toEqual([])
})

const MANY = 20
test.each(OF_BATCHES)('of many batches: %s', async (field, most) => {
  const query = (text: string) =>
    `query ($n: Int!) { batches(first: $n, filter: { project: ["large"] }) { edges { node { id ${text} } } } }`
  const without = await run(query(''), { n: MANY })
  const one = await run(query(field), { n: 1 })
  const many = await run(query(field), { n: MANY })
  expect(many.data.batches.edges).toHaveLength(MANY)
  // Estimates of one batch, whose jobs are few, are read with how far each job is.
  if (!field.startsWith('eta')) expect(many.count).toBeLessThanOrEqual(one.count)
  expect(many.count - without.count).toBeLessThanOrEqual(most)
})

test.each(OF_JOBS)('of many jobs: %s', async (field, most) => {
  const query = (text: string) => `query ($n: Int!) { jobs(first: $n) { edges { node { jobId ${text} } } } }`
  const n = field.startsWith('attemptMetrics') ? 50 : 500 // its cost allows no more
  const without = await run(query(''), { n })
  const many = await run(query(field), { n })
  expect(many.data.jobs.edges).toHaveLength(n)
  expect(many.count - without.count).toBeLessThanOrEqual(most)
})

test.each(OF_PROJECTS)('of many projects: %s', async (field, most) => {
  const query = (text: string) =>
    `query ($n: Int!) { projects(first: $n) { edges { node { slug ${text} } } } }`
  const without = await run(query(''), { n: 150 })
  const one = await run(query(field), { n: 1 })
  const many = await run(query(field), { n: 150 })
  expect(many.data.projects.edges.length).toBeGreaterThan(120)
  expect(many.data.projects.edges[0].node).not.toMatchObject({ [/^\w+/.exec(field)?.[0] ?? '']: null })
  expect(many.count).toBeLessThanOrEqual(one.count)
  expect(many.count - without.count).toBeLessThanOrEqual(most)
})

/** The other lists: each is a statement, with what its rows are read with, however many there are. */
test.each([
  ['hosts', 'id hostname owner { name } running { pid }'],
  ['audit', 'action actor { name } subject detail'],
  ['reports', 'title project owner { name } canEdit shared'],
  ['savedViews', 'title project owner { name } canEdit'],
])('of many rows: %s', async (list, fields) => {
  const query = `query ($n: Int!) { ${list}(first: $n) { edges { node { ${fields} } } } }`
  const one = await run(query, { n: 1 })
  const many = await run(query, { n: 50 })
  expect(many.data[list].edges.length).toBeGreaterThan(1)
  expect(many.count).toBe(one.count)
  expect(many.count).toBeLessThanOrEqual(4)
})

test('a subscription reads batches and jobs as a query does, through Prisma', async () => {
  const channel = 'batch:small-0'
  const payload = JSON.stringify({ batch: { id: 'small-0' }, jobs: [{ id: 'j0' }] })
  const frame = makeFrame({ seq: 1, channel, kind: 'batch', type: 'summary', at: NOW.toISOString(), payload })
  const follow = async () =>
    (async function* () {
      yield frame
    })() as never
  const fields = 'id status owner { name } project { slug }'
  const jobFields = 'jobId status params latest'
  const results = await subscribe({
    schema: servedSchema(),
    document: parse(`subscription { batch(id: "small-0") { batch { ${fields} } jobs { ${jobFields} } } }`),
    contextValue: contextOf(caller(), { cursor: 0, follow }),
  })
  statements = []
  const updates: { data?: { batch: object } }[] = []
  for await (const update of results as AsyncIterable<{ data: { batch: object } }>) updates.push(update)
  const names = statements.map(nameOf)
  const asked = await run(
    `{ batch(id: "small-0") { ${fields} } job(batchId: "small-0", id: "j0") { ${jobFields} } }`,
    {},
  )
  expect(updates).toEqual([{ data: { batch: { batch: asked.data.batch, jobs: [asked.data.job] } } }])
  expect(names.filter((name) => name === 'prisma').length).toBeGreaterThanOrEqual(2)
  expect(names.filter((name) => /^(batches|jobs)\.(read|search|list)$/.test(name))).toEqual([])
})

test('groups and clips of many batches are those of each one alone', async () => {
  const fields = `id metricGroups(groupBy: "param.lr", keys: ["loss", "=loss*2"]) { group key jobs steps mean n }
    timed: metricGroups(groupBy: "status", keys: ["loss"], sampling: { mode: FULL, x: RELATIVE }) { group key n }
    metricClips(keys: ["loss", "=loss*2"], share: 0.1) { key low high hidden }`
  const many = await run(
    `{ batches(first: 3, filter: { project: ["large"] }) { edges { node { ${fields} } } } }`,
    {},
  )
  for (const { node } of many.data.batches.edges) {
    expect(node.metricGroups).toHaveLength(40)
    expect(node.metricClips).toHaveLength(2)
    const alone = await run(`query ($id: ID!) { batch(id: $id) { ${fields} } }`, { id: node.id })
    expect(alone.data.batch).toEqual(node)
  }
})

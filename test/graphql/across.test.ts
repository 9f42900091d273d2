import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { ask, nodesOf, post } from './asking.ts'

// Lists that the page reads with GraphQL: the same rows in the same order as in REST.

const PROJECTS = 25

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  const events: unknown[] = []
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
  for (let i = 0; i < PROJECTS; i++) {
    const source = { project: `project-${i}` }
    const batch_id = `batch-${i}`
    events.push(startOf({ id: batch_id, timestamp: at(i), source }, { n_total: 4, tags: [`tag ${i % 3}`] }))
    const of = { batch_id, source, timestamp: at(i) }
    events.push(
      makeEvent('job_start', { ...of, job_id: `needle_${i}`, data: { lr: i / 10, model: 'ResNet' } }),
      makeEvent('job_epoch', { ...of, job_id: `needle_${i}`, data: { epoch: 1, loss: 25 - i } }),
      makeEvent('job_start', { ...of, job_id: `needlex${i}`, data: {} }),
    )
  }
  await stage.send(stage.batchOwner, events)
})
afterAll(() => stage?.stop())

const found = async (args: string, token = stage.batchOwner.token): Promise<string[]> =>
  nodesOf((await ask(stage.app, `{ jobs${args} { edges { node { jobId } } } }`, { token })).jobs).map(
    ({ jobId }) => jobId,
  )

describe('jobs of all projects', () => {
  test('are found in the oldest and in the newest project', async () => {
    expect(await found('(where: {q: ["Needle_0"]})')).toEqual(['needle_0'])
    expect(await found('(where: {q: ["needle_24"]})')).toEqual(['needle_24'])
    expect(await found('(first: 100, where: {q: ["resnet"]})')).toHaveLength(PROJECTS)
  })
  test('are found by a literal text of any length', async () => {
    expect(await found('(first: 100, where: {q: ["needle_"]})')).toHaveLength(PROJECTS)
    expect(await found('(where: {q: ["needle%"]})')).toEqual([])
    expect(await found('(first: 100, where: {q: ["x2"]})')).toHaveLength(6)
  })
  test('are listed newest first, page by page, with their number', async () => {
    const query = (after: string) =>
      `{ jobs(first: 20, where: {q: ["needle_"]}${after}) { totalCount edges { node { jobId } } pageInfo { endCursor hasNextPage } } }`
    const asked = { token: stage.batchOwner.token }
    const { jobs: first } = await ask(stage.app, query(''), asked)
    const { jobs: rest } = await ask(stage.app, query(`, after: "${first.pageInfo.endCursor}"`), asked)
    const ids = [...nodesOf(first), ...nodesOf(rest)].map(({ jobId }) => jobId)
    expect(ids).toEqual(Array.from({ length: PROJECTS }, (_, i) => `needle_${PROJECTS - 1 - i}`))
    expect([first.totalCount, rest.pageInfo.hasNextPage]).toEqual([PROJECTS, false])
  })
  test('are only those that the caller can read, also when requested by ids of batches', async () => {
    expect(await found('(where: {q: ["needle"]})', stage.stranger.token)).toEqual([])
    expect(await found('(batches: ["batch-3", "batch-4"])', stage.stranger.token)).toEqual([])
    expect(await found('(batches: ["batch-3", "batch-4"], where: {q: ["needle_"]})')).toEqual([
      'needle_4',
      'needle_3',
    ])
    expect(await found('(batches: [])')).toEqual([])
  })
  test('a search for a word uses an index', async () => {
    const rows = await stage.app.sql`select indexdef from pg_indexes where indexname = 'jobs_search'`
    expect(rows[0]?.indexdef).toMatch(/gin_trgm_ops/)
  })
})

const LISTS: [rest: string, graphql: string][] = [
  ['sort=last.loss&order=asc', 'orderBy: {by: FIELD, field: "last.loss", direction: ASC}'],
  ['sort=param.lr&order=desc', 'orderBy: {by: FIELD, field: "param.lr"}'],
  ['sort=id&order=asc', 'orderBy: {by: ID, direction: ASC}'],
  ['sort=owner', 'orderBy: {by: OWNER}'],
  ['sort=progress', 'orderBy: {by: PROGRESS}'],
  ['sort=elapsed', 'orderBy: {by: ELAPSED}'],
  ['where=lr<0.5&where=last.loss>=22', 'filter: {where: ["lr<0.5", "last.loss>=22"]}'],
  ['id=batch-7&id=batch-2', 'filter: {id: ["batch-7", "batch-2"]}'],
  ['tag=TAG 1', 'filter: {tag: ["TAG 1"]}'],
]
test.each(LISTS)('batches by %s are the same as in REST', async (rest, graphql) => {
  const { token } = stage.batchOwner
  const columns = ['param.lr', 'last.loss', 'min.loss', 'eta']
  const path = `/api/batches?${encodeURI(rest)}&${columns.map((one) => `columns=${one}`).join('&')}`
  const { body } = await stage.app.call('GET', path, { token })
  const query = `{ batches(${graphql}) { edges { node { id projectSlug etaS environment columns(names: ${JSON.stringify(columns)}) } } } }`
  const { batches } = await ask(stage.app, query, { token })
  expect(body.items.length).toBeGreaterThan(0)
  expect(nodesOf(batches)).toEqual(
    // biome-ignore lint/suspicious/noExplicitAny: an answer
    body.items.map((one: any) => ({
      id: one.id,
      projectSlug: one.project,
      etaS: one.eta_s,
      environment: one.env_snapshot,
      columns: one.columns,
    })),
  )
})

test.each([
  ['batches(filter: {where: ["a<1 lr<"]}) { totalCount }', /lr< needs a value.*at character 5/],
  ['jobs(where: {where: ["(lr<1"]}) { totalCount }', /bracket is not closed.*at character 1/],
  ['batches(orderBy: {by: FIELD}) { totalCount }', /FIELD takes a field/],
  ['batches(orderBy: {by: ID, field: "last.loss"}) { totalCount }', /FIELD takes a field/],
  ['batches(orderBy: {by: FIELD, field: "last."}) { totalCount }', /needs a name/],
  ['jobs(orderBy: {by: FIELD, key: "last."}) { totalCount }', /needs more than a prefix/],
  ['batches { edges { node { columns(names: ["last."]) } } }', /needs a name/],
])('%s is refused', async (query, why) => {
  const { body } = await post(stage.app, `{ ${query} }`, { token: stage.batchOwner.token })
  expect(body.errors[0].message).toMatch(why)
  expect(body.errors[0].extensions.status).toBe(422)
})

test('delivery, fields and rules are the same as in REST', async () => {
  const { token } = stage.batchOwner
  const rest = async (path: string) => (await stage.app.call('GET', path, { token })).body
  await stage.app.call('POST', '/api/projects/project-1/rules', { token, body: { trigger: 'batch_done' } })
  const { batch, project } = await ask(
    stage.app,
    `{ batch(id: "batch-1") { delivery { state stored missing } jobDeliveries { edges { node { jobId epochs missing gaps } } } muted }
      project(slug: "project-1") { fields { params series mainMetric hosts owners tags values } rules { mailConfigured items { id trigger cooldownS } } } }`,
    { token },
  )
  const { state, stored, missing } = await rest('/api/batches/batch-1/delivery')
  expect(batch.delivery).toEqual({ state, stored, missing })
  const jobs = (await rest('/api/batches/batch-1/delivery/jobs')).items
  expect(nodesOf(batch.jobDeliveries)).toEqual(
    // biome-ignore lint/suspicious/noExplicitAny: an answer
    jobs.map((one: any) => ({ jobId: one.job_id, epochs: one.epochs, missing: one.missing, gaps: one.gaps })),
  )
  expect(batch.muted).toBe(false)
  const { mainMetric: main_metric, ...fields } = project.fields
  expect({ ...fields, main_metric }).toEqual(await rest('/api/projects/project-1/fields'))
  const rules = await rest('/api/projects/project-1/rules')
  expect(project.rules).toEqual({
    mailConfigured: rules.mail.configured,
    items: [{ id: rules.items[0].id, trigger: 'batch_done', cooldownS: 600 }],
  })
})

test('tokens and the audit log need a session; a token is refused', async () => {
  const query = '{ viewer { tokens { last4 } } audit(first: 1) { totalCount edges { node { action via } } } }'
  const { admin, viewer } = stage
  const own = await ask(stage.app, query, { token: admin.token })
  expect(own.audit.edges).toHaveLength(1)
  expect(own.audit.totalCount).toBeGreaterThan(0)
  const other = await ask(stage.app, query, { token: viewer.token })
  expect(other.viewer.tokens.length).toBeGreaterThan(0)
  expect(other.audit).toBe(null)
  const program = await ask(stage.app, query, { token: viewer.read })
  expect(program).toEqual({ viewer: { tokens: null }, audit: null })
})

describe('the audit log', () => {
  const asAdmin = (query: string) => ask(stage.app, query, { token: stage.admin.token })

  test('has the same pages as in REST, forward, each entry once', async () => {
    const all = (await stage.app.call('GET', '/api/admin/audit?limit=500', { token: stage.admin.token })).body
      .items
    const ids: string[] = []
    let after: string | null = null
    do {
      const { audit } = await asAdmin(
        `{ audit(first: 7${after === null ? '' : `, after: "${after}"`}) { pageInfo { hasNextPage endCursor } edges { node { id } } } }`,
      )
      ids.push(...nodesOf(audit).map(({ id }) => id))
      after = audit.pageInfo.hasNextPage ? audit.pageInfo.endCursor : null
    } while (after !== null)
    expect(ids).toEqual(all.map(({ id }: { id: number }) => String(id)))
  })

  test('is filtered by the beginning of an action, without wildcards', async () => {
    const count = async (action: string) =>
      (await asAdmin(`{ audit(action: "${action}") { totalCount } }`)).audit.totalCount
    expect(await count('token.')).toBeGreaterThan(0)
    expect(await count('%.')).toBe(0)
    expect(await count('t_ken.')).toBe(0)
  })

  test('refuses a cursor of another list, an invalid cursor, and pages of more than 500', async () => {
    const { projects } = await asAdmin('{ projects { pageInfo { endCursor } } }')
    const code = async (args: string) =>
      (
        await post(stage.app, `{ audit(${args}) { totalCount edges { node { id } } } }`, {
          token: stage.admin.token,
        })
      ).body.errors?.[0]?.extensions.code
    expect(projects.pageInfo.endCursor).not.toBe(null)
    expect(await code('after: "made up"')).toBe('invalid_cursor')
    expect(await code(`after: "${Buffer.from('GPC:S:abc').toString('base64')}"`)).toBe('invalid_cursor')
    expect(await code(`after: "${projects.pageInfo.endCursor}"`)).toBe('invalid_cursor')
    expect(await code('first: 501')).toBe('invalid_query')
    expect(await code('first: -1')).toBe('invalid_query')
  })
})

import { buildSchema, printSchema } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { post } from './asking.ts'

// /graphql as a page of the web sees it (contract §3 "Browser", §6).

let app: TestApp
let person: Awaited<ReturnType<TestApp['register']>>
beforeAll(async () => {
  app = await startTestApp()
  person = await app.register()
})
afterAll(() => app?.stop())

const VIEWER = '{ viewer { email } }'
const ours = { 'sec-fetch-site': 'same-origin' }

describe('a cookie', () => {
  test('is enough for a page of the service', async () => {
    const { body } = await post(app, VIEWER, { cookie: person.cookie, headers: ours })
    expect(body).toEqual({ data: { viewer: { email: person.email } } })
  })

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another origin', { origin: 'https://evil.example' }],
    ['nowhere', {}],
  ])('is refused for a request %s', async (_from, headers) => {
    const { status, body } = await post(app, VIEWER, {
      cookie: person.cookie,
      headers: headers as Record<string, string>,
    })
    expect({ status, code: body.code }).toEqual({ status: 403, code: 'cross_site_request' })
  })
})

describe('a form of another site', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/graphql',
  ])('is refused with %s', async (type) => {
    const headers = { 'content-type': type }
    const answer = await app.call('POST', '/graphql', {
      body: `{"query":"${VIEWER}"}`,
      headers,
      token: person.token,
    })
    expect(answer.status).toBe(415)
  })
})

test('no other origin may read the answer, with any headers', async () => {
  const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
  for (const method of ['OPTIONS', 'POST', 'GET']) {
    const path = method === 'GET' ? '/graphql?query=%7B__typename%7D' : '/graphql'
    const answer = await app.call(method, path, {
      headers,
      ...(method === 'POST' && { body: { query: VIEWER } }),
    })
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  }
})

describe('GET', () => {
  const get = (query: Record<string, string>, headers: Record<string, string> = {}) =>
    app.call('GET', `/graphql?${new URLSearchParams(query)}`, { token: person.token, headers })

  test('answers queries with variables', async () => {
    const { status, headers, body } = await get({
      query: 'query ($id: ID!) { batch(id: $id) { id } viewer { email } }',
      variables: '{"id": "none"}',
    })
    expect(status).toBe(200)
    expect(headers['cache-control']).toBe('no-store')
    expect(body).toEqual({ data: { batch: null, viewer: { email: person.email } } })
  })

  test('without a query is 400', async () => {
    expect((await app.call('GET', '/graphql')).status).toBe(400)
  })
})

test('a subscription is refused, and the answer names the stream', async () => {
  const { status, body } = await post(app, 'subscription { live(channels: []) { at } }', {
    token: person.token,
    headers: { accept: 'application/json' },
  })
  expect(status).toBe(406)
  expect(body.errors[0].extensions.code).toBe('not_acceptable')
  expect(body.errors[0].message).toMatch(/Accept: text\/event-stream/)
})

test.each([
  ['text that is no document', '{', {}],
  ['an unknown field', '{ nothing }', {}],
  ['a variable of another type', 'query ($n: Int!) { batches(first: $n) { totalCount } }', { n: 'x' }],
  ['a page that is too large', '{ projects(first: 100000) { totalCount } }', {}],
])('%s is an error with a documented code', async (_what, query, variables) => {
  const { body } = await post(app, query, { token: person.token, variables })
  expect(body.errors[0].extensions.code).toBe('invalid_query')
})

test('what is not an id is null among nodes, and a job has an id of its own', async () => {
  const ids = [
    'xx',
    '',
    'é',
    Buffer.from('Nothing:1').toString('base64'),
    Buffer.from('Batch:').toString('base64'),
  ]
  const query = 'query ($ids: [ID!]!) { nodes(ids: $ids) { nodeId } node(id: "xx") { nodeId } }'
  const { body } = await post(app, query, { token: person.token, variables: { ids } })
  expect(body).toEqual({ data: { nodes: ids.map(() => null), node: null } })
})

test('the schema has no mutations', async () => {
  const { body } = await post(app, 'mutation { deleteBatch(id: "a") }', { token: person.token })
  expect(body.data).toBeUndefined()
  expect(body.errors[0].message).toContain('mutation')
})

test('an internal error is logged, and its message is not in the answer', async () => {
  const broken = await startTestApp({ logLevel: 'error' })
  try {
    await broken.sql`alter table batches rename to hidden_away`
    const { body } = await post(broken, '{ batches { totalCount } }')
    expect(body.errors).toEqual([
      expect.objectContaining({ path: ['batches'], extensions: { code: 'internal', status: 500 } }),
    ])
    expect(JSON.stringify(body)).not.toMatch(/relation|batches_|select|postgres/i)
    expect(broken.logged()).toContain('relation')
  } finally {
    await broken.stop()
  }
})

test('the page needs a sign-in', async () => {
  const accept = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  expect((await app.call('GET', '/graphql', { headers: accept })).status).toBe(401)
})

test('the schema is served as text', async () => {
  const { status, headers, body } = await app.call('GET', '/graphql/schema.graphql')
  expect([status, headers['content-type']]).toEqual([200, 'application/graphql; charset=utf-8'])
  expect(printSchema(buildSchema(body))).toContain('type Batch implements Node')
})

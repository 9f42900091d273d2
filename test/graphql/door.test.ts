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
  expect(status).toBeGreaterThanOrEqual(400)
  expect(JSON.stringify(body)).toContain('/api/sse')
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

describe('the page', () => {
  const accept = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

  test('needs a sign-in', async () => {
    expect((await app.call('GET', '/graphql', { headers: accept })).status).toBe(401)
    const page = await app.call('GET', '/graphql', { headers: accept, cookie: person.cookie })
    expect(page.status).toBe(200)
    expect(page.headers['content-type']).toContain('text/html')
  })

  test('loads nothing from other origins, and runs no script but its own file', async () => {
    const { headers, body } = await app.call('GET', '/graphql', { headers: accept, cookie: person.cookie })
    expect(headers['content-security-policy']).toContain("script-src 'self'")
    expect(body).not.toMatch(/https?:|\bon\w+=|style=|<script>|<style>|javascript:/i)
    const loaded = [...String(body).matchAll(/(?:src|href)="(\/[^"#]+\.(?:js|css))"/g)].map(
      ([, path]) => path as string,
    )
    expect(loaded.toSorted()).toEqual(['/graphql/page.css', '/graphql/page.js'])
    for (const path of loaded) {
      const file = await app.call('GET', path)
      expect(file.status).toBe(200)
      expect(file.body).not.toMatch(/https?:|@import|eval\(|innerHTML/)
    }
  })

  test('shows every type and field', async () => {
    const { body } = await app.call('GET', '/graphql', { headers: accept, cookie: person.cookie })
    for (const part of ['id="Query"', 'id="Batch"', 'nTotal', 'id="JobFilter"', 'sampling'])
      expect(body).toContain(part)
  })

  test('has an example that works', async () => {
    const { body } = await app.call('GET', '/graphql', { headers: accept, cookie: person.cookie })
    const box = (id: string) =>
      (new RegExp(`<textarea id="${id}"[^>]*>([^<]*)`).exec(body)?.[1] ?? '').replaceAll('&quot;', '"')
    const answer = await post(app, box('query'), {
      token: person.token,
      variables: JSON.parse(box('variables')),
    })
    expect(answer.body).toEqual({ data: { batches: { edges: [] } } })
  })
})

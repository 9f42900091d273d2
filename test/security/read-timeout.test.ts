import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openTransaction } from '../kit/open-transaction.ts'

let app: TestApp
let token: string
beforeAll(async () => {
  app = await startTestApp({ timeouts: { headers: 10, body: 30, idle: 300, read: 1 }, logLevel: 'info' })
  ;({ token } = await app.register())
})
afterAll(() => app?.stop())

test('a read that takes too long is 503 read_timeout, over REST and GraphQL, and does not count as an outage', async () => {
  const held = await openTransaction(app.sql, (tx) => tx`lock table projects in access exclusive mode`)
  const rest = await app.call('GET', '/api/projects', { token })
  expect([rest.status, rest.body.code]).toEqual([503, 'read_timeout'])
  expect(Number(rest.headers['retry-after'])).toBeGreaterThan(0)
  const query = '{ projects(first: 5) { edges { node { slug } } } }'
  const graphql = await app.call('POST', '/graphql', { token, body: { query } })
  expect(graphql.body.errors[0].extensions).toMatchObject({ code: 'read_timeout', status: 503 })
  await held.release()
  expect((await app.call('GET', '/api/projects', { token })).status).toBe(200)
  const metrics = (await app.call('GET', '/metrics')).body
  expect(metrics).toMatch(/^svc_database_outages_total 0$/m)
}, 60_000)

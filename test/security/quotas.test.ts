import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'

let app: TestApp
let token: string
let reporter: string
beforeAll(async () => {
  app = await startTestApp({ quotas: { tokens: 3, agents: 2, projects: 2, shares: 2, views: 2, reports: 2 } })
  ;({ token } = await app.register())
  reporter = await app.reporterToken(token)
})
afterAll(() => app?.stop())

const post = (path: string, body: unknown, as = token) => app.call('POST', path, { token: as, body })
const told = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]

test('the number of tokens of a user is limited, also for concurrent requests; revoking one makes room', async () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  const made = await Promise.all(names.map((name) => post('/api/tokens', { name, scope: 'read' })))
  expect(made.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409])
  const refused = made.find(({ status }) => status === 409)
  expect(refused?.body).toMatchObject({
    code: 'quota_exceeded',
    detail: expect.stringContaining('SVC_MAX_TOKENS'),
  })
  const one = made.find(({ status }) => status === 201)
  expect((await app.call('DELETE', `/api/tokens/${one?.body.id}`, { token })).status).toBe(204)
  expect((await post('/api/tokens', { name: 'again', scope: 'read' })).status).toBe(201)
  const other = await app.register()
  expect((await post('/api/tokens', { name: 'x', scope: 'read' }, other.token)).status).toBe(201)
})

test('the number of hosts with agents of a user is limited; the same host again does not count', async () => {
  const register = (hostname: string) =>
    post('/api/agents/register', { hostname, capabilities: {}, version: '1' })
  expect([(await register('a')).status, (await register('b')).status]).toEqual([200, 200])
  expect(told(await register('c'))).toEqual([409, 'quota_exceeded'])
  expect((await register('b')).status).toBe(200)
})

test('the number of projects of a user is limited, created by hand or by events; only an event that would create one more is refused', async () => {
  expect((await post('/api/projects', { slug: 'one' })).status).toBe(201)
  const events = ['two', 'three', 'one', 'four'].map((project) =>
    makeEvent('batch_start', { batch_id: `batch-of-${project}`, source: { project } }),
  )
  const { status, body } = await post('/api/events/batch', events, reporter)
  expect(status).toBe(200)
  const codes = body.results.map((r: { db_id: number | null; error?: { status: number; code: string } }) =>
    r.error === undefined ? 'stored' : `${r.error.status} ${r.error.code}`,
  )
  expect(codes).toEqual(['stored', '409 quota_exceeded', 'stored', '409 quota_exceeded'])
  expect(told(await post('/api/projects', { slug: 'five' }))).toEqual([409, 'quota_exceeded'])
})

test('the number of open share links of a user is limited', async () => {
  const share = () => post('/api/batches/batch-of-one/shares', {})
  const first = await share()
  expect([first.status, (await share()).status]).toEqual([201, 201])
  expect(told(await share())).toEqual([409, 'quota_exceeded'])
  expect((await app.call('DELETE', `/api/shares/${first.body.id}`, { token })).status).toBe(204)
  expect((await share()).status).toBe(201)
})

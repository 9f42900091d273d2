import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'

let app: TestApp
let admin: { token: string }
beforeAll(async () => {
  app = await startTestApp()
  admin = await app.register()
})
afterAll(() => app?.stop())

test('tokens, agents and sessions of a disabled account stay invalid after it is enabled again', async () => {
  const person = await app.register()
  const reporter = await app.reporterToken(person.token)
  const agent = await app.call('POST', '/api/agents/register', {
    token: person.token,
    body: { hostname: 'box', capabilities: {}, version: '1' },
  })
  const asAgent = () =>
    app.call('GET', `/api/agents/${agent.body.agent_id}/jobs`, { token: agent.body.agent_token })
  const send = () =>
    app.call('POST', '/api/events', { token: reporter, body: makeEvent('log_line', { batch_id: 'run' }) })
  expect([(await asAgent()).status, (await send()).status]).toEqual([200, 200])
  for (const disabled of [true, false]) {
    const change = { token: admin.token, body: { disabled } }
    expect((await app.call('PATCH', `/api/admin/users/${person.user.id}`, change)).status).toBe(200)
    expect([(await asAgent()).status, (await send()).status]).toEqual([401, 401])
    expect((await app.call('GET', '/api/auth/me', { token: person.token })).status).toBe(401)
  }
})

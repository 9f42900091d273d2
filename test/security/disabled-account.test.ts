import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openStream } from '../live/stream.ts'

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

test('public links of a disabled account are closed until it is enabled again, for open streams too', async () => {
  const person = await app.register()
  const reporter = await app.reporterToken(person.token)
  await app.call('POST', '/api/events', {
    token: reporter,
    body: makeEvent('batch_start', {
      batch_id: 'linked',
      source: { project: 'links' },
      data: { n_total: 1 },
    }),
  })
  const made = await app.call('POST', '/api/batches/linked/shares', { token: person.token, body: {} })
  const { token: share } = made.body
  const body = 'What we saw.'
  const report = await app.call('POST', '/api/reports', {
    token: person.token,
    body: { project: 'links', title: 'Results', body },
  })
  const link = await app.call('POST', `/api/reports/${report.body.id}/links`, { token: person.token })
  const inGraph = (query: string) => app.call('POST', '/graphql', { body: { query } })
  const statuses = async () => [
    (await app.call('GET', `/api/shared/${share}`)).status,
    (await inGraph(`{ sharedBatch(token: "${share}") { id } }`)).body.data?.sharedBatch?.id !== undefined,
    (await app.call('GET', `/api/shared-reports/${link.body.token}`)).status,
  ]
  expect(await statuses()).toEqual([200, true, 200])
  const stream = await openStream(app.address, [`share:${share}`])
  expect(stream.status).toBe(200)
  const disable = (disabled: boolean) =>
    app.call('PATCH', `/api/admin/users/${person.user.id}`, { token: admin.token, body: { disabled } })
  await disable(true)
  expect(await statuses()).toEqual([404, false, 404])
  expect((await openStream(app.address, [`share:${share}`])).status).toBe(403)
  await stream.ended
  const list = () => app.call('GET', '/api/batches/linked/shares', { token: admin.token })
  expect((await list()).body.items).toMatchObject([{ creator_disabled: true }])
  await disable(false)
  expect(await statuses()).toEqual([200, true, 200])
  expect((await list()).body.items).toMatchObject([{ creator_disabled: false }])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { registerAgent, type TestAgent } from '../agents/agent.ts'
import { openStage, type Stage } from '../http/stage.ts'
import { createClock } from '../kit/clock.ts'
import { type Mailbox, openMailbox } from '../notifications/mailbox.ts'

// A leaked reporter token must not take the place of an agent that is at work (contract §10).

let stage: Stage
let agent: TestAgent
let box: Mailbox
const clock = createClock()
beforeAll(async () => {
  box = await openMailbox()
  stage = await openStage({ smtp: { url: box.url, from: 'monitor@example.org' } }, { now: clock.now })
  agent = await registerAgent(stage.app, stage.batchOwner.reporter, 'alpha')
})
afterAll(async () => {
  await stage?.stop()
  await box?.stop()
})

const subjects = () => box.to(stage.batchOwner.email).map(({ mail }) => mail.subject)
const register = (token: string, hostname = 'alpha') =>
  stage.app.call('POST', '/api/agents/register', {
    token,
    body: { hostname, capabilities: {}, version: '2' },
  })
const hostOf = async () =>
  (await stage.get('/api/hosts', stage.batchOwner.token)).body.items.find(
    (host: { hostname: string }) => host.hostname === 'alpha',
  )

test('with a reporter token, a host whose agent is online is 409 agent_online, and the agent keeps working', async () => {
  const { status, body } = await register(stage.batchOwner.reporter)
  expect([status, body.code]).toEqual([409, 'agent_online'])
  expect(body.detail).toContain('alpha')
  expect((await agent.jobs()).status).toBe(200)
  expect(await hostOf()).toMatchObject({ version: '0.1.0', rotated_at: null })
})

test('another host, or the same host name of another user, can be registered', async () => {
  expect((await register(stage.batchOwner.reporter, 'beta')).status).toBe(200)
  expect((await register(stage.member.reporter)).status).toBe(200)
})

test('with a session it gets a new token, the host shows when, and the owner gets a mail', async () => {
  const { status, body } = await register(stage.batchOwner.token)
  expect([status, body.agent_id]).toEqual([200, agent.id])
  expect((await agent.jobs()).status).toBe(401)
  expect(await hostOf()).toMatchObject({ rotated_at: clock.now().toISOString() })
  await expect.poll(subjects, { timeout: 20_000 }).toContain('The agent on alpha has a new token')
  const mail = box.to(stage.batchOwner.email).find((one) => one.mail.subject?.startsWith('The agent'))
  expect(mail?.mail.text).toContain('by a session of your account')
  expect(mail?.mail.text).toContain('If not, revoke the agent')
  const audit = await stage.get(`/api/admin/audit?subject=agent:${agent.id}`, stage.admin.token)
  expect(audit.body.items[0]).toMatchObject({
    action: 'agent.registered',
    via: 'session',
    detail: { rotated: true },
  })
})

test('once it is offline, a reporter token registers it again, and the owner gets a mail of that too', async () => {
  clock.forward({ seconds: 91 })
  expect((await register(stage.batchOwner.reporter)).status).toBe(200)
  const replacements = () =>
    box
      .to(stage.batchOwner.email)
      .flatMap(({ mail }) =>
        mail.text?.includes('again') ? [mail.text.includes('by a reporter token')] : [],
      )
  await expect.poll(replacements, { timeout: 20_000 }).toEqual([false, true])
})

test('the first registration of a host with a reporter token is mailed to its owner', async () => {
  expect((await register(stage.batchOwner.reporter, 'gamma')).status).toBe(200)
  await expect.poll(subjects, { timeout: 20_000 }).toContain('An agent on gamma was registered')
  // The registration by a person is on the page of that person, who sees it happen.
  expect((await register(stage.batchOwner.token, 'delta')).status).toBe(200)
  expect((await register(stage.batchOwner.reporter, 'epsilon')).status).toBe(200)
  await expect.poll(subjects, { timeout: 20_000 }).toContain('An agent on epsilon was registered')
  expect(subjects()).not.toContain('An agent on delta was registered')
})

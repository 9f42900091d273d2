import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { registerAgent, type TestAgent } from '../agents/agent.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'

// The process of a rerun is given a token that reports its own batch and can do nothing else; it ends with the command
// (contract §10).

let stage: Stage
let agent: TestAgent
const clock = createClock()
beforeAll(async () => {
  stage = await openStage({}, { now: clock.now })
  agent = await registerAgent(stage.app, stage.batchOwner.token, 'alpha')
})
afterAll(() => stage?.stop())

let n = 0
let origin: string
let child: string
let cmdId: string
let token: string
beforeEach(async () => {
  origin = `origin-${++n}`
  child = `child-${n}`
  const source = { project: 'vision', host: 'alpha' }
  const timestamp = clock.now().toISOString()
  await stage.send(stage.batchOwner, [
    startOf({ id: origin, source, timestamp }, { command: 'python mine.py', cwd: '/mine' }),
  ])
  const { body } = await stage.app.call('POST', `/api/batches/${origin}/rerun`, {
    token: stage.batchOwner.token,
    body: {},
  })
  cmdId = body.cmd_id
  await agent.jobs()
  token = await agent.start(cmdId, 77)
})

const start = (id: string, project = 'vision') =>
  startOf(
    { id, source: { project, host: 'alpha' }, timestamp: clock.now().toISOString() },
    { command: 'python mine.py', cwd: '/mine', rerun_of: origin },
  )
const line = (id: string, project = 'vision') =>
  makeEvent('log_line', {
    batch_id: id,
    job_id: 'a',
    source: { project },
    timestamp: clock.now().toISOString(),
    data: { line: 'x', level: 'info' },
  })
const send = async (event: unknown, as = token) => {
  const { status, body } = await stage.app.call('POST', '/api/events', { token: as, body: event })
  return [status, body.code ?? null]
}
const GOOD = [200, null]
const BOUND = [403, 'token_bound_to_batch']

describe('it sends events', () => {
  test('of the first new batch that it uses, and of no other from then on', async () => {
    expect(await send(start(child))).toEqual(GOOD)
    expect(await send(line(child))).toEqual(GOOD)
    expect(await send(start(`${child}-second`))).toEqual(BOUND)
    expect(await send(line(origin))).toEqual(BOUND)
    // Pipelined writes, which use the cache, enforce it as well.
    for (let i = 0; i < 5; i++) expect(await send(line(child))).toEqual(GOOD)
    expect(await send(line(origin))).toEqual(BOUND)
    const { body } = await stage.get(`/api/batches/${origin}/commands`, stage.batchOwner.token)
    expect(body.items[0].linked_batch_ids).toEqual([child])
  })

  test('of the batch that is run again, if the command uses its id', async () => {
    expect(await send(start(origin))).toEqual(GOOD)
    expect(await send(start(child))).toEqual(BOUND)
  })

  test('of no batch that already exists, with any owner', async () => {
    const source = { project: 'vision', host: 'alpha' }
    await stage.send(stage.batchOwner, [
      startOf({ id: `other-${n}`, source }, { command: 'python other.py' }),
    ])
    await stage.send(stage.member, [startOf({ id: `theirs-${n}`, source }, {})])
    for (const id of [`other-${n}`, `theirs-${n}`]) expect(await send(start(id))).toEqual(BOUND)
    expect(await send(start(child))).toEqual(GOOD)
  })

  test('of one batch, even if one request or two concurrent ones contain several', async () => {
    const { body } = await stage.app.call('POST', '/api/events/batch', {
      token,
      body: [start(child), start(`${child}-b`), line(child), line(`${child}-b`)],
    })
    expect(body.results.map((r: { error?: { code: string } }) => r.error?.code ?? null)).toEqual([
      null,
      'token_bound_to_batch',
      null,
      'token_bound_to_batch',
    ])
  })

  test('of one batch, for any number of concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => send(start(`${child}-race-${i}`))))
    expect(answers.filter(([status]) => status === 200)).toHaveLength(1)
    expect(answers.filter(([, code]) => code === 'token_bound_to_batch')).toHaveLength(11)
  })

  test('and if the first is refused for another reason, the next can be the first', async () => {
    expect((await send({ ...start(`${child}-bad`), data: {} }))[0]).toBe(422)
    expect(await send(start(child))).toEqual(GOOD)
  })
})

describe('it can read the stop flag of its batch', () => {
  const asked = async (id: string) =>
    (await stage.app.call('GET', `/api/batches/${id}/stop-requested`, { token })).status

  test('and of no other batch', async () => {
    expect([await asked(child), await asked(origin)]).toEqual([404, 404])
    await send(start(child))
    expect([await asked(child), await asked(origin)]).toEqual([200, 404])
  })
})

describe('it can do nothing else', () => {
  test.each([
    ['GET', '/api/batches'],
    ['GET', '/api/batches/CHILD'],
    ['GET', '/api/batches/CHILD/jobs'],
    ['GET', '/api/batches/CHILD/commands'],
    ['GET', '/api/projects'],
    ['GET', '/api/hosts'],
    ['GET', '/api/auth/me'],
    ['GET', '/api/tokens'],
    ['POST', '/api/tokens', { name: 'x', scope: 'reporter' }],
    ['POST', '/api/agents/register', { hostname: 'gamma', capabilities: {}, version: '1' }],
    ['POST', '/api/agents/register', { hostname: 'alpha', capabilities: {}, version: '1' }],
    ['POST', '/api/batches/CHILD/stop', {}],
    ['POST', '/api/batches/CHILD/rerun', {}],
    ['PATCH', '/api/batches/CHILD', { notes: 'x' }],
    ['DELETE', '/api/batches/CHILD'],
    ['POST', '/api/batches/CHILD/shares', {}],
    ['GET', '/api/sse?channels=batch:CHILD'],
    ['POST', '/graphql', { query: '{ batches(first: 1) { edges { node { id } } } }' }],
  ])('%s %s', async (method, path, body?: unknown) => {
    await send(start(child))
    const { status, body: answer } = await stage.app.call(method, path.replace('CHILD', child), {
      token,
      ...(body !== undefined && { body }),
    })
    expect([401, 403, 404]).toContain(status)
    expect(answer.data).toBeUndefined()
  })
})

describe('it becomes invalid', () => {
  const dead = async () => expect((await send(line(child)))[0]).toBe(401)

  test('when the result of the command is reported', async () => {
    await send(start(child))
    await agent.say(`jobs/${cmdId}/result`, { exit_code: 0 })
    await dead()
  })

  test('when the agent reports that it could not start the process', async () => {
    const { body } = await stage.app.call('POST', `/api/batches/${origin}/rerun`, {
      token: stage.batchOwner.token,
      body: {},
    })
    token = (await agent.say(`jobs/${body.cmd_id}/claim`)).body.token
    expect(await send(start(child))).toEqual(GOOD)
    await agent.say(`jobs/${body.cmd_id}/ack`, { failure_reason: 'stale_env_path' })
    await dead()
  })

  test('when the command is claimed again because the answer was lost', async () => {
    const { body } = await stage.app.call('POST', `/api/batches/${origin}/rerun`, {
      token: stage.batchOwner.token,
      body: {},
    })
    const first = (await agent.say(`jobs/${body.cmd_id}/claim`)).body.token
    const second = (await agent.say(`jobs/${body.cmd_id}/claim`)).body.token
    expect((await send(start(child), first))[0]).toBe(401)
    expect(await send(start(child), second)).toEqual(GOOD)
  })

  test('when the agent is revoked', async () => {
    await send(start(child))
    await stage.app.call('DELETE', `/api/hosts/${agent.id}`, { token: stage.batchOwner.token })
    await dead()
    agent = await registerAgent(stage.app, stage.batchOwner.token, 'alpha')
  })

  // Last: by then the sessions of the people here have expired as well.
  test('when the command expires', async () => {
    const { body } = await stage.app.call('POST', `/api/batches/${origin}/rerun`, {
      token: stage.batchOwner.token,
      body: {},
    })
    token = (await agent.say(`jobs/${body.cmd_id}/claim`)).body.token
    await send(start(child))
    clock.forward({ hours: 25 })
    await agent.jobs()
    await dead()
  })
})

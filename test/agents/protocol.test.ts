import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { createClock } from '../kit/clock.ts'
import { registerAgent, type TestAgent } from './agent.ts'

let stage: Stage
let agent: TestAgent
const clock = createClock()
beforeAll(async () => {
  stage = await openStage({}, { now: clock.now })
})
afterAll(() => stage?.stop())
let hosts = 0
/** Each test has a host of its own, so that none finds what another left waiting. */
let host: string
beforeEach(async () => {
  host = `gpu-${++hosts}`
  agent = await registerAgent(stage.app, stage.batchOwner.token, host)
})

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])

let batches = 0
const recorded = { command: 'python train.py', cwd: '/home/work' }
/** A batch of the batch owner on gpu-1 that can be run again. */
async function ranBatch(data: Record<string, unknown> = {}): Promise<string> {
  const id = `ran-${++batches}`
  const source = { project: 'vision', host }
  const timestamp = clock.now().toISOString()
  await stage.send(stage.batchOwner, [startOf({ id, source, timestamp }, { ...recorded, ...data })])
  return id
}
const call = (method: string, path: string, token: string, body?: unknown) =>
  stage.app.call(method, path, { token, body })
const rerun = (batch: string, body?: unknown, token = stage.batchOwner.token) =>
  call('POST', `/api/batches/${batch}/rerun`, token, body)
/** The steps of stops and reruns; test/http/timeline.test.ts covers the other entries of the timeline. */
const timeline = async (batch: string) =>
  (await stage.get(`/api/batches/${batch}/timeline`, stage.batchOwner.token)).body.items.filter(
    ({ kind }: { kind: string }) => kind === 'stop' || kind === 'rerun',
  )
const stepsOf = async (batch: string) => (await timeline(batch)).map((s: { step: string }) => s.step)
const commands = async (batch: string) =>
  (await stage.get(`/api/batches/${batch}/commands`, stage.batchOwner.token)).body.items

describe('registering', () => {
  test('answers with a token with its prefix and the suggested poll interval', async () => {
    const body = { hostname: 'gpu-9', capabilities: ['cuda'], version: '0.1.0' }
    const made = await call('POST', '/api/agents/register', stage.member.token, body)
    expect(made).toMatchObject({
      status: 200,
      body: {
        agent_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        agent_token: expect.stringMatching(/^ag_live_[0-9A-Za-z]{38}$/),
        poll_interval_s: 10,
      },
    })
    const [row] = await stage.app.sql<
      { stored: string }[]
    >`select string_agg(a::text, ' ') stored from agents a`
    expect(row?.stored).not.toContain(made.body.agent_token)
  })

  test('again for the same user and host is the same agent with a new token, and the old one is refused at once', async () => {
    const again = await registerAgent(stage.app, stage.batchOwner.token, host)
    expect(again.id).toBe(agent.id)
    expect(again.token).not.toBe(agent.token)
    for (const answer of [await agent.jobs(), await agent.say('heartbeat')]) {
      expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated'])
    }
    expect((await again.jobs()).status).toBe(200)
  })

  test('of another user on the same host, or of the same user on another, is another agent', async () => {
    const others = [
      await registerAgent(stage.app, stage.member.token, host),
      await registerAgent(stage.app, stage.batchOwner.token, `${host}-2`),
      await registerAgent(stage.app, stage.batchOwner.token, host.toUpperCase()),
    ]
    expect(new Set([agent, ...others].map(({ id }) => id)).size).toBe(4)
  })

  test.each([
    ['read', 403],
    ['agent', 403],
  ] as const)('is refused with a %s token', async (kind, status) => {
    const token = kind === 'read' ? stage.batchOwner.read : agent.token
    const body = { hostname: 'gpu-1', capabilities: {}, version: '1' }
    expect((await call('POST', '/api/agents/register', token, body)).status).toBe(status)
  })

  test.each([
    [{ hostname: '' }, 'hostname'],
    [{ hostname: 'a\nb' }, 'hostname'],
    [{ capabilities: {}, version: '1' }, 'hostname'],
    [{ hostname: 'a', version: 3 }, 'version'],
    [{ hostname: 'a', capabilities: { text: '\u0000' } }, 'capabilities'],
    [{ hostname: 'a', capabilities: 'x'.repeat(20_000) }, 'capabilities'],
    [{ hostname: 'a', capabilities: nested(65) }, 'capabilities'],
  ])('is refused without a valid hostname, version and capabilities (%#)', async (body, path) => {
    const answer = await call('POST', '/api/agents/register', stage.member.token, body)
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([422, path])
  })
})

describe('an agent token', () => {
  test('sends events as its user, and none after it was replaced', async () => {
    const { token } = agent
    const event = startOf({ id: 'by-agent' })
    expect((await call('POST', '/api/events', token, event)).status).toBe(200)
    const shown = await stage.get('/api/batches/by-agent', stage.batchOwner.token)
    expect(shown.body.owner.id).toBe(stage.batchOwner.id)
    // The token was used within the last two seconds, so this server still remembers it.
    await registerAgent(stage.app, stage.batchOwner.token, host)
    for (const [path, body] of [
      ['/api/events', startOf()],
      ['/api/events/batch', [startOf(), startOf()]],
    ] as const) {
      expect((await call('POST', path, token, body)).status).toBe(401)
    }
  })

  test('cannot read or control anything, and is refused at another agent', async () => {
    const batch = await ranBatch()
    const other = await registerAgent(stage.app, stage.member.token, host)
    const same = await registerAgent(stage.app, stage.batchOwner.token, `${host}-2`)
    const statuses = async (token: string) =>
      Promise.all(
        [
          ['GET', '/api/batches'],
          ['GET', `/api/batches/${batch}`],
          ['GET', `/api/batches/${batch}/commands`],
          ['POST', `/api/batches/${batch}/rerun`],
          ['POST', `/api/batches/${batch}/stop`],
          ['GET', '/api/hosts'],
          ['DELETE', `/api/hosts/${agent.id}`],
        ].map(async ([method, path]) => (await call(method as string, path as string, token)).status),
      )
    expect(await statuses(agent.token)).toEqual(Array(7).fill(403))
    for (const { id } of [other, same]) {
      const answer = await call('GET', `/api/agents/${id}/jobs`, agent.token)
      expect([answer.status, answer.body.code]).toEqual([404, 'agent_not_found'])
      expect((await call('POST', `/api/agents/${id}/heartbeat`, agent.token)).status).toBe(404)
    }
  })
})

test('an unknown parameter of an agent is refused', async () => {
  for (const [method, path] of [
    ['GET', 'jobs'],
    ['POST', 'heartbeat'],
    ['POST', 'jobs/none/claim'],
  ]) {
    const answer = await call(method as string, `/api/agents/${agent.id}/${path}?mistyped=1`, agent.token)
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_query'])
  }
})

describe('a rerun', () => {
  test('has steps from request to exit code, and each names its actor', async () => {
    const batch = await ranBatch()
    const asked = await rerun(batch)
    expect(asked).toMatchObject({ status: 202, body: { host_id: agent.id, state: 'pending' } })
    const cmdId = asked.body.cmd_id
    const { body } = await agent.jobs()
    expect(body.jobs).toEqual([
      {
        cmd_id: cmdId,
        kind: 'rerun',
        batch_id: batch,
        ...recorded,
        pid: null,
        target_cmd_id: null,
        env: { SVC_RERUN_OF: batch, SVC_CMD_ID: cmdId },
        authorized_by: 'record',
        overridden: [],
        created_at: expect.stringMatching(/Z$/),
      },
    ])
    clock.forward({ seconds: 5 })
    const token = await agent.start(cmdId, 4711)
    expect((await agent.jobs()).body.jobs).toEqual([])
    clock.forward({ seconds: 5 })
    const source = { project: 'vision', host }
    const timestamp = clock.now().toISOString()
    const id = `${batch}-again`
    await stage.send({ ...stage.batchOwner, reporter: token }, [
      startOf({ id, source, timestamp }, { ...recorded, rerun_of: batch }),
    ])
    expect((await stage.get(`/api/batches/${id}`, stage.batchOwner.token)).body.rerun_of).toBe(batch)
    expect(await agent.say(`jobs/${cmdId}/result`, { exit_code: 0, output_tail: 'ok\u0000' })).toMatchObject({
      status: 200,
      body: { state: 'done' },
    })
    const steps = await timeline(batch)
    expect(
      steps.map(({ step, actor }: { step: string; actor: { kind: string; name: string } }) => [
        step,
        actor.kind,
        actor.name,
      ]),
    ).toEqual([
      ['requested', 'user', 'batch-owner'],
      ['delivered', 'agent', host],
      ['acknowledged', 'agent', host],
      ['started', 'agent', host],
      ['linked', 'service', null],
      ['exited', 'agent', host],
    ])
    expect(steps[3].detail).toEqual({ pid: 4711 })
    expect(steps[4].detail).toEqual({ batch_id: id })
    expect(steps[5].detail).toEqual({ exit_code: 0 })
    expect(await stepsOf(id)).toEqual(await stepsOf(batch))
    const [shown] = await commands(batch)
    expect(shown).toMatchObject({
      cmd_id: cmdId,
      state: 'done',
      pid: 4711,
      exit_code: 0,
      linked_batch_ids: [id],
      requested_by: { name: 'batch-owner' },
      output_tail: 'ok\ufffd',
    })
    expect(await commands(id)).toEqual([shown])
  })

  test('is refused while no agent of the owner is online on that host', async () => {
    const batch = await ranBatch()
    clock.forward({ seconds: 91 })
    expect((await rerun(batch)).body).toMatchObject({ status: 409, code: 'agent_offline' })
    await agent.say('heartbeat')
    expect((await rerun(batch)).status).toBe(202)
    clock.forward({ seconds: 89 })
    expect((await rerun(batch)).status).toBe(202)
  })

  test('needs a recorded command that is complete', async () => {
    const without = await ranBatch({ command: undefined })
    expect((await rerun(without)).body.code).toBe('command_unknown')
    const redacted = await ranBatch({
      env_snapshot: { command: 'train --key ***', cwd: '/w', command_redacted: true },
    })
    expect((await rerun(redacted)).body.code).toBe('command_unknown')
    expect((await rerun(redacted, { command: 'train --key k' })).status).toBe(202)
  })

  test('of failed jobs names the jobs that failed, were lost or stopped, and those that are done', async () => {
    const batch = await ranBatch({ n_total: 4 })
    const source = { project: 'vision' }
    const of = (type: 'job_start' | 'job_done' | 'job_failed', job_id: string) => ({
      ...startOf({ id: batch, source }),
      event_type: type,
      job_id,
      data: type === 'job_failed' ? { reason: 'OOM', elapsed_s: 3 } : {},
    })
    await stage.send(stage.batchOwner, [
      of('job_start', 'a,1'),
      of('job_done', 'a,1'),
      of('job_start', 'b'),
      of('job_failed', 'b'),
      of('job_start', 'c'),
      {
        ...startOf({ id: batch }),
        event_type: 'batch_failed',
        data: { reason: 'killed', total_elapsed_s: 5 },
        timestamp: '2099-01-01T00:00:00Z',
      },
    ])
    const { cmd_id } = (await rerun(batch, { jobs: 'failed' })).body
    const job = (await agent.jobs()).body.jobs.find((j: { cmd_id: string }) => j.cmd_id === cmd_id)
    expect(JSON.parse(job.env.SVC_RERUN_JOBS)).toEqual(['b', 'c'])
    expect(JSON.parse(job.env.SVC_RERUN_DONE)).toEqual(['a,1'])
    const whole = await ranBatch({ n_total: 0 })
    expect((await rerun(whole, { jobs: 'failed' })).body.code).toBe('nothing_to_rerun')
  })

  test('may be acknowledged twice with the same pid; with another pid it is 409', async () => {
    const { cmd_id } = (await rerun(await ranBatch())).body
    const ack = (body: unknown) => agent.say(`jobs/${cmd_id}/ack`, body)
    expect(await ack({ pid: 10 })).toMatchObject({ status: 200, body: { state: 'in_flight' } })
    expect(await ack({ pid: 10 })).toMatchObject({ status: 200, body: { state: 'in_flight' } })
    expect((await ack({ pid: 11 })).body).toMatchObject({ status: 409, code: 'command_not_pending' })
    expect((await ack({ failure_reason: 'x' })).status).toBe(409)
    expect((await ack({ pid: 0 })).status).toBe(422)
    expect((await ack({})).status).toBe(422)
    const result = (body: unknown) => agent.say(`jobs/${cmd_id}/result`, body)
    expect(await result({ exit_code: 3 })).toMatchObject({ status: 200, body: { state: 'failed' } })
    expect(await result({ exit_code: 3 })).toMatchObject({ status: 200, body: { state: 'failed' } })
    expect((await result({ exit_code: 3, failure_reason: null })).status).toBe(200)
    expect((await result({ exit_code: 0 })).status).toBe(409)
    expect((await result({})).body.errors).toMatchObject([{ path: 'failure_reason' }])
    expect((await ack({ pid: 10 })).body).toEqual({ state: 'failed' })
  })

  test('that could not be started is failed with its reason', async () => {
    const batch = await ranBatch()
    const { cmd_id } = (await rerun(batch)).body
    const ack = () => agent.say(`jobs/${cmd_id}/ack`, { failure_reason: 'stale_env_path' })
    expect(await ack()).toMatchObject({ status: 200, body: { state: 'failed' } })
    expect(await ack()).toMatchObject({ status: 200, body: { state: 'failed' } })
    expect(await commands(batch)).toMatchObject([{ state: 'failed', failure_reason: 'stale_env_path' }])
    expect((await agent.say(`jobs/${cmd_id}/result`, { exit_code: 1 })).status).toBe(409)
  })

  test('that waits for a day expires, and is neither delivered nor started', async () => {
    const batch = await ranBatch()
    const { cmd_id } = (await rerun(batch)).body
    await stage.app
      .sql`update agent_commands set created_at = created_at - interval '1 day' where id = ${cmd_id}`
    expect(await commands(batch)).toMatchObject([{ state: 'expired' }])
    expect(await stepsOf(batch)).toEqual(['requested', 'expired'])
    expect((await agent.say(`jobs/${cmd_id}/claim`)).status).toBe(409)
    expect((await agent.say(`jobs/${cmd_id}/ack`, { pid: 1 })).status).toBe(409)
    expect((await agent.jobs()).body.jobs).toEqual([])
    expect(await stepsOf(batch)).toEqual(['requested', 'expired'])
  })

  test('can be cancelled until the agent starts it', async () => {
    const batch = await ranBatch()
    const cancel = (cmd: string, token = stage.batchOwner.token) =>
      call('POST', `/api/batches/${batch}/commands/${cmd}/cancel`, token)
    const [first, second] = [(await rerun(batch)).body.cmd_id, (await rerun(batch)).body.cmd_id]
    expect((await cancel(first, stage.member.token)).status).toBe(403)
    expect((await cancel(first, stage.stranger.token)).status).toBe(404)
    expect(await cancel(first)).toMatchObject({ status: 200, body: { state: 'cancelled' } })
    expect((await cancel(first)).body.code).toBe('command_not_pending')
    expect((await agent.jobs()).body.jobs.map((j: { cmd_id: string }) => j.cmd_id)).toEqual([second])
    expect((await agent.say(`jobs/${first}/claim`)).status).toBe(409)
    expect((await agent.say(`jobs/${second}/claim`)).status).toBe(200)
    expect((await cancel(second)).status).toBe(409)
    await agent.say(`jobs/${second}/ack`, { failure_reason: 'over' })
  })

  test('that is claimed again gets another token, and the first is no longer valid', async () => {
    const { cmd_id } = (await rerun(await ranBatch())).body
    const [first, second] = [
      (await agent.say(`jobs/${cmd_id}/claim`)).body.token,
      (await agent.say(`jobs/${cmd_id}/claim`)).body.token,
    ]
    expect((await call('POST', '/api/events', first, startOf())).status).toBe(401)
    expect((await call('POST', '/api/events', second, startOf())).status).toBe(200)
    const list = await call('GET', '/api/tokens', stage.batchOwner.token)
    expect(list.body.items.map((t: { name: string }) => t.name)).not.toContain('rerun')
    await agent.say(`jobs/${cmd_id}/ack`, { failure_reason: 'over' })
  })
})

describe('a stop', () => {
  /** A batch that an agent's process reports. */
  async function runningBatch(pid: number) {
    const origin = await ranBatch()
    const { cmd_id: cmdId } = (await rerun(origin)).body
    const reporter = await agent.start(cmdId, pid)
    const id = `${origin}-again`
    const source = { project: 'vision', host }
    await stage.send({ ...stage.batchOwner, reporter }, [
      startOf({ id, source, timestamp: clock.now().toISOString() }, { rerun_of: origin }),
    ])
    return { id, cmdId, reporter }
  }
  const stop = (batch: string, token = stage.batchOwner.token) =>
    call('POST', `/api/batches/${batch}/stop`, token)

  test('is sent to the agent as a command with the pid, once, and its steps are shown', async () => {
    const { id, cmdId, reporter } = await runningBatch(900)
    expect((await stop(id, stage.owner.token)).body).toEqual({ stop_requested: true })
    expect((await stop(id)).status).toBe(200)
    const { jobs } = (await agent.jobs()).body
    expect(jobs).toMatchObject([
      { kind: 'stop', batch_id: id, pid: 900, target_cmd_id: cmdId, command: null },
    ])
    const stopId = jobs[0].cmd_id
    clock.forward({ seconds: 1 })
    for (let i = 0; i < 2; i++) {
      expect((await call('GET', `/api/batches/${id}/stop-requested`, reporter)).body).toMatchObject({
        stop_requested: true,
      })
    }
    expect((await agent.say(`jobs/${stopId}/claim`)).status).toBe(409)
    expect((await agent.say(`jobs/${stopId}/ack`, { pid: 901 })).status).toBe(409)
    expect((await agent.say(`jobs/${stopId}/ack`, { pid: 900 })).status).toBe(200)
    clock.forward({ seconds: 40 })
    const steps = [
      { step: 'sigterm', ago_s: 31 },
      { step: 'sigkill', ago_s: 1 },
    ]
    expect((await agent.say(`jobs/${stopId}/steps`, { steps })).status).toBe(204)
    expect((await agent.say(`jobs/${stopId}/steps`, { steps })).status).toBe(204)
    expect((await agent.say(`jobs/${stopId}/result`, { exit_code: 137 })).body).toEqual({ state: 'done' })
    const ended = await agent.say(`jobs/${cmdId}/result`, { exit_code: 137, failure_reason: 'stopped' })
    expect(ended.body).toEqual({ state: 'failed' })
    const told = (await timeline(id)).filter((s: { kind: string }) => s.kind === 'stop')
    expect(
      told.map(
        ({ step, actor }: { step: string; actor: { kind: string; name: string } }) =>
          `${step} ${actor.kind} ${actor.name}`,
      ),
    ).toEqual([
      'requested user owner',
      'requested user owner',
      `delivered agent ${host}`,
      'seen_by_reporter reporter batch-owner',
      `acknowledged agent ${host}`,
      `sigterm agent ${host}`,
      `sigkill agent ${host}`,
      `exited agent ${host}`,
    ])
    const at = Object.fromEntries(told.map((s: { step: string; at: string }) => [s.step, Date.parse(s.at)]))
    expect(at.sigkill - at.sigterm).toBe(30_000)
  })

  test('is only a flag if no online agent runs the process', async () => {
    const plain = await ranBatch()
    const over = await runningBatch(910)
    await agent.say(`jobs/${over.cmdId}/result`, { exit_code: 0 })
    const away = await runningBatch(911)
    clock.forward({ seconds: 91 })
    for (const id of [plain, over.id, away.id]) expect((await stop(id)).status).toBe(200)
    expect((await agent.jobs()).body.jobs).toEqual([])
    // Asked again once the agent is back, it gets there.
    await stop(away.id)
    expect((await agent.jobs()).body.jobs).toMatchObject([{ kind: 'stop', pid: 911 }])
    // The process ends by itself before the agent begins with it.
    await agent.say(`jobs/${away.cmdId}/result`, { exit_code: 0 })
    expect((await agent.jobs()).body.jobs).toEqual([])
    expect((await commands(away.id)).map((c: { state: string }) => c.state)).toEqual(['cancelled', 'done'])
  })
})

describe('revoking', () => {
  test('ends the token, the pending commands and the tokens of its processes, and is in the audit log', async () => {
    const batch = await ranBatch()
    const [waiting, running] = [(await rerun(batch)).body.cmd_id, (await rerun(batch)).body.cmd_id]
    const reporter = await agent.start(running, 55)
    const revoke = (token: string) => call('DELETE', `/api/hosts/${agent.id}`, token)
    expect((await revoke(stage.member.token)).status).toBe(404)
    expect((await revoke(stage.owner.token)).status).toBe(404)
    expect((await revoke(stage.admin.token)).status).toBe(204)
    expect((await revoke(stage.batchOwner.token)).status).toBe(204)
    expect((await agent.jobs()).status).toBe(401)
    expect((await call('POST', '/api/events', reporter, startOf())).status).toBe(401)
    const states = Object.fromEntries(
      (await commands(batch)).map((c: { cmd_id: string; state: string }) => [c.cmd_id, c.state]),
    )
    expect(states).toEqual({ [waiting]: 'cancelled', [running]: 'failed' })
    expect((await rerun(batch)).body.code).toBe('agent_offline')
    const shown = (await stage.get(`/api/hosts/${agent.id}`, stage.batchOwner.token)).body
    expect(shown).toMatchObject({ online: false, revoked_at: expect.stringMatching(/Z$/) })
    const log = await stage.get(`/api/admin/audit?subject=agent:${agent.id}`, stage.admin.token)
    expect(log.body.items[0]).toMatchObject({ action: 'agent.revoked', actor: { name: 'admin' } })
    const back = await registerAgent(stage.app, stage.batchOwner.token, host)
    expect(back.id).toBe(agent.id)
    expect((await back.jobs()).body.jobs).toEqual([])
  })
})

test('hosts are shown to their owner and to administrators, with their processes', async () => {
  await registerAgent(stage.app, stage.stranger.token, 'lonely')
  await agent.say('heartbeat', { running: [{ cmd_id: '9b2f9f60-8d3c-4e43-8a4c-8d3f0f3e3b1a', pid: 5 }] })
  const mine = (await stage.get('/api/hosts?limit=1', stage.stranger.token)).body
  expect(mine).toMatchObject({
    items: [{ hostname: 'lonely', online: true, capabilities: { gpus: 1 } }],
    next_cursor: null,
  })
  expect((await stage.get('/api/hosts', stage.viewer.token)).body.items).toEqual([])
  const all = (await stage.get('/api/hosts', stage.admin.token)).body.items.map(
    (h: { hostname: string }) => h.hostname,
  )
  expect(all).toEqual(expect.arrayContaining(['lonely', host]))
  const one = await stage.get(`/api/hosts/${agent.id}`, stage.batchOwner.read)
  expect(one.body).toMatchObject({
    agent_id: agent.id,
    running: [{ pid: 5 }],
    owner: { name: 'batch-owner' },
  })
  expect((await stage.get(`/api/hosts/${agent.id}`, stage.owner.token)).status).toBe(404)
  expect((await stage.get('/api/hosts')).status).toBe(401)
  const batch = await ranBatch()
  expect((await stage.get(`/api/batches/${batch}`, stage.viewer.token)).body.host_id).toBe(agent.id)
})

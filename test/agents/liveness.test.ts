import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BatchEvidence, evaluateLiveness, type ProcessEvidence } from '../../src/domain/agents/index.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'
import { openStream } from '../live/stream.ts'
import { registerAgent } from './agent.ts'

const NOW = new Date('2026-03-01T12:00:00Z')
const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1000).toISOString()
const clock = {
  now: NOW,
  startedAt: new Date(ago(86_400)),
  stallTimeoutMin: 15,
  lostAfterMin: 60,
  idleJobThresholdMin: 10,
}
const running: ProcessEvidence = {
  cmdId: 'c',
  pid: 42,
  state: 'in_flight',
  exitCode: null,
  failureReason: null,
  finishedAt: null,
  hostname: 'gpu-1',
  agentSeenAt: ago(5),
  agentRevoked: false,
  inHeartbeat: true,
  heartbeatAt: ago(5),
}
const evidence = (lastSeenS: number, process: Partial<ProcessEvidence> | null): BatchEvidence => ({
  status: 'running',
  aliveAt: ago(lastSeenS),
  lastSeenAt: ago(lastSeenS),
  process: process && { ...running, ...process },
  paces: [],
})

describe('a running batch is', () => {
  test.each<[string, BatchEvidence, string]>([
    ['running while events come', evidence(30, null), 'running'],
    ['running while its process lives, silent for less than the threshold', evidence(600, {}), 'running'],
    ['stalled when its process lives but says nothing', evidence(1_000, {}), 'stalled'],
    ['stalled when nothing is known of its process', evidence(1_000, null), 'stalled'],
    [
      'disconnected when its agent is away and it is silent too',
      evidence(200, { agentSeenAt: ago(180) }),
      'disconnected',
    ],
    ['running when its agent is away but events come', evidence(20, { agentSeenAt: ago(180) }), 'running'],
    [
      'disconnected when its agent was revoked and it is silent',
      evidence(300, { agentRevoked: true, state: 'failed' }),
      'disconnected',
    ],
    [
      'dead when its process ended',
      evidence(200, { state: 'failed', exitCode: 137, finishedAt: ago(180) }),
      'dead',
    ],
    [
      'dead when the heartbeats no longer name its process',
      evidence(200, { inHeartbeat: false, heartbeatAt: ago(120) }),
      'dead',
    ],
    [
      'not dead yet when its process ended a moment ago: data may be on its way',
      evidence(50, { state: 'done', exitCode: 0, finishedAt: ago(20) }),
      'running',
    ],
    [
      'running again when it speaks long after its process ended',
      evidence(5, { state: 'failed', exitCode: 1, finishedAt: ago(600) }),
      'running',
    ],
  ])('%s', (_name, found, liveness) => {
    expect(evaluateLiveness(found, clock).liveness).toBe(liveness)
  })

  test('shown with its reasons', () => {
    const dead = evaluateLiveness(
      evidence(200, { state: 'failed', exitCode: 137, failureReason: 'stopped', finishedAt: ago(180) }),
      clock,
    )
    expect(dead.reasons).toEqual([
      `Its process (pid 42) on gpu-1 ended with exit code 137 (stopped) at ${ago(180)}, and its reporter said nothing`,
    ])
    const lost = evaluateLiveness(
      evidence(200, { state: 'failed', failureReason: 'host_rebooted', finishedAt: ago(180) }),
      clock,
    )
    expect(lost.reasons[0]).toContain('was lost (host_rebooted)')
    expect(evaluateLiveness(evidence(200, { agentSeenAt: ago(180) }), clock).reasons[0]).toContain(
      'may still run there',
    )
  })

  test('stalled by the pace of its own epochs, and not evaluated right after a start of the server', () => {
    const slow = { ...evidence(10, {}), paces: [{ jobId: 'a', usualS: 60, lastAt: ago(700) }] }
    expect(evaluateLiveness(slow, clock)).toEqual({
      liveness: 'stalled',
      reasons: ['Job a: its epochs came every 60 s, the last one 700 s ago'],
    })
    expect(evaluateLiveness(slow, { ...clock, startedAt: new Date(ago(300)) }).liveness).toBe('running')
    const usual = { ...evidence(10, {}), paces: [{ jobId: 'a', usualS: 60, lastAt: ago(500) }] }
    expect(evaluateLiveness(usual, clock).liveness).toBe('running')
  })

  test('not evaluated once it has ended', () => {
    expect(evaluateLiveness({ ...evidence(9_999, {}), status: 'completed' }, clock)).toEqual({
      liveness: null,
      reasons: [],
    })
  })
})

describe('through the service', () => {
  const time = createClock()
  let stage: Stage
  beforeAll(async () => {
    stage = await openStage({}, { now: time.now })
  })
  afterAll(() => stage?.stop())

  test('a process that is gone without an end event makes its batch dead, and later events bring it back', async () => {
    const { token } = stage.batchOwner
    const agent = await registerAgent(stage.app, token)
    const source = { project: 'vision', host: 'gpu-1' }
    const now = () => time.now().toISOString()
    await stage.send(stage.batchOwner, [
      startOf({ id: 'origin', source, timestamp: now() }, { command: 'train', cwd: '/w' }),
    ])
    const { cmd_id } = (await stage.app.call('POST', '/api/batches/origin/rerun', { token })).body
    const reporter = await agent.start(cmd_id, 99)
    await stage.send({ ...stage.batchOwner, reporter }, [startOf({ id: 'again', source, timestamp: now() })])
    const health = async () => (await stage.get('/api/batches/again/health', token)).body
    const beat = (running: unknown[]) => agent.say('heartbeat', { running })

    time.forward({ minutes: 16 })
    await beat([{ cmd_id, pid: 99 }])
    expect(await health()).toMatchObject({ stalled: true, liveness: 'stalled' })
    expect((await health()).reasons).toContain('Its process (pid 99) on gpu-1 is alive')
    time.forward({ minutes: 2 })
    expect(await health()).toMatchObject({ liveness: 'disconnected' })
    await beat([])
    time.forward({ seconds: 70 })
    expect(await health()).toMatchObject({ liveness: 'dead' })
    await agent.say(`jobs/${cmd_id}/result`, { exit_code: 139 })
    time.forward({ seconds: 70 })
    const dead = await health()
    expect(dead.liveness).toBe('dead')
    expect(dead.reasons.join()).toContain('ended with exit code 139')
    const line = { batch_id: 'again', source, timestamp: now() }
    // The token of the process ended with it: its spilled events are sent with a token of its owner.
    await stage.send(stage.batchOwner, [makeEvent('log_line', line)])
    expect(await health()).toMatchObject({ liveness: 'running', stalled: false })
    const end = { ...line, timestamp: now() }
    await stage.send(stage.batchOwner, [makeEvent('batch_done', end)])
    expect(await health()).toMatchObject({ liveness: null, status: 'completed' })
  })

  test('the stream sends hosts and commands to users who may read them, with the same values as REST', async () => {
    const { token } = stage.batchOwner
    const agent = await registerAgent(stage.app, token, 'told-host')
    const source = { project: 'open', host: 'told-host' }
    await stage.send(stage.batchOwner, [
      startOf({ id: 'told', source, timestamp: time.now().toISOString() }, { command: 'train', cwd: '/w' }),
    ])
    const open = (as: string | undefined, ...channels: string[]) =>
      openStream(stage.app.address, channels, as === undefined ? {} : { token: as })
    const [mine, viewers, visitors, strangers] = [
      await open(token, 'batch:told', `host:${agent.id}`, 'hosts'),
      await open(stage.viewer.token, 'batch:told', 'hosts'),
      await open(undefined, 'batch:told'),
      await open(stage.stranger.token, 'batch:told', 'hosts'),
    ]
    expect((await open(stage.viewer.token, `host:${agent.id}`)).status).toBe(403)
    expect((await open(stage.admin.token, `host:${agent.id}`)).status).toBe(200)
    await stage.app.call('POST', '/api/batches/told/rerun', { token })
    const told = await mine.find((message) => message.data.type === 'commands')
    expect(told.data.payload).toEqual({
      commands: (await stage.get('/api/batches/told/commands', token)).body.items,
      timeline: (await stage.get('/api/batches/told/timeline', token)).body.items,
    })
    const host = await mine.find((message) => message.data.channel === `host:${agent.id}`)
    expect(host.data.payload.host).toMatchObject({ agent_id: agent.id, pending_commands: 1, online: true })
    await mine.find((message) => message.data.channel === 'hosts')
    await viewers.find((message) => message.data.type === 'commands')
    // A later message has arrived, so all messages about the command have, too.
    await stage.send(stage.batchOwner, [makeEvent('job_start', { batch_id: 'told', source })])
    for (const stream of [viewers, visitors, strangers]) {
      await stream.find((message) => message.data.type === 'summary')
    }
    const types = (messages: { data: { type: string } }[]) => new Set(messages.map(({ data }) => data.type))
    expect(types(viewers.messages)).toEqual(new Set(['commands', 'summary']))
    expect(types(visitors.messages)).toEqual(new Set(['summary']))
    expect(types(strangers.messages)).toEqual(new Set(['summary']))
    for (const stream of [mine, viewers, visitors, strangers]) stream.cut()
  })
})

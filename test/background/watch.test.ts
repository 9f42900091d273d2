import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerAgent } from '../agents/agent.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { openStream } from '../live/stream.ts'

/** The watch task: it finds what reads show, once per episode, for any number of runs and servers. */
const clock = createClock()
let database: TestDatabase
let stage: Stage
beforeAll(async () => {
  database = await freshDatabase()
  stage = await openStage({ databaseUrl: database.url }, { now: clock.now })
  for (const trigger of ['batch_failed', 'batch_stalled', 'job_idle', 'agent_offline']) {
    await database.sql`
      insert into notification_rules (project_key, name, trigger, created_at)
      select key, ${trigger}, ${trigger}, now() from projects where slug = 'vision'`
  }
  clock.forward({ hours: 1 })
})
afterAll(async () => {
  await stage?.stop()
  await database?.drop()
})

const at = (secondsAgo = 0): string => new Date(clock.now().getTime() - secondsAgo * 1000).toISOString()
const send = (...events: unknown[]) => stage.send(stage.batchOwner, events)
const watch = () => stage.app.runTask('watch')
const firings = async (trigger: string, batchId: string | null): Promise<number> => {
  const rows = await database.sql`
    select f.id from notification_firings f left join batches b on b.key = f.batch_key
    where f.trigger = ${trigger} and b.id is not distinct from ${batchId}`
  return rows.length
}
const standing = async (batchId: string): Promise<string[]> => {
  const rows = await database.sql<{ kind: string }[]>`
    select v.kind from verdicts v join batches b on b.key = v.batch_key
    where b.id = ${batchId} and v.cleared_at is null order by v.kind`
  return rows.map((row) => row.kind)
}
const health = async (id: string) =>
  (await stage.get(`/api/batches/${id}/health`, stage.batchOwner.token)).body
const alive = (batch_id: string, secondsAgo = 0) =>
  makeEvent('log_line', { batch_id, timestamp: at(secondsAgo) })
const snapshot = (batch_id: string, secondsAgo: number, gpu_util_pct: number) =>
  makeEvent('resource_snapshot', {
    batch_id,
    job_id: 'job-1',
    timestamp: at(secondsAgo),
    data: { gpu_util_pct },
  })

describe('a silent batch', () => {
  test('is sent as stalled once, on every channel with it, and cleared by the next event', async () => {
    await send(startOf({ id: 'silent', timestamp: at(60) }), alive('silent'))
    await watch()
    expect(await standing('silent')).toEqual([])
    const { token } = stage.batchOwner
    const open = await openStream(stage.app.address, ['batch:silent', 'project:vision', 'dashboard'], {
      token,
    })
    clock.forward({ minutes: 16 })
    await Promise.all([watch(), watch()])
    await watch()
    for (const channel of ['batch:silent', 'project:vision', 'dashboard']) {
      const message = await open.find(({ data }) => data.channel === channel)
      const batch = message.data.payload.batch ?? message.data.payload.batches[0]
      expect(batch).toMatchObject({ id: 'silent', stalled: true })
    }
    // The timeline step of its mail may arrive by then, too.
    const ofBatches = open.messages.filter(({ data: { payload } }) => payload.batch ?? payload.batches)
    expect(ofBatches).toHaveLength(3)
    expect(await standing('silent')).toEqual(['batch_stalled'])
    expect(await health('silent')).toMatchObject({ stalled: true })
    expect(await firings('batch_stalled', 'silent')).toBe(1)

    await send(alive('silent'))
    await open.find(({ data }) => data.payload.batch?.stalled === false)
    await watch()
    await open.find(({ data }) => data.channel === 'dashboard' && data.payload.batches[0]?.stalled === false)
    expect(await standing('silent')).toEqual([])
    open.cut()
  })

  test('starts another episode when it is silent again', async () => {
    clock.forward({ minutes: 16 })
    await watch()
    expect(await firings('batch_stalled', 'silent')).toBe(2)
    await send(makeEvent('batch_done', { batch_id: 'silent', timestamp: at() }))
    await watch()
    expect(await standing('silent')).toEqual([])
  })

  test('is no longer evaluated once it is deleted', async () => {
    await send(startOf({ id: 'dropped', timestamp: at(3_600) }))
    await watch()
    expect(await standing('dropped')).toEqual(['batch_stalled'])
    await stage.app.call('DELETE', '/api/batches/dropped', { token: stage.batchOwner.token })
    await watch()
    expect(await standing('dropped')).toEqual([])
    expect(
      (await stage.app.call('POST', '/api/batches/dropped/restore', { token: stage.batchOwner.token }))
        .status,
    ).toBe(200)
    await watch()
    expect(await standing('dropped')).toEqual(['batch_stalled'])
    expect(await firings('batch_stalled', 'dropped')).toBe(1)
    await stage.app.call('DELETE', '/api/batches/dropped', { token: stage.batchOwner.token })
  })
})

test('a job with an idle GPU is sent with its batch, and cleared when the GPU is used again', async () => {
  await send(
    startOf({ id: 'idler', timestamp: at(1_200) }),
    makeEvent('job_start', { batch_id: 'idler', timestamp: at(1_200) }),
    snapshot('idler', 1_200, 90),
    ...[800, 600, 400, 200, 0].map((ago) => snapshot('idler', ago, 1)),
  )
  const open = await openStream(stage.app.address, ['batch:idler'], { token: stage.batchOwner.token })
  await watch()
  const told = await open.find(({ data }) => data.payload.jobs?.[0]?.idle === true)
  expect(told.data.payload.jobs).toHaveLength(1)
  expect(await standing('idler')).toEqual(['job_idle'])
  expect(await firings('job_idle', 'idler')).toBe(1)
  await send(snapshot('idler', 0, 95))
  await open.find(({ data }) => data.payload.jobs?.[0]?.idle === false)
  await watch()
  expect(await standing('idler')).toEqual([])
  await send(makeEvent('batch_done', { batch_id: 'idler', timestamp: at() }))
  open.cut()
})

test('a batch whose process is gone according to the agent is lost, sends one mail as a failure, and is running again after a live event', async () => {
  const { token } = stage.batchOwner
  const agent = await registerAgent(stage.app, token, 'gpu-lost')
  const source = { project: 'vision', host: 'gpu-lost' }
  await send(startOf({ id: 'before', source, timestamp: at() }, { command: 'train', cwd: '/w' }))
  const { cmd_id } = (await stage.app.call('POST', '/api/batches/before/rerun', { token })).body
  const reporter = await agent.start(cmd_id, 99)
  await stage.send({ ...stage.batchOwner, reporter }, [startOf({ id: 'lost', source, timestamp: at() })])
  await send(makeEvent('batch_done', { batch_id: 'before', source, timestamp: at() }))
  clock.forward({ seconds: 30 })
  await agent.say(`jobs/${cmd_id}/result`, { exit_code: 137 })
  await watch()
  expect(await standing('lost')).toEqual([])
  clock.forward({ seconds: 90 })
  await agent.say('heartbeat', { running: [] })
  await watch()
  expect(await standing('lost')).toEqual([])
  const reasons = [expect.stringContaining('ended with exit code 137')]
  expect(await health('lost')).toMatchObject({ status: 'lost', liveness: null, reasons })
  clock.forward({ minutes: 16 })
  await agent.say('heartbeat', { running: [] })
  await watch()
  expect(await standing('lost')).toEqual([])
  expect(await firings('batch_failed', 'lost')).toBe(1)
  expect(await firings('batch_stalled', 'lost')).toBe(0)
  const line = makeEvent('log_line', { batch_id: 'lost', source, timestamp: at() })
  // The token of the rerun ended with its process; another token of the same user continues.
  await send(line)
  expect(await health('lost')).toMatchObject({ status: 'running', reasons: [] })
  await watch()
  expect(await standing('lost')).toEqual([])
  await send(makeEvent('batch_done', { batch_id: 'lost', source, timestamp: at() }))
  expect((await stage.app.call('DELETE', `/api/hosts/${agent.id}`, { token })).status).toBe(204)
})

test('an agent without a heartbeat is sent once to its subscribers and to the projects of its batches', async () => {
  const { token } = stage.batchOwner
  const agent = await registerAgent(stage.app, token, 'gpu-away')
  await send(startOf({ id: 'on-away', source: { project: 'vision', host: 'gpu-away' }, timestamp: at() }))
  const open = await openStream(stage.app.address, [`host:${agent.id}`], { token })
  const before = await firings('agent_offline', null)
  clock.forward({ seconds: 100 })
  await watch()
  await watch()
  await open.find(({ data }) => data.payload.host.online === false)
  expect(await firings('agent_offline', null)).toBe(before + 1)
  await agent.say('heartbeat')
  await open.find(({ data }) => data.payload.host.online === true)
  await watch()
  const left = await database.sql`
    select from verdicts v join agents a on a.key = v.subject_key
    where v.kind = 'agent_offline' and a.id = ${agent.id} and v.cleared_at is null`
  expect(left).toHaveLength(0)
  await send(makeEvent('batch_done', { batch_id: 'on-away', source: { project: 'vision' }, timestamp: at() }))
  open.cut()
})

describe('with more servers', () => {
  test('one that joins evaluates at once, because events could arrive all the time', async () => {
    await send(startOf({ id: 'seen-by-two', timestamp: at(3_600) }))
    const second = await startTestApp({ databaseUrl: database.url }, { now: clock.now })
    try {
      const { body } = await second.call('GET', '/api/batches/seen-by-two', { token: stage.batchOwner.token })
      expect(body).toMatchObject({ stalled: true })
      await Promise.all([second.runTask('watch'), watch(), second.runTask('watch')])
      expect(await firings('batch_stalled', 'seen-by-two')).toBe(1)
    } finally {
      await second.stop()
    }
  })

  test('after all were down nothing is evaluated within the first threshold, and no mail is sent twice', async () => {
    await stage.app.stop()
    clock.forward({ hours: 2 })
    const again = await startTestApp({ databaseUrl: database.url }, { now: clock.now })
    try {
      const read = async () =>
        (await again.call('GET', '/api/batches/seen-by-two', { token: stage.batchOwner.token })).body
      await again.runTask('watch')
      expect(await standing('seen-by-two')).toEqual([])
      expect(await read()).toMatchObject({ stalled: false })
      clock.forward({ minutes: 14 })
      await again.runTask('watch')
      expect(await standing('seen-by-two')).toEqual([])
      clock.forward({ minutes: 2 })
      await again.runTask('watch')
      expect(await read()).toMatchObject({ stalled: true })
      expect(await standing('seen-by-two')).toEqual(['batch_stalled'])
      expect(await firings('batch_stalled', 'seen-by-two')).toBe(1)
    } finally {
      await again.stop()
    }
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registerAgent } from '../agents/agent.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'

/** The life of a run by the service's clock, independent of its host's clock (contract §10 "Time", "Lost", "Stop"). */
const clock = createClock()
let stage: Stage
beforeAll(async () => {
  stage = await openStage({ stallTimeoutMin: 15, lostAfterMin: 60 }, { now: clock.now })
  clock.forward({ minutes: 61 })
})
afterAll(() => stage?.stop())

const DAY_S = 86_400
const now = () => clock.now().getTime()
const watch = () => stage.app.runTask('watch')
const get = async (path: string) => (await stage.get(path, stage.batchOwner.read)).body
const post = (path: string, body?: unknown, token = stage.batchOwner.token) =>
  stage.app.call('POST', path, { token, body })

/** A request of a reporter whose clock is ahead by so many seconds; its events are `agoS` seconds old when it sends them. */
async function report(events: object[], aheadS: number, options: { agoS?: number; header?: boolean } = {}) {
  const { agoS = 0, header = true } = options
  const sentAt = now() + aheadS * 1000
  const at = new Date(sentAt - agoS * 1000).toISOString()
  const body = events.map((event) => ({ ...event, timestamp: at }))
  const answer = await stage.app.call('POST', '/api/events/batch', {
    token: stage.batchOwner.reporter,
    body,
    headers: header ? { 'x-svc-sent-at': new Date(sentAt).toISOString() } : {},
  })
  expect(answer.body.results.filter((result: { error?: unknown }) => result.error)).toEqual([])
}
const line = (batch_id: string) => makeEvent('log_line', { batch_id })
const epoch = (batch_id: string, n: number) =>
  makeEvent('job_epoch', { batch_id, data: { epoch: n, train_loss: 1 } })

const yearsTo9999S = (Date.parse('9999-06-01T00:00:00Z') - Date.now()) / 1000
const SKEWS: [string, number][] = [
  ['a year behind', -365 * DAY_S],
  ['20 minutes behind', -1_200],
  ['60 seconds behind', -60],
  ['10 minutes ahead', 600],
  ['2 days ahead', 2 * DAY_S],
  ['in the year 9999', yearsTo9999S],
]

describe.each(SKEWS)('a host whose clock is %s', (name, aheadS) => {
  const id = `skew ${name}`
  test('is neither stalled nor has another length while it reports', async () => {
    await report([startOf({ id }), makeEvent('job_start', { batch_id: id })], aheadS)
    clock.forward({ minutes: 10 })
    await report([epoch(id, 0)], aheadS)
    clock.forward({ minutes: 10 })
    await report([epoch(id, 1)], aheadS)
    await watch()
    const batch = await get(`/api/batches/${encodeURIComponent(id)}`)
    expect(batch).toMatchObject({ status: 'running', stalled: false })
    expect(batch.clock_skew_s).toBeCloseTo(-aheadS, 0)
    expect(Math.abs(batch.elapsed_s - 1_200)).toBeLessThan(5)
    expect(Date.parse(batch.last_received_at)).toBe(now())
    // No batch is above those that report now.
    expect(Date.parse(batch.last_seen_at)).toBeLessThanOrEqual(now() + 301_000)
  })

  test('is stalled when it sends nothing, and lost when that continues', async () => {
    clock.forward({ minutes: 16 })
    await watch()
    const path = `/api/batches/${encodeURIComponent(id)}`
    expect(await get(path)).toMatchObject({ status: 'running', stalled: true, eta_s: null })
    clock.forward({ minutes: 46 })
    expect(await get(`${path}/health`)).toMatchObject({ stalled: true, reasons: ['no events for 62 min'] })
    await watch()
    expect(await get(path)).toMatchObject({
      status: 'lost',
      stalled: false,
      eta_s: null,
      failure_reason: 'no events for 62 min',
    })
    expect((await get(`${path}/jobs`)).items[0]).toMatchObject({
      status: 'lost',
      eta_s: null,
      ended_at: (await get(path)).last_seen_at,
    })
    await report([line(id)], aheadS)
    const again = { status: 'running', failure_reason: null, ended_at: null }
    expect(await get(path)).toMatchObject(again)
    expect((await get(`${path}/jobs`)).items[0]).toMatchObject(again)
    await report([makeEvent('batch_done', { batch_id: id })], aheadS)
  })
})

test('spilled events that arrive late are stored, and do not count as a sign of life', async () => {
  await report([startOf({ id: 'replayed' })], 0)
  clock.forward({ minutes: 30 })
  await report([epoch('replayed', 0)], 0, { agoS: 1_500 })
  const batch = await get('/api/batches/replayed')
  expect(batch).toMatchObject({ stalled: true, status: 'running' })
  expect(Date.parse(batch.last_received_at)).toBe(now())
})

test('an event without a sending time counts as a sign of life when received, unless its timestamp is older than the threshold', async () => {
  await report([startOf({ id: 'plain' })], -600, { header: false })
  await report([startOf({ id: 'plain-old' })], -1_200, { header: false })
  expect(await get('/api/batches/plain')).toMatchObject({ stalled: false, clock_skew_s: null })
  expect(await get('/api/batches/plain-old')).toMatchObject({ stalled: true })
})

test('no batch becomes lost until the service has been up for that period', async () => {
  const fresh = createClock()
  const other = await openStage({ lostAfterMin: 60 }, { now: fresh.now })
  try {
    await other.send(other.batchOwner, [
      startOf({ id: 'young', timestamp: new Date(fresh.now().getTime() - 7_200_000).toISOString() }),
    ])
    fresh.forward({ minutes: 59 })
    await other.app.runTask('watch')
    expect((await other.get('/api/batches/young', other.batchOwner.token)).body.status).toBe('running')
    fresh.forward({ minutes: 2 })
    await other.app.runTask('watch')
    expect((await other.get('/api/batches/young', other.batchOwner.token)).body.status).toBe('lost')
  } finally {
    await other.stop()
  }
})

test('a host that disappears with its agent leaves its batch stalled, then lost', async () => {
  const own = createClock()
  const other = await openStage({ lostAfterMin: 60 }, { now: own.now })
  const read = async (path: string) => (await other.get(path, other.batchOwner.token)).body
  try {
    const agent = await registerAgent(other.app, other.batchOwner.token)
    await agent.say('heartbeat', { running: [] })
    const source = { project: 'vision', host: 'gpu-1' }
    await other.send(other.batchOwner, [
      makeEvent('batch_start', { batch_id: 'unplugged', source, timestamp: own.now().toISOString() }),
      makeEvent('job_start', { batch_id: 'unplugged', source, timestamp: own.now().toISOString() }),
    ])
    own.forward({ minutes: 30 })
    await other.app.runTask('watch')
    expect(await read('/api/batches/unplugged')).toMatchObject({
      status: 'running',
      stalled: true,
      eta_s: null,
    })
    own.forward({ minutes: 35 })
    await other.app.runTask('watch')
    expect(await read('/api/batches/unplugged')).toMatchObject({
      status: 'lost',
      failure_reason: 'no events for 65 min',
    })
    expect((await read('/api/batches/unplugged/jobs')).items[0]).toMatchObject({ status: 'lost' })
  } finally {
    await other.stop()
  }
})

describe('a report of an agent', () => {
  const process = { pid: 4711, start_time: '12345', boot_id: 'b007' }
  const source = { project: 'vision', host: 'gpu-1' }
  const begun = (id: string) => startOf({ id, source }, { process, command: 'train', cwd: '/w' })

  test('that the recorded process is gone makes its batch lost at once, and no other', async () => {
    const agent = await registerAgent(stage.app, stage.batchOwner.token)
    await report([begun('killed'), makeEvent('job_start', { batch_id: 'killed', source })], 0)
    const gone = { batch_id: 'killed', ...process, reason: 'out of memory' }
    const wrong = [
      { ...gone, pid: 4712 },
      { ...gone, boot_id: 'another' },
      { ...gone, start_time: '0' },
      { ...gone, batch_id: 'unknown' },
    ]
    expect((await agent.say('heartbeat', { running: [], ended: wrong })).status).toBe(204)
    expect(await get('/api/batches/killed')).toMatchObject({ status: 'running' })
    clock.forward({ seconds: 2 })
    expect((await agent.say('heartbeat', { running: [], ended: [gone] })).status).toBe(204)
    expect(await get('/api/batches/killed')).toMatchObject({
      status: 'lost',
      failure_reason: 'process 4711 ended unexpectedly (out of memory)',
    })
    // Spilled events arrive late: they are from before the end of the process.
    clock.forward({ seconds: 30 })
    await report([epoch('killed', 0)], 0, { agoS: 60 })
    expect(await get('/api/batches/killed')).toMatchObject({ status: 'lost' })
    await report([makeEvent('batch_failed', { batch_id: 'killed', source, data: { reason: 'SIGKILL' } })], 0)
    expect(await get('/api/batches/killed')).toMatchObject({ status: 'failed', failure_reason: 'SIGKILL' })
  })

  test('that an old process is gone does not end a run that was resumed in another process', async () => {
    const agent = await registerAgent(stage.app, stage.batchOwner.token)
    const first = begun('resumed')
    const resumed = (pid: number) =>
      startOf({ id: 'resumed', source }, { process: { ...process, pid }, command: 'train', cwd: '/w' })
    await report([resumed(5000)], 0)
    // The first start was spilled to disk, and arrives after the second one.
    await report([first], 0, { agoS: 600 })
    const gone = (pid: number) =>
      agent.say('heartbeat', { running: [], ended: [{ batch_id: 'resumed', ...process, pid }] })
    clock.forward({ seconds: 2 })
    await gone(process.pid)
    expect(await get('/api/batches/resumed')).toMatchObject({ status: 'running' })
    clock.forward({ seconds: 2 })
    await report([resumed(6000)], 0)
    clock.forward({ seconds: 2 })
    await gone(5000)
    expect(await get('/api/batches/resumed')).toMatchObject({ status: 'running' })
    await gone(6000)
    expect(await get('/api/batches/resumed')).toMatchObject({ status: 'lost' })
  })

  test('may be followed by a stop command for a run that was started by hand, with the pid of its process', async () => {
    const agent = await registerAgent(stage.app, stage.batchOwner.token)
    await agent.say('heartbeat', { running: [] })
    await report([begun('by-hand')], 0)
    for (let i = 0; i < 2; i++) expect((await post('/api/batches/by-hand/stop')).status).toBe(200)
    const { jobs } = (await agent.jobs()).body
    expect(jobs).toMatchObject([
      { kind: 'stop', batch_id: 'by-hand', pid: 4711, target_cmd_id: null, process },
    ])
    await report(
      [makeEvent('batch_failed', { batch_id: 'by-hand', source, data: { reason: 'stop_requested' } })],
      0,
    )
    expect(await get('/api/batches/by-hand')).toMatchObject({ status: 'stopped' })
  })
})

describe('ending a batch by hand', () => {
  test('sets the reason, is allowed to its owners only, and is in the audit log', async () => {
    await report([startOf({ id: 'ended' }), makeEvent('job_start', { batch_id: 'ended' })], 0)
    const path = '/api/batches/ended/end'
    expect((await post(path, { status: 'failed' }, stage.member.token)).status).toBe(403)
    expect((await post(path, { status: 'failed' }, stage.stranger.token)).status).toBe(404)
    expect((await post(path, { status: 'completed' })).status).toBe(422)
    const answer = await post(path, { status: 'failed', reason: 'the host is gone' })
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'failed', failure_reason: 'the host is gone' },
    })
    expect((await post(path, { status: 'failed' })).status).toBe(200)
    expect((await post(path, { status: 'stopped' })).body.code).toBe('batch_finished')
    const [entry] = await stage.app.sql`
      select detail from audit_log where action = 'batch.ended' and subject = 'batch:ended'`
    expect(entry?.detail).toMatchObject({ status: 'failed', reason: 'the host is gone' })
  })

  test('is overwritten by later events of the reporter', async () => {
    clock.forward({ minutes: 5 })
    await report([makeEvent('batch_done', { batch_id: 'ended' })], 0, { agoS: 60 })
    expect(await get('/api/batches/ended')).toMatchObject({ status: 'completed', failure_reason: null })
  })

  test('a stop request of a lost batch ends it as stopped', async () => {
    await report([startOf({ id: 'gone' })], 0)
    clock.forward({ minutes: 61 })
    await watch()
    expect(await get('/api/batches/gone')).toMatchObject({ status: 'lost' })
    expect((await post('/api/batches/gone/stop')).status).toBe(200)
    expect(await get('/api/batches/gone')).toMatchObject({ status: 'stopped' })
  })
})

test('jobs reported by other processes are counted, and progress is computed from planned epochs', async () => {
  await report([startOf({ id: 'counted' }, { n_total: 1 })], 0)
  for (const job_id of ['a', 'b', 'c', 'd']) {
    await report([makeEvent('job_done', { batch_id: 'counted', job_id })], 0)
  }
  await report([makeEvent('batch_done', { batch_id: 'counted', data: { n_done: 0 } })], 0)
  expect(await get('/api/batches/counted')).toMatchObject({ n_done: 4, progress: 1 })
  const start = makeEvent('job_start', { batch_id: 'half', data: { epochs: 4 } })
  await report([startOf({ id: 'half' }), start, ...[0, 1, 2].map((n) => epoch('half', n))], 0)
  expect(await get('/api/batches/half')).toMatchObject({ n_done: 0, progress: 0.75 })
})

test('one GPU sample below 5% and then nothing is not idle; five over the threshold are', async () => {
  const sample = makeEvent('resource_snapshot', { batch_id: 'idle', job_id: 'a', data: { gpu_util_pct: 0 } })
  await report(
    [startOf({ id: 'idle' }), makeEvent('job_start', { batch_id: 'idle', job_id: 'a' }), sample],
    0,
  )
  clock.forward({ minutes: 11 })
  const idle = async () => (await get('/api/batches/idle/health')).idle_jobs
  expect(await idle()).toEqual([])
  for (let i = 0; i < 4; i++) {
    expect(await idle()).toEqual([])
    await report([{ ...sample, event_id: crypto.randomUUID() }], 0)
    clock.forward({ minutes: 1 })
  }
  expect(await idle()).toEqual(['a'])
})

test('hosts that reported are listed without an agent, with their clock skew', async () => {
  await report([startOf({ id: 'elsewhere', source: { host: 'laptop' } })], -90)
  const { items } = await get('/api/hosts')
  const laptop = items.find((host: { hostname: string }) => host.hostname === 'laptop')
  expect(laptop).toMatchObject({ agent_id: null, online: false, owner: { id: stage.batchOwner.id } })
  expect(laptop.clock_skew_s).toBeCloseTo(90, 0)
  expect(await get(`/api/hosts/${laptop.id}`)).toMatchObject({ hostname: 'laptop' })
  expect((await stage.get('/api/hosts', stage.stranger.token)).body.items).toEqual([])
})

test('a batch that processes only joined is lost with that reason', async () => {
  await report(
    [makeEvent('job_start', { batch_id: 'joined' }), makeEvent('job_done', { batch_id: 'joined' })],
    0,
  )
  clock.forward({ minutes: 61 })
  await watch()
  const { status, failure_reason } = await get('/api/batches/joined')
  expect([status, failure_reason]).toEqual([
    'lost',
    expect.stringContaining('no events for 61 min; its start was never reported'),
  ])
})

describe('what a reporter sends after the end of its batch', () => {
  const done = (batch_id: string, data: object = {}) =>
    makeEvent('batch_done', { batch_id, data: { n_done: 3, n_failed: 1, ...data } })
  const jobs = async (id: string) =>
    Object.fromEntries(
      (await get(`/api/batches/${id}/jobs`)).items.map((job: { id: string; status: string }) => [
        job.id,
        job.status,
      ]),
    )
  const counts = async (id: string) => {
    const { status, n_running, n_done, n_failed } = await get(`/api/batches/${id}`)
    return { status, n_running, n_done, n_failed }
  }

  test('a job of another process runs while it reports, and is lost after an hour of silence', async () => {
    const id = 'outlived'
    await report([startOf({ id }), makeEvent('job_start', { batch_id: id, job_id: 'ended' })], 0)
    clock.forward({ minutes: 1 })
    await report([done(id)], 0)
    expect(await jobs(id)).toEqual({ ended: 'lost' })
    clock.forward({ minutes: 1 })
    await report([makeEvent('job_start', { batch_id: id, job_id: 'later' })], 0)
    expect(await jobs(id)).toEqual({ ended: 'lost', later: 'running' })
    expect(await counts(id)).toEqual({ status: 'completed', n_running: 1, n_done: 3, n_failed: 1 })
    clock.forward({ minutes: 59 })
    await report([makeEvent('job_epoch', { batch_id: id, job_id: 'later' })], 0)
    await watch()
    expect(await jobs(id)).toMatchObject({ later: 'running' })
    clock.forward({ minutes: 61 })
    await watch()
    expect(await jobs(id)).toEqual({ ended: 'lost', later: 'lost' })
    expect(await counts(id)).toMatchObject({ status: 'completed', n_running: 0 })
    await report([makeEvent('job_epoch', { batch_id: id, job_id: 'later', data: { epoch: 1 } })], 0)
    expect(await jobs(id)).toMatchObject({ later: 'running' })
    await report([makeEvent('job_done', { batch_id: id, job_id: 'later' })], 0)
    expect(await jobs(id)).toMatchObject({ later: 'completed' })
  })

  test.each([
    ['in order', [0, 1, 2]],
    ['late', [2, 0, 1]],
    ['the counts last', [1, 2, 0]],
  ])('a failure after the end keeps the counts: %s', async (name, order) => {
    const id = `counts-${name.replaceAll(' ', '-')}`
    await report([startOf({ id })], 0)
    const at = (ms: number) => new Date(now() + ms).toISOString()
    const events = [
      { ...done(id, { n_done: 1 }), timestamp: at(1) },
      { ...done(id), timestamp: at(2) },
      {
        ...makeEvent('batch_failed', { batch_id: id, data: { reason: 'exit status 1', total_elapsed_s: 5 } }),
        timestamp: at(3),
      },
    ]
    for (const n of order) {
      const answer = await stage.app.call('POST', '/api/events', {
        token: stage.batchOwner.reporter,
        body: events[n],
      })
      expect(answer.status).toBe(200)
    }
    expect(await counts(id)).toEqual({ status: 'failed', n_running: 0, n_done: 3, n_failed: 1 })
  })
})

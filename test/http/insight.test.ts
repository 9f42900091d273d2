import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'
import { openStage, type Stage } from './stage.ts'

const clock = createClock()
const source = { project: 'vision' }
let stage: Stage
beforeAll(async () => {
  stage = await openStage({ stallTimeoutMin: 15, idleJobThresholdMin: 10 }, { now: clock.now })
})
afterAll(() => stage?.stop())

/** An instant so many seconds from the clock's now. */
const at = (seconds: number) => new Date(clock.now().getTime() + seconds * 1000).toISOString()
const get = async (path: string, token = stage.viewer.token) => {
  const { status, body } = await stage.get(path, token)
  expect([status, body.detail]).toEqual([200, undefined])
  return body
}
const send = (...events: unknown[]) => stage.send(stage.batchOwner, events)
const start = (batch_id: string, seconds: number, n_total: number) =>
  makeEvent('batch_start', { batch_id, source, timestamp: at(seconds), data: { n_total } })
const job = (batch_id: string, job_id: string, seconds: number, data = {}) =>
  makeEvent('job_start', { batch_id, job_id, source, timestamp: at(seconds), data })
const epochs = (batch_id: string, job_id: string, from: number, each: number, count: number) =>
  Array.from({ length: count }, (_, epoch) =>
    makeEvent('job_epoch', {
      batch_id,
      job_id,
      source,
      timestamp: at(from + (epoch + 1) * each),
      data: { epoch, train_loss: 1 },
    }),
  )
const done = (batch_id: string, job_id: string, seconds: number) =>
  makeEvent('job_done', { batch_id, job_id, source, timestamp: at(seconds) })

const over = (batch_id: string) => makeEvent('batch_done', { batch_id, source, timestamp: at(0) })

const NOTHING = { eta_s: null, low_s: null, high_s: null, eta_at: null, n_samples: 0, basis: null }

describe('eta', () => {
  test('is null until three epochs are completed', async () => {
    await send(
      start('few', -100, 1),
      job('few', 'a', -100, { epochs: 10 }),
      ...epochs('few', 'a', -30, 10, 2),
    )
    expect(await get('/api/batches/few/eta')).toEqual({ batch_id: 'few', ...NOTHING })
  })

  test('extrapolates the pace of the epochs to the planned number of epochs', async () => {
    await send(
      start('paced', -100, 1),
      job('paced', 'a', -100, { epochs: 30 }),
      ...epochs('paced', 'a', -100, 10, 10),
    )
    const eta = await get('/api/batches/paced/eta')
    expect(eta).toMatchObject({ basis: 'epochs', n_samples: 9 })
    expect(eta.eta_s).toBeGreaterThan(180)
    expect(eta.eta_s).toBeLessThan(220)
    expect(eta.low_s).toBeLessThanOrEqual(eta.eta_s)
    expect(eta.high_s).toBeGreaterThanOrEqual(eta.eta_s)
    expect(Math.abs(Date.parse(eta.eta_at) - clock.now().getTime() - eta.eta_s * 1000)).toBeLessThanOrEqual(
      1_000,
    )
  })

  test('includes running jobs, planned jobs and the slots that they share', async () => {
    const events = [start('slots', -200, 6)]
    for (const id of ['a', 'b']) events.push(job('slots', id, -200), done('slots', id, -100))
    for (const id of ['c', 'd']) events.push(job('slots', id, -100))
    await send(...events)
    const eta = await get('/api/batches/slots/eta')
    // Two jobs at a time, 100 s each: c and d are about to end, e and f follow side by side.
    expect(eta.basis).toBe('jobs')
    expect(eta.eta_s).toBeGreaterThan(90)
    expect(eta.eta_s).toBeLessThan(190)
    const { items } = await get('/api/batches/slots/jobs/eta-all')
    expect(items.map((i: { job_id: string; status: string }) => [i.job_id, i.status])).toEqual([
      ['a', 'completed'],
      ['b', 'completed'],
      ['c', 'running'],
      ['d', 'running'],
    ])
    expect(items[0]).toMatchObject({ key: expect.stringMatching(/^\d+$/), ...NOTHING })
    expect(items[2].eta_s).toEqual(expect.any(Number))
  })

  test('takes the number of epochs from completed jobs of the batch if a job does not report it', async () => {
    await send(
      start('siblings', -300, 2),
      job('siblings', 'a', -300),
      ...epochs('siblings', 'a', -300, 10, 20),
      done('siblings', 'a', -100),
      job('siblings', 'b', -100),
      ...epochs('siblings', 'b', -100, 10, 10),
    )
    const eta = await get('/api/batches/siblings/eta')
    expect(eta.eta_s).toBeGreaterThan(85)
    expect(eta.eta_s).toBeLessThan(125)
  })

  test('is null with the reason if nothing gives the length of a job', async () => {
    await send(start('unsaid', -100, 1), job('unsaid', 'a', -100), ...epochs('unsaid', 'a', -100, 20, 5))
    const eta = await get('/api/batches/unsaid/eta')
    expect(eta).toEqual({ batch_id: 'unsaid', ...NOTHING, basis: 'unknown_length' })
    const { items } = await get('/api/batches/unsaid/jobs/eta-all')
    expect(items[0]).toMatchObject({ ...NOTHING, basis: 'unknown_length' })
    // A job past its planned length has none either.
    await send(
      start('past', -100, 1),
      job('past', 'a', -100, { epochs: 3 }),
      ...epochs('past', 'a', -100, 20, 5),
    )
    expect(await get('/api/batches/past/eta')).toMatchObject({ ...NOTHING, basis: 'unknown_length' })
    await send(over('past'))
  })

  test('and the progress are null if no number of jobs is planned and none runs', async () => {
    await send(
      start('open', -100, 0),
      job('open', 'a', -100),
      ...epochs('open', 'a', -100, 10, 5),
      done('open', 'a', -50),
    )
    expect(await get('/api/batches/open/eta')).toMatchObject({ ...NOTHING, basis: 'unknown_length' })
    expect(await get('/api/batches/open')).toMatchObject({ status: 'running', eta_s: null, progress: null })
    await send(over('open'))
  })

  test.each([
    ['steps', { steps: 40, step_unit: 'step' }],
    [
      'steps, beside epochs that are not what the axis counts',
      { max_steps: 40, num_train_epochs: 90, step_unit: 'step' },
    ],
    ['rounds', { n_estimators: 40 }],
    ['epochs, beside steps', { epochs: 40, max_steps: 4_000 }],
    ['steps, where -1 means no limit of them', { max_steps: -1, max_epochs: 40, step_unit: 'step' }],
  ])('takes the planned length from %s', async (_, params) => {
    const id = `planned ${JSON.stringify(params)}`
    await send(start(id, -100, 1), job(id, 'a', -100, params), ...epochs(id, 'a', -100, 5, 20))
    const eta = await get(`/api/batches/${encodeURIComponent(id)}/eta`)
    expect(eta.basis).toBe('epochs')
    expect(eta.eta_s).toBeGreaterThan(85)
    expect(eta.eta_s).toBeLessThan(115)
    await send(over(id))
  })

  test('of a batch that has ended is null', async () => {
    await send(
      start('over', -300, 1),
      job('over', 'a', -300),
      done('over', 'a', -200),
      makeEvent('batch_done', { batch_id: 'over', source, timestamp: at(-199) }),
    )
    expect(await get('/api/batches/over/eta')).toEqual({ batch_id: 'over', ...NOTHING })
  })

  test('of a batch that sends nothing more stays unchanged', async () => {
    await send(
      start('silent', -90_000, 1),
      job('silent', 'a', -90_000, { epochs: 30 }),
      ...epochs('silent', 'a', -90_000, 10, 10),
    )
    const eta = await get('/api/batches/silent/eta')
    expect(eta.eta_s).toBeGreaterThan(180)
    expect(eta.eta_s).toBeLessThan(220)
  })
})

describe('health', () => {
  const snapshot = (batch_id: string, job_id: string | null, seconds: number, gpu_util_pct: number) =>
    makeEvent('resource_snapshot', {
      batch_id,
      job_id,
      source,
      timestamp: at(seconds),
      data: { gpu_util_pct },
    })

  test('has no marks within the first threshold after the start', async () => {
    await send(
      start('quiet', -3_600, 1),
      job('quiet', 'a', -3_600),
      snapshot('quiet', 'a', -3_600, 1),
      snapshot('quiet', 'a', -1_800, 1),
    )
    expect(await get('/api/batches/quiet/health')).toEqual({
      batch_id: 'quiet',
      status: 'running',
      stalled: false,
      liveness: 'running',
      last_seen_at: expect.stringMatching(/Z$/),
      silent_s: 1_800,
      threshold_s: 900,
      idle_jobs: [],
      reasons: [expect.stringContaining('not evaluated yet')],
    })
  })

  test('lists silence and an idle GPU with their reasons, and clears by itself', async () => {
    clock.forward({ minutes: 16 })
    const marked = await get('/api/batches/quiet/health')
    expect(marked).toMatchObject({ stalled: true, idle_jobs: [], silent_s: 1_800 + 960 })
    expect(marked.reasons).toEqual([
      expect.stringMatching(/^No event since .*: 2760 s, and 900 s are allowed$/),
    ])
    await send(...[-800, -600, -400, -200, 0].map((ago) => snapshot('quiet', 'a', ago, 1)))
    expect(await get('/api/batches/quiet/health')).toMatchObject({
      stalled: false,
      idle_jobs: ['a'],
      reasons: [expect.stringMatching(/^Job a: GPU below 5% since /)],
    })
    await send(snapshot('quiet', 'a', 0, 80))
    expect(await get('/api/batches/quiet/health')).toMatchObject({
      stalled: false,
      idle_jobs: [],
      reasons: [],
    })
  })

  test('does not mark a job that has just started as idle because the GPU waited before', async () => {
    await send(
      start('waited', -3_600, 2),
      ...[-800, -600, -400, -200, -60].map((ago) => snapshot('waited', null, ago, 1)),
      job('waited', 'old', -3_600),
      job('waited', 'new', -120),
    )
    expect(await get('/api/batches/waited/health')).toMatchObject({ idle_jobs: ['old'] })
    const gone = await stage.app.call('DELETE', '/api/batches/waited', { token: stage.batchOwner.token })
    expect(gone.status).toBe(204)
  })
})

describe('dashboard', () => {
  test('counts only what the caller can read', async () => {
    const all = await get('/api/dashboard/summary', stage.admin.token)
    expect(all).toMatchObject({
      running: 1,
      stalled: 6,
      completed: 8,
      failed: 0,
      stopped: 0,
      finished_24h: 8,
      failed_24h: 0,
    })
    expect(await get('/api/dashboard/summary?project=vision')).toEqual(all)
    const none = { running: 0, completed: 0, running_jobs: 0, stalled: 0, idle: 0, gpu_hours: 0 }
    expect(await get('/api/dashboard/summary', stage.stranger.token)).toMatchObject(none)
    expect(await get('/api/dashboard/summary?project=open')).toMatchObject(none)
    expect((await stage.get('/api/dashboard/summary?projekt=open')).status).toBe(422)
    for (const path of [
      'summary?project=nope',
      'summary?project=open&project=nope',
      'activity?project=nope',
    ]) {
      const { status, body } = await stage.get(`/api/dashboard/${path}`)
      expect([status, body.code]).toEqual([404, 'project_not_found'])
    }
    const asked = { query: '{ dashboard(project: "nope") { running } }' }
    const { body } = await stage.app.call('POST', '/graphql', { token: stage.viewer.token, body: asked })
    expect(body.errors[0].extensions.code).toBe('project_not_found')
  })

  test('counts stalled batches and idle jobs', async () => {
    await send(
      start('idle', -3_000, 1),
      job('idle', 'a', -3_000),
      ...[-800, -600, -400, -200, 0].map((ago) =>
        makeEvent('resource_snapshot', {
          batch_id: 'idle',
          job_id: 'a',
          source,
          timestamp: at(ago),
          data: { gpu_util_pct: 0 },
        }),
      ),
    )
    const before = await get('/api/dashboard/summary')
    expect(before.idle).toBe(1)
    expect(before.stalled).toBeGreaterThan(1)
    await send(makeEvent('batch_done', { batch_id: 'idle', source, timestamp: at(0) }))
    expect(await get('/api/dashboard/summary')).toMatchObject({ idle: 0, running: before.running - 1 })
  })

  test('counts GPU-hours from each snapshot to the next, at most two intervals, for each GPU separately', async () => {
    const before = await get('/api/dashboard/summary')
    const events = [start('gpus', -7_200, 1)]
    // 121 snapshots a minute apart, then silence for most of an hour, then one more.
    for (const minute of [...Array.from({ length: 61 }, (_, i) => i), 118]) {
      events.push(
        makeEvent('resource_snapshot', {
          batch_id: 'gpus',
          source,
          timestamp: at(-7_200 + minute * 60),
          data: {
            gpus: [
              { index: 0, util_pct: 90 },
              { index: 1, util_pct: 0 },
              { index: 2, util_pct: 'NaN' },
            ],
          },
        }),
      )
    }
    events.push(makeEvent('batch_done', { batch_id: 'gpus', source, timestamp: at(-7_200 + 119 * 60) }))
    await send(...events)
    const after = await get('/api/dashboard/summary')
    // 60 minutes, two after the 61st snapshot, and one from the last to the end.
    expect(after.gpu_hours - before.gpu_hours).toBeCloseTo(63 / 60, 2)
    expect(after.idle_gpu_hours - before.idle_gpu_hours).toBeCloseTo(63 / 60, 2)
  })

  test('lists starts and ends as activity, newest first, in pages', async () => {
    await send(
      start('lively', -50, 1),
      job('lively', 'x', -49),
      makeEvent('job_failed', {
        batch_id: 'lively',
        job_id: 'x',
        source,
        timestamp: at(-48),
        data: { reason: 'CUDA' },
      }),
      makeEvent('batch_failed', {
        batch_id: 'lively',
        source,
        timestamp: at(-47),
        data: { reason: 'gave up' },
      }),
    )
    const whole = await get('/api/dashboard/activity?limit=500')
    expect(whole.next_cursor).toBe(null)
    const lively = whole.items.filter((i: { batch_id: string }) => i.batch_id === 'lively')
    expect(lively).toEqual([
      {
        at: expect.any(String),
        type: 'batch_failed',
        project: 'vision',
        batch_id: 'lively',
        job_id: null,
        reason: 'gave up',
      },
      {
        at: expect.any(String),
        type: 'job_failed',
        project: 'vision',
        batch_id: 'lively',
        job_id: 'x',
        reason: 'CUDA',
      },
      {
        at: expect.any(String),
        type: 'batch_started',
        project: 'vision',
        batch_id: 'lively',
        job_id: null,
        reason: null,
      },
    ])
    const times = whole.items.map((i: { at: string }) => Date.parse(i.at))
    expect(times).toEqual(times.toSorted((a: number, b: number) => b - a))

    const paged: unknown[] = []
    let cursor = ''
    do {
      const page = await get(`/api/dashboard/activity?limit=3${cursor}`)
      paged.push(...page.items)
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`
    } while (cursor !== '')
    expect(paged).toEqual(whole.items)
    expect((await get('/api/dashboard/activity', stage.stranger.token)).items).toEqual([])
    expect((await stage.get('/api/dashboard/activity?cursor=x')).status).toBe(422)
  })
})

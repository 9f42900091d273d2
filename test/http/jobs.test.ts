import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jobFields } from '../../src/domain/jobs/index.ts'
import { jobShape } from '../../src/http/batches/batch-shapes.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClock } from '../kit/clock.ts'
import { openStage, type Stage, startOf } from './stage.ts'

let stage: Stage
const clock = createClock()
beforeAll(async () => {
  stage = await openStage({ idleJobThresholdMin: 10 }, { now: clock.now })
})
afterAll(() => stage?.stop())

const at = (secondsAgo: number) => new Date(clock.now().getTime() - secondsAgo * 1000).toISOString()
const job = (
  type: Parameters<typeof makeEvent>[0],
  batch: string,
  id: string,
  ago: number,
  data = {},
  project = 'vision',
) => makeEvent(type, { batch_id: batch, job_id: id, timestamp: at(ago), source: { project }, data })
const jobsOf = async (batch: string) =>
  (await stage.get(`/api/batches/${batch}/jobs`, stage.viewer.token)).body.items

describe('a job', () => {
  test('has every field of the contract, filled from its events', async () => {
    await stage.send(stage.batchOwner, [
      startOf({ id: 'full', timestamp: at(100) }),
      job('job_start', 'full', 'seed0', 90, {
        model: 'resnet18',
        dataset: 'cifar10',
        lr: 0.1,
        deep: { a: [1] },
      }),
      job('job_epoch', 'full', 'seed0', 80, { epoch: 1, train_loss: 0.5, acc: { top1: 0.7 } }),
      job('job_epoch', 'full', 'seed0', 70, { epoch: 3, train_loss: 'NaN', val_loss: '-Infinity' }),
    ])
    const [found] = await jobsOf('full')
    expect(found).toEqual({
      // Fields that no event has set.
      ...Object.fromEntries(
        Object.entries(jobFields).flatMap(([name, { type }]) => (type.nullable ? [[name, null]] : [])),
      ),
      batch_id: 'full',
      id: 'seed0',
      key: expect.stringMatching(/^\d+$/),
      status: 'running',
      model: 'resnet18',
      dataset: 'cifar10',
      params: { lr: 0.1, deep: { a: [1] } },
      started_at: at(90),
      elapsed_s: 90,
      epochs: 2,
      latest: { epoch: 3, train_loss: 'NaN', val_loss: '-Infinity', 'acc/top1': 0.7 },
      best: { train_loss: 0.5, val_loss: '-Infinity', 'acc/top1': 0.7 },
      metrics: {},
      tags: [],
      notes: '',
      pruned: false,
      idle: false,
    })
    expect(jobShape.parse(found)).toEqual(found)
    expect((await stage.get(`/api/jobs/${found.key}`, stage.viewer.token)).body).toEqual(found)
    expect((await stage.get(`/api/jobs/${found.key}`, stage.stranger.token)).body.code).toBe('job_not_found')
  })

  test('has the status of its last end event: done, failed or stopped; and lost without one', async () => {
    await stage.send(stage.batchOwner, [
      startOf({ id: 'ends', timestamp: at(100) }),
      ...['done', 'failed', 'stopped', 'lost'].map((id, i) => job('job_start', 'ends', id, 90 - i)),
      job('job_done', 'ends', 'done', 60, { metrics: { acc: 0.9, worst: 'NaN' }, elapsed_s: 29.5 }),
      job('job_failed', 'ends', 'failed', 60, { reason: 'OOM', elapsed_s: 'NaN' }),
      job('job_failed', 'ends', 'stopped', 60, { reason: 'stop_requested', elapsed_s: 28 }),
      job('job_epoch', 'ends', 'lost', 50, { epoch: 0 }),
      makeEvent('batch_failed', { batch_id: 'ends', timestamp: at(40) }),
    ])
    const found = await jobsOf('ends')
    expect(found.map((j: { id: string; status: string }) => [j.id, j.status])).toEqual([
      ['lost', 'lost'],
      ['stopped', 'stopped'],
      ['failed', 'failed'],
      ['done', 'completed'],
    ])
    const [lost, stopped, failed, done] = found
    expect(done).toMatchObject({ metrics: { acc: 0.9, worst: 'NaN' }, elapsed_s: 29.5, ended_at: at(60) })
    expect(failed).toMatchObject({ failure_reason: 'OOM', elapsed_s: 'NaN' })
    expect(stopped).toMatchObject({ failure_reason: 'stop_requested', latest: { epoch: null } })
    // Its last word was 50 s ago, its first 87 s ago.
    const failure_reason = 'the batch ended or was lost before the job reported its end'
    expect(lost).toMatchObject({ ended_at: at(50), elapsed_s: 37, failure_reason })
    const { items } = (
      await stage.get('/api/jobs?batch=ends&where=failure_reason:"was lost"', stage.batchOwner.token)
    ).body
    expect(items).toEqual([lost])
    const csv = await stage.get('/api/batches/ends/export.csv', stage.batchOwner.token)
    expect(csv.body).toContain(`lost,lost,,,${at(87)},${at(50)},37,1,${failure_reason},,\r\n`)
    for (const one of found) expect(jobShape.parse(one)).toEqual(one)
  })

  test('may have parameters and metrics such as __proto__ and constructor', async () => {
    const data = JSON.parse('{"__proto__": 1, "constructor": {"x": 2}, "toString": "s"}')
    const epoch = JSON.parse('{"epoch": 0, "__proto__": 0.5, "hasOwnProperty": 1}')
    const events = [
      startOf({ id: 'names' }),
      job('job_start', 'names', 'n', 5),
      job('job_epoch', 'names', 'n', 4),
    ]
    Object.defineProperty(events[1], 'data', { value: data, enumerable: true })
    Object.defineProperty(events[2], 'data', { value: epoch, enumerable: true })
    await stage.send(stage.batchOwner, events)
    const [found] = await jobsOf('names')
    expect(Object.entries(found.params)).toEqual(expect.arrayContaining(Object.entries(data)))
    expect(Object.entries(found.latest)).toEqual(expect.arrayContaining([['__proto__', 0.5]]))
  })
})

describe('the idle mark', () => {
  test('is set after the threshold, with GPU data, on a running job, and clears by itself', async () => {
    const clock = createClock()
    const stage = await openStage({ idleJobThresholdMin: 10 }, { now: clock.now })
    try {
      const ago = (min: number) => new Date(clock.now().getTime() - min * 60_000).toISOString()
      const send = (type: Parameters<typeof makeEvent>[0], id: string | null, min: number, data = {}) =>
        stage.send(stage.owner, [makeEvent(type, { batch_id: 'gpu', job_id: id, timestamp: ago(min), data })])
      /** Samples of the last eleven minutes, received as they are taken. */
      const sample = async (...samples: [id: string | null, data: object][]) => {
        for (let minute = 0; minute <= 11; minute++) {
          for (const [id, data] of samples) await send('resource_snapshot', id, 0, data)
          if (minute < 11) clock.forward({ minutes: 1 })
        }
      }
      const idle = async () => {
        const { body } = await stage.get('/api/batches/gpu/jobs', stage.owner.token)
        return body.items
          .filter((j: { idle: boolean }) => j.idle)
          .map((j: { id: string }) => j.id)
          .toSorted()
      }
      await stage.send(stage.owner, [startOf({ id: 'gpu', timestamp: ago(60) })])
      for (const id of ['own', 'quiet', 'ended']) await send('job_start', id, 59)
      await send('job_done', 'ended', 30)
      // The server has just started.
      expect(await idle()).toEqual([])
      await sample(['own', { gpu_util_pct: 2 }], ['ended', { gpu_util_pct: 2 }])
      expect(await idle()).toEqual(['own'])
      // What is known of the batch's GPU speaks for the jobs without their own.
      await sample(['own', { gpu_util_pct: 2 }], [null, { gpus: [{ util_pct: 0 }, { util_pct: 4 }] }])
      expect(await idle()).toEqual(['own', 'quiet'])
      await send('resource_snapshot', null, 0, { gpu_util_pct: 90 })
      expect(await idle()).toEqual(['own'])
      await send('resource_snapshot', 'own', 0, { gpu_util_pct: 5 })
      expect(await idle()).toEqual([])
    } finally {
      await stage.stop()
    }
  })
})

describe('the list of jobs', () => {
  const idsOf = async (query: string, token?: string) => {
    const { status, body } = await stage.get(`/api/jobs?${query}`, token)
    expect([status, body.code]).toEqual([200, undefined])
    return body.items.map((j: { id: string }) => j.id)
  }
  beforeAll(() =>
    stage.send(stage.owner, [
      startOf({ id: 'j1', project: 'jobs', timestamp: at(100) }),
      startOf({ id: 'j2', project: 'open', timestamp: at(100) }),
      job(
        'job_start',
        'j1',
        'a',
        50,
        { model: 'ResNet', dataset: 'Cifar', lr: 0.1, tag: '1', opt: { name: 'adam' } },
        'jobs',
      ),
      job('job_epoch', 'j1', 'a', 49, { epoch: 3, loss: 'NaN' }, 'jobs'),
      job('job_done', 'j1', 'a', 48, { metrics: { acc: 0.9 } }, 'jobs'),
      job(
        'job_start',
        'j1',
        'b',
        40,
        { model: 'vit', dataset: 'cifar', lr: 0.01, tag: 1, opt: { name: 'sgd' } },
        'jobs',
      ),
      job('job_epoch', 'j1', 'b', 39, { epoch: 1, loss: 0.5 }, 'jobs'),
      job('job_failed', 'j1', 'b', 30, {}, 'jobs'),
      job('job_start', 'j2', 'c', 45, { model: 'resnet' }, 'open'),
    ]),
  )

  test.each([
    ['project=jobs', ['b', 'a']],
    ['project=JOBS', []],
    ['project=jobs&status=FAILED', ['b']],
    ['project=jobs&status=failed&status=completed', ['b', 'a']],
    ['batch=j1', ['b', 'a']],
    ['batch=j1&batch=j2', ['b', 'c', 'a']],
    ['batch=J1', []],
    ['batch=missing', []],
    ['batch=j1&project=open', []],
    ['batch=j1&model=RESNET', ['a']],
    ['project=jobs&project=open&model=resnet', ['c', 'a']],
    ['project=jobs&dataset=cifar&model=vit', ['b']],
    ['project=jobs&dataset=imagenet', []],
    ['project=jobs&q=resn', ['a']],
    ['project=jobs&q=resn&q=vit', ['b', 'a']],
    ['project=jobs&params=lr<0.1', ['b']],
    ['project=jobs&params=lr<=0.1', ['b', 'a']],
    ['project=jobs&params=lr<=0.1&params=lr>0.01', ['a']],
    ['project=jobs&params=opt/name=adam', ['a']],
    ['project=jobs&params=opt/name!=adam', ['b']],
    // Text that reads as a number also compares with numbers.
    ['project=jobs&params=tag=1', ['b', 'a']],
    ['project=jobs&params=tag="1"', ['a']],
    ['project=jobs&params=missing!=1', []],
    ['project=jobs&final_metrics=acc>=0.9', ['a']],
    ['project=jobs&final_metrics=acc>0.9', []],
    ['project=jobs&latest=loss=NaN', ['a']],
    ['project=jobs&latest=loss<1', ['b']],
    ['project=jobs&where=lr<0.1', ['b']],
    ['project=jobs&where=opt/name:DA', ['a']],
    ['project=jobs&where=acc>=0.9&where=final.acc>0', ['a']],
    ['project=jobs&where=last.loss<1', ['b']],
    ['project=jobs&where=max.loss<1', ['b']],
    ['project=jobs&where=config.lr<1', []],
    ['batch=j1&latest=epoch>1&status=completed', ['a']],
  ])('under %s', async (query, ids) => {
    expect(await idsOf(query, stage.owner.token)).toEqual(ids)
  })

  test('shows each caller the jobs of the projects that the caller can read', async () => {
    expect(await idsOf('limit=500')).toEqual(['c'])
    expect(await idsOf('batch=j1&batch=j2', stage.stranger.token)).toEqual(['c'])
    expect(await idsOf('project=jobs', stage.member.token)).toEqual([])
    expect(await idsOf('limit=500', stage.admin.token)).toEqual(
      expect.arrayContaining(['a', 'b', 'c', 'seed0']),
    )
  })

  test('has pages that contain every job once, in a batch, in a project and over all projects', async () => {
    const events = Array.from({ length: 12 }, (_, i) =>
      job('job_start', 'pages', `p${10 + i}`, 20, {}, 'paged'),
    )
    await stage.send(stage.owner, [startOf({ id: 'pages', project: 'paged', timestamp: at(30) }), ...events])
    for (const path of ['/api/jobs?project=paged', '/api/jobs?batch=pages', '/api/batches/pages/jobs?']) {
      const seen: string[] = []
      let cursor = ''
      do {
        const { body } = await stage.get(`${path}&limit=5${cursor}`, stage.owner.token)
        seen.push(...body.items.map((j: { id: string }) => j.id))
        cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`
      } while (cursor !== '')
      expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => `p${21 - i}`))
    }
  })

  test.each([
    ['status=done', 'status.0'],
    ['model=', 'model.0'],
    ['batch=%00', 'batch.0'],
    ['host=a', 'host'],
    ['limit=501', 'limit'],
    ['params=lr', 'params.0'],
    ['params=<1', 'params.0'],
    ['params=lr<1&params=lr~2', 'params.1'],
    [`latest=${'k'.repeat(600)}<1`, 'latest.0'],
    [Array.from({ length: 21 }, () => 'final_metrics=acc>0').join('&'), 'final_metrics'],
    ['finalMetrics=acc>0', 'finalMetrics'],
  ])('refuses %s and names the field', async (query, field) => {
    const { status, body } = await stage.get(`/api/jobs?${query}`, stage.owner.token)
    expect([status, body.code, body.errors?.[0]?.path]).toEqual([422, 'invalid_query', field])
  })

  test('has no job under an invalid key', async () => {
    for (const key of ['0', '-1', '1.5', '1e3', '99999999999999999999', 'abc', '%00', '1%20', '%2B1']) {
      const { status, body } = await stage.get(`/api/jobs/${key}`, stage.admin.token)
      expect([key, status, body.code]).toEqual([key, 404, 'job_not_found'])
    }
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { at, of, path, reader, restarted } from './story.ts'

// Attempts of a job (goals "Ten things", 2): read from the stored events, superseded points among them.

let stage: Stage
let get: ReturnType<typeof reader>['get']
let send: ReturnType<typeof reader>['send']
let listed: ReturnType<typeof reader>['listed']
beforeAll(async () => {
  stage = await openStage()
  ;({ get, send, listed } = reader(stage))
})
afterAll(() => stage?.stop())

const NONE = {
  failure_reason: null,
  superseded_epochs: 0,
  superseded_ranges: [],
  complete: true,
}

describe('within a batch', () => {
  test('a job that was started once has one attempt with the status of the job', async () => {
    const one = of('once')
    await send([
      of('once', null)('batch_start', 0),
      one('job_start', 1),
      one('job_epoch', 2, { epoch: 3, loss: 1 }),
      one('job_epoch', 3, { epoch: 4, loss: 2 }),
      one('job_done', 4, { elapsed_s: 3 }),
    ])
    expect(await get(path('once'))).toEqual({
      items: [
        {
          ...NONE,
          n: 1,
          batch_id: 'once',
          started_at: at(1),
          ended_at: at(4),
          status: 'completed',
          epochs: 2,
          first_epoch: 3,
          last_epoch: 4,
          elapsed_s: 3,
        },
      ],
      next_cursor: null,
    })
  })

  test('every start begins an attempt; points that a later one reports again are superseded, not deleted', async () => {
    await send(restarted('thrice').toReversed())
    expect(await listed('thrice')).toEqual([
      {
        ...NONE,
        n: 1,
        batch_id: 'thrice',
        started_at: at(0),
        ended_at: null,
        status: 'superseded',
        epochs: 10,
        first_epoch: 0,
        last_epoch: 9,
        superseded_epochs: 4,
        superseded_ranges: [[6, 9]],
        elapsed_s: 10,
      },
      {
        ...NONE,
        n: 2,
        batch_id: 'thrice',
        started_at: at(100),
        ended_at: at(110),
        status: 'failed',
        failure_reason: 'CUDA out of memory',
        epochs: 5,
        first_epoch: 6,
        last_epoch: 10,
        superseded_epochs: 3,
        superseded_ranges: [[8, 10]],
        elapsed_s: 10,
      },
      {
        ...NONE,
        n: 3,
        batch_id: 'thrice',
        started_at: at(200),
        ended_at: at(210),
        status: 'completed',
        epochs: 4,
        first_epoch: 8,
        last_epoch: 11,
        elapsed_s: 10.5,
      },
    ])
    const points = async (n: number, query = '') => get(`${path('thrice')}/${n}/metrics${query}`)
    const first = await points(1)
    expect(first.complete).toBe(true)
    expect(first.series.map((s: { key: string }) => s.key)).toEqual(['loss', 'lr'])
    expect(first.series[0]).toEqual({
      job_id: 'a',
      key: 'loss',
      steps: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      values: [100, 101, 102, 103, 104, 105, 106, 107, 108, 109],
      total_points: 10,
      returned_points: 10,
      sampled: false,
      non_finite: 0,
    })
    expect((await points(2, '?keys=loss')).series).toMatchObject([
      { steps: [6, 7, 8, 9, 10], values: [206, 207, 208, 209, 210] },
    ])
    expect((await points(3, '?keys=loss')).series).toMatchObject([{ values: [308, 309, 310, 311] }])
    // The latest values of each epoch are used.
    const { series } = await get('/api/batches/thrice/metrics?keys=loss')
    expect(series[0].values).toEqual([100, 101, 102, 103, 104, 105, 206, 207, 308, 309, 310, 311])
    expect((await points(1, '?keys=loss&points=4')).series).toMatchObject([
      { sampled: true, total_points: 10, returned_points: 2 },
    ])
    for (const n of [0, 4]) {
      const { status, body } = await stage.get(`${path('thrice')}/${n}/metrics`, stage.viewer.token)
      expect([status, body.code]).toEqual([404, n === 0 ? 'not_found' : 'attempt_not_found'])
    }
  })

  test('a running attempt is listed with the earlier ones and has its own times', async () => {
    const one = of('again')
    await send([
      of('again', null)('batch_start', 0),
      one('job_start', 0),
      one('job_failed', 5, { reason: 'stop_requested', elapsed_s: 'NaN' }),
      // In the very second in which the last one ended, as a coarse clock has it.
      one('job_start', 5),
      one('job_epoch', 6, { epoch: 0, loss: 1 }),
      one('job_done', 9),
    ])
    const [first, second] = await listed('again')
    expect(first).toMatchObject({ status: 'stopped', ended_at: at(5), elapsed_s: 'NaN', epochs: 0 })
    expect(first).toMatchObject({ first_epoch: null, failure_reason: 'stop_requested' })
    expect(second).toMatchObject({ status: 'completed', started_at: at(5), elapsed_s: 4, epochs: 1 })
    await send([one('job_start', 20)])
    expect((await listed('again')).at(-1)).toMatchObject({
      n: 3,
      status: 'running',
      ended_at: null,
      epochs: 0,
    })
  })

  test('a job that only has epochs has an attempt, too', async () => {
    await send([of('placed', 'c/d, e')('job_epoch', 7, { epoch: 2, loss: 'Infinity' })])
    expect(await listed('placed', 'c/d, e')).toMatchObject([{ n: 1, started_at: at(7), epochs: 1 }])
    const { series } = await get(`${path('placed', 'c/d, e')}/1/metrics`)
    expect(series).toMatchObject([{ job_id: 'c/d, e', steps: [2], values: ['Infinity'], non_finite: 1 }])
  })
})

describe('across batches', () => {
  test('a rerun is an attempt of the same job in another batch, read from either batch', async () => {
    const batch = (id: string, seconds: number, rerun_of?: string) => [
      of(id, null)('batch_start', seconds, rerun_of === undefined ? {} : { rerun_of }),
      of(id)('job_start', seconds + 1),
      of(id)('job_epoch', seconds + 2, { epoch: 0, loss: 1 }),
    ]
    await send([
      ...batch('origin', 0),
      ...batch('second', 1000, 'origin'),
      ...batch('third', 2000, 'second'),
      ...batch('other branch', 3000, 'origin'),
      of('third', 'b')('job_start', 2001),
    ])
    for (const id of ['origin', 'second', 'third', 'other branch']) {
      expect((await listed(id)).map((one: { batch_id: string }) => one.batch_id)).toEqual([
        'origin',
        'second',
        'third',
        'other branch',
      ])
    }
    expect(await listed('third', 'b')).toHaveLength(1)
  })

  test('a batch that the caller cannot read ends the chain, and a cycle is followed once', async () => {
    const start = (id: string, project: string, rerun_of: string, seconds: number) => [
      startOf({ id, project, timestamp: at(seconds) }, { rerun_of }),
      of(id, 'a', project)('job_start', seconds),
    ]
    await send([
      ...start('seen 1', 'open', 'seen 2', 0),
      ...start('seen 2', 'open', 'hidden', 1),
      ...start('hidden', 'vision', 'seen 3', 2),
      ...start('seen 3', 'open', 'seen 1', 3),
      ...start('itself', 'open', 'itself', 4),
    ])
    const ids = async (id: string, token: string) =>
      (await listed(id, 'a', token)).map((one: { batch_id: string }) => one.batch_id)
    expect(await ids('seen 1', stage.stranger.token)).toEqual(['seen 1', 'seen 2', 'seen 3'])
    expect(await ids('seen 1', stage.viewer.token)).toEqual(['seen 1', 'seen 2', 'hidden', 'seen 3'])
    expect(await ids('itself', stage.stranger.token)).toEqual(['itself'])
  })
})

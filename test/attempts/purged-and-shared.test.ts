import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../graphql/asking.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { at, of, path, reader, restarted } from './story.ts'

// Attempts with purged or hidden points, and attempts in GraphQL.

let stage: Stage
let get: ReturnType<typeof reader>['get']
let send: ReturnType<typeof reader>['send']
let listed: ReturnType<typeof reader>['listed']
beforeAll(async () => {
  stage = await openStage()
  ;({ get, send, listed } = reader(stage))
})
afterAll(() => stage?.stop())

describe('an attempt with purged points', () => {
  const purge = (batch: string, where: string) =>
    stage.app.sql.unsafe(
      `update public.events set payload = null, packed = null where batch_key = (select key from batches where id = '${batch}') and ${where}`,
    )

  test('is marked, and the answer has only the remaining points', async () => {
    await send(restarted('purged'))
    await purge('purged', 'type in (4, 5, 6)')
    const [first, second, third] = await listed('purged')
    // Epochs 0 to 5 have the values of the first attempt; of 6 to 9 its series lr remains.
    expect(first).toMatchObject({ epochs: 10, superseded_epochs: 4, complete: false, status: 'superseded' })
    // 6 and 7 remain; its values of 8 to 10 are gone.
    expect(second).toMatchObject({ epochs: 2, first_epoch: 6, last_epoch: 7, superseded_epochs: 0 })
    expect(second).toMatchObject({ complete: false, status: 'failed', failure_reason: null, elapsed_s: 10 })
    expect(third).toMatchObject({ epochs: 4, complete: true, status: 'completed' })
    const points = (n: number) => get(`${path('purged')}/${n}/metrics?keys=loss`)
    expect(await points(1)).toMatchObject({ complete: false, series: [{ steps: [0, 1, 2, 3, 4, 5] }] })
    expect(await points(2)).toMatchObject({
      complete: false,
      series: [{ steps: [6, 7], values: [206, 207] }],
    })
    expect((await points(3)).series).toMatchObject([{ values: [308, 309, 310, 311] }])
  })

  test('is not marked while its points are stored', async () => {
    const one = of('resumed')
    const epochs = (from: number, since: number) =>
      [0, 1, 2].map((i) => one('job_epoch', since + i, { epoch: from + i, loss: from + i }))
    await send([
      one('job_start', 0),
      ...epochs(0, 1),
      one('job_start', 50),
      ...epochs(3, 51),
      one('job_done', 60),
    ])
    await purge('resumed', 'true')
    expect(await listed('resumed')).toMatchObject([
      { epochs: 3, first_epoch: 0, last_epoch: 2, superseded_epochs: 0, complete: true },
      { epochs: 3, first_epoch: 3, last_epoch: 5, complete: true },
    ])
    expect(await get(`${path('resumed')}/1/metrics`)).toMatchObject({
      complete: true,
      series: [{ steps: [0, 1, 2], values: [0, 1, 2] }],
    })
  })
})

describe('through GraphQL', () => {
  const FIELDS = `n batchId startedAt endedAt status failureReason epochs firstEpoch lastEpoch supersededEpochs
    supersededRanges elapsedS complete`
  test('GraphQL has the same attempts and points as REST', async () => {
    await send(restarted('told'))
    const { job } = await ask(
      stage.app,
      `{ job(batchId: "told", id: "a") { attempts { ${FIELDS} } none: attemptMetrics(n: 9) { complete }
        attemptMetrics(n: 1, keys: ["loss"], sampling: { mode: M4, points: 8 }) {
          complete series { job key steps values totalPoints sampled } } } }`,
      { token: stage.viewer.token },
    )
    const rest = await listed('told')
    expect(job.attempts).toEqual(
      rest.map((one: Record<string, unknown> & { status: string }) =>
        Object.fromEntries(
          Object.entries(one).map(([name, value]) => [
            name.replace(/_./g, (c) => c.slice(1).toUpperCase()),
            name === 'status' ? one.status.toUpperCase() : value,
          ]),
        ),
      ),
    )
    const { series } = await get(`${path('told')}/1/metrics?keys=loss&points=8`)
    expect(job.none).toBeNull()
    expect(job.attemptMetrics).toEqual({
      complete: true,
      series: [
        {
          job: 'a',
          key: 'loss',
          steps: series[0].steps,
          values: series[0].values,
          totalPoints: 10,
          sampled: true,
        },
      ],
    })
  })

  test('a share has only the attempts of its own batch, and an anonymous one hides paths and hosts in reasons', async () => {
    const source = { project: 'vision', host: 'gpu-17', user: 'kim' }
    const one = of('linked')
    await send([
      startOf({ id: 'before', timestamp: at(0) }),
      of('before')('job_start', 0),
      startOf({ id: 'linked', source, timestamp: at(10) }, { rerun_of: 'before' }),
      one('job_start', 10),
      one('job_failed', 11, { reason: 'no /home/kim/data on gpu-17', elapsed_s: 1 }),
      one('job_start', 12),
    ])
    expect(await listed('linked')).toHaveLength(3)
    for (const anonymous of [false, true]) {
      const { body } = await stage.app.call('POST', '/api/batches/linked/shares', {
        token: stage.batchOwner.token,
        body: { anonymous },
      })
      const { sharedBatch } = await ask(
        stage.app,
        `{ sharedBatch(token: "${body.token}") { jobs { edges { node { attempts { batchId failureReason } } } } } }`,
      )
      expect(sharedBatch.jobs.edges[0].node.attempts).toEqual([
        {
          batchId: 'linked',
          failureReason: anonymous ? 'no [hidden] on [hidden]' : 'no /home/kim/data on gpu-17',
        },
        { batchId: 'linked', failureReason: null },
      ])
    }
  })
})

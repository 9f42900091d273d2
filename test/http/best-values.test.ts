import { afterAll, beforeAll, expect, test } from 'vitest'
import { lessIsBetter as serviceRule } from '../../src/domain/metric-goal.ts'
import { lessIsBetter } from '../../web/src/lib/batch-query.ts'
import { ask } from '../graphql/asking.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStage, type Stage, startOf } from './stage.ts'

// The best value of a job over all steps.

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const epochs = (batch_id: string, job_id: string, values: readonly Record<string, unknown>[]) =>
  values.map((data, epoch) => makeEvent('job_epoch', { batch_id, job_id, data: { epoch, ...data } }))

test('a job has the minimum of a loss and the maximum of an accuracy; infinite values only where there is no other', async () => {
  await stage.send(stage.batchOwner, [
    startOf({ id: 'best' }, { n_total: 2 }),
    makeEvent('job_start', { batch_id: 'best', job_id: 'a' }),
    makeEvent('job_start', { batch_id: 'best', job_id: 'b' }),
    ...epochs('best', 'a', [
      { val_loss: 3, acc: 0.2, log_error: '-Infinity', gone: 'NaN' },
      { val_loss: 1, acc: 0.9, log_error: '-Infinity', gone: 'NaN' },
      { val_loss: 2, acc: 0.5, log_error: '-Infinity', gone: 'NaN' },
    ]),
    ...epochs('best', 'b', [{ val_loss: '-Infinity' }, { val_loss: 4 }, { val_loss: 'NaN' }]),
  ])
  const { body } = await stage.get('/api/jobs?batch=best', stage.viewer.read)
  const best = Object.fromEntries(body.items.map((job: { id: string; best: unknown }) => [job.id, job.best]))
  expect(best).toEqual({
    a: { val_loss: 1, acc: 0.9, log_error: '-Infinity', gone: 'NaN' },
    b: { val_loss: 4 },
  })
  const { batch } = await ask(
    stage.app,
    '{ batch(id: "best") { jobs(first: 5) { edges { node { jobId best } } } } }',
    { token: stage.viewer.read },
  )
  expect(
    Object.fromEntries(
      batch.jobs.edges.map(({ node }: { node: { jobId: string; best: unknown } }) => [node.jobId, node.best]),
    ),
  ).toEqual(best)
})

test('a value that replaces an infinite one is the minimum', async () => {
  const at = (s: number): string => new Date(Date.now() - 60_000 + s * 1000).toISOString()
  const point = (val_loss: unknown, s: number) =>
    makeEvent('job_epoch', { batch_id: 'again', job_id: 'a', timestamp: at(s), data: { epoch: 0, val_loss } })
  await stage.send(stage.batchOwner, [
    startOf({ id: 'again' }, { n_total: 1 }),
    makeEvent('job_start', { batch_id: 'again', job_id: 'a' }),
    point(5, 1),
  ])
  await stage.send(stage.batchOwner, [point('-Infinity', 2)])
  const best = async (): Promise<unknown> =>
    (await stage.get('/api/jobs?batch=again', stage.viewer.read)).body.items[0].best
  expect(await best()).toEqual({ val_loss: '-Infinity' })
  await stage.send(stage.batchOwner, [point(7, 3)])
  expect(await best()).toEqual({ val_loss: 7 })
})

test('service and page agree which metrics are better lower', () => {
  for (const name of [
    'val_loss',
    'train/acc',
    'wer',
    'power',
    'eval/ppl',
    'reward',
    'step_time',
    'mAP',
    'rmse',
  ])
    expect([name, serviceRule(name)]).toEqual([name, lessIsBetter(name)])
})

test('a batch cannot be called by a step of a path', async () => {
  for (const id of ['.', '..']) {
    const { status, body } = await stage.app.call('POST', '/api/events', {
      token: stage.batchOwner.reporter,
      body: startOf({ id }),
    })
    expect([status, body.errors?.[0]?.path]).toEqual([422, 'batch_id'])
  }
  await stage.send(stage.batchOwner, [startOf({ id: '...' }), startOf({ id: '.a' })])
})

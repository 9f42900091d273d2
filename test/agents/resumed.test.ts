import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage.stop())

const FROM = Date.now() - 60_000
const at = (second: number): string => new Date(FROM + second * 1_000).toISOString()
const start = (id: string, second: number, pid: number, more: object = {}) =>
  makeEvent('batch_start', {
    batch_id: id,
    timestamp: at(second),
    source: { project: 'vision', host: 'gpu-1' },
    data: {
      experiment_type: 'train',
      n_total: 1,
      command: 'python train.py',
      process: { pid, start_time: '1', boot_id: 'boot' },
      ...more,
    },
  })
const end = (id: string, second: number, reason?: string) =>
  makeEvent(reason === undefined ? 'batch_done' : 'batch_failed', {
    batch_id: id,
    timestamp: at(second),
    source: { project: 'vision', host: 'gpu-1' },
    data: reason === undefined ? { n_done: 1, n_failed: 0 } : { reason },
  })

async function timelineOf(id: string): Promise<unknown[]> {
  const { body } = await stage.get(`/api/batches/${id}/timeline`, stage.batchOwner.token)
  return body.items.map(({ step, kind, detail, actor }: Record<string, unknown>) => ({
    step,
    kind,
    detail,
    actor: (actor as { kind: string }).kind,
  }))
}
const step = (name: string, detail: object) => ({ step: name, kind: 'batch', detail, actor: 'reporter' })

test('the timeline of a resumed batch has every start and the end before it, also of events in reverse order', async () => {
  const events = (id: string) => [
    start(id, 0, 10),
    start(id, 1, 10, { update: true }),
    end(id, 5, 'terminated by SIGKILL'),
    end(id, 6, 'the agent saw its process end'),
    start(id, 10, 11),
    start(id, 20, 12),
    end(id, 30),
  ]
  const seen = [
    step('began', { host: 'gpu-1', pid: 10, n_total: 1 }),
    step('ended', { status: 'failed', failure_reason: 'the agent saw its process end' }),
    step('began', { host: 'gpu-1', pid: 11, n_total: 1, resumed: true }),
    step('began', { host: 'gpu-1', pid: 12, n_total: 1, resumed: true }),
    step('ended', { status: 'completed' }),
  ]
  await stage.send(stage.batchOwner, events('in-order'))
  expect(await timelineOf('in-order')).toEqual(seen)
  await stage.send(stage.batchOwner, events('reversed').reverse())
  expect(await timelineOf('reversed')).toEqual(seen)
})

test('a batch that started once has one start, though its configuration changed', async () => {
  await stage.send(stage.batchOwner, [
    start('once', 5, 10),
    start('once', 6, 10, { update: true }),
    end('once', 9),
  ])
  expect(await timelineOf('once')).toEqual([
    step('began', { host: 'gpu-1', pid: 10, n_total: 1 }),
    step('ended', { status: 'completed' }),
  ])
})

import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Person, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { type OpenStream, openStream } from './stream.ts'

/** Messages of the stream have the same values as REST (contract §6: "the change itself"). */
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const open = (as: Person | undefined, ...channels: string[]): Promise<OpenStream> =>
  openStream(stage.app.address, channels, as === undefined ? {} : { token: as.token })

/** A value that changes by itself while a batch runs. */
const settled = <T extends object>(view: T): T => ({ ...view, elapsed_s: 0, eta_s: null })

let n = 0
/** A running batch of the batch owner, with values in the fields that the test compares. */
async function beginBatch(project = 'vision'): Promise<string> {
  const id = `told-${++n}`
  const source = { project, host: 'box7', user: 'ada', commit: 'abc1234' }
  const data = { command: 'python /home/ada/train.py', tags: ['night'], n_total: 2 }
  await stage.send(stage.batchOwner, [startOf({ id, source }, data)])
  return id
}

const epoch = (batch: string, at: number, data: Record<string, unknown> = {}, more = {}) =>
  makeEvent('job_epoch', { batch_id: batch, data: { epoch: at, ...data }, ...more })

test('a summary is the batch and its changed jobs, as in REST but without `can`', async () => {
  const id = await beginBatch()
  const stream = await open(stage.viewer, `batch:${id}`)
  const start = makeEvent('job_start', {
    batch_id: id,
    data: { model: 'resnet', lr: 0.1, __proto__: { a: 1 } },
  })
  await stage.send(stage.batchOwner, [start, epoch(id, 3, { loss: 'NaN', val_loss: 0.25 })])
  const [message] = await stream.reach(1)
  expect(message).toMatchObject({
    id: expect.any(Number),
    event: 'batch',
    data: { channel: `batch:${id}`, type: 'summary', at: expect.stringMatching(/^\d{4}-.*Z$/) },
  })
  const { can: _, ...batch } = (await stage.get(`/api/batches/${id}`, stage.viewer.token)).body
  const jobs = (await stage.get(`/api/batches/${id}/jobs`, stage.viewer.token)).body.items
  const { payload } = message?.data ?? {}
  expect(settled(payload.batch)).toEqual(settled(batch))
  expect(payload.jobs.map(settled)).toEqual(jobs.map(settled))
  expect(payload.jobs[0].latest).toEqual({ epoch: 3, loss: 'NaN', val_loss: 0.25 })
  stream.cut()
})

test('changes by users are sent too: stop, tags, deletion', async () => {
  const id = await beginBatch()
  const stream = await open(stage.owner, 'project:vision')
  const token = stage.owner.token
  const ofBatch = (message: { data: { payload: { batches?: { id: string }[] } } }) =>
    message.data.payload.batches?.find((batch) => batch.id === id) as Record<string, unknown> | undefined
  await stage.app.call('POST', `/api/batches/${id}/stop`, { token })
  await stream.find((m) => ofBatch(m)?.stop_requested === true)
  await stage.app.call('PATCH', `/api/batches/${id}`, { token, body: { tags: ['kept'] } })
  await stream.find((m) => JSON.stringify(ofBatch(m)?.tags) === '["kept"]')
  await stage.app.call('DELETE', `/api/batches/${id}`, { token })
  const gone = await stream.find((m) => typeof ofBatch(m)?.deleted_at === 'string')
  expect(gone).toMatchObject({ event: 'project', data: { type: 'batches', channel: 'project:vision' } })
  stream.cut()
})

test('points contain every series of their epochs, merged as in REST', async () => {
  const id = await beginBatch()
  const stream = await open(stage.member, `metrics:${id}`)
  await stage.send(stage.batchOwner, [
    epoch(id, 1, { train_loss: 1, acc: { top1: 0.5 } }),
    epoch(id, 2, { train_loss: 'Infinity', lr: 0.001 }),
  ])
  // It arrives later with an earlier time: it fills in missing values and overwrites nothing.
  const late = epoch(id, 2, { train_loss: 7, val_loss: 2 }, { timestamp: '2026-03-01T09:00:00Z' })
  await stage.send(stage.batchOwner, [late])
  const [first, second] = await stream.reach(2)
  expect(first).toMatchObject({ event: 'metrics', data: { type: 'epochs', channel: `metrics:${id}` } })
  expect(first?.data.payload.points).toHaveLength(2)
  expect(second?.data.payload.points).toEqual([
    {
      job_id: 'job-1',
      job_key: expect.stringMatching(/^\d+$/),
      epoch: 2,
      timestamp: '2026-03-01T10:00:00Z',
      values: { train_loss: 'Infinity', lr: 0.001, val_loss: 2 },
    },
  ])

  const { series } = (await stage.get(`/api/batches/${id}/metrics`, stage.member.token)).body
  const told = new Map<string, unknown>()
  for (const { data } of stream.messages) {
    for (const point of data.payload.points) {
      for (const [key, value] of Object.entries(point.values)) told.set(`${key} ${point.epoch}`, value)
    }
  }
  const answered = series.flatMap(
    ({ key, steps, values }: { key: string; steps: number[]; values: unknown[] }) =>
      steps.map((step, i) => [`${key} ${step}`, values[i]]),
  )
  expect(Object.fromEntries(told)).toEqual(Object.fromEntries(answered))
  stream.cut()
})

test('log lines are the same as in REST, in their order', async () => {
  const id = await beginBatch()
  const stream = await open(stage.viewer, `logs:${id}`)
  const line = (text: string, level = 'info') =>
    makeEvent('log_line', { batch_id: id, data: { line: text, level } })
  await stage.send(stage.batchOwner, [line('one\ntwo\r\n"three" é'), epoch(id, 1), line('four', 'WARN')])
  await stage.send(stage.batchOwner, [line('five')])
  const messages = await stream.reach(2)
  expect(messages.map((m) => [m.event, m.data.type])).toEqual([
    ['logs', 'lines'],
    ['logs', 'lines'],
  ])
  const lines = messages.flatMap((message) => message.data.payload.lines)
  const { items } = (await stage.get(`/api/batches/${id}/log-lines`, stage.viewer.token)).body
  expect(lines).toEqual(items)
  expect(lines.map((l) => l.line)).toEqual(['one\ntwo\r\n"three" é', 'four', 'five'])
  stream.cut()
})

test('resource snapshots contain their numbers by name', async () => {
  const id = await beginBatch()
  const stream = await open(stage.viewer, `resources:${id}`)
  const gpus = [{ util_pct: 40 }, { util_pct: 60 }]
  const data = { gpus, cpu_pct: 12.5, rss_mb: 100, net_mb: 'NaN' }
  await stage.send(stage.batchOwner, [
    makeEvent('resource_snapshot', { batch_id: id, job_id: 'job-1', data }),
  ])
  const [message] = await stream.reach(1)
  expect(message).toMatchObject({ event: 'resources', data: { type: 'snapshots' } })
  expect(message?.data.payload.snapshots).toEqual([
    {
      db_id: expect.any(Number),
      timestamp: '2026-03-01T10:00:00Z',
      job_id: 'job-1',
      values: { gpu_util_pct: 50, cpu_util_pct: 12.5, ram_mb: 100, net_mb: 'NaN' },
      gpus,
    },
  ])
  stream.cut()
})

test('one stream has many channels, and each message names its channel', async () => {
  const id = await beginBatch()
  const channels = [`batch:${id}`, `metrics:${id}`, `logs:${id}`, 'project:vision', 'dashboard']
  const stream = await open(stage.viewer, ...channels)
  await stage.send(stage.batchOwner, [epoch(id, 1), makeEvent('log_line', { batch_id: id })])
  const messages = await stream.reach(5)
  expect(messages.map((message) => message.data.channel).sort()).toEqual([...channels].sort())
  expect(messages.map((message) => message.event).sort()).toEqual(
    ['batch', 'dashboard', 'logs', 'metrics', 'project'].sort(),
  )
  const ids = messages.map((message) => message.id)
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
  stream.cut()
})

test('a change of name or visibility is sent on the channel of its project', async () => {
  const { token } = stage.owner
  const body = { slug: 'renamed', visibility: 'private' }
  await stage.app.call('POST', '/api/projects', { token, body })
  const stream = await open(stage.owner, 'project:renamed')
  await stage.app.call('PATCH', '/api/projects/renamed', { token, body: { display_name: 'Neu' } })
  const [message] = await stream.reach(1)
  expect(message).toMatchObject({
    event: 'project',
    data: {
      type: 'project',
      payload: { project: { slug: 'renamed', display_name: 'Neu', visibility: 'private' } },
    },
  })
  stream.cut()
})

test('the dashboard shows each viewer the batches of its own projects, and visitors the public ones', async () => {
  const streams = {
    admin: await open(stage.admin, 'dashboard'),
    viewer: await open(stage.viewer, 'dashboard'),
    stranger: await open(stage.stranger, 'dashboard'),
    visitor: await open(undefined, 'dashboard'),
  }
  // In one request, so in one commit: each channel gets its part of the same change.
  const start = (project: string) => startOf({ id: `dash-${project}-${++n}`, project })
  await stage.send(stage.batchOwner, [start('vision'), start('open')])
  await stage.send(stage.stranger, [start('own-of-stranger')])
  await stage.send(stage.batchOwner, [start('open')])
  const seen = async (name: keyof typeof streams, count: number) =>
    (await streams[name].reach(count)).map(({ data }) =>
      data.payload.batches.map((batch: { project: string }) => batch.project).sort(),
    )
  expect(await seen('admin', 3)).toEqual([['open', 'vision'], ['own-of-stranger'], ['open']])
  expect(await seen('viewer', 2)).toEqual([['open', 'vision'], ['open']])
  expect(await seen('stranger', 3)).toEqual([['open'], ['own-of-stranger'], ['open']])
  expect(await seen('visitor', 2)).toEqual([['open'], ['open']])
  for (const stream of Object.values(streams)) stream.cut()
})

async function share(id: string, anonymous: boolean): Promise<string> {
  const options = { token: stage.batchOwner.token, body: { anonymous } }
  return (await stage.app.call('POST', `/api/batches/${id}/shares`, options)).body.token
}

test('a share gets messages of its batch and of nothing else, on its own channel', async () => {
  const [id, other] = [await beginBatch(), await beginBatch()]
  const token = await share(id, false)
  const stream = await open(undefined, `share:${token}`)
  await stage.send(stage.batchOwner, [epoch(other, 1), makeEvent('log_line', { batch_id: other })])
  await stage.send(stage.batchOwner, [
    epoch(id, 1, { loss: 1 }),
    makeEvent('log_line', { batch_id: id }),
    makeEvent('resource_snapshot', { batch_id: id, data: { ram_mb: 1 } }),
  ])
  const messages = await stream.reach(4)
  expect(messages.map((m) => [m.event, m.data.channel])).toEqual(
    Array.from({ length: 4 }, () => ['share', `share:${token}`]),
  )
  expect(messages.map((m) => m.data.type).sort()).toEqual(['epochs', 'lines', 'snapshots', 'summary'])
  expect(stream.text()).not.toContain(other)
  const summary = messages.find((m) => m.data.type === 'summary')?.data.payload
  const { can: _, ...batch } = (await stage.get(`/api/shared/${token}`)).body.batch
  expect(settled(summary.batch)).toEqual(settled(batch))
  stream.cut()
})

test('an anonymous share gets no users, hosts, paths or log lines', async () => {
  const id = await beginBatch()
  const token = await share(id, true)
  const stream = await open(undefined, `share:${token}`)
  const params = { weights: '/home/ada/weights.pt', lr: 0.1 }
  await stage.send(stage.batchOwner, [
    makeEvent('job_start', { batch_id: id, data: params }),
    makeEvent('log_line', { batch_id: id, data: { line: 'secret of ada', level: 'info' } }),
  ])
  await stage.send(stage.batchOwner, [epoch(id, 1, { loss: 1 })])
  const messages = await stream.reach(3)
  expect(messages.map((m) => m.data.type).sort()).toEqual(['epochs', 'summary', 'summary'])
  expect(stream.text()).not.toMatch(/ada|box7|home|batch-owner|secret/)
  // The last one: an earlier one may have the batch before its epoch.
  const { batch, jobs } = messages.findLast((m) => m.data.type === 'summary')?.data.payload ?? {}
  const shared = (await stage.get(`/api/shared/${token}`)).body
  const { can: _, ...shown } = shared.batch
  expect(settled(batch)).toEqual(settled(shown))
  expect(jobs[0].params).toEqual({ weights: '[hidden]', lr: 0.1 })
  stream.cut()
})

test('a stream of a batch and of a share of it gets each change once', async () => {
  const id = await beginBatch()
  const token = await share(id, true)
  const stream = await open(stage.viewer, `batch:${id}`, `share:${token}`)
  await stage.send(stage.batchOwner, [epoch(id, 1, { loss: 1 })])
  await stream.find((m) => m.event === 'share')
  // That it was shared may still have been on its way when the stream began.
  const told = stream.messages.filter((m) => m.data.type !== 'commands')
  expect(told.map((m) => [m.event, m.data.type])).toEqual([
    ['batch', 'summary'],
    ['share', 'epochs'],
  ])
  stream.cut()
})

test('a mail is sent on the stream as a step of the timeline, to users who may read it', async () => {
  const id = await beginBatch()
  const rule = { trigger: 'batch_done', recipients: ['team@example.org'] }
  const { owner, batchOwner, stranger } = stage
  const made = await stage.app.call('POST', '/api/projects/vision/rules', { token: owner.token, body: rule })
  expect(made.status).toBe(201)
  const stream = await open(batchOwner, `batch:${id}`)
  await stage.send(batchOwner, [makeEvent('batch_done', { batch_id: id })])
  const told = await stream.find(({ data }) =>
    data.payload.timeline?.some((step: { step: string }) => step.step === 'mail_logged'),
  )
  expect(told.data.type).toBe('commands')
  const { items } = (await stage.get(`/api/batches/${id}/timeline`, batchOwner.token)).body
  expect(told.data.payload.timeline).toEqual(items)
  stream.cut()
  expect((await open(stranger, `batch:${id}`)).status).toBe(403)
})

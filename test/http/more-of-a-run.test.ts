import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, nodesOf } from '../graphql/asking.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStream } from '../live/stream.ts'
import { openStage, type Stage, startOf } from './stage.ts'

// Contract §10 "More of a run": name, config, group, summary, marks, tracebacks, streams of lines, units of steps.

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const TRACE =
  'Traceback (most recent call last):\n  File "/home/ada/train.py", line 3, in <module>\n    train()\nValueError: bad'
const get = async (path: string) => (await stage.get(path, stage.viewer.read)).body
const patch = (id: string, body: unknown, token = stage.member.token) =>
  stage.app.call('PATCH', `/api/batches/${id}`, { token, body })
const update = (batch_id: string, data: Record<string, unknown>, timestamp = new Date().toISOString()) =>
  makeEvent('batch_start', {
    batch_id,
    timestamp,
    data: { experiment_type: 'train', n_total: 1, update: true, ...data },
  })

test('a start event sets name, group, notes, configuration and summary of a batch; GraphQL has the same values', async () => {
  const said = {
    name: '  resnet18 \n baseline ',
    group: 'night',
    notes: '# Why',
    config: { lr: 0.1, model: { depth: 18 }, __proto__: 1 },
    summary: { best: 'NaN' },
  }
  await stage.send(stage.batchOwner, [startOf({ id: 'said' }, said)])
  const shown = {
    name: 'resnet18   baseline',
    group: 'night',
    notes: '# Why',
    config: { lr: 0.1, model: { depth: 18 } },
    summary: { best: 'NaN' },
    starred: false,
    archived: false,
    traceback: null,
  }
  expect(await get('/api/batches/said')).toMatchObject(shown)
  const { batch } = await ask(
    stage.app,
    '{ batch(id: "said") { name group notes config summary starred archived traceback } }',
    { token: stage.viewer.read },
  )
  expect(batch).toEqual(shown)
})

test('an update of a running batch changes configuration and summary key by key and does not restart the batch', async () => {
  await stage.send(stage.batchOwner, [
    startOf(
      { id: 'updated', timestamp: '2026-03-01T10:00:00Z' },
      { config: { lr: 0.1, seed: 1 }, name: 'a' },
    ),
    // The value with the later time is used, even if the earlier one arrives later.
    update('updated', { config: { lr: 0.01, extra: true }, summary: { best: 2 } }, '2026-03-01T10:05:00Z'),
    update('updated', { config: { lr: 0.05, seed: 2 }, summary: { best: 1 } }, '2026-03-01T10:02:00Z'),
  ])
  const batch = await get('/api/batches/updated')
  expect(batch).toMatchObject({
    name: 'a',
    config: { lr: 0.01, seed: 2, extra: true },
    summary: { best: 2 },
    started_at: '2026-03-01T10:00:00Z',
    status: 'running',
  })
  const done = makeEvent('batch_done', {
    batch_id: 'updated',
    timestamp: '2026-03-01T10:06:00Z',
    data: { n_done: 1, n_failed: 0, total_elapsed_s: 360, summary: { best: 3 } },
  })
  await stage.send(stage.batchOwner, [
    done,
    update('updated', { config: { late: 1 } }, '2026-03-01T10:07:00Z'),
  ])
  expect(await get('/api/batches/updated')).toMatchObject({
    status: 'completed',
    ended_at: '2026-03-01T10:06:00Z',
    summary: { best: 3 },
    config: { lr: 0.01, seed: 2, extra: true, late: 1 },
  })
})

test('an update changes the tags: the newest event with tags counts, until a user edits them', async () => {
  const start = startOf({ id: 'tagged', timestamp: '2026-03-01T10:00:00Z' }, { tags: ['a'] })
  await stage.send(stage.batchOwner, [
    update('tagged', { tags: ['a', 'b', 7] }, '2026-03-01T10:05:00Z'), // before its start arrives
    start,
    update('tagged', { tags: ['old'] }, '2026-03-01T10:02:00Z'),
    update('tagged', { config: { lr: 1 } }, '2026-03-01T10:06:00Z'),
  ])
  expect(await get('/api/batches/tagged')).toMatchObject({
    tags: ['a', 'b'],
    started_at: '2026-03-01T10:00:00Z',
  })
  await stage.send(stage.batchOwner, [update('tagged', { tags: [] }, '2026-03-01T10:07:00Z')])
  expect((await get('/api/batches/tagged')).tags).toEqual([])
  // A resumed run that starts with tags sets them, too.
  const resumed = startOf({ id: 'tagged', timestamp: '2026-03-01T11:00:00Z' }, { tags: ['again'] })
  await stage.send(stage.batchOwner, [resumed])
  expect((await get('/api/batches/tagged')).tags).toEqual(['again'])
  expect((await patch('tagged', { tags: ['mine'] })).status).toBe(200)
  await stage.send(stage.batchOwner, [update('tagged', { tags: ['theirs'] }, '2026-03-01T12:00:00Z')])
  expect((await get('/api/batches/tagged')).tags).toEqual(['mine'])
})

test('the stream sends an update of the configuration with the same values as REST', async () => {
  await stage.send(stage.batchOwner, [startOf({ id: 'told-config' }, { config: { lr: 1 } })])
  const stream = await openStream(stage.app.address, ['batch:told-config'], { token: stage.viewer.token })
  await stage.send(stage.batchOwner, [update('told-config', { config: { lr: 2 }, name: 'renamed' })])
  const [message] = await stream.reach(1)
  expect(message?.data.payload.batch).toMatchObject({ name: 'renamed', config: { lr: 2 } })
  stream.cut()
})

test('a user can rename, group, star and archive; events no longer change what a user has set', async () => {
  await stage.send(stage.batchOwner, [startOf({ id: 'edited' }, { name: 'sent', group: 'g', notes: 'n' })])
  const edit = { name: 'By hand', group: null, starred: true, archived: true, notes: 'mine' }
  expect(await patch('edited', edit)).toMatchObject({ status: 200, body: { ...edit, tags: [] } })
  await stage.send(stage.batchOwner, [update('edited', { name: 'sent again', group: 'h', notes: 'o' })])
  expect(await get('/api/batches/edited')).toMatchObject(edit)
  // What is absent stays.
  expect((await patch('edited', { starred: false })).body).toMatchObject({ ...edit, starred: false })
  expect((await patch('edited', { name: null })).body).toMatchObject({ name: null, group: null })
  const audit = await ask(
    stage.app,
    '{ audit(first: 10, subject: "batch:edited") { edges { node { action detail } } } }',
    { token: stage.admin.token },
  )
  expect(nodesOf(audit.audit).at(-1)).toEqual({
    action: 'batch.edited',
    detail: { project: 'vision', fields: ['name', 'group', 'notes', 'starred', 'archived'] },
  })
  expect((await patch('edited', { name: 'x' }, stage.viewer.token)).status).toBe(403)
})

test.each([
  [{ name: '' }, 'name'],
  [{ name: ' a' }, 'name'],
  [{ name: 'a\nb' }, 'name'],
  [{ name: 'n'.repeat(257) }, 'name'],
  [{ group: '\u0000' }, 'group'],
  [{ starred: 'yes' }, 'starred'],
  [{ archived: null }, 'archived'],
  [{}, ''],
])('%j as an edit is 422 at %j', async (body, path) => {
  await stage.send(stage.batchOwner, [startOf({ id: 'refused' })])
  const answer = await patch('refused', body)
  expect(answer).toMatchObject({ status: 422, body: { code: 'invalid_body' } })
  expect(answer.body.errors[0].path).toBe(path)
})

test('lists filter by group and star, leave out archived batches, and find a batch by its name', async () => {
  const source = { project: 'open' }
  await stage.send(stage.batchOwner, [
    startOf({ id: 'l1', source, project: 'open' }, { group: 'Night', name: 'Zebra one' }),
    startOf({ id: 'l2', source, project: 'open' }, { group: 'night' }),
    startOf({ id: 'l3', source, project: 'open' }, { group: 'day' }),
  ])
  await patch('l1', { starred: true })
  await patch('l2', { archived: true })
  const ids = async (query: string) =>
    (await get(`/api/batches?project=open&${query}`)).items.map((batch: { id: string }) => batch.id).sort()
  expect(await ids('')).toEqual(['l1', 'l3'])
  expect(await ids('archived=true')).toEqual(['l2'])
  expect(await ids('archived=true&archived=false')).toEqual(['l1', 'l2', 'l3'])
  expect(await ids('id=l2')).toEqual(['l2'])
  expect(await ids('group=night&archived=true&archived=false')).toEqual(['l1', 'l2'])
  expect(await ids('starred=true')).toEqual(['l1'])
  expect(await ids('starred=false')).toEqual(['l3'])
  expect(await ids('q=zEBra')).toEqual(['l1'])
  expect(await ids('q=day')).toEqual(['l3'])
  expect((await stage.get('/api/batches?starred=maybe', stage.viewer.read)).status).toBe(422)
  const found = async (filter: string) =>
    nodesOf(
      (
        await ask(
          stage.app,
          `{ batches(filter: { project: "open", ${filter} }) { edges { node { id } } } }`,
          {
            token: stage.viewer.read,
          },
        )
      ).batches,
    ).map((node) => node.id)
  expect(await found('archived: true')).toEqual(['l2'])
  expect(await found('starred: [true]')).toEqual(['l1'])
  expect(await found('group: "NIGHT"')).toEqual(['l1'])
})

test('a job has the number of GPUs of its process; an invalid value of gpu_count becomes a parameter', async () => {
  const at = (job_id: string) => ({ batch_id: 'gpus', job_id, timestamp: '2026-03-01T10:00:01Z' })
  await stage.send(stage.batchOwner, [
    startOf({ id: 'gpus', timestamp: '2026-03-01T10:00:00Z' }),
    makeEvent('job_start', { ...at('some'), data: { gpu_count: 4 } }),
    makeEvent('job_start', { ...at('none'), data: { gpu_count: 0 } }),
    makeEvent('job_start', { ...at('silent'), data: { lr: 1 } }),
    ...[-1, 1.5, '4', null, 65_536].map((gpu_count, i) =>
      makeEvent('job_start', { ...at(`param ${i}`), data: { gpu_count } }),
    ),
  ])
  const jobs: { id: string; gpu_count: unknown; params: unknown }[] = (await get('/api/batches/gpus/jobs'))
    .items
  const shown = new Map(jobs.map(({ id, gpu_count, params }) => [id, [gpu_count, params]]))
  expect(shown.get('some')).toEqual([4, {}])
  expect(shown.get('none')).toEqual([0, {}])
  expect(shown.get('silent')).toEqual([null, { lr: 1 }])
  for (const [i, gpu_count] of [-1, 1.5, '4', null, 65_536].entries())
    expect(shown.get(`param ${i}`)).toEqual([null, { gpu_count }])
  const query = '{ job(batchId: "gpus", id: "some") { gpuCount params } }'
  const { job } = await ask(stage.app, query, { token: stage.viewer.read })
  expect(job).toEqual({ gpuCount: 4, params: {} })
})

test('a failure has its traceback, and a later successful end removes it', async () => {
  const of = { batch_id: 'failed' }
  const at = (second: number) => ({ ...of, timestamp: `2026-03-01T10:00:0${second}Z` })
  await stage.send(stage.batchOwner, [
    startOf({ id: 'failed', timestamp: '2026-03-01T10:00:00Z' }),
    makeEvent('job_start', { ...at(1), data: { step_unit: 'tokens', lr: 1 } }),
    makeEvent('job_failed', { ...at(3), data: { reason: 'bad', elapsed_s: 2, traceback: TRACE } }),
    makeEvent('batch_failed', { ...at(4), data: { reason: 'bad', total_elapsed_s: 4, traceback: TRACE } }),
    // Its time is before the failure, it arrives after: nothing changes.
    makeEvent('job_start', { ...at(2), data: { lr: 2 } }),
  ])
  const job = (await get('/api/batches/failed/jobs')).items[0]
  expect(job).toMatchObject({
    status: 'failed',
    failure_reason: 'bad',
    traceback: TRACE,
    step_unit: 'tokens',
    params: { lr: 2 },
    pruned: false,
  })
  expect(await get(`/api/jobs/${job.key}`)).toMatchObject({ traceback: TRACE, step_unit: 'tokens' })
  expect(await get('/api/batches/failed')).toMatchObject({ status: 'failed', traceback: TRACE })
  const { batch } = await ask(
    stage.app,
    '{ batch(id: "failed") { traceback jobs { edges { node { traceback stepUnit pruned failureReason } } } } }',
    { token: stage.viewer.read },
  )
  expect(batch.traceback).toBe(TRACE)
  expect(nodesOf(batch.jobs)).toEqual([
    { traceback: TRACE, stepUnit: 'tokens', pruned: false, failureReason: 'bad' },
  ])
  await stage.send(stage.batchOwner, [
    makeEvent('job_done', { ...at(6), data: { pruned: true } }),
    makeEvent('batch_done', at(7)),
  ])
  expect((await get('/api/batches/failed/jobs')).items[0]).toMatchObject({
    status: 'completed',
    traceback: null,
    pruned: true,
  })
  expect(await get('/api/batches/failed')).toMatchObject({ status: 'completed', traceback: null })
})

test('log lines have the stream that they were printed to, and can be filtered by it', async () => {
  const line = (text: string, data: Record<string, unknown>) =>
    makeEvent('log_line', { batch_id: 'lines', data: { line: text, level: 'info', ...data } })
  const stream = await openStream(stage.app.address, ['dashboard'], { token: stage.viewer.token })
  await stage.send(stage.batchOwner, [
    startOf({ id: 'lines' }),
    line('out', { stream: 'stdout' }),
    line('err', { stream: 'stderr' }),
    line('logged', {}),
    line('other', { stream: 'stdin' }),
    line('odd', { stream: 7 }),
  ])
  stream.cut()
  const { items } = await get('/api/batches/lines/log-lines')
  expect(items.map((one: { line: string; stream: unknown }) => [one.line, one.stream])).toEqual([
    ['out', 'stdout'],
    ['err', 'stderr'],
    ['logged', null],
    ['other', null],
    ['odd', null],
  ])
  const texts = async (query: string) =>
    (await get(`/api/batches/lines/log-lines?${query}`)).items.map((one: { line: string }) => one.line)
  expect(await texts('stream=stderr')).toEqual(['err'])
  expect(await texts('stream=stderr&stream=stdout')).toEqual(['out', 'err'])
  expect((await stage.get('/api/batches/lines/log-lines?stream=x', stage.viewer.read)).status).toBe(422)
  const { batch } = await ask(
    stage.app,
    '{ batch(id: "lines") { logLines(streams: [STDERR]) { totalCount edges { node { line stream } } } } }',
    { token: stage.viewer.read },
  )
  expect(batch.logLines).toEqual({ totalCount: 1, edges: [{ node: { line: 'err', stream: 'STDERR' } }] })
})

test('an anonymous share has the name, but no traceback, configuration or notes', async () => {
  const source = { host: 'box7', user: 'ada' }
  await stage.send(stage.batchOwner, [
    startOf(
      { id: 'shared', source, timestamp: '2026-03-01T10:00:00Z' },
      { name: 'baseline of ada', notes: 'n', config: { root: '/data/ada' } },
    ),
    makeEvent('job_failed', {
      batch_id: 'shared',
      data: { reason: 'bad', elapsed_s: 1, traceback: TRACE },
    }),
    makeEvent('batch_failed', {
      batch_id: 'shared',
      data: { reason: 'bad', total_elapsed_s: 1, traceback: TRACE },
    }),
  ])
  const share = async (anonymous: boolean) => {
    const { body } = await stage.app.call('POST', '/api/batches/shared/shares', {
      token: stage.batchOwner.token,
      body: { anonymous },
    })
    return (await stage.get(`/api/shared/${body.token}`)).body
  }
  const open = await share(false)
  expect(open.batch).toMatchObject({
    name: 'baseline of ada',
    traceback: TRACE,
    config: { root: '/data/ada' },
  })
  const hidden = await share(true)
  expect(hidden.batch).toMatchObject({
    name: 'baseline of [hidden]',
    traceback: null,
    config: null,
    notes: '',
  })
  expect(hidden.jobs.items[0]).toMatchObject({ failure_reason: 'bad', traceback: null })
  expect(JSON.stringify(hidden)).not.toMatch(/ada|box7/)
})

test('the limit of series per job is a setting', async () => {
  const small = await openStage({ maxSeriesPerJob: 2 })
  const event = makeEvent('job_epoch', { batch_id: 'small', data: { epoch: 0, a: 1, b: 2, c: 3 } })
  const { body } = await small.app.call('POST', '/api/events', {
    token: small.batchOwner.reporter,
    body: event,
  })
  expect(body).toEqual({
    db_id: expect.any(Number),
    deduplicated: false,
    ignored: [{ key: 'c', reason: 'too_many_series' }],
  })
  await small.stop()
})

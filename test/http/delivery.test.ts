import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

const source = { project: 'vision' }
const delivery = async (id: string) =>
  (await stage.get(`/api/batches/${id}/delivery`, stage.viewer.token)).body
const send = (...events: unknown[]) => stage.send(stage.batchOwner, events)
const start = (batch_id: string) => makeEvent('batch_start', { batch_id, source })
const epoch = (batch_id: string, n: number) =>
  makeEvent('job_epoch', { batch_id, job_id: 'a', source, data: { epoch: n, train_loss: 1 } })
const end = (batch_id: string, receipt: unknown, event_type: 'batch_done' | 'batch_failed' = 'batch_done') =>
  makeEvent(event_type, { batch_id, source, data: { delivery: receipt } })
const receipt = (produced: number, dropped = 0) => ({
  produced,
  accepted: produced - dropped - 1,
  duplicate: 0,
  spilled: 0,
  dropped,
})

test('the receipt of a running batch is open, and counts each stored event once', async () => {
  const once = epoch('running', 0)
  await send(start('running'), once, once)
  await send(once)
  expect(await delivery('running')).toEqual({
    batch_id: 'running',
    state: 'open',
    stored: 2,
    reported: null,
    missing: null,
    missing_epochs: 0,
    gaps: [],
    senders: [{ sender: null, host: null, stored: 2, reported: null, final: false, missing: null }],
    files: { stored: 0, bytes: 0, missing: 0, missing_bytes: 0 },
    media: { values: 0, missing: 0 },
  })
})

test('the receipt of a batch whose events have all arrived is complete', async () => {
  await send(start('whole'), epoch('whole', 0), end('whole', receipt(3)))
  expect(await delivery('whole')).toMatchObject({
    state: 'complete',
    stored: 3,
    missing: 0,
    reported: receipt(3),
  })
})

test('a late event completes a batch that lacked it', async () => {
  await send(start('late'), epoch('late', 0), end('late', receipt(4), 'batch_failed'))
  expect(await delivery('late')).toMatchObject({ state: 'incomplete', stored: 3, missing: 1 })
  await send(epoch('late', 1))
  expect(await delivery('late')).toMatchObject({ state: 'complete', stored: 4, missing: 0 })
})

test('a program that continues a batch learns its project, its newest job and the last steps', async () => {
  const path = '/api/batches/resumed/resume-point'
  expect((await stage.get(path, stage.batchOwner.reporter)).status).toBe(404)
  await send(start('resumed'))
  const asked = async () => (await stage.get(path, stage.batchOwner.reporter)).body
  expect(await asked()).toEqual({ project: 'vision', newest_job: null, jobs: [] })
  await send(epoch('resumed', 0), epoch('resumed', 2 ** 40), epoch('resumed', 3))
  expect(await asked()).toEqual({
    project: 'vision',
    newest_job: 'a',
    jobs: [{ job_id: 'a', last_step: 2 ** 40 }],
  })
})

test('a program that copied a history learns how much of it is stored', async () => {
  const path = '/api/batches/copied/stored'
  expect((await stage.get(path, stage.batchOwner.reporter)).status).toBe(404)
  await send(start('copied'), epoch('copied', 0), epoch('copied', 2 ** 40), epoch('copied', 0))
  expect((await stage.get(path, stage.batchOwner.reporter)).body).toMatchObject({
    project: 'vision',
    status: 'running',
    config: 0,
    tags: 0,
    jobs: 1,
    series: 1,
    points: 2,
    log_lines: 0,
    files: 0,
    media: 0,
  })
})

test('events that the reporter dropped make the receipt incomplete for good', async () => {
  await send(start('dropped'), epoch('dropped', 0), end('dropped', receipt(7, 4)))
  expect(await delivery('dropped')).toMatchObject({
    state: 'incomplete',
    missing: 0,
    reported: { dropped: 4 },
  })
})

test('events that the service refused make the receipt incomplete', async () => {
  await send(start('refused'), epoch('refused', 0), end('refused', { ...receipt(5), rejected: 2 }))
  expect(await delivery('refused')).toMatchObject({
    state: 'incomplete',
    missing: 0,
    reported: { rejected: 2 },
  })
})

test('an epoch that is missing between others makes the receipt incomplete, with its range', async () => {
  const epochs = [0, 1, 2, 4, 5].map((n) => epoch('holes', n))
  await send(start('holes'), ...epochs, end('holes', receipt(7)))
  expect(await delivery('holes')).toMatchObject({
    state: 'incomplete',
    missing: 0,
    missing_epochs: 1,
    gaps: [{ job_id: 'a', ranges: [[3, 3]] }],
  })
})

test('two machines that replay copies of one spill file at once store each event once, and the receipt ends complete', async () => {
  const points = Array.from({ length: 60 }, (_, n) => epoch('twice', n))
  await send(start('twice'), end('twice', receipt(62)))
  expect(await delivery('twice')).toMatchObject({ state: 'incomplete', stored: 2, missing: 60 })
  const replay = async (events: unknown[]) => {
    for (let at = 0; at < events.length; at += 7) await send(...events.slice(at, at + 7))
  }
  // One of them lacks the last lines; they read in different orders.
  await replay(points.slice(0, 20))
  expect(await delivery('twice')).toMatchObject({ state: 'incomplete', stored: 22, missing: 40 })
  await Promise.all([replay(points.slice(0, 50)), replay(points.toReversed())])
  expect(await delivery('twice')).toMatchObject({
    state: 'complete',
    stored: 62,
    missing: 0,
    missing_epochs: 0,
  })
})

test.each([
  ['every tenth step', [0, 10, 20, 30, 40]],
  ['every step at first, then every tenth', [...Array(40).keys(), 49, 59, 69, 79]],
  ['ever more rarely', [0, 1, 2, 4, 8, 16, 32]],
  ['at steps of its own choosing', [3, 5, 6, 11, 12, 20]],
])('a job that logs %s is complete when the counts agree, and incomplete when they do not', async (how, steps) => {
  const points = steps.map((n) => epoch(how, n))
  await send(start(how), ...points.slice(1), end(how, receipt(steps.length + 2)))
  const shown = () => delivery(encodeURIComponent(how))
  expect(await shown()).toMatchObject({ state: 'incomplete', missing: 1, missing_epochs: 0 })
  await send(points[0])
  expect(await shown()).toMatchObject({ state: 'complete', missing: 0, missing_epochs: 0, gaps: [] })
})

test('the receipt of a job names the epochs that are missing between those that arrived', async () => {
  const strided = (n: number) =>
    makeEvent('job_epoch', {
      batch_id: 'gaps',
      job_id: 'strided',
      source,
      data: { epoch: n, train_loss: 1 },
    })
  const done = makeEvent('job_done', {
    batch_id: 'gaps',
    job_id: 'a',
    source,
    data: { train_epochs: 9 },
  })
  await send(start('gaps'), ...[0, 1, 2, 5, 6, 8].map((n) => epoch('gaps', n)), done)
  await send(...[0, 10, 20, 30, 60].map(strided))
  const jobs = async () => (await stage.get('/api/batches/gaps/delivery/jobs', stage.viewer.token)).body.items
  expect(await jobs()).toEqual([
    {
      job_id: 'a',
      status: 'completed',
      epochs: 6,
      first_epoch: 0,
      last_epoch: 8,
      said_epochs: 9,
      every: 1,
      missing: 3,
      gaps: [
        [3, 4],
        [7, 7],
      ],
    },
    {
      job_id: 'strided',
      status: 'running',
      epochs: 5,
      first_epoch: 0,
      last_epoch: 60,
      said_epochs: null,
      every: 10,
      missing: 2,
      gaps: [[40, 50]],
    },
  ])
  await send(...[3, 4, 7].map((n) => epoch('gaps', n)))
  expect((await jobs())[0]).toMatchObject({ epochs: 9, missing: 0, gaps: [] })
})

test('the receipts of jobs come in pages', async () => {
  const jobs = ['x', 'y', 'z'].map((job_id) => makeEvent('job_start', { batch_id: 'pages', job_id, source }))
  await send(start('pages'), ...jobs)
  const page = async (query: string) =>
    (await stage.get(`/api/batches/pages/delivery/jobs?limit=2${query}`, stage.viewer.token)).body
  const first = await page('')
  const second = await page(`&cursor=${first.next_cursor}`)
  expect([...first.items, ...second.items].map((job) => job.job_id)).toEqual(['x', 'y', 'z'])
  expect(second.next_cursor).toBeNull()
})

test.each([
  [undefined],
  [{ produced: 'many' }],
  [{ ...receipt(3), dropped: -1 }],
  [[3]],
])('an end event with the receipt %j leaves the receipt unknown', async (sent) => {
  const id = `odd-${JSON.stringify(sent)}`
  await send(start(id), end(id, sent))
  expect(
    (await stage.get(`/api/batches/${encodeURIComponent(id)}/delivery`, stage.viewer.token)).body,
  ).toMatchObject({ state: 'unknown', reported: null, missing: null, stored: 2 })
})

// Several processes report one batch: each is judged by its own events.

const PARENT = 'aaaaaaaaaaaa'
const WORKER = 'bbbbbbbbbbbb'
const madeBy = <E extends { event_id: string }>(sender: string, event: E): E => ({
  ...event,
  event_id: event.event_id.slice(0, -12) + sender,
})
const reportOf = (sender: string, produced: number, more: Record<string, number> = {}) => ({
  sender,
  accepted: produced - 1,
  produced,
  ...more,
})
const joined = (batch_id: string, counts: unknown) =>
  makeEvent('resource_snapshot', { batch_id, source, data: { heartbeat: true, delivery: counts } })
/** As a reporter sends: its event ids name the process. */
async function report(...events: unknown[]): Promise<void> {
  const { status, body } = await stage.app.call('POST', '/api/events/batch', {
    token: stage.batchOwner.reporter,
    body: events,
    headers: { 'x-svc-sender': 'event-id' },
  })
  expect([status, body.results.filter((one: { error?: unknown }) => one.error)]).toEqual([200, []])
}
const worker = (batch_id: string, n: number) =>
  madeBy(WORKER, {
    ...makeEvent('job_epoch', {
      batch_id,
      job_id: 'b',
      source: { ...source, host: 'gpu-2' },
      data: { epoch: n },
    }),
  })

test('a batch says how many of its events are still arriving', async () => {
  const id = 'arriving'
  const pending = async () => (await stage.get(`/api/batches/${id}`, stage.viewer.token)).body.events_pending
  await report(madeBy(PARENT, start(id)))
  expect(await pending()).toBeNull()
  await report(madeBy(PARENT, end(id, reportOf(PARENT, 5, { dropped: 1 }))))
  expect(await pending()).toBe(2)
  await report(madeBy(PARENT, epoch(id, 0)), madeBy(PARENT, epoch(id, 1)))
  expect(await pending()).toBe(0)
})

test('events that another process sent do not replace events that one process lost', async () => {
  const id = 'masked'
  await report(madeBy(PARENT, start(id)), madeBy(PARENT, epoch(id, 0)))
  await report(...[0, 1, 2].map((n) => worker(id, n)), madeBy(WORKER, joined(id, reportOf(WORKER, 4))))
  await report(madeBy(PARENT, end(id, reportOf(PARENT, 5))))
  // Seven events are stored where the parent alone produced five, and still two of its own are missing.
  expect(await delivery(id)).toMatchObject({
    state: 'incomplete',
    stored: 7,
    missing: 2,
    reported: { produced: 9 },
    senders: [
      { sender: PARENT, host: null, stored: 3, missing: 2, reported: { produced: 5 } },
      { sender: WORKER, host: 'gpu-2', stored: 4, missing: 0, reported: { produced: 4 } },
    ],
  })
  await report(madeBy(PARENT, epoch(id, 1)), madeBy(PARENT, epoch(id, 2)))
  expect(await delivery(id)).toMatchObject({ state: 'complete', stored: 9, missing: 0 })
})

test('a process that sent no counts leaves the receipt unknown, with the number of its stored events', async () => {
  const id = 'killed-worker'
  await report(madeBy(PARENT, start(id)), worker(id, 0), madeBy(PARENT, end(id, reportOf(PARENT, 2))))
  expect(await delivery(id)).toMatchObject({
    state: 'unknown',
    reported: null,
    senders: [
      { sender: WORKER, stored: 1, reported: null, missing: null },
      { sender: PARENT, stored: 2, missing: 0 },
    ],
  })
})

test('of the counts of one process, sent late, twice or out of order, the latest is used', async () => {
  const id = 'counts'
  const early = madeBy(WORKER, joined(id, reportOf(WORKER, 2)))
  const late = madeBy(WORKER, joined(id, reportOf(WORKER, 3, { dropped: 1 })))
  await report(madeBy(PARENT, start(id)), madeBy(PARENT, end(id, reportOf(PARENT, 2))))
  await report(late)
  await report(early, late)
  expect(await delivery(id)).toMatchObject({
    state: 'incomplete',
    stored: 4,
    reported: { produced: 5, dropped: 1 },
    senders: [
      { sender: WORKER, stored: 2, reported: { produced: 3, dropped: 1 } },
      { sender: PARENT, stored: 2, missing: 0 },
    ],
  })
})

test('counts sent by a running process never make a receipt complete, and show the events known to be missing', async () => {
  const id = 'so-far'
  const soFar = (produced: number) =>
    madeBy(
      WORKER,
      makeEvent('resource_snapshot', {
        batch_id: id,
        source,
        data: { heartbeat: true, delivery_so_far: reportOf(WORKER, produced) },
      }),
    )
  await report(madeBy(PARENT, start(id)), worker(id, 0), soFar(2))
  expect(await delivery(id)).toMatchObject({ state: 'open', missing: 0 })
  await report(madeBy(PARENT, end(id, reportOf(PARENT, 2))))
  const whole = { state: 'unknown', missing: 0, reported: { produced: 4 } }
  expect(await delivery(id)).toMatchObject({
    ...whole,
    senders: [
      { sender: WORKER, stored: 2, final: false, missing: 0, reported: { produced: 2 } },
      { sender: PARENT, stored: 2, final: true, missing: 0 },
    ],
  })
  await report(soFar(7))
  expect(await delivery(id)).toMatchObject({ state: 'incomplete', missing: 4 })
  for (const n of [1, 2, 3, 4]) await report(worker(id, n))
  expect(await delivery(id)).toMatchObject({ state: 'unknown', missing: 0 })
  // Its last counts end the doubt, also when earlier ones arrive after them.
  await report(madeBy(WORKER, joined(id, reportOf(WORKER, 9))))
  await report(soFar(8))
  expect(await delivery(id)).toMatchObject({ state: 'complete', missing: 0, reported: { produced: 11 } })
})

test('rejected events that are sent again after all complete the receipt of their process', async () => {
  const id = 'rejected-first'
  const last = madeBy(PARENT, end(id, reportOf(PARENT, 5, { rejected: 3 })))
  await report(madeBy(PARENT, start(id)), last)
  const sent = (await delivery(id)).senders[0]
  expect(sent).toMatchObject({ stored: 2, missing: 0, reported: { produced: 5, rejected: 3 } })
  await report(madeBy(PARENT, epoch(id, 0)))
  expect(await delivery(id)).toMatchObject({ state: 'incomplete', missing: 0, reported: { rejected: 2 } })
  await report(madeBy(PARENT, epoch(id, 1)), madeBy(PARENT, epoch(id, 2)))
  expect(await delivery(id)).toMatchObject({ state: 'complete', missing: 0, reported: { rejected: 0 } })
})

test('repeats of events, in one request or in several, count once', async () => {
  const id = 'repeats'
  const events = [madeBy(PARENT, start(id)), ...[0, 1, 2].map((n) => madeBy(PARENT, epoch(id, n)))]
  await report(...events, ...events)
  await Promise.all([report(...events), report(...events.toReversed())])
  await report(madeBy(PARENT, end(id, reportOf(PARENT, 5))))
  expect(await delivery(id)).toMatchObject({ state: 'complete', stored: 5, missing: 0 })
})

test('events that an older release stored without their process are not reported as lost', async () => {
  const id = 'upgrade'
  await send(madeBy(PARENT, start(id)), madeBy(PARENT, epoch(id, 0)))
  await report(madeBy(PARENT, epoch(id, 1)), madeBy(PARENT, end(id, reportOf(PARENT, 4))))
  expect(await delivery(id)).toMatchObject({ state: 'unknown', stored: 4, missing: 2 })
})

test('in a run of several processes every event is counted', async () => {
  const id = 'steady'
  await report(madeBy(PARENT, start(id)))
  const N = 120
  for (let n = 0; n < N; n += 3) {
    await report(...[n, n + 1, n + 2].flatMap((e) => [madeBy(PARENT, epoch(id, e)), worker(id, e)]))
  }
  await report(madeBy(WORKER, joined(id, reportOf(WORKER, N + 1))))
  await report(madeBy(PARENT, end(id, reportOf(PARENT, N + 2))))
  expect(await delivery(id)).toMatchObject({
    state: 'complete',
    stored: 2 * N + 3,
    senders: [
      { sender: PARENT, stored: N + 2 },
      { sender: WORKER, stored: N + 1 },
    ],
  })
})

test('callers without an account and with a share link do not see the hosts of a batch', async () => {
  const id = 'shown-to-all'
  const open = { project: 'open', host: 'gpu-1' }
  await report(madeBy(PARENT, { ...start(id), source: open }))
  const hosts = async (token?: string) => {
    const { body } = await stage.app.call('GET', `/api/batches/${id}/delivery`, {
      ...(token && { token }),
    })
    return body.senders.map(({ host }: { host: string | null }) => host)
  }
  expect(await hosts(stage.batchOwner.token)).toEqual(['gpu-1'])
  expect(await hosts()).toEqual([null])
  const asked = async (query: string, token?: string) =>
    (await stage.app.call('POST', '/graphql', { ...(token && { token }), body: { query } })).body.data
  const inside = 'delivery { senders { host } }'
  const seen = { delivery: { senders: [{ host: 'gpu-1' }] } }
  const hidden = { delivery: { senders: [{ host: null }] } }
  expect(await asked(`{ batch(id: "${id}") { ${inside} } }`, stage.batchOwner.token)).toEqual({ batch: seen })
  expect(await asked(`{ batch(id: "${id}") { ${inside} } }`)).toEqual({ batch: hidden })
  const share = await stage.app.call('POST', `/api/batches/${id}/shares`, {
    token: stage.batchOwner.token,
    body: {},
  })
  expect(await asked(`{ sharedBatch(token: "${share.body.token}") { ${inside} } }`)).toEqual({
    sharedBatch: hidden,
  })
})

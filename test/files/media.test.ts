import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { openStream } from '../live/stream.ts'
import { PNG, putFile, sha256 } from './sending-files.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await stage.send(stage.batchOwner, [
    makeEvent('batch_start', { batch_id: 'runs' }),
    makeEvent('job_start', { batch_id: 'runs', job_id: 'a' }),
    makeEvent('job_start', { batch_id: 'runs', job_id: 'b' }),
    makeEvent('batch_start', { batch_id: 'plain' }),
    makeEvent('job_start', { batch_id: 'plain', job_id: 'a' }),
  ])
})
afterAll(() => stage?.stop())

const call = (...args: Parameters<Stage['app']['call']>) => stage.app.call(...args)
const get = async (path: string) => (await call('GET', path, { token: stage.viewer.token })).body
const epoch = (job_id: string, data: Record<string, unknown>, more = {}) =>
  makeEvent('job_epoch', { batch_id: 'runs', job_id, data, ...more })
const image = (bytes: Buffer | string, more = {}) => ({
  _type: 'image',
  sha256: sha256(bytes),
  size: Buffer.byteLength(bytes),
  media_type: 'image/png',
  ...more,
})
const histogram = { _type: 'histogram', bins: [0, 0.5, 1], counts: [3, 4] }

test('media are stored beside numbers, once, and listed by step with what has arrived', async () => {
  const masks = { cell: { sha256: sha256('mask'), size: 4 } }
  await stage.send(stage.batchOwner, [
    epoch('b', { epoch: 2, train_loss: 0.5, val: { samples: [image(PNG, { masks }), image('x')] } }),
    epoch('a', { epoch: 1, train_loss: 0.7, hist: histogram, notes: { _type: 'unknown', size: 7 } }),
    epoch('a', { epoch: 2, hist: histogram }),
  ])
  await putFile(stage.app, { token: stage.batchOwner.reporter, batch: 'runs' }, 'media/one.png', PNG)
  const page = await get('/api/batches/runs/media')
  expect(page.items.map(({ job_id, key, step }: Record<string, unknown>) => [step, job_id, key])).toEqual([
    [1, 'a', 'hist'],
    [2, 'a', 'hist'],
    [2, 'b', 'val/samples'],
  ])
  expect(page.items[0].values).toEqual([histogram])
  expect(page.items[2]).toEqual({
    job_id: 'b',
    key: 'val/samples',
    step: 2,
    at: '2026-03-01T10:00:00Z',
    values: [
      {
        ...image(PNG),
        masks: { cell: { ...masks.cell, uploaded: false, url: null } },
        uploaded: true,
        url: '/api/batches/runs/files/media/one.png',
      },
      { ...image('x'), uploaded: false, url: null },
    ],
  })
  const metrics = await get('/api/batches/runs/metrics')
  expect(metrics.series.map(({ key }: { key: string }) => key).sort()).toEqual([
    'notes/size',
    'train_loss',
    'train_loss',
  ])
  expect(await get('/api/batches/runs/delivery')).toMatchObject({ media: { values: 4, missing: 1 } })
})

test('media are filtered by key, job and step, and go on where a page ended', async () => {
  const steps = async (query: string) =>
    (await get(`/api/batches/runs/media?${query}`)).items.map(({ step }: { step: number }) => step)
  expect(await steps('keys=hist')).toEqual([1, 2])
  expect(await steps('keys=hist&from=2')).toEqual([2])
  expect(await steps('jobs=b')).toEqual([2])
  expect(await steps('to=1')).toEqual([1])
  expect(await steps('keys=none')).toEqual([])
  const first = await get('/api/batches/runs/media?limit=2')
  const second = await get(`/api/batches/runs/media?limit=2&cursor=${first.next_cursor}`)
  expect(second.items.map(({ key }: { key: string }) => key)).toEqual(['val/samples'])
  expect(second.next_cursor).toBeNull()
  expect(await get('/api/batches/runs/media/keys')).toEqual({
    items: [
      { key: 'hist', type: 'histogram', jobs: 1, points: 2, first_step: 1, last_step: 2 },
      { key: 'val/samples', type: 'image', jobs: 1, points: 1, first_step: 2, last_step: 2 },
    ],
    next_cursor: null,
  })
  expect((await get('/api/batches/plain/media/keys')).items).toEqual([])
})

test('of two events with media for the same step the later one wins, in any order', async () => {
  const at = (second: number) => ({ timestamp: `2026-03-01T10:00:0${second}Z` })
  const text = (caption: string) => ({ epoch: 9, note: { ...image('t', { caption }), _type: 'text' } })
  const send = (...events: unknown[]) => stage.send(stage.batchOwner, events)
  await send(epoch('a', text('second'), at(2)))
  await send(epoch('a', text('first'), at(1)))
  await send(epoch('a', text('fourth'), at(4)), epoch('a', text('third'), at(3)))
  const { items } = await get('/api/batches/runs/media?keys=note')
  expect(items).toHaveLength(1)
  expect(items[0].values[0].caption).toBe('fourth')
})

test('an invalid media value refuses its event and says where it is', async () => {
  const refused = async (value: unknown) => {
    const event = epoch('a', { epoch: 3, val: { samples: value } })
    const { status, body } = await call('POST', '/api/events', {
      token: stage.batchOwner.reporter,
      body: event,
    })
    return [status, body.code, body.errors?.[0]?.path]
  }
  const at = (path: string) => [422, 'invalid_event_data', `data.val.samples${path}`]
  expect(await refused(Array(101).fill(image('x')))).toEqual(at(''))
  expect(await refused([image('x'), 7])).toEqual(at('.1'))
  expect(await refused([image('x'), { _type: 'image', size: 1 }])).toEqual(at('.1.sha256'))
  expect(await refused(image('x', { sha256: 'ABC' }))).toEqual(at('.sha256'))
  expect(await refused(image('x', { size: -1 }))).toEqual(at('.size'))
  expect(await refused({ ...histogram, counts: [1] })).toEqual(at('.bins'))
  expect(await refused({ ...histogram, bins: [0, 2, 1] })).toEqual(at('.bins'))
  const many = (n: number) => ({
    _type: 'histogram',
    bins: Array.from({ length: n + 1 }, (_, i) => i),
    counts: Array(n).fill(1),
  })
  expect(await refused(many(513))).toEqual(at('.bins'))
  expect((await refused(many(512)))[0]).toBe(200)
})

test('lists find what has media of a key, beside conditions on values', async () => {
  const jobs = async (where: string) => {
    const { body } = await call('GET', `/api/jobs?where=${encodeURIComponent(where)}`, {
      token: stage.viewer.token,
    })
    return [body.items?.map(({ id }: { id: string }) => id).sort(), body.unknown_names]
  }
  expect((await jobs('has:"val/samples"'))[0]).toEqual(['a', 'b'])
  expect((await jobs('has:note'))[0]).toEqual(['a'])
  expect((await jobs('has:hist AND train_loss<1'))[0]).toEqual(['a'])
  expect((await jobs('has:nothing'))[0]).toEqual([])
  expect((await jobs('NOT has:hist'))[0]).toEqual(['a', 'b'])
  const { body } = await call('GET', `/api/batches?where=${encodeURIComponent('has:hist')}`, {
    token: stage.viewer.token,
  })
  expect(body.items.map(({ id }: { id: string }) => id)).toEqual(['runs'])
  expect(body.unknown_names ?? []).toEqual([])
})

test('followers of a batch hear of files and media that arrive', async () => {
  const stream = await openStream(stage.app.address, ['batch:runs'], { token: stage.viewer.token })
  await stage.send(stage.batchOwner, [epoch('a', { epoch: 4, more: image('late') })])
  await stream.find(({ data }) => data.payload.media?.keys.includes('more'))
  await putFile(stage.app, { token: stage.batchOwner.reporter, batch: 'runs' }, 'late.png', 'late')
  await stream.find(({ data }) => data.payload.files?.stored === 2)
  stream.cut()
})

test('a link shows files and media; an anonymous one only if its creator says so', async () => {
  const share = async (body: Record<string, unknown>) =>
    (await call('POST', '/api/batches/runs/shares', { token: stage.batchOwner.token, body })).body
  const [open, hidden, ticked] = [
    await share({}),
    await share({ anonymous: true }),
    await share({ anonymous: true, files: true }),
  ]
  const list = await call('GET', '/api/batches/runs/shares', { token: stage.batchOwner.token })
  expect(list.body.items.map(({ files }: { files: boolean }) => files)).toEqual([true, false, true])
  const shown = async ({ token }: { token: string }) => {
    const at = `/api/shared/${token}`
    const [files, media, keys, file] = [
      await call('GET', `${at}/files`),
      await call('GET', `${at}/media`),
      await call('GET', `${at}/media/keys`),
      await call('GET', `${at}/files/media/one.png`),
    ]
    return [files.body.items.length > 0, media.body.items.length > 0, keys.body.items.length > 0, file.status]
  }
  expect(await shown(open)).toEqual([true, true, true, 200])
  expect(await shown(hidden)).toEqual([false, false, false, 404])
  expect(await shown(ticked)).toEqual([true, true, true, 200])
  const { items } = (await call('GET', `/api/shared/${open.token}/files?prefix=media/`)).body
  expect(items[0].url).toBe(`/api/shared/${open.token}/files/media/one.png`)
  expect((await call('GET', items[0].url)).headers['content-type']).toBe('image/png')
  await call('DELETE', `/api/shares/${open.id}`, { token: stage.batchOwner.token })
  expect((await call('GET', items[0].url)).status).toBe(404)
})

test('media of jobs of several batches come in one answer, without those that the caller does not see', async () => {
  const at = (batch_id: string, job_id: string, data: Record<string, unknown>) =>
    makeEvent('job_epoch', { batch_id, job_id, data })
  await stage.send(stage.batchOwner, [
    ...['left', 'right'].map((batch_id) => makeEvent('batch_start', { batch_id })),
    at('left', 'a', { epoch: 1, hist: histogram }),
    at('left', 'a', { epoch: 2, hist: histogram }),
    at('left', 'b', { epoch: 2, text: { ...image('t'), _type: 'text' } }),
    at('right', 'a', { epoch: 5, hist: histogram }),
    at('right', 'a', { epoch: 6, mask: image(PNG) }),
  ])
  await putFile(stage.app, { token: stage.batchOwner.reporter, batch: 'right' }, 'media/two.png', PNG)
  const jobs = (await get('/api/jobs?limit=100')).items as { batch_id: string; id: string; key: string }[]
  const keyOf = (batch: string, id: string) =>
    jobs.find((job) => job.batch_id === batch && job.id === id)?.key as string
  const [a, b, right] = [keyOf('left', 'a'), keyOf('left', 'b'), keyOf('right', 'a')]
  const of = `job_keys=${a},${right},999999`
  const page = await get(`/api/jobs/media?${of}`)
  expect(
    page.items.map((one: Record<string, unknown>) => [one.step, one.job_key, one.job_id, one.key]),
  ).toEqual([
    [1, a, 'a', 'hist'],
    [2, a, 'a', 'hist'],
    [5, right, 'a', 'hist'],
    [6, right, 'a', 'mask'],
  ])
  expect(page.items[3].values[0]).toMatchObject({
    uploaded: true,
    url: '/api/batches/right/files/media/two.png',
  })
  const first = await get(`/api/jobs/media?${of}&key=hist&limit=2`)
  const second = await get(`/api/jobs/media?${of}&key=hist&limit=2&cursor=${first.next_cursor}`)
  expect(second.items.map(({ step }: { step: number }) => step)).toEqual([5])
  expect(await get(`/api/jobs/media/steps?${of}&key=hist`)).toEqual({ items: [1, 2, 5] })
  expect(await get(`/api/jobs/media/keys?${of},${b}`)).toEqual({
    items: [
      { key: 'hist', type: 'histogram', jobs: 2, points: 3, first_step: 1, last_step: 5 },
      { key: 'mask', type: 'image', jobs: 1, points: 1, first_step: 6, last_step: 6 },
      { key: 'text', type: 'text', jobs: 1, points: 1, first_step: 2, last_step: 2 },
    ],
    job_keys: [a, b, right].sort((x, y) => Number(x) - Number(y)),
    next_cursor: null,
  })
  for (const what of ['', '/keys', '/steps']) {
    const path = `/api/jobs/media${what}?${of}`
    const stranger = await call('GET', path, { token: stage.stranger.token })
    expect([stranger.status, stranger.body.items]).toEqual([200, []])
    const many = Array.from({ length: 1_001 }, (_, n) => n + 1).join()
    expect(
      (await call('GET', `/api/jobs/media${what}?job_keys=${many}`, { token: stage.viewer.token })).status,
    ).toBe(422)
  }
})

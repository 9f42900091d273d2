import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp } from '../kit/app.ts'
import { channelsQuery, openStream, SOON } from './stream.ts'

/** Requests that /api/sse accepts and refuses (contract §6, "General rules"). */
let stage: Stage
beforeAll(async () => {
  stage = await openStage()
  await stage.send(stage.batchOwner, [startOf({ id: 'seen' }), startOf({ id: 'open-one', project: 'open' })])
})
afterAll(() => stage?.stop())

const ask = (query: string, token?: string, headers?: Record<string, string>) =>
  stage.app.call('GET', `/api/sse?${query}`, {
    ...(token === undefined ? {} : { token }),
    ...(headers === undefined ? {} : { headers }),
  })

test('a stream has the headers of an event stream, against caching and buffering', async () => {
  const stream = await openStream(stage.app.address, ['batch:seen'], { token: stage.viewer.token })
  expect(stream.status).toBe(200)
  expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8')
  expect(stream.headers['cache-control']).toBe('no-store, no-transform')
  expect(stream.headers['x-accel-buffering']).toBe('no')
  expect(stream.headers['x-request-id']).toEqual(expect.any(String))
  expect(stream.text()).toMatch(/^retry: \d+\nid: \d+\n\n$/)
  stream.cut()
})

describe('refused with 422, naming the parameter', () => {
  const many = Array.from({ length: 101 }, (_, i) => `channel=batch:${i}`).join('&')
  test.each([
    ['no channel', ''],
    ['an empty list', 'channels='],
    ['more than 100 channels', many],
    ['an unknown kind', 'channels=jobs:1'],
    ['no kind', 'channels=seen'],
    ['nothing behind the colon', 'channels=batch:'],
    ['something behind a bare name', 'channels=dashboard:vision'],
    ['a control character', 'channel=batch:a%00b'],
    ['an id that no batch can have', `channel=batch:${'x'.repeat(300)}`],
  ])('%s', async (_, query) => {
    const { status, headers, body } = await ask(query, stage.viewer.token)
    expect(status).toBe(422)
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(body).toMatchObject({ code: 'invalid_query', errors: [{ path: 'channels' }] })
  })

  test.each([
    ['last_event_id', 'channels=dashboard&last_event_id=abc'],
    ['last_event_id', 'channels=dashboard&last_event_id=-1'],
    ['lastEventId', 'channels=dashboard&lastEventId=1'],
  ])('%s: %s', async (name, query) => {
    const { status, body } = await ask(query, stage.viewer.token)
    expect(status).toBe(422)
    expect(JSON.stringify(body)).toContain(name)
  })

  test('an invalid Last-Event-ID', async () => {
    const { status } = await ask('channels=dashboard', stage.viewer.token, { 'last-event-id': 'x1' })
    expect(status).toBe(422)
  })
})

test('a hundred channels are accepted, and a repeated name counts once', async () => {
  const names = [...Array.from({ length: 99 }, () => 'batch:seen'), 'dashboard', 'logs:seen']
  expect((await ask(`channels=${names.join(',')}`, stage.viewer.token)).status).toBe(200)
})

test('403 names the forbidden channel, with the same text as for one that does not exist', async () => {
  const words = new Set<string>()
  for (const name of ['batch:seen', 'metrics:seen', 'project:vision', 'batch:none', 'project:none']) {
    const { status, headers, body } = await ask(`channels=dashboard,${name}`, stage.stranger.token)
    expect(status).toBe(403)
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(body).toMatchObject({ code: 'channel_forbidden', detail: expect.stringContaining(name) })
    words.add(JSON.stringify({ ...body, request_id: '' }).replaceAll(name, ''))
  }
  expect(words.size).toBe(1)
})

test('visitors can subscribe to public projects and their batches, and to nothing else', async () => {
  const open = ['project:open', 'batch:open-one', 'metrics:open-one', 'logs:open-one', 'resources:open-one']
  expect((await ask(channelsQuery(...open, 'dashboard'))).status).toBe(200)
  for (const name of ['project:vision', 'batch:seen', 'logs:seen', 'hosts', 'host:1', 'share:x']) {
    expect((await ask(channelsQuery(name))).status, name).toBe(403)
  }
})

test('a read token can subscribe to what its user can read; a reporter token to nothing', async () => {
  const { read, reporter } = stage.batchOwner
  expect((await ask('channels=batch:seen', read)).status).toBe(200)
  expect((await ask('channels=batch:seen', reporter)).body).toMatchObject({ status: 403, code: 'forbidden' })
})

test('an invalid credential is 401, also on public channels', async () => {
  const { status, headers } = await ask('channels=project:open', 'em_read_nothing')
  expect(status).toBe(401)
  expect(headers['www-authenticate']).toMatch(/^Bearer/)
})

test('ids with commas can be given with `channel`, which is not split', async () => {
  const id = 'sweep,lr=0.1,é €'
  await stage.send(stage.batchOwner, [startOf({ id })])
  const stream = await openStream(stage.app.address, [`metrics:${id}`], { token: stage.viewer.token })
  await stage.send(stage.batchOwner, [makeEvent('job_epoch', { batch_id: id, data: { epoch: 1 } })])
  const [message] = await stream.reach(1)
  expect(message?.data.channel).toBe(`metrics:${id}`)
  expect(
    (await ask(new URLSearchParams({ channels: `batch:${id}` }).toString(), stage.viewer.token)).status,
  ).toBe(422)
  stream.cut()
})

test('comments are sent at intervals, some with the cursor, also without changes', async () => {
  const quiet = await startTestApp({}, { streamTimes: { pingMs: 20 } })
  const { token } = await quiet.register()
  const stream = await openStream(quiet.address, ['dashboard'], { token })
  const begun = stream.lastId() as number
  const body = { slug: 'elsewhere' }
  await quiet.call('POST', '/api/projects', { token, body })
  await quiet.call('PATCH', '/api/projects/elsewhere', { token, body: { display_name: 'x' } })
  await expect.poll(() => stream.text().match(/: ping\n/g)?.length ?? 0, SOON).toBeGreaterThan(25)
  expect(stream.messages).toEqual([])
  await expect.poll(() => stream.lastId(), SOON).toBeGreaterThan(begun)
  stream.cut()
  await quiet.stop()
})

test('a server that stops ends its streams at once', async () => {
  const stopping = await startTestApp()
  const { token } = await stopping.register()
  const stream = await openStream(stopping.address, ['dashboard'], { token })
  const begun = performance.now()
  const stopped = stopping.stop()
  await stream.ended
  // A client that is still connected after five seconds is disconnected, and would end as well.
  expect(performance.now() - begun).toBeLessThan(3_000)
  await stopped
})

import { EventSource } from 'eventsource'
import type { ExecutionResult } from 'graphql'
import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomFrom } from '../../src/domain/random.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { SOON } from './stream.ts'

/** The typed subscriptions of contract §10. test/graphql-clients has those by other clients. */
let door: Door
beforeAll(async () => {
  door = await openDoor({}, { streamTimes: { retryMs: 20, pingMs: 100 } })
})
afterAll(() => door?.stop())

const graphql = () => `${door.app.address}/graphql`
const authorization = (token = door.session) => ({ authorization: `Bearer ${token}` })
const cursorNow = async (): Promise<string> => {
  const { body } = await door.app.call('POST', '/graphql', {
    token: door.session,
    body: { query: '{ streamCursor }' },
  })
  return body.data.streamCursor
}
let n = 0
/** A batch with one job, and the cursor before its first epoch. */
async function begin(): Promise<{ id: string; after: string }> {
  const id = `typed-${++n}`
  await door.send(makeEvent('batch_start', { batch_id: id }))
  await door.send(makeEvent('job_start', { batch_id: id, job_id: 'j', data: { model: 'm' } }))
  return { id, after: await cursorNow() }
}
const epoch = (id: string, at: number) =>
  door.send(makeEvent('job_epoch', { batch_id: id, job_id: 'j', data: { epoch: at, loss: 1 / at, lr: 0.1 } }))
const sse = (token = door.session) =>
  createClient({ url: graphql(), headers: () => authorization(token), retryAttempts: 0 })

const METRICS = `subscription Points($id: ID!, $keys: [String!], $after: String) {
  metrics(batchId: $id, keys: $keys, after: $after) { cursor reset series { job key steps values } }
}`
interface Metrics {
  cursor: string
  reset: boolean
  series: { job: string; key: string; steps: number[]; values: number[] }[]
}
/** @returns the next `count` results of an iterator, whose stream is closed then */
async function take<T>(results: AsyncIterableIterator<T>, count: number): Promise<T[]> {
  const got: T[] = []
  for await (const result of results) {
    got.push(result)
    if (got.length === count) break
  }
  return got
}

describe('typed subscriptions', () => {
  test('metrics: new points of the requested series as columns, from a cursor on', async () => {
    const { id, after } = await begin()
    await epoch(id, 1)
    await epoch(id, 2)
    const variables = { id, keys: ['loss'], after }
    const results = await take(sse().iterate<{ metrics: Metrics }>({ query: METRICS, variables }), 2)
    const updates = results.map(({ data }) => data?.metrics as Metrics)
    expect(updates.map(({ series }) => series)).toEqual([
      [{ job: 'j', key: 'loss', steps: [1], values: [1] }],
      [{ job: 'j', key: 'loss', steps: [2], values: [0.5] }],
    ])
    expect(updates.map(({ reset }) => reset)).toEqual([false, false])
    // From the first one's cursor only the second comes again.
    const again = { ...variables, after: updates[0]?.cursor }
    const [second] = await take(sse().iterate<{ metrics: Metrics }>({ query: METRICS, variables: again }), 1)
    expect(second?.data?.metrics).toEqual(updates[1])
  })

  test('metrics: a change without the requested series sends no update', async () => {
    const { id, after } = await begin()
    await epoch(id, 1)
    await door.send(makeEvent('job_epoch', { batch_id: id, job_id: 'j', data: { epoch: 2, acc: 0.5 } }))
    const variables = { id, keys: ['acc'], after }
    const [first] = await take(sse().iterate<{ metrics: Metrics }>({ query: METRICS, variables }), 1)
    expect(first?.data?.metrics.series).toEqual([{ job: 'j', key: 'acc', steps: [2], values: [0.5] }])
  })

  test('batch: the batch and the jobs that changed, each update with the current state', async () => {
    const { id, after } = await begin()
    const results = sse().iterate<{ batch: { batch: { status: string }; jobs: { status: string }[] } }>({
      query: `subscription ($id: ID!, $after: String) {
        batch(id: $id, after: $after) { cursor batch { id status nDone project { slug } } jobs { jobId status } }
      }`,
      variables: { id, after },
    })
    await door.send(makeEvent('job_done', { batch_id: id, job_id: 'j' }))
    let update = (await results.next()).value?.data?.batch
    // The stream may still send the start of the job.
    while (update?.jobs[0]?.status !== 'COMPLETED') update = (await results.next()).value?.data?.batch
    expect(update).toMatchObject({
      batch: { id, status: 'RUNNING', project: { slug: expect.any(String) } },
      jobs: [{ jobId: 'j', status: 'COMPLETED' }],
    })
    await door.send(makeEvent('batch_done', { batch_id: id, data: { n_done: 1, n_failed: 0 } }))
    while (update?.batch.status !== 'COMPLETED') update = (await results.next()).value?.data?.batch
    expect(update?.batch).toMatchObject({ nDone: 1 })
    await results.return?.()
  })

  test('logLines: each line once, in order', async () => {
    const { id, after } = await begin()
    for (const line of ['one', 'two', 'three'])
      await door.send(makeEvent('log_line', { batch_id: id, job_id: 'j', data: { line, level: 'info' } }))
    const lines: string[] = []
    const results = sse().iterate<{ logLines: { lines: { line: string; jobId: string }[] } }>({
      query: `subscription ($id: ID!, $after: String) {
        logLines(batchId: $id, after: $after) { cursor lines { dbId jobId level line } } }`,
      variables: { id, after },
    })
    for await (const { data } of results) {
      lines.push(...(data?.logLines.lines ?? []).map(({ line }) => line))
      if (lines.length >= 3) break
    }
    expect(lines).toEqual(['one', 'two', 'three'])
  })

  test('project: the batches that changed', async () => {
    const { id } = await begin()
    const { body } = await door.app.call('GET', `/api/batches/${id}`, { token: door.session })
    const after = await cursorNow()
    await door.send(makeEvent('batch_done', { batch_id: id, data: { n_done: 1, n_failed: 0 } }))
    const results = sse().iterate<{ project: { batches: { id: string; status: string }[] } }>({
      query:
        'subscription ($slug: String!, $after: String) { project(slug: $slug, after: $after) { cursor batches { id status } } }',
      variables: { slug: body.project, after },
    })
    let seen: { id: string; status: string }[] = []
    while (!seen.some((batch) => batch.id === id && batch.status === 'COMPLETED'))
      seen = (await results.next()).value?.data?.project.batches ?? []
    await results.return?.()
  })

  test('an unusable cursor is answered with a reset and the cursor to continue from', async () => {
    const { id } = await begin()
    const variables = { id, after: '999999999' }
    const [first] = await take(sse().iterate<{ metrics: Metrics }>({ query: METRICS, variables }), 1)
    expect(first?.data?.metrics).toMatchObject({ reset: true, series: [] })
    expect(Number(first?.data?.metrics.cursor)).toBeLessThan(999_999_999)
  })

  test('a batch that the caller cannot read is refused, and so is a query that costs too much', async () => {
    const { id } = await begin()
    const stranger = await door.stranger()
    const refused = await sse(stranger.session).iterate({ query: METRICS, variables: { id } }).next()
    expect(refused.value?.errors?.[0]).toMatchObject({ extensions: { code: 'channel_forbidden' } })
    const query = `subscription ($id: ID!) { batch(id: $id) { batch { project { batches(first: 100) { edges { node {
      jobs(first: 500) { edges { node { metrics { values } } } } } } } } } } }`
    const { status, body } = await door.app.call('POST', '/graphql', {
      token: door.session,
      headers: { accept: 'text/event-stream' },
      body: { query, variables: { id } },
    })
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain('query_too_large')
  })
})

describe('any Accept header that allows a stream', () => {
  test.each([
    'text/event-stream',
    'text/event-stream, multipart/mixed',
    'application/json;q=0.5, text/event-stream',
    'text/*',
    '*/*',
  ])('%s', async (accept) => {
    const { id, after } = await begin()
    await epoch(id, 1)
    const stop = new AbortController()
    const answer = await fetch(graphql(), {
      method: 'POST',
      headers: { ...authorization(), accept, 'content-type': 'application/json' },
      body: JSON.stringify({ query: METRICS, variables: { id, after } }),
      signal: stop.signal,
    })
    expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/)
    let text = ''
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString()
      if (text.includes('event: next')) break
    }
    stop.abort()
    expect(text).toContain('"key":"loss"')
  })

  test('a query of a client of graphql-sse is a stream of one result', async () => {
    const results = sse().iterate({ query: '{ streamCursor }' })
    expect(await results.next()).toMatchObject({ value: { data: { streamCursor: expect.any(String) } } })
    expect((await results.next()).done).toBe(true)
    const refused = await sse().iterate({ query: '{ nothing }' }).next()
    expect(refused.value?.errors?.[0]).toMatchObject({ extensions: { code: 'invalid_query' } })
  })

  test('other queries are answered with JSON', async () => {
    const answer = await fetch(graphql(), {
      method: 'POST',
      headers: {
        ...authorization(),
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ query: '{ streamCursor }' }),
    })
    expect(await answer.json()).toMatchObject({ data: { streamCursor: expect.any(String) } })
  })
})

test('EventSource resumes by itself from its last id', async () => {
  const { id, after } = await begin()
  const params = new URLSearchParams({
    query: METRICS,
    variables: JSON.stringify({ id, keys: ['loss'], after }),
  })
  const steps: number[] = []
  const proxy = await startCuttingProxy([door.app.address], randomFrom(1), { bytes: 3_000, ms: 200 })
  const source = new EventSource(`${proxy.address}/graphql?${params}`, {
    fetch: (url, init) =>
      fetch(url, {
        ...(init as RequestInit),
        headers: { ...(init.headers as Record<string, string>), ...authorization() },
      }),
  })
  source.addEventListener('next', ({ data }) => {
    for (const series of JSON.parse(data).data.metrics.series) steps.push(...series.steps)
  })
  let sent = 0
  while (proxy.counts.cuts < 1) await epoch(id, ++sent)
  await epoch(id, ++sent)
  await expect.poll(() => steps, SOON).toEqual(Array.from({ length: sent }, (_, i) => i + 1))
  source.close()
  await proxy.close()
})

test('one subscription sees changes of values that a request reads once', async () => {
  const { id, after } = await begin()
  const { body: batch } = await door.app.call('GET', `/api/batches/${id}`, { token: door.session })
  const results = sse().iterate<{ batch: { batch: { project: { displayName: string } } } }>({
    query:
      'subscription ($id: ID!, $after: String) { batch(id: $id, after: $after) { batch { project { displayName } } } }',
    variables: { id, after },
  })
  await epoch(id, 1)
  await results.next()
  await door.app.call('PATCH', `/api/projects/${batch.project}`, {
    token: door.session,
    body: { display_name: 'Another name' },
  })
  await epoch(id, 2)
  let last: ExecutionResult<{ batch: { batch: { project: { displayName: string } } } }> | undefined
  while (last?.data?.batch.batch.project.displayName !== 'Another name') {
    last = (await results.next()).value as typeof last
    await epoch(id, 3)
  }
  await results.return?.()
})

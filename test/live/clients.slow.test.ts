import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from '@playwright/test'
import { EventSource } from 'eventsource'
import { type Client, createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { randomFrom } from '../../src/domain/random.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { startCuttingProxy } from './cutting-proxy.ts'
import { openStream, SOON } from './stream.ts'

/** The stream with the clients that people use. */
let door: Door
let app: TestApp
beforeAll(async () => {
  door = await openDoor()
  const databaseUrl = door.app.config.databaseUrl as string
  app = await startTestApp({ databaseUrl }, { streamTimes: { retryMs: 20, pingMs: 100 } })
})
afterAll(async () => {
  await app?.stop()
  await door?.stop()
})

let n = 0
async function beginBatch(): Promise<string> {
  const id = `batch-${++n}`
  await door.send(makeEvent('batch_start', { batch_id: id }))
  return id
}
const epoch = (id: string, at: number) =>
  door.send(makeEvent('job_epoch', { batch_id: id, data: { epoch: at, loss: 1 / at } }))
const authorized = (init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${door.session}` },
})

describe('EventSource of npm', () => {
  test('gets each message under the event name of its channel, reconnects after cuts, and misses nothing', async () => {
    const id = await beginBatch()
    const proxy = await startCuttingProxy([app.address], randomFrom(1), { bytes: 20_000, ms: 200 })
    const cursor = await door.app.call('POST', '/graphql', {
      token: door.session,
      body: { query: '{ streamCursor }' },
    })
    const query = `channels=metrics:${id}&last_event_id=${cursor.body.data.streamCursor}`
    const source = new EventSource(`${proxy.address}/api/sse?${query}`, {
      fetch: (url, init) => fetch(url, authorized(init as RequestInit)),
    })
    const epochs: number[] = []
    const cursors: string[] = []
    source.addEventListener('metrics', ({ data, lastEventId }) => {
      cursors.push(lastEventId)
      for (const point of JSON.parse(data).payload.points) epochs.push(point.epoch)
    })
    let sent = 0
    while (proxy.counts.cuts < 4) await epoch(id, ++sent)
    await epoch(id, ++sent)
    await expect.poll(() => epochs.at(-1), SOON).toBe(sent)
    expect(epochs).toEqual(Array.from({ length: sent }, (_, i) => i + 1))
    expect(cursors.map(Number)).toEqual(cursors.map(Number).toSorted((a, b) => a - b))
    source.close()
    await proxy.close()
  })

  test('is refused with a final status that gives the reason', async () => {
    const source = new EventSource(`${app.address}/api/sse?channels=batch:none`, {
      fetch: (url, init) => fetch(url, authorized(init as RequestInit)),
    })
    const error = await new Promise<{ code?: number | undefined }>((resolve) => {
      source.addEventListener('error', resolve)
    })
    expect(error.code).toBe(403)
    expect(source.readyState).toBe(source.CLOSED)
  })
})

describe('the client of graphql-sse', () => {
  const LIVE =
    'subscription ($channels: [String!]!, $after: String) { live(channels: $channels, after: $after) { cursor channel type at payload } }'
  interface Live {
    cursor: string
    channel: string | null
    type: string
    payload: { points: { epoch: number }[] }
  }
  const connect = (options: Partial<Parameters<typeof createClient>[0]> = {}): Client =>
    createClient({
      url: `${app.address}/api/sse`,
      headers: () => ({ authorization: `Bearer ${door.session}` }),
      retryAttempts: 0,
      ...options,
    })
  const subscribe = (client: Client, channels: string[], after?: string) =>
    client.iterate<{ live: Live }>({ query: LIVE, variables: { channels, after } })
  const nextOf = async (
    messages: AsyncIterator<{ data?: { live: Live } | null }, unknown>,
  ): Promise<Live> => {
    const { value } = (await messages.next()) as { value: { data: { live: Live } } }
    return value.data.live
  }

  test('gets the same messages, and resumes from a cursor', async () => {
    const id = await beginBatch()
    const client = connect()
    const plain = await openStream(app.address, [`metrics:${id}`], { token: door.session })
    const first = subscribe(client, [`metrics:${id}`], String(plain.lastId()))
    for (const at of [1, 2, 3]) await epoch(id, at)
    const messages = await plain.reach(3)
    const got = [await nextOf(first), await nextOf(first), await nextOf(first)]
    expect(got.map((live) => [Number(live.cursor), live.channel, live.type, live.payload])).toEqual(
      messages.map(({ id, data }) => [id, data.channel, data.type, data.payload]),
    )
    await first.return?.()
    await epoch(id, 4)
    const again = subscribe(client, [`metrics:${id}`], got[1]?.cursor)
    expect((await nextOf(again)).payload.points[0]?.epoch).toBe(3)
    expect((await nextOf(again)).payload.points[0]?.epoch).toBe(4)
    await again.return?.()
    client.dispose()
    plain.cut()
  })

  test.each(['/api/sse', '/graphql'])('gets a reset as a message, at %s', async (path) => {
    const messages = subscribe(connect({ url: app.address + path }), ['dashboard'], '999999999')
    expect(await nextOf(messages)).toMatchObject({
      type: 'reset',
      channel: null,
      payload: { reason: 'cursor_unknown' },
    })
    await messages.return?.()
  })

  test('gets refusals and mistakes as GraphQL errors', async () => {
    const refused = (await subscribe(connect(), ['dashboard', 'batch:none']).next()).value
    expect(refused.errors[0]).toMatchObject({
      message: expect.stringContaining('batch:none'),
      extensions: { code: 'channel_forbidden', status: 403 },
    })
    const wrong = (await subscribe(connect(), ['nothing']).next()).value
    expect(wrong.errors[0]).toMatchObject({ extensions: { code: 'invalid_query' } })
    const query = 'subscription { live(channels: ["dashboard"]) { nope } }'
    const invalid = (await connect().iterate({ query }).next()).value
    expect(invalid?.errors?.[0]?.message).toMatch(/nope/)
  })

  test('cannot run queries or writes through the stream, nor documents that are too long', async () => {
    for (const query of ['{ streamCursor }', 'mutation { nothing }', `{ ${'a '.repeat(2_000)} }`]) {
      const { status, body } = await app.call('POST', '/api/sse', { token: door.session, body: { query } })
      expect(status).toBe(400)
      expect(JSON.parse(JSON.stringify(body)).errors).toHaveLength(1)
    }
  })

  test('reconnects when the server ends the stream, and is refused when its access has ended', async () => {
    const { token } = await door.app.register()
    let attempts = 0
    const client = connect({
      headers: () => {
        attempts++
        return { authorization: `Bearer ${token}` }
      },
      retryAttempts: 5,
      retry: async () => {},
    })
    const messages = client.iterate({ query: 'subscription { live(channels: ["dashboard"]) { cursor } }' })
    const ended = messages.next()
    await expect.poll(() => attempts, SOON).toBe(1)
    await expect
      .poll(() => door.app.call('POST', '/api/auth/logout', { token }).then((a) => a.status), SOON)
      .toBe(204)
    await expect(ended).rejects.toMatchObject({ message: expect.stringContaining('401') })
    // It retries after any answer, as often as configured.
    expect(attempts).toBeGreaterThan(1)
    client.dispose()
  })
})

describe('Chromium', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  }, 240_000)
  afterAll(() => browser?.close())

  /** A page of the service, signed in with its cookie. */
  async function openPage(address: string): Promise<Page> {
    const page = await browser.newPage()
    const { body } = await door.app.call('GET', '/api/auth/me', { token: door.session })
    await page.goto(`${address}/livez`)
    const status = await page.evaluate(
      async (body) => {
        const headers = { 'content-type': 'application/json' }
        return (await fetch('/api/auth/login', { method: 'POST', headers, body })).status
      },
      JSON.stringify({ email: body.user.email, password: PASSWORD }),
    )
    expect(status).toBe(200)
    return page
  }

  test('subscribes with its cookie, keeps its cursor through cuts, and gets a reset', async () => {
    const id = await beginBatch()
    const proxy = await startCuttingProxy([app.address], () => 0.9, { bytes: 1_000_000, ms: 700 })
    const page = await openPage(proxy.address)
    // As text: what runs in the page is not of this module.
    await page.evaluate(`{
      const seen = { epochs: [], resets: 0, opens: 0 }
      globalThis.seen = seen
      const source = new EventSource('/api/sse?channels=metrics:${id}')
      source.addEventListener('open', () => seen.opens++)
      source.addEventListener('metrics', (message) => {
        for (const point of JSON.parse(message.data).payload.points) seen.epochs.push(point.epoch)
      })
      const stale = new EventSource('/api/sse?channels=metrics:${id}&last_event_id=999999999')
      stale.addEventListener('reset', () => {
        seen.resets++
        stale.close()
      })
    }`)
    const seen = (): Promise<{ epochs: number[]; resets: number; opens: number }> => page.evaluate('seen')
    await expect.poll(async () => (await seen()).opens, SOON).toBeGreaterThan(0)
    let sent = 0
    // Until it was cut twice: the browser decides when it reconnects.
    while (sent < 80 || (await seen()).opens < 3) {
      await epoch(id, ++sent)
      await sleep(20)
    }
    await expect.poll(async () => (await seen()).epochs.length, SOON).toBe(sent)
    await expect.poll(async () => (await seen()).resets, SOON).toBe(1)
    expect((await seen()).epochs).toEqual(Array.from({ length: sent }, (_, i) => i + 1))
    await page.close()
    await proxy.close()
  })

  test('the example of docs/api.md works unchanged', async () => {
    const id = await beginBatch()
    await epoch(id, 1)
    const text = readFileSync(join(import.meta.dirname, '../../docs/api.md'), 'utf8')
    const example = /<!-- example: follow a batch -->\n```js\n([\s\S]*?)```/.exec(text)?.[1] as string
    const page = await openPage(app.address)
    const said: string[] = []
    page.on('console', (message) => void said.push(message.text()))
    await page.evaluate(`(async () => { ${example.replace('my-batch', id)} })()`)
    await expect.poll(() => said, SOON).toContain('RUNNING 1 jobs')
    await epoch(id, 2)
    await expect.poll(() => said, SOON).toContain('job-1 2 {loss: 0.5}')
    await door.send(makeEvent('batch_done', { batch_id: id, timestamp: '2026-03-01T11:00:00Z' }))
    await expect.poll(() => said, SOON).toContain('completed')
    await page.close()
  })
})

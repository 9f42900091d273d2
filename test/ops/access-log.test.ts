import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'

let app: TestApp
let ada: Awaited<ReturnType<TestApp['register']>>
let reporter: string
beforeAll(async () => {
  // Answers are logged at any log level if the setting is on.
  app = await startTestApp({ accessLog: true, logLevel: 'error' })
  ada = await app.register('ada@example.org')
  reporter = await app.reporterToken(ada.token)
})
afterAll(() => app?.stop())

type Line = Record<string, unknown> & { msg: string; path: string; route?: string; status: number }
const lines = (): Line[] =>
  app
    .logged()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
const requests = (path: string): Line[] =>
  lines().filter((line) => line.msg === 'request' && line.path === path)

test('each answer is one line with method, path, route, status, duration, bytes, address and request id', async () => {
  const event = makeEvent('batch_start', { batch_id: 'seen' })
  expect((await app.call('POST', '/api/events', { token: reporter, body: event })).status).toBe(200)
  const answer = await app.call('GET', '/api/batches/seen', { token: ada.token })
  await app.call('GET', '/api/batches/unknown?with=query', { token: ada.token })
  // The line is written after the answer was sent, which the client may have earlier.
  await expect.poll(() => requests('/api/batches/unknown')).toHaveLength(1)
  const [line] = requests('/api/batches/seen')
  expect(line).toMatchObject({
    level: 30,
    method: 'GET',
    route: '/api/batches/:id',
    status: 200,
    address: '127.0.0.1',
    request_id: answer.headers['x-request-id'],
    bytes: Buffer.byteLength(JSON.stringify(answer.body)),
  })
  expect(line?.ms).toBeGreaterThan(0)
  expect(line).not.toHaveProperty('cut_off')
  expect(requests('/api/events')).toMatchObject([{ method: 'POST', status: 200 }])
  expect(requests('/api/batches/unknown')).toMatchObject([{ status: 422 }])
})

test('no line contains a secret: tokens, cookies, query strings, links of shares and mails', async () => {
  const share = await app.call('POST', '/api/batches/seen/shares', { token: ada.token, body: {} })
  const { token } = share.body
  await app.call('GET', `/api/shared/${token}`)
  await app.call('GET', `/s/${token}`)
  await app.call('GET', `/s/${token}/charts`)
  await app.call('GET', '/verify/short-secret')
  await app.call('GET', '/mail/short-secret')
  await app.call('GET', `/api/batches?token=${reporter}`, { cookie: ada.cookie })
  await app.call('GET', `/api/nothing/${reporter}`)
  await expect.poll(() => lines().filter(({ path }) => path?.startsWith('/api/nothing/'))).toHaveLength(1)
  const cookie = ada.cookie.split('=')[1] as string
  for (const secret of [token, reporter, cookie, ada.token, 'short-secret'])
    expect(app.logged().includes(secret)).toBe(false)
  expect(requests('/api/shared/[hidden]')).toMatchObject([{ route: '/api/shared/:token', status: 200 }])
  expect(requests('/s/[hidden]')).toHaveLength(1)
  expect(requests('/s/[hidden]/charts')).toHaveLength(1)
  expect(lines().filter(({ route }) => /^\/(verify|mail)\/:token$/.test(route ?? ''))).toHaveLength(2)
})

test('a stream is one line when it ends, and a client that disconnects before the end is marked', async () => {
  const { port } = new URL(app.address)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `GET /api/sse?channels=dashboard HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${ada.token}\r\nAccept: text/event-stream\r\n\r\n`,
  )
  await new Promise((resolve) => socket.once('data', resolve))
  expect(requests('/api/sse')).toEqual([])
  socket.destroy()
  await expect.poll(() => requests('/api/sse')).toMatchObject([{ status: 200, cut_off: true }])
})

test('without the setting no answer is logged', async () => {
  const other = await startTestApp({ logLevel: 'info' })
  await other.call('GET', '/livez')
  await other.call('GET', '/livez')
  expect(other.logged()).not.toContain('"msg":"request"')
  await other.stop()
})

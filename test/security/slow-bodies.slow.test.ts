import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openTransaction } from '../kit/open-transaction.ts'
import { SOON } from '../live/stream.ts'
import { firstByteOf, openRaw, type RawSocket } from './raw-socket.ts'

// Requests that never end cost only the client that sends them.

const TIMEOUTS = { headers: 10, body: 30, idle: 300, read: 60 }
let app: TestApp
let sockets: RawSocket[] = []
afterEach(async () => {
  for (const { socket } of sockets) socket.destroy()
  sockets = []
  await app?.stop()
})

const gauge = async (name: string): Promise<number> =>
  Number(
    new RegExp(`^${name} (\\d+)$`, 'm').exec((await app.call('GET', '/metrics')).body as string)?.[1] ?? -1,
  )

test('1,005 sockets that each send one byte of a body take no slot of other clients', async () => {
  app = await startTestApp()
  const { token } = await app.register()
  const reporter = await app.reporterToken(token)
  sockets = await Promise.all(
    Array.from({ length: 1_005 }, (_, i) =>
      openRaw(
        app.address,
        i % 2 === 0
          ? firstByteOf('/api/auth/login', 1_000)
          : firstByteOf('/api/events', 1_000, `authorization: Bearer ${reporter}\r\n`),
      ),
    ),
  )
  await vi.waitFor(async () => expect(await gauge('svc_http_bodies_waiting')).toBeGreaterThan(900), SOON)
  expect(await gauge('svc_http_requests_in_flight')).toBe(0)
  for (let i = 0; i < 20; i++) {
    const stored = await app.call('POST', '/api/events', { token: reporter, body: makeEvent('batch_start') })
    expect(stored.status).toBe(200)
    expect((await app.call('GET', '/api/batches', { token })).status).toBe(200)
  }
}, 120_000)

test('of an address with too many unfinished bodies the oldest are closed, not its next request', async () => {
  app = await startTestApp({ perAddress: { requests: 5, streams: 50 } })
  sockets = await Promise.all(
    Array.from({ length: 20 }, () => openRaw(app.address, firstByteOf('/api/auth/login', 1_000))),
  )
  const ended = () => sockets.filter(({ said }) => said().startsWith('HTTP/1.1 408')).length
  await vi.waitFor(() => expect(ended()).toBe(15), SOON)
  expect((await app.register()).user.role).toBe('admin')
}, 60_000)

test('a body that does not arrive in time is 408 request_timeout, and the connection is closed', async () => {
  app = await startTestApp({ timeouts: { ...TIMEOUTS, body: 1 } })
  const socket = await openRaw(app.address, firstByteOf('/api/auth/login', 1_000))
  sockets.push(socket)
  await socket.closed
  expect(socket.said()).toMatch(/^HTTP\/1\.1 408 /)
  expect(socket.said()).toContain('"code":"request_timeout"')
  expect(await gauge('svc_http_bodies_timed_out_total')).toBe(1)
}, 60_000)

test('the body of a request that was already refused has the same time limit', async () => {
  app = await startTestApp({ timeouts: { ...TIMEOUTS, body: 1 } })
  const socket = await openRaw(app.address, firstByteOf('/api/tokens', 1_000))
  sockets.push(socket)
  await socket.closed
  expect(socket.said()).toContain('"code":"unauthenticated"')
}, 60_000)

test('a long body that arrives at a sufficient rate may take longer than the timeout', async () => {
  app = await startTestApp({ timeouts: { ...TIMEOUTS, body: 1 } })
  const { token } = await app.register()
  const reporter = await app.reporterToken(token)
  const event = JSON.stringify(makeEvent('log_line', { data: { line: 'x'.repeat(150_000), level: 'info' } }))
  const head = `POST /api/events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer ${reporter}\r\nconnection: close\r\ncontent-length: ${event.length}\r\n\r\n`
  const raw = await openRaw(app.address, head)
  sockets.push(raw)
  for (let at = 0; at < event.length; at += 15_000) {
    raw.socket.write(event.slice(at, at + 15_000))
    await sleep(250)
  }
  await raw.closed
  expect(raw.said()).toMatch(/^HTTP\/1\.1 200 /)
}, 60_000)

test('a connection without complete headers in time is closed, and so is one that sends nothing', async () => {
  app = await startTestApp({ timeouts: { ...TIMEOUTS, headers: 1 } })
  sockets.push(await openRaw(app.address, 'GET /livez HTTP/1.1\r\nhost: loc'))
  sockets.push(await openRaw(app.address, ''))
  await Promise.all(sockets.map(({ closed }) => closed))
  expect(sockets[0]?.said()).toMatch(/^HTTP\/1\.1 408 /)
}, 60_000)

test('the number of concurrent requests of an address is limited; the next is 429 with Retry-After, but its events are accepted', async () => {
  app = await startTestApp({ perAddress: { requests: 1, streams: 50 } })
  const { token } = await app.register()
  const reporter = await app.reporterToken(token)
  const held = await openTransaction(app.sql, (tx) => tx`lock table batches in access exclusive mode`)
  const list = () => app.call('GET', '/api/batches', { token })
  const waiting = list()
  await vi.waitFor(async () => expect(await gauge('svc_http_requests_in_flight')).toBe(1), SOON)
  const refused = await list()
  expect([refused.status, refused.body.code]).toEqual([429, 'too_many_requests'])
  expect(refused.headers['retry-after']).toBe('1')
  // The Accept of a stream exempts streams alone.
  const headers = { accept: 'text/event-stream' }
  const password = { email: 'stranger@example.org', password: 'a wrong password' }
  expect((await app.call('POST', '/api/auth/login', { body: password, headers })).status).toBe(429)
  const event = app.call('POST', '/api/events', { token: reporter, body: makeEvent('batch_start') })
  await vi.waitFor(async () => expect(await gauge('svc_http_requests_in_flight')).toBe(2), SOON)
  await held.release()
  expect((await Promise.all([waiting, event])).map(({ status }) => status)).toEqual([200, 200])
}, 60_000)

test('a client that disconnects in the middle of its request does not count as a database outage', async () => {
  app = await startTestApp({ logLevel: 'info' })
  const { token } = await app.register()
  const reporter = await app.reporterToken(token)
  for (const path of ['/api/events', '/api/auth/login']) {
    const raw = await openRaw(app.address, firstByteOf(path, 1_000, `authorization: Bearer ${reporter}\r\n`))
    await vi.waitFor(async () => expect(await gauge('svc_http_bodies_waiting')).toBe(1), SOON)
    raw.socket.resetAndDestroy()
    await vi.waitFor(async () => expect(await gauge('svc_http_bodies_waiting')).toBe(0), SOON)
  }
  expect(await gauge('svc_database_outages_total')).toBe(0)
  expect(await gauge('svc_database_faults_total')).toBe(0)
  expect(app.logged()).not.toMatch(/database cannot be used|ECONNRESET/)
}, 60_000)

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { type OpenStream, openStream, SOON } from '../live/stream.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ perAddress: { requests: 2, streams: 3 }, trustProxy: true })
})
afterAll(() => app?.stop())

const follow = (address: string): Promise<OpenStream> =>
  openStream(app.address, ['dashboard'], { headers: { 'x-forwarded-for': address } })

test('the number of open streams of an address is limited; the next is 429, another address is served, a closed one makes room', async () => {
  const open = [await follow('192.0.2.1'), await follow('192.0.2.1'), await follow('192.0.2.1')]
  expect(open.map(({ status }) => status)).toEqual([200, 200, 200])
  const refused = await app.call('GET', '/api/sse?channels=dashboard', {
    headers: { 'x-forwarded-for': '192.0.2.1' },
  })
  expect([refused.status, refused.body.code]).toEqual([429, 'too_many_streams'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  const operation = await app.call('POST', '/graphql', {
    headers: { 'x-forwarded-for': '192.0.2.1', accept: 'text/event-stream' },
    body: { query: 'subscription { live(channels: ["dashboard"]) { channel } }' },
  })
  expect([operation.status, operation.body.code]).toEqual([429, 'too_many_streams'])
  // Entries further left in the header were written by the client.
  const claimed = await app.call('GET', '/api/sse?channels=dashboard', {
    headers: { 'x-forwarded-for': '203.0.113.9, 192.0.2.1' },
  })
  expect(claimed.status).toBe(429)
  const other = await follow('192.0.2.2')
  expect(other.status).toBe(200)
  open[0]?.cut()
  await vi.waitFor(async () => {
    const again = await follow('192.0.2.1')
    expect(again.status).toBe(200)
    open.push(again)
  }, SOON)
  for (const stream of [...open, other]) stream.cut()
}, 60_000)

test('the addresses of one /64 share their streams; another /64 has its own', async () => {
  const open = [
    await follow('2001:db8::1'),
    await follow('2001:db8::ffff:2'),
    await follow('2001:DB8:0:0::3'),
  ]
  expect(open.map(({ status }) => status)).toEqual([200, 200, 200])
  const refused = await app.call('GET', '/api/sse?channels=dashboard', {
    headers: { 'x-forwarded-for': '2001:db8::4' },
  })
  expect([refused.status, refused.body.code]).toEqual([429, 'too_many_streams'])
  const other = await follow('2001:db8:0:1::1')
  expect(other.status).toBe(200)
  for (const stream of [...open, other]) stream.cut()
})

test('the addresses of one /64 share their requests at a time; another /64 has its own', async () => {
  const session = (await app.register()).token
  const list = (address: string) =>
    app.call('GET', '/api/projects', { token: session, headers: { 'x-forwarded-for': address } })
  let waiting: Promise<unknown>[] = []
  await app.sql.begin(async (tx) => {
    await tx`/* test.hold */ lock table projects in access exclusive mode`
    waiting = [list('2001:db8::1'), list('2001:db8::2')]
    await vi.waitFor(async () => {
      const { status, body } = await app.call('GET', '/api/settings', {
        headers: { 'x-forwarded-for': '2001:db8::3' },
      })
      expect([status, body.code]).toEqual([429, 'too_many_requests'])
    }, SOON)
    const other = await app.call('GET', '/api/settings', {
      headers: { 'x-forwarded-for': '2001:db8:0:1::1' },
    })
    expect(other.status).toBe(200)
  })
  await Promise.all(waiting)
})

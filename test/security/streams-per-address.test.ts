import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { type OpenStream, openStream, SOON } from '../live/stream.ts'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ perAddress: { requests: 500, streams: 3 }, trustProxy: true })
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

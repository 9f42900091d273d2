import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { type OpenStream, openStream, SOON } from '../live/stream.ts'

// What counts as a request in progress depends on the answer, not on the Accept of the request.

const SUBSCRIPTION = 'subscription { live(channels: ["dashboard"]) { channel } }'
let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ perAddress: { requests: 2, streams: 10 } })
})
afterAll(() => app?.stop())

const follow = (accept: string): Promise<OpenStream> =>
  openStream(app.address, [], {
    path: `/graphql?query=${encodeURIComponent(SUBSCRIPTION)}`,
    headers: { accept },
  })

test('subscriptions take no places of requests, whichever Accept allows the stream', async () => {
  const open: OpenStream[] = []
  for (const accept of ['application/json, text/event-stream', '*/*', 'text/event-stream', 'text/*']) {
    const stream = await follow(accept)
    expect([stream.status, stream.headers['content-type']], accept).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
    open.push(stream)
  }
  const query = await app.call('POST', '/graphql', { body: { query: '{ __typename }' } })
  expect(query.status).toBe(200)
  for (const stream of open) stream.cut()
})

test('a request for a stream is refused like others while the places are taken, and GET /api/sse is not', async () => {
  const session = (await app.register()).token
  let waiting: Promise<unknown>[] = []
  await app.sql.begin(async (tx) => {
    await tx`/* test.hold */ lock table projects in access exclusive mode`
    waiting = [1, 2].map(() => app.call('GET', '/api/projects', { token: session }))
    for (const [path, query] of [
      ['/graphql', '{ __typename }'],
      ['/graphql', SUBSCRIPTION],
      ['/api/sse', SUBSCRIPTION],
    ] as const) {
      await vi.waitFor(async () => {
        const { status, body } = await app.call('POST', path, {
          headers: { accept: 'text/event-stream' },
          body: { query: query === SUBSCRIPTION ? 'subscription { none }' : query },
        })
        expect([status, body.code], `${path} ${query}`).toEqual([429, 'too_many_requests'])
      }, SOON)
    }
    const stream = await openStream(app.address, ['dashboard'])
    expect(stream.status).toBe(200)
    stream.cut()
  })
  await Promise.all(waiting)
})

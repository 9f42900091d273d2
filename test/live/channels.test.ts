import { afterAll, expect, test } from 'vitest'
import { createChannels } from '../../src/graphql/channels.ts'
import { createContext } from '../../src/graphql/context.ts'
import { servedSchema } from '../../src/graphql/schema.ts'
import { makeFrame, resetFrame } from '../../src/stream/frame.ts'

// The messages of GET /api/sse are results of subscriptions, executed and written once a frame.

let contexts = 0
const channels = createChannels({
  schema: servedSchema(),
  contextFor: (caller, live) => {
    contexts++
    return createContext({ caller, live, db: null as never, prisma: null as never, clock: null as never })
  },
})
afterAll(() => channels.stop())

let seq = 0
const frameOf = (channel: string, payload: unknown) =>
  makeFrame({
    seq: ++seq,
    channel,
    kind: channel.split(':')[0] as string,
    type: 'summary',
    at: '2026-03-01T10:00:00.000001Z',
    payload: JSON.stringify(payload),
  })
const PAYLOAD = {
  batch: { id: 'b', latest: { loss: 'NaN', größe: 1e-7 } },
  jobs: [{ job_id: 'j', params: { '10': [null] } }],
}

test.each([
  'batch:b',
  'batch:with:colons, "quotes" and\\',
  'metrics:b',
  'logs:b',
  'resources:b',
  'project:vision',
  'host:00000000-0000-4000-8000-000000000001',
  'hosts',
  'dashboard',
  'share:abc',
])('the message of %s has the data of the frame', async (channel) => {
  const frame = frameOf(channel, PAYLOAD)
  const data = { channel, type: 'summary', at: '2026-03-01T10:00:00.000001Z', payload: PAYLOAD }
  const event = `id: ${frame.seq}\nevent: ${channel.split(':')[0]}\ndata: ${JSON.stringify(data)}\n\n`
  expect((await channels.messageOf(frame)).toString()).toBe(event)
  expect(frame.payload()).toEqual(PAYLOAD)
})

test('a reset is about all channels', async () => {
  const frame = resetFrame(7, 'cursor_too_old', new Date('2026-03-01T10:00:00Z'))
  expect((await channels.messageOf(frame)).toString()).toBe(
    'id: 7\nevent: reset\ndata: {"channel":null,"type":"reset","at":"2026-03-01T10:00:00.000Z","payload":{"reason":"cursor_too_old"}}\n\n',
  )
})

test('a thousand streams share one execution and one text of each frame, in order', async () => {
  contexts = 0
  const frames = Array.from({ length: 50 }, (_, n) => frameOf('logs:shared', { n }))
  const streams = Array.from({ length: 1_000 }, async () => {
    const got: Buffer[] = []
    for (const frame of frames) got.push(frame.message ?? (await channels.messageOf(frame)))
    return got
  })
  const [first = [], ...others] = await Promise.all(streams)
  expect(first.map((message) => JSON.parse(/data: (.*)/.exec(String(message))?.[1] ?? '').payload.n)).toEqual(
    frames.map((_, n) => n),
  )
  for (const other of others) expect(other.every((message, n) => message === first[n])).toBe(true)
  expect(contexts).toBe(1)
})

test('a frame that cannot be written fails alone', async () => {
  const broken = makeFrame({
    seq: 1,
    channel: 'batch:broken',
    kind: 'batch',
    type: 'summary',
    at: '',
    payload: '{',
  })
  await expect(channels.messageOf(broken)).rejects.toThrow(/failed/)
  const next = frameOf('batch:broken', { fine: true })
  expect(String(await channels.messageOf(next))).toContain('"payload":{"fine":true}')
})

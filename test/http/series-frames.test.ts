import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSeriesFrames, SERIES_FRAMES } from '../../web/src/lib/api/series-frames.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'

// What the page reads of a chart, with the page's own reader, against the same in JSON.

let door: Door
beforeAll(async () => {
  door = await openDoor()
  const events = []
  for (const [n, job_id] of ['one', 'zwei — "2"', 'x'.repeat(100)].entries()) {
    for (let epoch = 0; epoch < 100 + 7 * n; epoch++) {
      const odd = epoch % 13 === 0 ? 'NaN' : epoch % 17 === 0 ? '-Infinity' : Math.exp(-epoch / 9)
      events.push(
        makeEvent('job_epoch', {
          batch_id: 'framed',
          job_id,
          timestamp: new Date(Date.UTC(2026, 2, 1, 10) + epoch * 1000).toISOString(),
          data: { epoch, train_loss: 1 / (epoch + 3), odd, ...(epoch === 4 && { 'ψ,1': -0 }) },
        }),
      )
    }
  }
  await store(events)
})
async function store(events: unknown[]): Promise<void> {
  const { body } = await door.sendAll(events)
  expect(body.results.filter((one: object) => 'error' in one)).toEqual([])
}
afterAll(async () => {
  await door?.stop()
})

const ask = (query: string, accept?: string): Promise<Response> =>
  fetch(`${door.app.address}/api/batches/framed/metrics${query}`, {
    headers: { authorization: `Bearer ${door.session}`, ...(accept && { accept }) },
  })
interface Answered {
  series: Record<string, unknown>[]
}
/** NaN and infinities as strings, as in JSON answers. */
const asJson = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value, (_, one) => (typeof one === 'number' && !Number.isFinite(one) ? String(one) : one)),
  )

test.each([
  '',
  '?points=20',
  '?points=21&smooth=0.8',
  '?x=wall&keys=odd',
  '?x=relative&smooth=.5&points=30',
  '?from=5&to=50',
  '?keys=nothing',
])('frames and JSON contain the same series: %s', async (query) => {
  const framed = await ask(query, `${SERIES_FRAMES}, application/json;q=0.5`)
  expect(framed.headers.get('content-type')).toBe(SERIES_FRAMES)
  expect(framed.headers.get('vary')).toMatch(/accept\b/i)
  const plain = await ask(query)
  expect(plain.headers.get('content-type')).toMatch(/^application\/json/)
  const { series } = (await plain.json()) as Answered
  expect(asJson(readSeriesFrames(await framed.arrayBuffer()))).toEqual(series)
  expect(series.length).toBe(
    query === '?keys=nothing' ? 0 : query.includes('odd') ? 3 : query.includes('from') ? 6 : 9,
  )
})

test('an answer of many chunks, with series larger than a chunk, is complete', async () => {
  for (let begin = 0; begin < 9_000; begin += 500) {
    const events = Array.from({ length: 500 }, (_, i) =>
      makeEvent('job_epoch', {
        batch_id: 'framed',
        job_id: 'long',
        data: { epoch: begin + i, long: Math.random() },
      }),
    )
    await store(events)
  }
  const { series } = (await (await ask('?keys=long,train_loss')).json()) as Answered
  const read = readSeriesFrames(await (await ask('?keys=long,train_loss', SERIES_FRAMES)).arrayBuffer())
  expect(asJson(read)).toEqual(series)
  expect(read.find(({ key }) => key === 'long')?.steps.length).toBe(9_000)
})

test('the last frame contains the fields of the answer besides its series', async () => {
  const bytes = Buffer.from(
    await (await ask('?keys=train_loss&clip=0.1&points=10', SERIES_FRAMES)).arrayBuffer(),
  )
  const { clips } = (await (await ask('?keys=train_loss&clip=0.1&points=10')).json()) as { clips: unknown }
  const last = bytes.subarray(bytes.lastIndexOf('{"end"')).toString()
  expect(JSON.parse(last)).toEqual({ end: true, clips })
})

test('a truncated answer is an error, and an error answer stays JSON', async () => {
  const bytes = await (await ask('?points=20', SERIES_FRAMES)).arrayBuffer()
  const whole = readSeriesFrames(bytes)
  expect(whole.length).toBe(10)
  for (const length of [0, 3, 200, bytes.byteLength - 24])
    expect(() => readSeriesFrames(bytes.slice(0, length)), `${length} bytes`).toThrow()
  const refused = await ask('?points=1', SERIES_FRAMES)
  expect(refused.status).toBe(422)
  expect(refused.headers.get('content-type')).toMatch(/^application\/problem\+json/)
})

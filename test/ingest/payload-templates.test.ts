import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { canonicalInstant } from '../../src/db/instant.ts'
import {
  payloadEpoch,
  payloadText,
  splitPayload,
  templateOf,
  withTemplate,
} from '../../src/domain/events/index.ts'
import type { Checked } from '../../src/ingest/envelope.ts'
import { createTemplateCache } from '../../src/ingest/templates.ts'
import { collectGarbage } from '../kit/collect-garbage.ts'
import { type Door, makeEvent, openDoor } from './sending.ts'

// Events that share a template keep only their numbers (src/domain/events/payload.ts), and read as they were sent.

let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.integer().map(String),
  fc.constantFrom('-0', '0.10', '1E+5', '2e-07', '1.0', '0', '-1.5e10', '1e400'),
)
const instants = fc
  .date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true })
  .chain((date) =>
    fc.constantFrom(
      date.toISOString(),
      date.toISOString().replace(/\.\d+/, ''),
      date.toISOString().replace('Z', '417Z'),
      date.toISOString().replace('Z', '4179Z'),
      date.toISOString().replace(/\.\d+/, '.5'),
    ),
  )
const texts = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom('12.5', '"', '\\', '\\"7', '2026-03-01T10:00:00Z', 'é\u2028', '\u0001\u0002\u0003'),
)
const events = fc
  .record({
    eventId: fc.uuid(),
    timestamp: instants,
    epoch: numbers,
    keys: fc.uniqueArray(texts, { maxLength: 5 }),
    values: fc.array(numbers, { minLength: 5, maxLength: 5 }),
    note: texts,
    space: fc.constantFrom('', ' ', '\t'),
    upper: fc.boolean(),
  })
  .map(({ eventId, timestamp, epoch, keys, values, note, space, upper }) => {
    const fields = keys.map((key, i) => `${JSON.stringify(key)}:${space}${values[i]}`).join(',')
    const id = upper ? eventId.toUpperCase() : eventId
    const json = `{"event_id":${space}"${id}","timestamp":"${timestamp}","note":${JSON.stringify(note)},"same":"${id}","data":{"epoch":${epoch}${space},"in":[${values}${space}],"more":{${fields}}},"epoch":7}`
    return { eventId, timestamp, json, epoch: Number(epoch) }
  })

test('a template and its numbers give back the text of the event, byte for byte, and its epoch', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(events, { minLength: 1, maxLength: 20 }), async (list) => {
      const rows = list.map(({ eventId, timestamp, json }) => {
        const at = canonicalInstant(timestamp)
        const split = splitPayload(json, { eventId, timestamp, at })
        const made = templateOf(split?.template as string)
        return { eventId, at, made, packed: Buffer.concat([made.hash, split?.numbers as Buffer]) }
      })
      const read = (asked: 'text' | 'epoch') => door.sql<{ said: string | number }[]>`
        with given as (
          select * from unnest(${rows.map((r) => r.eventId)}::uuid[], ${rows.map((r) => r.at)}::timestamptz[],
            ${rows.map((r) => r.packed.toString('hex'))}::text[], ${rows.map((r) => r.made.template)}::text[],
            ${rows.map((r) => r.made.epochAt)}::int[]) with ordinality as g (event_id, ts, hex, template, epoch_at, n)),
        payload_templates as (select distinct on (hash) 1 batch_key, substr(decode(hex, 'hex'), 1, 6) hash, template, epoch_at from given),
        events as (select n, 1 batch_key, event_id, ts, null::text payload, decode(hex, 'hex') packed from given)
        select ${asked === 'text' ? payloadText(door.sql) : payloadEpoch(door.sql)} said
        from events e ${withTemplate(door.sql)} order by e.n`
      expect((await read('text')).map((row) => row.said)).toEqual(list.map((event) => event.json))
      if (list.every(({ epoch }) => Number.isSafeInteger(epoch)))
        expect((await read('epoch')).map((row) => row.said)).toEqual(list.map(({ epoch }) => epoch + 0))
    }),
    { numRuns: 100 },
  )
})

const stored = (batch: string) => door.sql<{ said: string; payload: string | null; packed: Buffer | null }[]>`
  select ${payloadText(door.sql)} said, e.payload, e.packed from events e ${withTemplate(door.sql)}
  join batches b on b.key = e.batch_key where b.id = ${batch} order by e.db_id`

const epoch = (batch: string, n: number) =>
  makeEvent('job_epoch', {
    batch_id: batch,
    timestamp: new Date(Date.UTC(2026, 2, 1) + n).toISOString(),
    data: { epoch: n, loss: Math.exp(-n), 'top "1"': n / 7 },
  })

test('from the second event of a form on, only the numbers of an event are stored, both single and in arrays', async () => {
  const single = Array.from({ length: 6 }, (_, n) => epoch('singles', n))
  for (const event of single) expect(await door.send(event)).toMatchObject({ status: 200 })
  const array = Array.from({ length: 50 }, (_, n) => epoch('arrays', n))
  await door.sendAll(array)
  for (const [batch, sent] of [
    ['singles', single],
    ['arrays', array],
  ] as const) {
    const rows = await stored(batch)
    expect(rows.map((row) => row.said)).toEqual(sent.map((event) => JSON.stringify(event)))
    expect(rows.filter((row) => row.packed === null)).toHaveLength(1)
    expect(rows.filter((row) => (row.packed === null) === (row.payload === null))).toEqual([])
    expect(Math.max(...rows.map((row) => row.packed?.length ?? 0))).toBeLessThan(40)
  }
  const [again] = (await door.sendAll([single[3]])).body.results
  expect(again).toMatchObject({ deduplicated: true })
})

test('a server that dropped a template from its cache stores it again, and the cache stays within its limit', () => {
  const cache = createTemplateCache(2_000)
  const pack = (batch: number): boolean => {
    const { event_id: eventId, timestamp } = epoch('forgotten', 1)
    const event = { ...epoch('forgotten', 1), event_id: eventId, timestamp }
    const checked = { event, eventId, at: canonicalInstant(timestamp), json: JSON.stringify(event) }
    return cache.pack(batch, checked as unknown as Checked, new Map()) !== undefined
  }
  expect([pack(1), pack(1), pack(2), pack(2)]).toEqual([false, true, false, true])
  for (let batch = 3; batch < 20; batch++) pack(batch)
  expect([pack(19), pack(1), pack(1)]).toEqual([true, false, true])
})

test('a cached template does not keep the body of the request that its event came in', async () => {
  const cache = createTemplateCache()
  const packFrom = (body: string, n: number): void => {
    const event = JSON.parse(body)[0]
    const json = body.slice(1, body.indexOf('},{') + 1)
    const checked = { event, eventId: event.event_id, at: canonicalInstant(event.timestamp), json }
    cache.pack(n, checked as unknown as Checked, new Map())
    // Every second one is kept as a template, the others as seen once.
    if (n % 2 === 0) cache.pack(n, checked as unknown as Checked, new Map())
  }
  await collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let n = 0; n < 100; n++)
    packFrom(JSON.stringify([epoch('body', n), { filler: String(n).repeat(1e6) }]), n)
  await collectGarbage()
  expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(20)
})

test('an event with a time too far in the future comes back as it was sent', async () => {
  const ahead = [1, 2, 3].map((n) => ({
    ...epoch('ahead', n),
    timestamp: `${new Date().getUTCFullYear() + 2}-03-01T10:00:0${n}Z`,
  }))
  for (const event of ahead) await door.send(event)
  expect((await stored('ahead')).map((row) => row.said)).toEqual(ahead.map((event) => JSON.stringify(event)))
})

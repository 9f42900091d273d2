import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CopyRows } from '../../src/db/copy.ts'
import { openPipeline, type Pipeline } from '../../src/db/pipeline.ts'
import { fragment, type SqlFragment } from '../../src/db/sql-fragment.ts'
import { payloadText, withTemplate } from '../../src/domain/events/index.ts'
import { copyEpochs, type EpochRow, insertEpochs } from '../../src/domain/metrics/index.ts'
import { type Claim, copyEvents, storeEvents } from '../../src/ingest/claim.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { type Door, makeEvent, openDoor } from './sending.ts'

// A pipelined group is written by COPY, any other by INSERT (src/ingest/write.ts): the rows are the same.

let database: TestDatabase
let trips: Pipeline
let door: Door
beforeAll(async () => {
  database = await freshDatabase()
  trips = openPipeline(database.url, { name: 'test' })
  while (!trips.ready) await new Promise((resolve) => setTimeout(resolve, 10))
  door = await openDoor()
})
afterAll(async () => {
  await door?.stop()
  await trips?.end()
  await database?.drop()
})

const instants = fc
  .date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true })
  .map((date) => date.toISOString().replace('Z', '417Z'))
const keys = fc.integer({ min: 1, max: 2 ** 40 })

const claims = fc
  .uniqueArray(
    fc.record({
      eventId: fc.uuid(),
      batchKey: keys,
      jobKey: fc.option(keys),
      type: fc.constantFrom('job_epoch', 'log_line', 'batch_done'),
      at: instants,
      packed: fc.option(
        fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
        { nil: undefined },
      ),
      json: fc
        .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue())
        .map((data) => JSON.stringify(data)),
    }),
    { selector: (one) => one.eventId, minLength: 1, maxLength: 20 },
  )
  .map((some) =>
    some.map(
      ({ eventId, batchKey, jobKey, type, at, packed, json }, i) =>
        ({
          eventId,
          batchKey,
          jobKey,
          packed,
          incoming: { event: { event_type: type }, dbId: i + 1, at, json },
        }) as unknown as Claim,
    ),
  )

const epochs = fc
  .array(
    fc.record({
      epoch: fc.maxSafeInteger(),
      at: instants,
      vals: fc.array(fc.option(fc.double(), { nil: undefined }), { maxLength: 12 }),
    }),
    { minLength: 1, maxLength: 20 },
  )
  .map((some) =>
    some.map(
      (one, i): EpochRow => ({
        ...one,
        batchKey: i + 1,
        jobKey: i + 1,
        dbId: i + 1,
        stamp: '',
        stamps: null,
      }),
    ),
  )

async function expectBothWays(
  table: string,
  copy: CopyRows,
  insert: SqlFragment,
  rows: number,
): Promise<void> {
  const { sql } = database
  // Each transaction has its own time of receipt.
  const read = () => sql`select to_jsonb(t) - 'received_at' as row from ${sql(table)} t order by db_id`
  await sql`truncate ${sql(table)}`
  await trips.run([{ name: copy.text, text: copy.text, values: [], rows: copy }])
  const copied = await read()
  await sql`truncate ${sql(table)}`
  await fragment(sql, insert)
  expect(copied).toEqual(await read())
  expect(copied).toHaveLength(rows)
}

test('events become the same rows by COPY and by INSERT', async () => {
  await fc.assert(
    fc.asyncProperty(claims, (some) =>
      expectBothWays('events', copyEvents(some), storeEvents(some), some.length),
    ),
  )
})

test('epochs become the same rows by COPY and by INSERT', async () => {
  await fc.assert(
    fc.asyncProperty(epochs, (some) =>
      expectBothWays('epochs', copyEpochs(some), insertEpochs(some), some.length),
    ),
  )
})

test('each event of an array is stored with exactly the text that was sent', async () => {
  const start = makeEvent('batch_start', { batch_id: 'texts' })
  expect((await door.send(start)).status).toBe(200)
  const one = makeEvent('job_epoch', {
    batch_id: 'texts',
    job_id: 'a',
    data: { epoch: 1, loss: 0.5, 'x}"[': 1 },
  })
  const two = makeEvent('job_epoch', { batch_id: 'texts', job_id: 'a', data: { epoch: 2, loss: 0.25 } })
  const spaced = JSON.stringify(two).replaceAll(',"', ', "')
  const body = ` [ [{"a": ["]"]}], ${JSON.stringify(one)} ,${spaced}] `
  const answer = await fetch(`${door.app.address}/api/events/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${door.token}`, 'content-type': 'application/json' },
    body,
  })
  expect(answer.status).toBe(200)
  const stored = await door.sql<{ event_id: string; payload: string }[]>`
    select e.event_id, ${payloadText(door.sql)} payload from events e ${withTemplate(door.sql)}
    where e.event_id in (${one.event_id as string}, ${two.event_id as string}) order by e.db_id`
  expect(stored.map((row) => row.payload)).toEqual([JSON.stringify(one), spaced])
})

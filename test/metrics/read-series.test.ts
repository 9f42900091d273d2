import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { readSeries } from '../../src/domain/metrics/index.ts'
import { asTheyAre } from '../../src/domain/telemetry.ts'
import { createWriter } from '../../src/stream/commit.ts'
import { codeOf } from '../../src/thrown.ts'
import { createPacker } from '../../src/workers/pack.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'

let door: Door
let one: Sql
let batchKey: number
beforeAll(async () => {
  door = await openDoor()
  one = openSql(door.app.config.databaseUrl as string, { name: 'one connection', max: 1 })
  for (let begin = 0; begin < 6_000; begin += 500) {
    const events = Array.from({ length: 500 }, (_, i) =>
      makeEvent('job_epoch', { batch_id: 'long', data: { epoch: begin + i, loss: begin + i } }),
    )
    expect((await door.sendAll(events)).status).toBe(200)
  }
  batchKey = (await door.sql`select key from batches where id = 'long'`)[0]?.key
})
afterAll(async () => {
  await one?.end({ timeout: 1 })
  await door?.stop()
})

async function points(to: number): Promise<number> {
  let count = 0
  for await (const { steps } of readSeries(asTheyAre(one), batchKey, { to })) count += steps.length
  return count
}

test.each(['unpacked', 'packed'])('an answer of any size leaves the connection usable, %s', async (state) => {
  if (state === 'packed') {
    await door.send(makeEvent('job_done', { batch_id: 'long', timestamp: '2026-03-01T11:00:00Z' }))
    await createPacker({ sql: door.sql, writer: createWriter(door.sql) }).round()
    const [largest] = await door.sql<{ bytes: number }[]>`
      select max(pg_column_size(c.vals)) bytes from metric_chunks c
      join job_progress p on p.job_key = c.job_key where p.batch_key = ${batchKey}`
    expect(largest?.bytes, 'of 8,000 of a chunk whose values repeat their beginnings').toBeLessThan(5_000)
    for await (const { steps, values } of readSeries(asTheyAre(one), batchKey, {}))
      expect([...values]).toEqual([...steps])
  }
  for (let to = 0; to < 6_000; to += 157) expect(await points(to)).toBe(to + 1)
})

test('statements sent while a series is read wait for the connection', async () => {
  let reading = true
  const others: Promise<unknown>[] = []
  const ask = async (): Promise<void> => {
    while (reading) {
      others.push(one`select 1 as one`.then(([row]) => row?.one, codeOf))
      await sleep(1)
    }
  }
  const asking = ask()
  // On a quiet machine a series is read in less time than the pause between two statements.
  for (let i = 0; i < 20 || others.length <= 20; i++) expect(await points(5_999)).toBe(6_000)
  reading = false
  await asking
  expect(new Set(await Promise.all(others))).toEqual(new Set([1]))
})

test('a damaged chunk is an error rather than wrong points', async () => {
  const [job] = await door.sql`select job_key from job_progress where batch_key = ${batchKey}`
  await door.sql`update metric_chunks set steps = '\\x01' where job_key = ${job?.job_key} and first_epoch = 2000`
  await expect(points(5_999)).rejects.toThrow()
  await door.sql`update metric_chunks set steps = null where job_key = ${job?.job_key}`
  expect(await points(5_999)).toBe(6_000)
})

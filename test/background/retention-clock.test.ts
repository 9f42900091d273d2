import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSweeper } from '../../src/workers/sweeper.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'

/** What is past its time is so by the database's clock, and only while this machine's agrees with it. */
const DAY_MS = 86_400_000
const log = pino({ level: 'silent' })
let app: TestApp
let now: Date

beforeAll(async () => {
  app = await startTestApp()
  const ada = await app.register()
  const token = await app.reporterToken(ada.token)
  now = new Date()
  const line = (ageDays: number) =>
    makeEvent('log_line', {
      batch_id: 'lines',
      job_id: 'a',
      timestamp: new Date(now.getTime() - ageDays * DAY_MS).toISOString(),
      data: { line: `of ${ageDays} days ago`, level: 'info' },
    })
  const body = [
    makeEvent('batch_start', { batch_id: 'lines', job_id: null }),
    makeEvent('job_start', { batch_id: 'lines', job_id: 'a' }),
    line(1),
    line(13),
    line(20),
  ]
  const answer = await app.call('POST', '/api/events/batch', { token, body })
  if (answer.body.results.some((one: { error?: unknown }) => one.error))
    throw new Error(JSON.stringify(answer.body))
})
afterAll(() => app?.stop())

const lines = async (): Promise<string[]> =>
  (await app.sql<{ line: string }[]>`select line from log_lines order by ts desc`).map(({ line }) => line)
const sweepWith = async (hostNow: () => Date) => {
  const days = { logLine: 14, event: undefined, deleted: 30, notification: 90 }
  const sweeper = createSweeper({ url: app.config.databaseUrl as string, log, days, hostNow })
  try {
    return { done: await sweeper.sweep(new AbortController().signal), due: await sweeper.survey() }
  } finally {
    await sweeper.close()
  }
}
const ALL = ['of 1 days ago', 'of 13 days ago', 'of 20 days ago']

test.each([
  ['20 days ahead', 20 * DAY_MS],
  ['20 days behind', -20 * DAY_MS],
  ['6 minutes ahead', 6 * 60_000],
])('a server whose clock is %s of the database deletes nothing and logs why', async (_, offsetMs) => {
  const sweeping = sweepWith(() => new Date(Date.now() + offsetMs))
  await expect(sweeping).rejects.toThrow(/nothing was deleted: .* differ by more than 5 minutes/)
  expect(await lines()).toEqual(ALL)
})

test('a server whose clock is 4 minutes ahead deletes by the time of the database', async () => {
  const { done, due } = await sweepWith(() => new Date(Date.now() + 4 * 60_000))
  expect(done.log_lines).toBe(1)
  expect(due.filter(({ kind }) => kind === 'log_lines')).toEqual([])
  expect(await lines()).toEqual(ALL.slice(0, 2))
})

import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { type Background, startBackground } from '../../src/workers/background.ts'
import { startTestApp } from '../kit/app.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

/** A stop is silent: nothing in the log, no warning of Node, and no unhandled rejection (vitest fails at one). */
let database: TestDatabase
let sql: Sql
const warnings: string[] = []
const warned = (warning: Error): void => void warnings.push(String(warning.stack))
beforeAll(async () => {
  process.on('warning', warned)
  database = await freshDatabase()
  sql = openSql(database.url, { name: 'test writer', max: 8 })
})
afterAll(async () => {
  process.off('warning', warned)
  await sql?.end({ timeout: 5 })
  await database?.drop()
})

/** Only a queue, with all log messages of it and of graphile-worker, including those of each job. */
async function startQueue(work: () => Promise<void>): Promise<{ background: Background; said: string[] }> {
  const said: string[] = []
  const log = pino({ level: 'debug' }, { write: (line) => void said.push(JSON.parse(line).msg) })
  const background = await startBackground({
    url: database.url,
    sql,
    log,
    now: () => new Date(),
    tasks: { note: work },
    cron: { tick: { at: '* * * * *', run: async () => {} } },
  })
  return { background, said }
}
const connections = async (): Promise<number> => {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int n from pg_stat_activity where application_name = 'svc background' and datname = current_database()`
  return row?.n ?? 0
}

test('a queue that is stopped while it starts releases everything', async () => {
  const { background, said } = await startQueue(async () => {})
  await background.stop()
  expect(said).toContain('Graceful shutdown complete')
  expect(said.filter((line) => /fail|error|cannot/i.test(line))).toEqual([])
  await expect.poll(connections).toBe(0)
  expect(await sql`select from servers`).toHaveLength(0)
})

test('a job that outlasts the stop is not recorded as done, and stays in the queue for another server', {
  timeout: 30_000,
}, async () => {
  let begun = (): void => {}
  let end = (): void => {}
  const running = new Promise<void>((resolve) => {
    begun = resolve
  })
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const { background, said } = await startQueue(async () => {
    begun()
    await ended
  })
  await sql`select graphile_worker.add_job('note')`
  await running
  await background.stop()
  const before = said.length
  end()
  // Long enough for the job to be given up, and for errors of that to surface.
  await sleep(500)
  expect(said.slice(before)).toEqual([])
  expect(await sql`select from graphile_worker.jobs where task_identifier = 'note'`).toHaveLength(1)
})

test('servers that stop, early or late, log nothing', { timeout: 60_000 }, async () => {
  for (const ms of [0, 60, 300]) {
    const app = await startTestApp({ databaseUrl: database.url, logLevel: 'info' })
    await app.runTask('watch')
    await sleep(ms)
    const before = app.logged().length
    await app.stop()
    expect(app.logged().slice(before)).toBe('')
  }
  expect(warnings).toEqual([])
})

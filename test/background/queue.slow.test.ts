import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openSql, type Sql, transaction } from '../../src/db/sql.ts'
import { type Background, type CronTask, startBackground } from '../../src/workers/background.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

/** The queue itself: jobs added by transactions, on servers that start, stop and fail. */
let database: TestDatabase
let sql: Sql
beforeAll(async () => {
  database = await freshDatabase()
  sql = openSql(database.url, { name: 'test writer', max: 8 })
})
afterAll(async () => {
  await sql?.end({ timeout: 5 })
  await database?.drop()
})

const running: Background[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((background) => background.stop()))
})

/** A tick is up to a minute away, so three servers wait for one, on a database of their own, while the others are tried. */
const ticks: { name: string; minute: string }[] = []
let clockwork: { database: TestDatabase; servers: Background[] } | undefined
beforeAll(async () => {
  const own = await freshDatabase()
  clockwork = { database: own, servers: [] }
  const start = (name: string): Promise<Background> => {
    const run = async () => void ticks.push({ name, minute: new Date().toISOString().slice(0, 16) })
    return startServer(name, { cron: { tick: { at: '* * * * *', run } } }, { url: own.url, sql: own.sql })
  }
  clockwork.servers = await Promise.all(['a', 'b', 'c'].map(start))
})
afterAll(async () => {
  await Promise.all(clockwork?.servers.map((background) => background.stop()) ?? [])
  await clockwork?.database.drop()
})

const done: string[] = []
async function startServer(
  name: string,
  { work, cron = {} }: { work?: (payload: unknown) => Promise<void>; cron?: Record<string, CronTask> } = {},
  on = { url: database.url, sql },
): Promise<Background> {
  const background = await startBackground({
    ...on,
    log: pino({ level: 'silent' }),
    now: () => new Date(),
    tasks: {
      note: async (payload) => {
        await work?.(payload)
        done.push(`${name} ${(payload as { what: string }).what}`)
      },
      fail: async () => {
        throw new Error('as it must')
      },
    },
    cron,
  })
  if (on.sql === sql) running.push(background)
  return background
}

const add = (task: string, what: string, options = '') =>
  sql.unsafe(`select graphile_worker.add_job($1, json_build_object('what', $2::text) ${options})`, [
    task,
    what,
  ])
const TIMEOUT = { timeout: 60_000, interval: 50 }
const doneOf = (what: string): string[] => done.filter((line) => line.endsWith(` ${what}`))

test('servers that start at the same time on a new database all start', async () => {
  await Promise.all(['a', 'b', 'c'].map((name) => startServer(name)))
  await add('note', 'first')
  await expect.poll(() => doneOf('first').length, TIMEOUT).toBe(1)
})

test('a job runs once for any number of servers, and only if its transaction commits', async () => {
  await Promise.all(['a', 'b'].map((name) => startServer(name)))
  await transaction(sql, async (tx) => {
    await tx.unsafe(`select graphile_worker.add_job('note', '{"what": "undone"}')`)
    throw new Error('undo')
  }).catch(() => {})
  await Promise.all(Array.from({ length: 20 }, (_, i) => add('note', `n${i}`)))
  await expect.poll(() => done.filter((line) => / n\d+$/.test(line)).length, TIMEOUT).toBe(20)
  await sleep(300)
  for (let i = 0; i < 20; i++) expect(doneOf(`n${i}`)).toHaveLength(1)
  expect(doneOf('undone')).toEqual([])
})

test('a task that throws does not affect others', async () => {
  await startServer('a')
  await Promise.all(Array.from({ length: 10 }, () => add('fail', 'x', ', max_attempts := 1')))
  await add('note', 'after the failures')
  await expect.poll(() => doneOf('after the failures').length, TIMEOUT).toBe(1)
})

test('after all its connections were cut a server continues by itself', async () => {
  await startServer('a')
  await add('note', 'before the cut')
  await expect.poll(() => doneOf('before the cut').length, TIMEOUT).toBe(1)
  for (let i = 0; i < 3; i++) {
    await database.sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name in ('svc background', 'svc heartbeat')`
    await sleep(200)
  }
  await add('note', 'after the cut')
  await expect.poll(() => doneOf('after the cut').length, TIMEOUT).toBe(1)
})

test.each([
  ['done', 'note'],
  ['failed', 'fail'],
])('a connection that breaks while a job is marked as %s ends only the queue, which restarts', async (how, task) => {
  await startServer('a')
  const holder = await database.sql.reserve()
  await add(task, `held as ${how}`, ", max_attempts := 1, run_at := now() + interval '1 hour'")
  await holder`select pg_advisory_lock(4711)`
  await holder`begin`
  // graphile-worker's table itself: its public view has no triggers and no locks on rows.
  // The mark waits for the row, and its connection is cut in the meantime: no code waits for that answer.
  const held = await holder`
    update graphile_worker._private_jobs set run_at = now() where payload ->> 'what' = ${`held as ${how}`} returning id`
  const marking = () => holder`
    select pid from pg_stat_activity where datname = current_database() and application_name = 'svc background'
      and wait_event_type = 'Lock' and query ~ 'update|delete'`
  await holder.unsafe(
    `create or replace function hold() returns trigger language plpgsql as $$ begin
       if tg_op = 'DELETE' or new.locked_by is null then perform pg_advisory_xact_lock(4711); end if;
       return coalesce(new, old); end $$;
     create or replace trigger hold before update or delete on graphile_worker._private_jobs
       for each row when (old.id = ${held[0]?.id}) execute function hold()`,
  )
  await holder`commit`
  await expect.poll(async () => (await marking()).length, TIMEOUT).toBe(1)
  for (const { pid } of await marking()) await holder`select pg_terminate_backend(${pid})`
  await holder`drop trigger hold on graphile_worker._private_jobs`
  await holder`select pg_advisory_unlock(4711)`
  holder.release()
  await add('note', `after that was ${how}`)
  await expect.poll(() => doneOf(`after that was ${how}`).length, TIMEOUT).toBe(1)
})

test('a cron task runs in one server at a time, and an error of it stops nothing else', async () => {
  let inside = 0
  let most = 0
  let runs = 0
  const cron: Record<string, CronTask> = {
    slow: {
      at: '0 0 1 1 *',
      run: async () => {
        runs++
        inside++
        most = Math.max(most, inside)
        await sleep(100)
        inside--
      },
    },
    broken: { at: '0 0 1 1 *', run: async () => Promise.reject(new Error('as it must')) },
  }
  const [a, b] = await Promise.all([startServer('a', { cron }), startServer('b', { cron })])
  await expect(a.runNow('broken')).rejects.toThrow('as it must')
  await Promise.all([
    a.runNow('slow'),
    b.runNow('slow'),
    a.runNow('slow'),
    b.runNow('broken').catch(() => {}),
  ])
  expect({ runs, most }).toEqual({ runs: 3, most: 1 })
})

test('each run of a cron task is done by one of several servers', { timeout: 240_000 }, async () => {
  await expect.poll(() => ticks.length, { timeout: 180_000, interval: 100 }).toBeGreaterThan(0)
  await sleep(1_500)
  expect(ticks.map(({ minute }) => minute)).toEqual([...new Set(ticks.map(({ minute }) => minute))])
})

test('a job of a dead server is given to another within half a minute', async () => {
  await startServer('a')
  await sql`insert into servers (started_at, seen_at, pool_id) values (now(), now() - interval '14 seconds', 'pool-gone')`
  await add('note', 'left behind', ", run_at := now() + interval '1 hour'")
  // No public function locks a job for a worker that does not exist.
  await sql`update graphile_worker._private_jobs set locked_by = 'pool-gone', locked_at = now(), run_at = now()
    where payload ->> 'what' = 'left behind'`
  await expect.poll(() => doneOf('left behind').length, TIMEOUT).toBe(1)
  expect(await sql`select from servers where pool_id = 'pool-gone'`).toHaveLength(0)
})

test('a server that stops releases its jobs to the others, and its record is deleted', async () => {
  let begun = 0
  const work = async (payload: unknown): Promise<void> => {
    if ((payload as { what: string }).what !== 'long') return
    begun++
    await sleep(500)
  }
  const a = await startServer('a', { work })
  await add('note', 'long')
  await expect.poll(() => begun, TIMEOUT).toBe(1)
  running.splice(running.indexOf(a), 1)
  await a.stop()
  expect(doneOf('long')).toHaveLength(1)
  expect(await sql`select from servers`).toHaveLength(0)
})

import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { createSweeper } from '../../src/workers/sweeper.ts'
import { makeEvent, openDoor } from '../ingest/sending.ts'
import { COMMAND } from '../kit/command.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'

// Sweeps over many rows: their cost, the rows they keep, and the effect of a kill.

/**
 * A batch with `n` log lines straight into the tables, the first db_id being 0. They come in bursts, one each
 * `everyDays` up to now, so that none falls due while a test runs.
 */
async function seedLines(sql: Sql, n: number, bursts: number, everyDays: number): Promise<void> {
  await sql`insert into users (email, email_key, name) values ('a@example.org', 'a@example.org', 'a') on conflict do nothing`
  await sql`insert into projects (slug, display_name, owner_id) select 'lines', 'Lines', id from users limit 1`
  await sql`
    with made as (
      insert into batches (id, project_key, owner_id, status, started_at)
      select 'lines', p.key, p.owner_id, 'completed', now() from projects p where p.slug = 'lines' returning key),
    progress as (insert into batch_progress (batch_key, first_seen_at, last_seen_at) select key, now(), now() from made)
    insert into jobs (batch_key, id, status, started_at) select key, 'job', 'completed', now() from made`
  await sql`
    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at) select key, batch_key, now(), now() from jobs`
  await sql`
    with lines as (
      select i, now() - (${bursts - 1}::int - i * ${bursts}::int / ${n}::int) * ${everyDays}::int * interval '1 day' ts, j.key job_key, j.batch_key
      from generate_series(0, ${n - 1}::int) i, jobs j where j.id = 'job'),
    stored as (
      insert into events (db_id, event_id, batch_key, job_key, type, ts, payload)
      select i, gen_random_uuid(), batch_key, job_key, 8, ts, repeat('x', 400) from lines)
    insert into log_lines (batch_key, db_id, job_key, ts, level, rank, line)
    select batch_key, i, job_key, ts, 'info', 20, 'line ' || i from lines`
  await sql`select setval('event_block', ${n})`
  const connection = await sql.reserve()
  await connection.unsafe('vacuum analyze')
  // What it read counts as the database's own from now on.
  await connection.unsafe('select pg_stat_force_next_flush()')
  connection.release()
}

const countOf = async (sql: Sql): Promise<number> =>
  // Flush the statistics of the test's own reads, so that they do not count for a sweep.
  (await sql<{ n: number }[]>`select count(*) n, pg_stat_force_next_flush() from log_lines`)[0]?.n ?? 0

describe('of many lines', () => {
  let database: TestDatabase
  const LINES = 100_000
  const stretches = { ids: 2_500, open: 2, rows: 1_000 }
  let days = 0
  beforeAll(async () => {
    database = await freshDatabase()
    // An ANALYZE of any table of the database holds a snapshot, and what that still sees cannot be cleared away: rows
    // then find no room on their own page. Both tables change enough in a sweep for autovacuum to begin one.
    await database.sql`alter table events set (autovacuum_enabled = off)`
    await database.sql`alter table log_lines set (autovacuum_enabled = off)`
    await seedLines(database.sql, LINES, 40, 1)
  })
  afterAll(() => database?.drop())

  /** Rows that a sweep read, by table, one by one through an index and in scans of a whole table. */
  async function costOf(
    work: () => Promise<unknown>,
  ): Promise<Record<string, { fetched: number; scanned: number }>> {
    const read = async () => {
      // A connection flushes its statistics before it closes.
      await expect
        .poll(
          () =>
            database.sql`select from pg_stat_activity where application_name like 'svc sweep%' and datname = current_database()`,
        )
        .toHaveLength(0)
      const rows = await database.sql<{ relname: string; fetched: number; scanned: number }[]>`
        select relname, idx_tup_fetch fetched, seq_tup_read scanned from pg_stat_user_tables
        where relname in ('events', 'log_lines')`
      return Object.fromEntries(rows.map(({ relname, ...counts }) => [relname, counts]))
    }
    const before = await read()
    await work()
    const after = await read()
    return Object.fromEntries(
      Object.entries(after).map(([name, { fetched, scanned }]) => [
        name,
        {
          fetched: fetched - (before[name]?.fetched ?? 0),
          scanned: scanned - (before[name]?.scanned ?? 0),
        },
      ]),
    )
  }

  async function sweepOnce(): Promise<number> {
    const sweeper = createSweeper({
      url: database.url,
      log: pino({ level: 'silent' }),
      now: () => new Date(Date.now() + days * 86_400_000),
      days: { logLine: 14, event: undefined, deleted: 30, notification: 90 },
      ranges: stretches,
    })
    const [due] = (await sweeper.survey()).filter(({ kind }) => kind === 'log_lines')
    const done = await sweeper.sweep(new AbortController().signal).finally(() => sweeper.close())
    expect(due === undefined ? 0 : due.n).toBe(done.log_lines)
    return done.log_lines
  }

  test('the dry run counts what the sweep then deletes, and a sweep never scans a whole table', {
    timeout: 240_000,
  }, async () => {
    let went = 0
    const cost = await costOf(async () => {
      went = await sweepOnce()
    })
    // Those of 14 to 39 days.
    expect(went).toBe((LINES / 40) * 26)
    expect(await countOf(database.sql)).toBe(LINES - went)
    expect([cost.events?.scanned, cost.log_lines?.scanned]).toEqual([0, 0])
    // Most payloads go without a write to any index, whose cost would grow with what is stored.
    const [updated] = await database.sql<{ rows: number; hot: number }[]>`
      select n_tup_upd rows, n_tup_hot_upd hot from pg_stat_user_tables where relname = 'events'`
    expect(updated?.rows).toBe(went)
    expect(updated?.hot).toBeGreaterThan(went * 0.7)
  })

  test('the next sweep reads only rows that are due and the newest', {
    timeout: 240_000,
  }, async () => {
    days = 1
    let went = 0
    const cost = await costOf(async () => {
      went = await sweepOnce()
    })
    expect(went).toBe(LINES / 40)
    expect([cost.events?.scanned, cost.log_lines?.scanned]).toEqual([0, 0])
    // A day is one stretch, so at most two are due, and two are always looked at; the dry run and the sweep read each
    // once, what goes is looked up once more in each table.
    expect(cost.events?.fetched).toBeLessThan(2 * 4 * stretches.ids + 2 * went)
    expect(cost.log_lines?.fetched).toBeLessThan(2 * went)
  })
})

describe('svc sweep', () => {
  let database: TestDatabase
  const LINES = 80_000
  beforeAll(async () => {
    database = await freshDatabase()
    await seedLines(database.sql, LINES, 2, 20)
  })
  afterAll(() => database?.drop())

  function run(...args: string[]) {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(SVC_|DATABASE_URL|VITEST|NODE_OPTIONS)/.test(name),
    )
    const child = spawn(process.execPath, [...COMMAND, 'sweep', ...args], {
      env: { ...Object.fromEntries(inherited), SVC_DATABASE_URL: database.url, SVC_LOG_LEVEL: 'warn' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk))
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    return { child, ended, said: () => said }
  }

  test('in a dry run lists what would be deleted and deletes nothing', { timeout: 240_000 }, async () => {
    const dry = run('--dry-run')
    expect(await dry.ended, dry.said()).toBe(0)
    expect(dry.said()).toMatch(/^ +40000 log lines would go, project lines$/m)
    expect(await countOf(database.sql)).toBe(LINES)
    const wrong = run('--dry')
    expect(await wrong.ended).toBe(1)
    expect(wrong.said()).toMatch(/unknown option '--dry'/)
  })

  test('killed in the middle loses nothing, and the next one continues to the end', {
    timeout: 240_000,
  }, async () => {
    // Slow steps, so that it is not over before it is killed, even on a busy machine.
    await database.sql`create function slowly() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.5); return null; end $$`
    await database.sql`create trigger slowly after delete on log_lines for each statement execute function slowly()`
    const first = run()
    while ((await countOf(database.sql)) === LINES) {
      expect(first.child.exitCode, first.said()).toBe(null)
      await sleep(5)
    }
    first.child.kill('SIGKILL')
    await first.ended
    await expect
      .poll(
        () =>
          database.sql`select from pg_stat_activity where application_name in ('svc sweep', 'svc sweep lock') and datname = current_database()`,
      )
      .toHaveLength(0)
    await database.sql`drop trigger slowly on log_lines`
    const left = await countOf(database.sql)
    expect(left).toBeLessThan(LINES)
    expect(left).toBeGreaterThan(LINES / 2)
    /** A line is there exactly as long as its event has the payload: each step was whole. */
    const torn = () => database.sql`
      select from events e full join log_lines l on l.batch_key = e.batch_key and l.db_id = e.db_id
      where (e.payload is null) <> (l.db_id is null)`
    expect(await torn()).toHaveLength(0)
    const second = run()
    expect(await second.ended, second.said()).toBe(0)
    expect(second.said()).toMatch(/ log lines went/)
    expect(await torn()).toHaveLength(0)
    expect(await countOf(database.sql)).toBe(LINES / 2)
    const third = run()
    expect(await third.ended).toBe(0)
    expect(third.said()).toMatch(/Nothing was past its time/)
  })
})

test('events are stored during a sweep', { timeout: 240_000 }, async () => {
  const door = await openDoor()
  try {
    await seedLines(door.sql, 60_000, 2, 20)
    let over = false
    const sweeping = door.app.runTask('sweep').then(() => {
      over = true
    })
    let answered = 0
    while (!over) {
      const { status } = await door.send(
        makeEvent('log_line', { batch_id: 'busy', timestamp: new Date().toISOString() }),
      )
      expect(status).toBe(200)
      if (!over) answered++
    }
    await sweeping
    expect(answered).toBeGreaterThan(20)
    const { body } = await door.app.call('GET', '/api/batches/busy/log-lines?limit=500', {
      token: door.session,
    })
    expect(body.items.length).toBeGreaterThanOrEqual(Math.min(500, answered))
  } finally {
    await door.stop()
  }
})

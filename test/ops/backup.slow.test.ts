import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runMigrations } from 'graphile-worker'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { backup } from '../../src/db/dump/backup.ts'
import { restore } from '../../src/db/dump/restore.ts'
import type { Sql } from '../../src/db/sql.ts'
import { openStage, type Stage } from '../http/stage.ts'
import { makeEvent, UNLIMITED } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { channelsQuery, openStream, SOON } from '../live/stream.ts'
import { fillPaths } from './every-read.ts'

const MIGRATIONS = join(import.meta.dirname, '../../prisma/migrations')
const QUIET = { progress: () => {} }

const clock = createClock()
const folder = mkdtempSync(join(tmpdir(), 'svc-backup-'))
const FILE = join(folder, 'quiet.svc')
const BUSY = join(folder, 'busy.svc')
/** Events acknowledged before the backup under load began, and events sent while it ran. */
const before: string[] = []
let url: string
let stage: Stage
let source: TestDatabase
/** The rows of `source` when it was backed up. */
let backedUp: Record<string, string> = {}
let batchKey = 0
let jobKey = 0
let share = ''
let agent: { agent_id: string; agent_token: string }
/** A cursor from before the backup, as a page has it. */
let cursor = 0

beforeAll(async () => {
  source = await freshDatabase()
  url = source.url
  stage = await openStage({ databaseUrl: url }, { now: clock.now })
  const { app, owner, batchOwner } = stage
  const at = clock.now().toISOString()
  const common = {
    batch_id: 'saved, 1',
    timestamp: at,
    source: { project: 'open', host: 'box\\1', user: 'u' },
  }
  await stage.send(batchOwner, [
    makeEvent('batch_start', {
      ...common,
      data: { n_total: 3, env_snapshot: { commit: 'abc', command: 'python "train.py"', cwd: '/work' } },
    }),
    makeEvent('job_start', { ...common, data: { model: 'resnet\t18', dataset: 'c,10', lr: 3e-4 } }),
    ...Array.from({ length: 400 }, (_, epoch) =>
      makeEvent('job_epoch', {
        ...common,
        data: {
          epoch,
          train_loss: epoch === 7 ? 'NaN' : 1 / (epoch + 1),
          val_loss: '-Infinity',
          acc: epoch / 3,
        },
      }),
    ),
    makeEvent('log_line', { ...common, data: { line: '\\.', level: 'error' } }),
    makeEvent('log_line', { ...common, data: { line: 'two\nlines, a \\N, a tab\t, é 𝄞', level: 'info' } }),
    makeEvent('resource_snapshot', {
      ...common,
      data: { gpu_util_pct: 91.5, gpus: [{ index: 0, util_pct: 3 }] },
    }),
    makeEvent('job_done', { ...common, data: { metrics: { acc: 0.9 } } }),
  ])
  share = (
    await app.call('POST', `/api/batches/${encodeURIComponent('saved, 1')}/shares`, {
      token: batchOwner.token,
      body: {},
    })
  ).body.token
  agent = (
    await app.call('POST', '/api/agents/register', {
      token: owner.token,
      body: { hostname: 'box\\1', capabilities: { gpus: 2 }, version: '1' },
    })
  ).body
  const [row] = await source.sql<{ batch: number; job: number; seq: number }[]>`
    select b.key batch, j.key job, (select max(seq) from changes) seq
    from batches b join jobs j on j.batch_key = b.key`
  batchKey = row?.batch as number
  jobKey = row?.job as number
  cursor = row?.seq as number

  // While it is written, events go on coming in.
  let over = false
  const senders = [0, 1, 2, 3].map(async (n) => {
    for (let i = 0; !over; i++) {
      const events = Array.from({ length: 20 }, () =>
        makeEvent('log_line', { batch_id: `busy ${n} ${i % 3}`, source: { project: 'vision' } }),
      )
      await stage.send(batchOwner, events)
      before.push(...events.map(({ event_id }) => event_id))
    }
  })
  while (before.length < 400) await new Promise((resolve) => setTimeout(resolve, 20))
  const acknowledged = before.length
  await backup({ url, migrations: MIGRATIONS, file: BUSY, now: clock.now(), ...QUIET })
  over = true
  await Promise.all(senders)
  before.length = acknowledged
  // The series of the job that ended are packed a little later: from then on nothing moves.
  await vi.waitFor(async () => {
    if ((await source.sql`select from metric_chunks`).length === 0) throw new Error('not packed')
  }, SOON)
  await backup({ url, migrations: MIGRATIONS, file: FILE, now: clock.now(), ...QUIET })
})
afterAll(async () => {
  await stage?.stop()
  await source?.drop()
  rmSync(folder, { recursive: true, force: true })
})

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function newDatabase(): Promise<TestDatabase> {
  const database = await freshDatabase()
  cleanUps.push(() => database.drop())
  return database
}
const put = (file: string, into: TestDatabase, replace = false) =>
  restore({ url: into.url, migrations: MIGRATIONS, file, replace, now: clock.now(), ...QUIET })
async function serve(database: TestDatabase): Promise<TestApp> {
  const app = await startTestApp({ ...UNLIMITED, databaseUrl: database.url }, { now: clock.now })
  cleanUps.push(() => app.stop())
  return app
}

/** A hash of every row of every table of the service, in an order that does not depend on their place on disk. */
async function hashes(sql: Sql): Promise<Record<string, string>> {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace
      and relname not in ('changes', 'servers', 'reachable', 'cron_runs', '_prisma_migrations') order by relname`
  const found: Record<string, string> = {}
  for (const { name } of tables) {
    const rows = await sql.unsafe(`select md5(t::text) as hash from "${name}" t order by 1`)
    found[name] = `${rows.length} ${createHash('md5').update(JSON.stringify(rows)).digest('hex')}`
  }
  return found
}

describe('a backup that is restored into a database without a table', () => {
  test('has the same rows, and every GET has the same answer', async () => {
    const target = await newDatabase()
    await target.sql.unsafe('drop schema public cascade; create schema public')
    await put(FILE, target)
    const restored = await hashes(target.sql)
    backedUp = await hashes(source.sql)
    expect(restored).toEqual(backedUp)
    expect(restored.events).not.toMatch(/^0 /)
    expect(restored.epochs).toMatch(/^400 /)

    const app = await serve(target)
    const values = { batch: 'saved, 1', job: jobKey, agent: agent.agent_id, slug: 'open', share }
    let compared = 0
    for (const path of fillPaths(values)) {
      for (const token of [stage.admin.token, stage.viewer.token, agent.agent_token]) {
        const [was, is] = await Promise.all([
          stage.app.call('GET', path, { token }),
          app.call('GET', path, { token }),
        ])
        const plain = ({ status, body }: typeof was) =>
          typeof body === 'object' ? { status, body: { ...body, request_id: 0 } } : { status, body }
        expect(plain(is), path).toEqual(plain(was))
        if (was.status === 200) compared++
      }
    }
    expect(compared).toBeGreaterThan(50)
  })

  test('continues: db_ids and keys are above all earlier ones, repeats are recognised, commands work', async () => {
    const target = await newDatabase()
    await target.sql.unsafe('drop schema public cascade; create schema public')
    await put(FILE, target)
    const app = await serve(target)
    const [last] = await target.sql<{ id: number }[]>`select max(db_id) as id from events`
    const send = (event: unknown) =>
      app.call('POST', '/api/events', { token: stage.batchOwner.reporter, body: event })
    const fresh = makeEvent('job_epoch', { batch_id: 'after', source: { project: 'open' } })
    const { status, body } = await send(fresh)
    expect(status).toBe(200)
    expect(body.db_id).toBeGreaterThan(last?.id as number)
    expect((await send(fresh)).body).toEqual({ db_id: body.db_id, deduplicated: true })
    const [old] = await target.sql<
      { payload: string; id: number }[]
    >`select payload, db_id as id from events order by db_id limit 1`
    expect((await send(old?.payload)).body).toEqual({ db_id: old?.id, deduplicated: true })
    const [batch] = await target.sql<{ key: number }[]>`select key from batches where id = 'after'`
    expect(batch?.key).toBeGreaterThan(batchKey)
    const login = { email: 'member@example.org', password: 'correct horse battery' }
    expect((await app.call('POST', '/api/auth/login', { body: login })).status).toBe(200)
  })

  test('answers a cursor of the old database with a reset, and continues from there', async () => {
    const target = await newDatabase()
    await put(FILE, target)
    const app = await serve(target)
    const token = stage.batchOwner.reporter
    const say = (line: string) =>
      app.call('POST', '/api/events', {
        token,
        body: makeEvent('log_line', { batch_id: 'saved, 1', source: { project: 'open' }, data: { line } }),
      })
    // Also a cursor that the old database gave after the backup, with as many changes in the new one since.
    for (let i = 0; i < 20; i++) await say('more')
    for (const old of [cursor, cursor + 5, cursor + 1_000_000]) {
      const stream = await openStream(app.address, ['logs:saved, 1'], {
        token: stage.batchOwner.token,
        lastEventId: old,
      })
      const [reset] = await stream.reach(1)
      expect(reset).toMatchObject({ event: 'reset' })
      await say(`after ${old}`)
      const told = await stream.find(({ event }) => event === 'logs')
      expect(told.id).toBeGreaterThan(reset?.id as number)
      stream.cut()
    }
  })
})

describe('a backup while events arrive', () => {
  test('contains everything acknowledged before it began, and is a consistent snapshot', async () => {
    const target = await newDatabase()
    await put(BUSY, target)
    const stored = await target.sql<{ id: string }[]>`select event_id::text as id from events`
    const ids = new Set(stored.map(({ id }) => id))
    expect(before.filter((id) => !ids.has(id))).toEqual([])
    const [sums] = await target.sql<{ events: number; counted: number; lines: number }[]>`
      select (select count(*) from events)::int as events, (select sum(n_events) from batch_progress)::int as counted,
        (select count(*) from events e where type = (select type from events join log_lines using (db_id) limit 1)
          and not exists (select from log_lines l where l.db_id = e.db_id))::int as lines`
    expect(sums?.counted).toBe(sums?.events)
    expect(sums?.lines).toBe(0)
  })
})

describe('a restore', () => {
  test('refuses a truncated or modified file, and changes nothing', async () => {
    const whole = readFileSync(FILE)
    const target = await newDatabase()
    const was = await hashes(target.sql)
    const bad = join(folder, 'bad.svc')
    const cuts = [0, 10, whole.length >> 1, whole.length - 9, whole.length - 1].map((n) =>
      whole.subarray(0, n),
    )
    const flips = [0, 20, whole.length >> 1, whole.length - 6].map((n) => {
      const copy = Buffer.from(whole)
      copy[n] = (copy[n] as number) ^ 1
      return copy
    })
    for (const bytes of [...cuts, ...flips]) {
      writeFileSync(bad, bytes)
      await expect(put(bad, target, true)).rejects.toThrow(/truncated or was altered|not a backup/)
    }
    expect(await hashes(target.sql)).toEqual(was)
  })

  test('refuses a file whose content was modified and compressed again', async () => {
    const { gunzipSync, gzipSync } = await import('node:zlib')
    const bad = join(folder, 'repacked.svc')
    const text = gunzipSync(readFileSync(FILE)).toString('latin1')
    const target = await newDatabase()
    for (const altered of [
      text.replace('owner@example.org', 'thief@example.org'),
      `${text}\n`,
      text.replace(/\n-- end .*\n$/, '\n'),
    ]) {
      expect(altered).not.toBe(text)
      writeFileSync(bad, gzipSync(Buffer.from(altered, 'latin1')))
      await expect(put(bad, target)).rejects.toThrow(/truncated or was altered/)
    }
    await expect(put(join(folder, 'none.svc'), target)).rejects.toThrow(/cannot be read \(ENOENT\)/)
  })

  test('refuses a database with data unless it may be overwritten, and leaves it unchanged if it fails', async () => {
    const target = await newDatabase()
    await put(BUSY, target)
    const was = await hashes(target.sql)
    await expect(put(FILE, target)).rejects.toThrow(/holds data: .*--replace/)
    expect(await hashes(target.sql)).toEqual(was)
    // A view of someone else depends on a table of the service: the restore must not remove it.
    await target.sql`create view theirs as select id from batches`
    await expect(put(FILE, target, true)).rejects.toThrow(/depend/)
    expect(await hashes(target.sql)).toEqual(was)
    await target.sql`drop view theirs`
    await target.sql`create table theirs (n int)`
    await put(FILE, target, true)
    const { theirs, ...ours } = await hashes(target.sql)
    // Refused requests of later tests are in the audit log of the source.
    expect(ours).toEqual(backedUp)
    expect(theirs).toMatch(/^0 /)
  })

  test('migrates a backup of an older release; one of a newer release is refused', async () => {
    const { gunzipSync, gzipSync } = await import('node:zlib')
    const { cpSync } = await import('node:fs')
    const older = join(folder, 'older')
    const names = readdirSync(MIGRATIONS)
      .filter((name) => /^\d/.test(name))
      .sort()
    for (const name of names.slice(0, 6))
      cpSync(join(MIGRATIONS, name), join(older, name), { recursive: true })
    const target = await newDatabase()
    // The tables of six migrations, filled by hand; backed up by that release, restored by this one.
    await target.sql.unsafe('drop schema public cascade; create schema public')
    const { migrate } = await import('../../src/db/migrate.ts')
    await migrate(target.sql, older, { log: () => {} })
    await target.sql`insert into users (email, email_key, name) values ('old@example.org', 'old@example.org', 'Old')`
    const file = join(folder, 'older.svc')
    await backup({ url: target.url, migrations: older, file, now: clock.now(), ...QUIET })
    await put(file, target, true)
    const applied = await target.sql<
      { name: string }[]
    >`select migration_name as name from _prisma_migrations order by 1`
    expect(applied.map(({ name }) => name)).toEqual(names)
    expect((await target.sql`select email from users`).length).toBe(1)
    const app = await serve(target)
    expect((await app.call('GET', '/readyz')).status).toBe(200)

    const text = gunzipSync(readFileSync(FILE)).toString('latin1')
    const newer = join(folder, 'newer.svc')
    writeFileSync(
      newer,
      gzipSync(Buffer.from(text.replace('"001_identity"', '"001_identity","999_later"'), 'latin1')),
    )
    await expect(put(newer, await newDatabase())).rejects.toThrow(/newer release: it has 999_later/)
    await expect(
      backup({ url, migrations: older, file: join(folder, 'x.svc'), now: clock.now(), ...QUIET }),
    ).rejects.toThrow(/newer than this release/)
  })

  test('drops the mail that waits in the replaced database, also of a server that was killed while it sent', async () => {
    const target = await newDatabase()
    await runMigrations({ connectionString: target.url })
    for (const key of ['waiting', 'taken'])
      await target.sql`select graphile_worker.add_job('mail', job_key => ${key})`
    // A worker that was killed; graphile-worker locks jobs by no public function.
    await target.sql`update graphile_worker._private_jobs set locked_by = 'killed', locked_at = now() where key = 'taken'`
    await put(FILE, target, true)
    expect(await target.sql`select id from graphile_worker.jobs`).toHaveLength(0)
  })

  test('beside a running server: its streams get a reset, its requests are answered from the backup', async () => {
    const target = await newDatabase()
    const app = await serve(target)
    const first = await app.register('first@example.org')
    const stream = await openStream(app.address, ['dashboard'], { token: first.token })
    await put(FILE, target, true)
    await stream.ended
    expect((await app.call('GET', '/api/auth/me', { token: first.token })).status).toBe(401)
    const token = stage.admin.token
    expect((await app.call('GET', `/api/batches/${encodeURIComponent('saved, 1')}`, { token })).status).toBe(
      200,
    )
    const again = await fetch(`${app.address}/api/sse?${channelsQuery('dashboard')}`, {
      headers: { authorization: `Bearer ${token}`, 'last-event-id': String(stream.lastId() ?? 0) },
    })
    const { value } = (await again.body?.getReader().read()) as { value: Uint8Array }
    expect(again.status).toBe(200)
    expect(value.length).toBeGreaterThan(0)
    await again.body?.cancel().catch(() => {})
  })

  test('cancels pending commands, so that no training is started a second time', async () => {
    const [row] = await source.sql<{ id: string }[]>`
      insert into agent_commands (agent_id, kind, batch_key, created_at) values (${agent.agent_id}, 'rerun', ${batchKey}, now()) returning id`
    const file = join(folder, 'commands.svc')
    await backup({ url, migrations: MIGRATIONS, file, now: clock.now(), ...QUIET })
    await source.sql`delete from agent_commands`
    const target = await newDatabase()
    await put(file, target)
    const app = await serve(target)
    const { body } = await app.call('GET', `/api/agents/${agent.agent_id}/jobs`, { token: agent.agent_token })
    expect(body).toEqual({ jobs: [] })
    const [command] =
      await target.sql`select state, failure_reason from agent_commands where id = ${row?.id as string}`
    expect(command).toEqual({ state: 'cancelled', failure_reason: 'the service was restored from a backup' })
  })
})

describe('a backup file', () => {
  test('is readable only by its owner, never overwrites a file, and leaves nothing when the backup is stopped', async () => {
    expect(statSync(FILE).mode & 0o777).toBe(0o600)
    const options = { url, migrations: MIGRATIONS, now: clock.now(), ...QUIET }
    await expect(backup({ ...options, file: FILE })).rejects.toThrow(/exists; choose another name/)
    const stopping = new AbortController()
    const file = join(folder, 'stopped.svc')
    const stopped = backup({ ...options, file, signal: stopping.signal, progress: () => stopping.abort() })
    await expect(stopped).rejects.toThrow('stopped')
    expect(readdirSync(folder).filter((name) => name.startsWith('stopped'))).toEqual([])
    expect(existsSync(file)).toBe(false)
  })
})

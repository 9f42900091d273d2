import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSweeper } from '../../src/workers/sweeper.ts'
import { registerAgent } from '../agents/agent.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD, startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { type Named, readEverything } from './reads.ts'

/** What is deleted, when, and what is kept (specification §1.7, §6.5; contract §2, §7). */
const DAY_S = 86_400
const clock = createClock()
/** Small enough for several steps of each kind. */
const sweep = { stretches: { ids: 64, open: 1, rows: 10 }, steps: { rows: 7, large: 3, ids: 100 } }
let database: TestDatabase
let stage: Stage
beforeAll(async () => {
  database = await freshDatabase()
  const config = {
    databaseUrl: database.url,
    retention: { logLine: 14, event: undefined, deleted: 30, notification: 90 },
  }
  stage = await openStage(config, { now: clock.now, sweep })
})
afterAll(async () => {
  await stage?.stop()
  await database?.drop()
})

/** The batch owner's session: an unused one ends after some days. */
let session: string
async function forward(days: number): Promise<void> {
  clock.forward({ days })
  const body = { email: stage.batchOwner.email, password: PASSWORD }
  session = (await stage.app.call('POST', '/api/auth/login', { body })).body.token
}
beforeAll(() => forward(0))

const at = (secondsAgo = 0): string => new Date(clock.now().getTime() - secondsAgo * 1000).toISOString()
const send = (...events: unknown[]) => stage.send(stage.batchOwner, events)
const answer = (event: unknown) =>
  stage.app.call('POST', '/api/events', { token: stage.batchOwner.reporter, body: event })
const linesOf = async (batchId: string): Promise<string[]> => {
  const { body } = await stage.get(`/api/batches/${batchId}/log-lines?limit=500`, stage.batchOwner.read)
  return body.items.map((item: { line: string }) => item.line)
}
const call = (method: string, path: string, body?: unknown) =>
  stage.app.call(method, path, { token: session, ...(body === undefined ? {} : { body }) })

/** A batch of two jobs with epochs, snapshots and lines, that began so long ago. */
function training(id: string, beganS: number, end: boolean) {
  const source = { project: 'vision', host: 'gpu-1', user: 'kim', commit: 'abc' }
  const of = (job_id: string | null, secondsAgo: number) => ({
    batch_id: id,
    job_id,
    source,
    timestamp: at(secondsAgo),
  })
  return [
    startOf(
      { id, source, timestamp: at(beganS) },
      { n_total: 2, tags: ['night'], command: 'train', cwd: '/w' },
    ),
    ...['a', 'b'].flatMap((job, n) => [
      makeEvent('job_start', { ...of(job, beganS - n), data: { model: 'resnet', lr: 0.1 } }),
      ...Array.from({ length: 12 }, (_, epoch) =>
        makeEvent('job_epoch', {
          ...of(job, beganS - 60 * epoch),
          data: { epoch, train_loss: 1 / (epoch + 1), acc: { top1: epoch === 3 ? 'NaN' : epoch } },
        }),
      ),
      ...Array.from({ length: 4 }, (_, i) =>
        makeEvent('resource_snapshot', {
          ...of(job, beganS - 60 * i),
          data: { gpu_util_pct: 20 * i, ram_mb: i },
        }),
      ),
      ...Array.from({ length: 15 }, (_, i) =>
        makeEvent('log_line', { ...of(job, beganS - i), data: { line: `${job} old ${i}`, level: 'info' } }),
      ),
      makeEvent('log_line', { ...of(job, 3_600), data: { line: `${job} new`, level: 'info' } }),
      ...(end && job === 'a'
        ? [
            makeEvent('job_done', {
              ...of(job, beganS - 800),
              data: { metrics: { acc: 0.9 }, elapsed_s: 800 },
            }),
          ]
        : []),
    ]),
    ...(end
      ? [
          makeEvent('batch_failed', {
            ...of(null, beganS - 900),
            data: { reason: 'MemoryError', total_elapsed_s: 900 },
          }),
        ]
      : []),
  ]
}

describe('log lines', () => {
  const events = training('past', 20 * DAY_S, true)

  test('are deleted by the time of their events, and every other read is unchanged', {
    timeout: 240_000,
  }, async () => {
    const agent = await registerAgent(stage.app, stage.batchOwner.token)
    await send(...events, ...training('present', 20 * DAY_S, false))
    const share = (await call('POST', '/api/batches/past/shares', { anonymous: true })).body
    const { body: rule } = await stage.app.call('POST', '/api/projects/vision/rules', {
      token: stage.admin.token,
      body: { name: 'failed', trigger: 'batch_failed' },
    })
    const { body: report } = await call('POST', '/api/reports', { title: 'What failed', project: 'vision' })
    const { body: link } = await call('POST', `/api/reports/${report.id}/links`)
    const jobs = (await call('GET', '/api/jobs')).body.items as { key: string }[]
    const named: Named = {
      batches: ['past', 'present'],
      slug: 'vision',
      jobId: 'a',
      jobKeys: jobs.map((job) => job.key),
      host: agent.id,
      shareToken: share.token,
      rule: rule.id,
      report: report.id,
      reportToken: link.token,
    }
    expect(await linesOf('past')).toHaveLength(32)
    const before = await readEverything(stage, stage.admin, named)
    expect(Object.keys(before).length).toBeGreaterThan(40)
    expect(Object.entries(before).filter(([, answer]) => Array.isArray(answer) && answer[0] >= 400)).toEqual(
      [],
    )
    await stage.app.runTask('sweep')
    expect(await linesOf('past')).toEqual(['a new', 'b new'])
    expect(await linesOf('present')).toEqual(['a new', 'b new'])
    expect(await readEverything(stage, stage.admin, named)).toEqual(before)
    const payloads = await database.sql<{ type: number; kept: number; gone: number }[]>`
      select type, count(payload) kept, count(*) filter (where payload is null) gone from events where type = 8 group by type`
    expect(payloads).toEqual([{ type: 8, kept: 4, gone: 60 }])
    expect(
      await database.sql`select from events where payload is null and packed is null and type <> 8`,
    ).toHaveLength(0)
  })

  test('stay known: a late repeat gets the db_id of the first one, and restores nothing', async () => {
    const line = events.find((event) => event.data.line === 'a old 3') as { event_id: string }
    const [stored] = await database.sql`select db_id from events where event_id = ${line.event_id}`
    const { status, body } = await answer(line)
    expect([status, body]).toEqual([200, { db_id: stored?.db_id, deduplicated: true }])
    expect(await linesOf('past')).toHaveLength(2)
  })

  test('that arrive late are deleted too, after any earlier sweep', async () => {
    for (let i = 0; i < 12; i++) {
      await send(
        makeEvent('log_line', {
          batch_id: 'past',
          timestamp: at(15 * DAY_S),
          data: { line: `late ${i}`, level: 'info' },
        }),
        ...Array.from({ length: 20 }, () => makeEvent('log_line', { batch_id: 'past', timestamp: at(60) })),
      )
    }
    await stage.app.runTask('sweep')
    expect((await linesOf('past')).filter((line) => line.startsWith('late'))).toEqual([])
    await forward(15)
    await stage.app.runTask('sweep')
    expect(await linesOf('past')).toEqual([])
  })
})

describe('a deleted batch', () => {
  const events = training('gone', 3_600, true)
  let marker: string

  test('can be restored until its retention ends', async () => {
    await send(...events, ...training('stays', 3_600, true))
    await call('POST', '/api/batches/gone/shares', {})
    await call('DELETE', '/api/batches/gone')
    await stage.app.runTask('sweep')
    await forward(29)
    await stage.app.runTask('sweep')
    expect((await call('POST', '/api/batches/gone/restore')).status).toBe(200)
    expect((await call('GET', '/api/batches/gone/metrics')).body.series).not.toEqual([])
    await call('DELETE', '/api/batches/gone')
    marker = (await call('GET', '/api/batches/stays')).body.id
  })

  test('is purged then: only its id and the ids of its events remain', async () => {
    await forward(31)
    await stage.app.runTask('sweep')
    const [batch] = await database.sql`
      select key, purged_at is not null purged, emptied_at is not null emptied, command, env_snapshot, tags, start_fields
      from batches where id = 'gone'`
    expect(batch).toMatchObject({
      purged: true,
      emptied: true,
      command: null,
      env_snapshot: null,
      tags: [],
      start_fields: null,
    })
    for (const table of ['jobs', 'log_lines', 'resource_snapshots', 'shares', 'verdicts', 'job_progress']) {
      expect(
        await database.sql`select from ${database.sql(table)} where batch_key = ${batch?.key}`,
        table,
      ).toHaveLength(0)
    }
    expect(
      await database.sql`select from epochs e where not exists (select from jobs j where j.key = e.job_key)`,
    ).toHaveLength(0)
    expect(
      await database.sql`select from metric_chunks e where not exists (select from jobs j where j.key = e.job_key)`,
    ).toHaveLength(0)
    expect(
      await database.sql`select from events where batch_key = ${batch?.key} and (payload is not null or packed is not null)`,
    ).toHaveLength(0)
    expect(await database.sql`select from events where batch_key = ${batch?.key}`).toHaveLength(events.length)
    expect((await call('POST', '/api/batches/gone/restore')).status).toBe(404)
    expect((await call('GET', '/api/batches/gone')).status).toBe(404)
  })

  test('refuses new events and recognises repeats', async () => {
    const fresh = await answer(makeEvent('log_line', { batch_id: 'gone', timestamp: at() }))
    expect([fresh.status, fresh.body.code]).toEqual([404, 'batch_purged'])
    const again = await answer(startOf({ id: 'gone', timestamp: at() }))
    expect([again.status, again.body.code]).toEqual([404, 'batch_purged'])
    const repeat = await answer(events[0])
    expect([repeat.status, repeat.body.deduplicated]).toEqual([200, true])
  })

  test('whose purge was interrupted is purged by the next sweep', async () => {
    await send(...training('cut', 3_600, true))
    await call('DELETE', '/api/batches/cut')
    await forward(31)
    const stopping = new AbortController()
    const log = pino({ level: 'silent' })
    const sweeper = createSweeper({
      url: database.url,
      log,
      now: clock.now,
      days: { logLine: 14, event: undefined, deleted: 30, notification: 90 },
      ...sweep,
    })
    const epochs = () => database.sql`
      select from epochs e join jobs j on j.key = e.job_key join batches b on b.key = j.batch_key where b.id = 'cut'`
    const all = (await epochs()).length
    const sweeping = sweeper.sweep(stopping.signal)
    await expect.poll(async () => (await epochs()).length, { interval: 1, timeout: 20_000 }).toBeLessThan(all)
    stopping.abort()
    const done = await sweeping.finally(() => sweeper.close())
    expect(done.deleted_batches).toBe(0)
    const state = async () =>
      (
        await database.sql`
          select purged_at is not null purged, emptied_at is not null emptied,
            (select count(*) from jobs j where j.batch_key = b.key) > 0 jobs from batches b where id = 'cut'`
      )[0]
    expect(await state()).toEqual({ purged: true, emptied: false, jobs: true })
    expect((await call('POST', '/api/batches/cut/restore')).status).toBe(404)
    await stage.app.runTask('sweep')
    expect(await state()).toEqual({ purged: true, emptied: true, jobs: false })
  })

  test('is purged without changes to other batches', async () => {
    expect(marker).toBe('stays')
    const { body } = await call('GET', '/api/batches/stays/metrics')
    expect(body.series).toHaveLength(4)
    expect((await call('GET', '/api/batches/stays/resources')).body.series).not.toEqual([])
    const [row] = await database.sql`
      select count(*) filter (where e.payload is null and e.packed is null and e.type <> 8) gone from events e join batches b on b.key = e.batch_key
      where b.id = 'stays'`
    expect(row).toEqual({ gone: 0 })
  })
})

describe('two servers', () => {
  let second: TestApp
  beforeAll(async () => {
    second = await startTestApp(
      {
        databaseUrl: database.url,
        logLevel: 'info',
        retention: { logLine: 14, event: 7, deleted: 30, notification: 90 },
      },
      { now: clock.now, sweep },
    )
  })
  afterAll(() => second?.stop())

  test('payloads of other events are deleted only if that is configured, and reads do not need them', async () => {
    await send(...training('raw', 8 * DAY_S, true))
    await stage.app.runTask('sweep')
    const left = () => database.sql`
      select from events e join batches b on b.key = e.batch_key where b.id = 'raw' and (e.payload is not null or e.packed is not null)
        and e.type <> 8`
    expect((await left()).length).toBeGreaterThan(30)
    const before = (await call('GET', '/api/batches/raw/metrics')).body
    await second.runTask('sweep')
    expect(await left()).toHaveLength(0)
    expect((await call('GET', '/api/batches/raw/metrics')).body).toEqual(before)
    // A repeated epoch is still merged by the later timestamp.
    const epoch = (timestamp: string, train_loss: number) =>
      makeEvent('job_epoch', { batch_id: 'raw', job_id: 'a', timestamp, data: { epoch: 0, train_loss } })
    await send(epoch(at(9 * DAY_S), 500))
    await send(epoch(at(DAY_S), 7))
    const { body } = await call('GET', '/api/batches/raw/metrics?keys=train_loss&jobs=a')
    expect(body.series[0].values[0]).toBe(7)
  })

  test('run one sweep together, and log what they removed', async () => {
    await send(...training('shared', 20 * DAY_S, true))
    await Promise.all([stage.app.runTask('sweep'), second.runTask('sweep'), second.runTask('sweep')])
    expect(await linesOf('shared')).toHaveLength(2)
    const told = second
      .logged()
      .split('\n')
      .filter((line) => line.includes('sweep: removed'))
      .map((line) => JSON.parse(line).log_lines as number)
    expect(told).toHaveLength(3)
    // The first sweep of all three took the lines; the others found none.
    expect(told.slice(1).filter((lines) => lines !== 0 && lines !== 30)).toEqual([])
  })

  test('sessions that ended and tokens that were revoked long ago are deleted; those in use stay', async () => {
    const { token } = (await call('POST', '/api/tokens', { name: 'short', scope: 'read' })).body
    const { body: list } = await call('GET', '/api/tokens')
    const short = list.items.find((item: { name: string }) => item.name === 'short')
    expect((await call('DELETE', `/api/tokens/${short.id}`)).status).toBe(204)
    await stage.app.runTask('sweep')
    expect(await database.sql`select from tokens where id = ${short.id}`).toHaveLength(1)
    const old = session
    await forward(31)
    await stage.app.runTask('sweep')
    expect(await database.sql`select from tokens where id = ${short.id}`).toHaveLength(0)
    expect((await stage.get('/api/auth/me', session)).status).toBe(200)
    expect((await stage.get('/api/auth/me', stage.batchOwner.read)).status).toBe(200)
    expect((await stage.get('/api/auth/me', old)).status).toBe(401)
    expect((await stage.get('/api/auth/me', token)).status).toBe(401)
    expect(await database.sql`select from sessions`).toHaveLength(1)
  })
})

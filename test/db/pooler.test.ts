import { afterAll, beforeAll, expect, test } from 'vitest'
import { examine } from '../../src/cli/checks.ts'
import { readConfig } from '../../src/config.ts'
import { findPooler } from '../../src/db/pooler.ts'
import { openSql, POINT_LOOKUPS } from '../../src/db/sql.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp } from '../kit/app.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { hasPgbouncer, hasPgpool, startPgbouncer, startPgpool } from '../kit/pgbouncer.ts'

let database: TestDatabase
const epochsFrom = (first: number) =>
  Array.from({ length: 300 }, (_, n) => makeEvent('job_epoch', { data: { epoch: first + n, loss: 1 } }))
const nameOf = (): string => new URL(database.url).pathname.slice(1)

beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database?.drop())

test('PostgreSQL itself is not taken for a pooler', async () => {
  expect(await findPooler(database.url)).toEqual({ present: false, perTransaction: false, pgpool: false })
})

test.runIf(hasPgbouncer)('PgBouncer in session mode works with its own defaults', async () => {
  const pooler = await startPgbouncer('session')
  const url = pooler.url(nameOf())
  try {
    expect(await findPooler(url)).toEqual({ present: true, perTransaction: false, pgpool: false })
    const sql = openSql(url, { name: 'test', max: 1, settings: POINT_LOOKUPS })
    const [row] =
      await sql`select current_setting('enable_seqscan') scans, current_setting('synchronous_commit') commits,
      current_setting('TimeZone') zone, current_setting('application_name') name`
    await sql.end()
    expect(row).toEqual({ scans: 'off', commits: 'on', zone: 'UTC', name: 'svc test' })

    const app = await startTestApp({ databaseUrl: url })
    try {
      const { token } = await app.register()
      // Events are written by statements that are sent before the last one is answered, among them COPY.
      const reporter = await app.reporterToken(token)
      for (const body of [[makeEvent('batch_start'), makeEvent('job_start')], epochsFrom(0), epochsFrom(300)])
        expect((await app.call('POST', '/api/events/batch', { token: reporter, body })).status).toBe(200)
      // More at a time than the 20 connections that PgBouncer opens by default for a database and an account.
      const reads = Array.from({ length: 60 }, () => app.call('GET', '/api/projects', { token }))
      expect((await Promise.all(reads)).map(({ status }) => status)).toEqual(reads.map(() => 200))
    } finally {
      await app.stop()
    }
  } finally {
    await pooler.stop()
  }
})

test.runIf(hasPgpool)('Pgpool-II is refused in one line, at the start and by the doctor', async () => {
  const pooler = await startPgpool()
  const url = pooler.url(nameOf())
  try {
    expect(await findPooler(url)).toMatchObject({ present: true, pgpool: true })
    await expect(startTestApp({ databaseUrl: url })).rejects.toThrow('Pgpool-II answers')
    const { config } = readConfig({ SVC_DATABASE_URL: url })
    const found = []
    for await (const finding of examine(config, { warnings: [], mailTo: undefined })) found.push(finding)
    expect(found.find(({ subject }) => subject === 'database')).toMatchObject({
      state: 'failure',
      text: expect.stringContaining('Pgpool-II'),
      advice: expect.stringContaining('SVC_DATABASE_URL'),
    })
  } finally {
    await pooler.stop()
  }
})

test.runIf(hasPgbouncer).each(['transaction', 'statement'] as const)(
  'PgBouncer in %s mode is refused in one line, at the start and by the doctor',
  async (mode) => {
    const pooler = await startPgbouncer(mode)
    const url = pooler.url(nameOf())
    try {
      expect(await findPooler(url)).toMatchObject({ perTransaction: true })
      await expect(startTestApp({ databaseUrl: url })).rejects.toThrow(
        'a connection pooler in transaction mode answers',
      )
      const { config } = readConfig({ SVC_DATABASE_URL: url })
      const found = []
      for await (const finding of examine(config, { warnings: [], mailTo: undefined })) found.push(finding)
      expect(found.find(({ subject }) => subject === 'database')).toMatchObject({
        state: 'failure',
        text: expect.stringContaining('pooler in transaction mode'),
        advice: expect.stringContaining('pool_mode = session'),
      })
    } finally {
      await pooler.stop()
    }
  },
)

test.runIf(hasPgbouncer)(
  'PgBouncer in transaction mode before the replica: it is not used, and the doctor says why',
  async () => {
    const pooler = await startPgbouncer('transaction')
    const app = await startTestApp({
      databaseUrl: database.url,
      replica: { url: pooler.url(nameOf()), waitS: 1 },
      logLevel: 'info',
    })
    try {
      await expect
        .poll(() => app.logged())
        .toContain('in transaction mode answers. Name PostgreSQL itself in SVC_DATABASE_READ_URL')
      const { config } = readConfig({
        SVC_DATABASE_URL: database.url,
        SVC_DATABASE_READ_URL: pooler.url(nameOf()),
      })
      const found = []
      for await (const finding of examine(config, { warnings: [], mailTo: undefined })) found.push(finding)
      expect(found.find(({ subject }) => subject === 'replica')).toMatchObject({
        state: 'warning',
        text: expect.stringContaining('pooler in transaction mode'),
      })
    } finally {
      await app.stop()
      await pooler.stop()
    }
  },
)

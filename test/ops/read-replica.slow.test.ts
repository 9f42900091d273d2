import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examine } from '../../src/cli/checks.ts'
import { openReplica } from '../../src/db/replica.ts'
import { openSql, type Sql } from '../../src/db/sql.ts'
import { until } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import type { Answer } from '../kit/http.ts'
import { openPair, type Pair } from '../kit/standby.ts'

// Exports over a real standby (docs/scaling.md "A read replica"). The tests go on from each other.

const PLACE = 'x-svc-read-from'
let pair: Pair
/** Waits as long as it takes, so that a slow machine does not send it to the primary. */
let patient: TestApp
let hasty: TestApp
let standby: Sql
let session: string
let reporter: string
let epoch = 0

beforeAll(async () => {
  pair = await openPair()
  patient = await startTestApp({ databaseUrl: pair.primary, replica: { url: pair.standby, waitS: 100 } })
  hasty = await startTestApp({ databaseUrl: pair.primary, replica: { url: pair.standby, waitS: 0.1 } })
  standby = openSql(pair.standby, { name: 'test', max: 1 })
  session = (await patient.register()).token
  reporter = await patient.reporterToken(session)
}, 120_000)
afterAll(async () => {
  await standby?.end({ timeout: 1 })
  await patient?.stop()
  await hasty?.stop()
  await pair?.stop()
})

/** One more epoch and its log line; returns the row that an export must have. */
async function train(app: TestApp): Promise<string> {
  epoch++
  const events = [
    makeEvent('job_epoch', { data: { epoch, loss: 1 / epoch } }),
    makeEvent('log_line', { data: { line: `epoch ${epoch}`, level: 'info' } }),
    makeEvent('resource_snapshot', {
      timestamp: `2026-03-01T10:${String(epoch).padStart(2, '0')}:00Z`,
      data: { gpu_util_pct: epoch },
    }),
  ]
  const answer = await app.call('POST', '/api/events/batch', { token: reporter, body: events })
  expect(answer.status).toBe(200)
  return `job-1,loss,${epoch},${1 / epoch},`
}
const read = (app: TestApp, path: string, from?: string): Promise<Answer> =>
  app.call('GET', `/api${path}`, {
    token: session,
    ...(from !== undefined && { headers: { [PLACE]: from } }),
  })
const EXPORTS = ['export.csv', 'metrics.csv', 'metrics.arrow'].map((name) => `/batches/batch-1/${name}`)
const metric = async (app: TestApp, name: string): Promise<number> => {
  const { body } = await app.call('GET', '/metrics', { token: session })
  return Number(/ (\S+)$/.exec(body.split('\n').find((line: string) => line.startsWith(name)) ?? '')?.[1])
}

test('an export is read from the standby, includes everything acknowledged before, and is the same as on the primary', async () => {
  for (let n = 0; n < 20; n++) {
    const row = await train(patient)
    const { headers, body } = await read(patient, '/batches/batch-1/metrics.csv')
    expect(headers[PLACE]).toBe('replica')
    expect(body).toContain(row)
  }
  // While a job runs, its seconds go on.
  const done = await patient.call('POST', '/api/events', { token: reporter, body: makeEvent('job_done') })
  expect(done.status).toBe(200)
  for (const path of EXPORTS) {
    const [ours, theirs] = [await read(patient, path), await read(patient, path, 'primary')]
    expect(ours.headers[PLACE], path).toBe('replica')
    expect(theirs.headers[PLACE], path).toBe('primary')
    expect(ours.body, path).toBe(theirs.body)
  }
  expect(await metric(patient, 'svc_replica_reads_total{answered_by="replica"}')).toBe(20 + EXPORTS.length)
  expect(await metric(patient, 'svc_replica_reads_total{answered_by="primary"}')).toBe(0)
})

test('other reads use the primary, and the standby if the client requests it', async () => {
  const [{ body: jobs }] = [await read(patient, '/jobs')]
  const key = jobs.items[0].key
  for (const path of [
    '/batches/batch-1/metrics',
    '/batches/batch-1/metrics/groups?group_by=status&key=loss',
    '/batches/batch-1/resources',
    '/batches/batch-1/log-lines',
    `/jobs/metrics?job_keys=${key}&key=loss`,
    `/jobs/metrics/groups?job_keys=${key}&key=loss&group_by=batch`,
  ]) {
    const [usual, asked] = [await read(patient, path), await read(patient, path, 'replica')]
    expect(usual.status, path).toBe(200)
    expect(usual.headers[PLACE], path).toBe('primary')
    expect(asked.headers[PLACE], path).toBe('replica')
    expect(asked.body, path).toEqual(usual.body)
  }
  expect((await read(patient, '/batches/batch-1/log-lines', 'elsewhere')).status).toBe(400)
})

test('a standby that lags is not used; permissions are checked on the primary; once it has caught up it is used again', async () => {
  const viewer = await patient.register()
  await patient.letIn('vision', { token: session }, viewer, 'viewer')
  await until(async () => (await read(hasty, EXPORTS[1] as string)).headers[PLACE] === 'replica')
  await standby.unsafe('select pg_wal_replay_pause()')
  await until(async () => {
    const [row] = await standby.unsafe('select pg_get_wal_replay_pause_state() state')
    return row?.state === 'paused'
  })
  const row = await train(hasty)
  const { headers, body } = await read(hasty, '/batches/batch-1/metrics.csv')
  expect(headers[PLACE]).toBe('primary')
  expect(body).toContain(row)
  expect(await metric(hasty, 'svc_replica_reads_total{answered_by="primary"}')).toBeGreaterThan(0)
  await until(async () => (await metric(hasty, 'svc_replica_lag_bytes')) > 0)
  await until(async () => (await hasty.call('GET', '/readyz')).body.replica.lag_bytes > 0)
  await until(async () => /bytes of log behind/.test((await findingOf(hasty))?.text ?? ''))

  const asViewer = () =>
    hasty.call('GET', '/api/batches/batch-1/metrics.csv', {
      token: viewer.token,
      headers: { [PLACE]: 'replica' },
    })
  expect((await asViewer()).status).toBe(200)
  const removed = await hasty.call('DELETE', `/api/projects/vision/members/${viewer.user.id}`, {
    token: session,
  })
  expect(removed.status).toBe(204)
  expect((await asViewer()).status).toBe(404)

  await standby.unsafe('select pg_wal_replay_resume()')
  await until(async () => (await read(hasty, '/batches/batch-1/metrics.csv')).headers[PLACE] === 'replica')
})

test('svc doctor refuses a standby in place of the primary', async () => {
  const config = { ...patient.config, databaseUrl: pair.standby, replica: undefined }
  for await (const { subject, state, text } of examine(config, { warnings: [], mailTo: undefined }))
    if (subject === 'database') {
      expect([state, text]).toEqual(['failure', expect.stringContaining('it is a standby')])
      break
    }
})

test('the standby accepts the settings of docs/scaling.md, and svc doctor checks them', async () => {
  expect((await findingOf(patient))?.text).toContain('hot_standby_feedback is off')
  const page = readFileSync(join(import.meta.dirname, '../../docs/scaling.md'), 'utf8')
  const settings = [...page.matchAll(/^(hot_standby_feedback|max_standby_\w+) = (\w+)/gm)]
  expect(settings.length).toBe(2)
  for (const [, name, value] of settings) await standby.unsafe(`alter system set ${name} = '${value}'`)
  await standby.unsafe('select pg_reload_conf()')
  await until(async () => (await findingOf(patient))?.state === 'ok')
})

async function findingOf(app: TestApp) {
  for await (const finding of examine(app.config, { warnings: [], mailTo: undefined }))
    if (finding.subject === 'replica') return finding
  return undefined
}

test('a server that is not a standby of this database is not read', async () => {
  const primary = openSql(pair.primary, { name: 'test', max: 1 })
  const itself = openReplica(pair.primary, { primary, waitMs: 0, settings: {}, onStateChange: () => {} })
  await expect(itself.lag()).rejects.toThrow('it is not a standby')
  expect(await itself.hasCaughtUp()).toBe(false)
  await itself.close()
  await primary.end()
})

test('the standby is killed: the primary answers, and readyz, svc doctor and the log say why', async () => {
  pair.killStandby()
  const row = await train(patient)
  for (const path of EXPORTS) {
    const answer = await read(patient, path)
    expect(answer.status).toBe(200)
    expect(answer.headers[PLACE]).toBe('primary')
    if (path.endsWith('metrics.csv')) expect(answer.body).toContain(row)
  }
  const ready = await patient.call('GET', '/readyz')
  expect(ready.status).toBe(200)
  expect(ready.body.replica).toEqual({ usable: false, lag_s: null, lag_bytes: null })
  expect(await findingOf(patient)).toMatchObject({
    state: 'warning',
    text: expect.stringContaining('cannot be used'),
  })
})

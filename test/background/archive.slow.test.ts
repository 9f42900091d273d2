import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { examine } from '../../src/cli/checks.ts'
import { readConfig } from '../../src/config.ts'
import { packJobs } from '../../src/domain/metrics/index.ts'
import { createWriter } from '../../src/stream/commit.ts'
import { createPacker } from '../../src/workers/pack.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'
import { fillPaths } from '../ops/every-read.ts'

// Finished batches move into the archive as Parquet, and nothing that a caller sees changes.

const folder = mkdtempSync(join(tmpdir(), 'svc-archive-'))
const clock = createClock()
/** Only the test starts rounds; none starts by itself in between. */
const AT_ONCE = { settleMs: 0, thawedMs: 0, replacedMs: 0, noneForMs: 0, at: '0 0 29 2 *' }
const TABLES = ['events', 'epochs', 'metric_chunks', 'log_lines', 'resource_snapshots']
const BATCH = 'sweep/1, é'
const archive = {
  url: pathToFileURL(folder).href,
  afterDays: 30,
  own: false,
  s3: { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined },
}
let door: Door
let session: string
let events: ReturnType<typeof makeEvent>[]

beforeAll(async () => {
  // Months pass here: silent batches must not become lost when the watch task runs.
  door = await openDoor({ archive, lostAfterMin: 10_000_000 }, { now: clock.now, archive: AT_ONCE })
  events = eventsOf(BATCH)
  await sendAll(events)
  // Another batch that keeps running, and stays unchanged.
  await sendAll([makeEvent('batch_start', { batch_id: 'running', timestamp: clock.now().toISOString() })])
  await packed()
}, 60_000)
afterAll(async () => {
  await door?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Two jobs, one of them with two starts; values of every kind, lines, snapshots, an end. */
function eventsOf(batch_id: string) {
  const begun = clock.now().getTime() - 3_600_000
  let n = 0
  const at = () => new Date(begun + n++ * 1_000).toISOString().replace('Z', '123Z')
  const of = (type: Parameters<typeof makeEvent>[0], job_id: string | null, data: Record<string, unknown>) =>
    makeEvent(type, { batch_id, job_id, timestamp: at(), data })
  const epochs = (job: string, from: number, count: number) =>
    Array.from({ length: count }, (_, i) =>
      of('job_epoch', job, {
        epoch: from + i,
        loss: i === 3 ? 'NaN' : 1 / (from + i + 1),
        ...(i % 2 === 0 && { acc: i === 4 ? '-Infinity' : (from + i) / 3 }),
      }),
    )
  return [
    of('batch_start', null, { n_total: 2, env_snapshot: { commit: 'abc', command: 'python train.py' } }),
    of('job_start', 'a', { model: 'resnet', lr: 3e-4 }),
    ...epochs('a', 0, 60),
    of('job_start', 'a', { model: 'resnet', lr: 3e-4 }),
    ...epochs('a', 40, 60),
    of('resource_snapshot', 'a', { gpu_util_pct: 91.5, gpus: [{ index: 0, util_pct: 3 }], disk_io: 1e-12 }),
    of('log_line', 'a', { line: 'two\nlines, a \\N, "quotes", é 𝄞', level: 'error' }),
    of('log_line', 'a', { line: '', level: 'info' }),
    of('job_done', 'a', { metrics: { acc: 0.9 } }),
    of('job_start', 'b, 2', { dataset: 'c,10' }),
    ...epochs('b, 2', 0, 5),
    of('resource_snapshot', null, { cpu_util_pct: 12, ram_mb: 1024.5 }),
    of('job_failed', 'b, 2', { reason: 'ValueError', elapsed_s: 5 }),
    of('batch_done', null, { n_done: 1, n_failed: 1, total_elapsed_s: 60 }),
  ]
}

async function sendAll(some: unknown[]): Promise<void> {
  const { status, body } = await door.sendAll(some)
  expect([status, body.results.filter((one: { error?: unknown }) => one.error)]).toEqual([200, []])
}

const packed = () =>
  vi.waitFor(
    async () => expect((await door.sql`select from metric_chunks`).length).toBeGreaterThan(0),
    30_000,
  )

/** A session ends after some days. */
async function forward(days: number): Promise<void> {
  clock.forward({ days })
  const person = { email: 'person1@example.org', password: PASSWORD }
  session = (await door.app.call('POST', '/api/auth/login', { body: person })).body.token
}

const keyOf = async (id: string): Promise<number> =>
  (await door.sql<{ key: number }[]>`select key from batches where id = ${id}`)[0]?.key as number

/** Every row of the batch's telemetry as text. */
async function rowsOf(id: string): Promise<Record<string, string[]>> {
  const key = await keyOf(id)
  const found: Record<string, string[]> = {}
  for (const table of TABLES) {
    const rows = await door.sql.unsafe<{ row: string }[]>(
      `select t::text "row" from ${table} t where case when to_jsonb(t) ? 'batch_key' then (to_jsonb(t) ->> 'batch_key')::bigint = ${key}
       else (to_jsonb(t) ->> 'job_key')::bigint in (select key from jobs where batch_key = ${key}) end order by 1`,
    )
    found[table] = rows.map(({ row }) => row)
  }
  return found
}
const countsOf = async (id: string) => Object.values(await rowsOf(id)).map((rows) => rows.length)
const stateOf = async (id: string) =>
  (
    await door.sql<
      { state: string; location: string; problem: string | null }[]
    >`select state, location, problem from cold_batches where batch_key = ${await keyOf(id)}`
  )[0]

const get = async (path: string) => {
  const { status, body } = await door.app.call('GET', path, { token: session })
  if (typeof body?.request_id === 'string') delete body.request_id
  return { status, body }
}
const GRAPHQL = `query ($id: ID!) { batch(id: $id) {
  delivery { state stored missingEpochs }
  metrics { job key steps values }
  resources { job key values }
  logLines(first: 10) { totalCount edges { node { line level dbId } } }
  jobs(first: 10) { edges { node { jobId epochTimes { epochs times } attempts { n status epochs supersededRanges }
    attemptMetrics(n: 1) { complete series { key values } } } } }
} }`

/** What a page of an archived batch asks for. */
const KEPT = `query ($id: ID!) { batch(id: $id) {
  metrics { job key steps values }
  logLines(first: 10) { totalCount edges { node { line level dbId } } }
  jobs(first: 10) { edges { node { jobId epochTimes { epochs times } } } }
} }`

/** The answers about the batch, by request. */
async function everything(id: string, jobId: string): Promise<Record<string, unknown>> {
  const [job] = await door.sql<
    { key: number }[]
  >`select key from jobs where id = ${jobId} and batch_key = ${await keyOf(id)}`
  const paths = fillPaths({
    batch: id,
    job: job?.key as number,
    agent: '00000000-0000-7000-8000-000000000000',
    slug: 'vision',
    share: 'none',
  })
  const b = `/api/batches/${encodeURIComponent(id)}`
  const more = [
    `${b}/metrics?points=20`,
    `${b}/metrics?points=20&x=wall`,
    `${b}/metrics/groups?group_by=status`,
    `${b}/metrics.arrow?key=loss`,
    `/api/jobs/metrics?job_keys=${job?.key}&key=loss`,
    `${b}/log-lines?tail=1`,
    `${b}/jobs/a/attempts/1/metrics`,
  ]
  const found: Record<string, unknown> = {}
  // Metrics of the service itself change with every request.
  for (const path of [...paths, ...more].filter(
    (path) => !/^\/api\/(sessions|tokens|admin|users|audit|activity)/.test(path),
  ))
    found[path] = await get(path)
  found.graphql = (
    await door.app.call('POST', '/graphql', { token: session, body: { query: GRAPHQL, variables: { id } } })
  ).body
  return found
}

const round = () => door.app.runTask('archive')

test('a batch is archived after its retention days: its rows are removed, and every read has the same answer', async () => {
  await round()
  expect(await stateOf(BATCH)).toBe(undefined)
  await forward(31)
  const rows = await rowsOf(BATCH)
  expect(Object.values(rows).every((some) => some.length > 0)).toBe(true)
  const seen = await everything(BATCH, 'a')
  expect(
    Object.values(seen).filter((one) => (one as { status?: number }).status === 200).length,
  ).toBeGreaterThan(25)
  expect(JSON.stringify(seen.graphql)).toMatch(
    /"metrics":\[\{"job":"a","key":"acc".*"totalCount":2.*"supersededRanges":\[\[40,59\]\]/,
  )

  await round()
  // Starts, ends, log lines and series stay: snapshots, chunks, and the epochs of the job that is too short for chunks.
  const left = await rowsOf(BATCH)
  expect(left.events).toHaveLength(7)
  expect(left.log_lines).toEqual(rows.log_lines)
  expect(left.metric_chunks).toEqual(rows.metric_chunks)
  expect(left.resource_snapshots).toEqual(rows.resource_snapshots)
  expect(left.epochs).toHaveLength(5)
  expect(await stateOf(BATCH)).toMatchObject({ state: 'cold' })
  expect(await stateOf('running')).toBe(undefined)
  // What lists and overviews show needs no telemetry.
  const b = `/api/batches/${encodeURIComponent(BATCH)}`
  for (const path of ['/api/batches', b, `${b}/jobs`, '/api/jobs', '/api/dashboard/summary'])
    expect((await get(path)).status, path).toBe(200)
  expect(await stateOf(BATCH)).toMatchObject({ state: 'cold' })

  expect(await everything(BATCH, 'a')).toEqual(seen)
  expect(await rowsOf(BATCH)).toEqual(rows)
  expect(await stateOf(BATCH)).toMatchObject({ state: 'warm' })
})

test('charts, log lines, exports of series and delivery reports restore nothing, even without the archive', async () => {
  const b = `/api/batches/${encodeURIComponent(BATCH)}`
  const [job] = await door.sql<{ key: number }[]>`select key from jobs where id = 'a'`
  const paths = [
    `${b}/metrics`,
    `${b}/metrics?points=20`,
    `${b}/metrics?points=20&x=wall`,
    `${b}/metrics?from=30&to=70`,
    `${b}/metrics.csv`,
    `${b}/metrics.arrow`,
    `/api/jobs/metrics?job_keys=${job?.key}&key=loss`,
    `/api/jobs/metrics/groups?job_keys=${job?.key}&key=loss&group_by=batch`,
    `${b}/metrics/groups?group_by=status`,
    `${b}/delivery`,
    `${b}/delivery/jobs`,
    `${b}/resources`,
    `${b}/log-lines`,
    `${b}/log-lines?tail=1&level=error&q=quotes`,
    // This job started once, and the other twice.
    `${b}/jobs/${encodeURIComponent('b, 2')}/attempts`,
    `${b}/timeline`,
    `${b}/stored`,
  ]
  const graph = async () =>
    (
      await door.app.call('POST', '/graphql', {
        token: session,
        body: { query: KEPT, variables: { id: BATCH } },
      })
    ).body
  const before = new Map<string, unknown>()
  for (const path of paths) before.set(path, await get(path))
  const graphBefore = await graph()
  expect(JSON.stringify(graphBefore)).toMatch(/"totalCount":2.*"epochs":\[0,1,2/)
  await round()
  renameSync(folder, `${folder}-away`)
  for (const path of paths) {
    expect(await get(path), path).toEqual(before.get(path))
    expect(before.get(path), path).toMatchObject({ status: 200 })
    expect(await stateOf(BATCH), path).toMatchObject({ state: 'cold', problem: null })
  }
  expect(await graph()).toEqual(graphBefore)
  expect(await stateOf(BATCH)).toMatchObject({ state: 'cold', problem: null })
  renameSync(`${folder}-away`, folder)
})

test('delivery reports of archived jobs name the same gaps, for any steps', async () => {
  const id = 'gaps'
  const timestamp = clock.now().toISOString()
  const of = (job_id: string, steps: number[]) => [
    makeEvent('job_start', { batch_id: id, job_id, timestamp }),
    ...steps.map((epoch) =>
      makeEvent('job_epoch', { batch_id: id, job_id, timestamp, data: { epoch, loss: 1 } }),
    ),
    makeEvent('job_done', { batch_id: id, job_id, timestamp }),
  ]
  const without = (from: number, missing: number[]) =>
    Array.from({ length: 40 }, (_, i) => from + i).filter((step) => !missing.includes(step - from))
  await sendAll([
    makeEvent('batch_start', { batch_id: id, timestamp }),
    ...of('whole', without(7, [])),
    ...of('gaps', without(0, [5, 6, 30])),
    ...of('negative', without(-20, [3])),
    ...of('wide', without(5_000_000_000, [9])),
    ...of('across', without(2_147_483_640, [20, 21])),
    ...of('short', [1, 2, 4]),
    makeEvent('batch_done', { batch_id: id, timestamp }),
  ])
  await vi.waitFor(async () => {
    const jobs = await door.sql`
      select from job_progress where batch_key = ${await keyOf(id)} and packed_step = max_step`
    expect(jobs).toHaveLength(5)
  }, 30_000)
  const report = () => get(`/api/batches/${id}/delivery/jobs`)
  const groups = () => get(`/api/batches/${id}/metrics/groups?group_by=status`)
  const before = [await report(), await groups()]
  expect(JSON.stringify(before)).toMatch(/"gaps":\[\[5,6\],\[30,30\]\].*\[\[2147483660,2147483661\]\]/)
  await forward(31)
  await round()
  expect(await countsOf(id)).toEqual([14, 3, 10, 0, 0])
  expect([await report(), await groups()]).toEqual(before)
  expect(await stateOf(id)).toMatchObject({ state: 'cold' })
})

test('a job that was not packed keeps its epochs, and is not packed while it is archived', async () => {
  const key = await keyOf('gaps')
  const csv = () => get('/api/batches/gaps/metrics.csv')
  const restore = async () =>
    expect((await get('/api/batches/gaps/jobs/wide/attempts/1/metrics')).status).toBe(200)
  const before = await csv()
  await restore()
  await door.sql`delete from metric_chunks where batch_key = ${key} and job_key = (select key from jobs where batch_key = ${key} and id = 'wide')`
  await door.sql`update batch_progress set last_seen_at = last_seen_at where batch_key = ${key}`
  await round()
  expect(await stateOf('gaps')).toMatchObject({ state: 'cold' })
  expect(await countsOf('gaps')).toEqual([14, 3 + 39, 8, 0, 0])
  const [wide] = await door.sql<{ key: number }[]>`
    update job_progress set packed_step = null where batch_key = ${key} and series <> '{}' and max_step > 4000000000 returning job_key key`
  const packer = createPacker({ sql: door.sql, writer: createWriter(door.sql) })
  await packer.round()
  await door.sql.begin((tx) => packJobs(tx, key, [wide?.key as number]))
  expect(await countsOf('gaps')).toEqual([14, 3 + 39, 8, 0, 0])
  expect(await csv()).toEqual(before)
  await restore()
  expect(await csv()).toEqual(before)
  await packer.round()
  expect((await countsOf('gaps'))[2]).toBe(10)
  expect(await csv()).toEqual(before)
})

test('each other kind of read restores the batch by itself', async () => {
  const b = `/api/batches/${encodeURIComponent(BATCH)}`
  const paths = [`${b}/jobs/a/attempts`, `${b}/jobs/a/attempts/1/metrics`]
  for (const path of paths) {
    const before = await get(path)
    expect(before.status, path).toBe(200)
    await round()
    expect(await stateOf(BATCH), path).toMatchObject({ state: 'cold' })
    expect(await get(path), path).toEqual(before)
    expect(await stateOf(BATCH), path).toMatchObject({ state: 'warm' })
  }
})

test('concurrent reads restore the batch once', async () => {
  await round()
  const b = `/api/batches/${encodeURIComponent(BATCH)}`
  const answers = await Promise.all(Array.from({ length: 8 }, () => get(`${b}/jobs/a/attempts`)))
  expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  expect((await rowsOf(BATCH)).events).toHaveLength(events.length)
})

test('a repeat of an archived event is recognised, and a late event is applied; events of other batches do not wait', async () => {
  await round()
  const late = makeEvent('job_epoch', {
    batch_id: BATCH,
    job_id: 'b, 2',
    timestamp: events.at(-1)?.timestamp as string,
    data: { epoch: 5, loss: 0.25 },
  })
  const other = makeEvent('log_line', { batch_id: 'running', data: { line: 'at the same time' } })
  const [repeated, applied] = await Promise.all([door.sendAll([events[3], late]), door.send(other)])
  expect(applied.body).toMatchObject({ deduplicated: false })
  expect(repeated.body.results).toMatchObject([{ deduplicated: true }, { deduplicated: false }])
  const series = await get(
    `/api/batches/${encodeURIComponent(BATCH)}/metrics?job=${encodeURIComponent('b, 2')}&key=loss`,
  )
  expect(series.body.series[0].values.at(-1)).toBe(0.25)
  // What is archived next has it, once the batch has been silent for long enough again.
  const before = (await stateOf(BATCH))?.location
  await round()
  expect(await stateOf(BATCH)).toMatchObject({ state: 'warm' })
  await forward(31)
  await round()
  expect((await stateOf(BATCH))?.location).not.toBe(before)
  expect(
    (
      await get(
        `/api/batches/${encodeURIComponent(BATCH)}/metrics?job=${encodeURIComponent('b, 2')}&key=loss`,
      )
    ).body,
  ).toEqual(series.body)
})

test('unreferenced objects are removed', async () => {
  await round()
  await round()
  const { location } = (await stateOf(BATCH)) as { location: string }
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /\.(parquet|json)$/.test(path),
  )
  expect(files.length).toBeGreaterThan(5)
  expect(files.filter((path) => !path.startsWith(location) && !path.startsWith('vision/gaps-'))).toEqual([])
})

test('a damaged object is refused and logged; nothing is dropped or restored from it', async () => {
  const { location } = (await stateOf(BATCH)) as { location: string }
  const path = join(folder, location, 'epochs-00001.parquet')
  const whole = readFileSync(path)
  const damaged = Buffer.from(whole)
  damaged[damaged.length >> 1] = (damaged[damaged.length >> 1] as number) ^ 1
  writeFileSync(path, damaged)
  const attempts = `/api/batches/${encodeURIComponent(BATCH)}/jobs/a/attempts`
  const answer = await get(attempts)
  expect(answer).toMatchObject({
    status: 503,
    body: {
      code: 'archive_unreadable',
      detail: expect.stringContaining('epochs-00001.parquet does not have its checksum'),
    },
  })
  expect((await rowsOf(BATCH)).events).toHaveLength(7)
  const { config } = readConfig({
    SVC_DATABASE_URL: door.app.config.databaseUrl,
    SVC_ARCHIVE_URL: archive.url,
  })
  const found = async () => {
    const findings = []
    for await (const one of examine(config, { warnings: [], mailTo: undefined }))
      if (one.subject === 'archive') findings.push(one)
    return findings
  }
  expect(await found()).toMatchObject([
    { state: 'failure', text: expect.stringContaining('epochs-00001.parquet') },
  ])
  writeFileSync(path, whole)
  expect((await get(attempts)).status).toBe(200)
  await round()
  expect(await found()).toMatchObject([{ state: 'ok', text: expect.stringMatching(/^2 batches/) }])
})

test('log lines past their retention leave the table and the archive, without being restored', async () => {
  const lines = `/api/batches/${encodeURIComponent(BATCH)}/log-lines`
  expect(JSON.stringify((await get(lines)).body)).toContain('quotes')
  await round()
  expect(await stateOf(BATCH)).toMatchObject({ state: 'cold' })
  door.app.config.retention.logLine = 20
  const { location: before } = (await stateOf(BATCH)) as { location: string }
  const csv = await get(`/api/batches/${encodeURIComponent(BATCH)}/metrics.csv`)
  await door.app.runTask('sweep')
  expect(JSON.stringify((await get(lines)).body)).not.toContain('quotes')
  await round()
  expect(await stateOf(BATCH)).toMatchObject({ state: 'cold', problem: null })
  const { location } = (await stateOf(BATCH)) as { location: string }
  expect(location).not.toBe(before)
  expect(readdirSync(join(folder, location)).filter((name) => /^log_lines/.test(name))).toEqual([])
  expect((await get(lines)).body.items).toEqual([])
  // The other rows of the copy are what they were.
  expect((await get(`/api/batches/${encodeURIComponent(BATCH)}/jobs/a/attempts/1/metrics`)).status).toBe(200)
  expect(await get(`/api/batches/${encodeURIComponent(BATCH)}/metrics.csv`)).toEqual(csv)
  expect((await rowsOf(BATCH)).events).toHaveLength(events.length + 1)
  expect(
    await door.sql`select from events where type = 8 and batch_key = ${await keyOf(BATCH)} and payload is not null`,
  ).toHaveLength(0)
  door.app.config.retention.logLine = 36_500
})

test('an archived batch in the trash can be restored unchanged, and a purge deletes its objects', async () => {
  const seen = await get(`/api/batches/${encodeURIComponent(BATCH)}/metrics.csv`)
  await round()
  const path = `/api/batches/${encodeURIComponent(BATCH)}`
  expect((await door.app.call('DELETE', path, { token: session })).status).toBeLessThan(300)
  expect((await door.app.call('POST', `${path}/restore`, { token: session })).status).toBeLessThan(300)
  expect(await get(`${path}/metrics.csv`)).toEqual(seen)
  await round()
  expect(await stateOf(BATCH)).toMatchObject({ state: 'cold' })
  const key = await keyOf(BATCH)
  await door.app.call('DELETE', path, { token: session })
  await forward(31)
  await door.sql`update batches set deleted_at = deleted_at - interval '100 days' where deleted_at is not null`
  await door.app.runTask('sweep').catch(() => {})
  await round()
  expect(await stateOf(BATCH)).toBe(undefined)
  expect(readdirSync(folder, { recursive: true }).filter((name) => !/gaps/.test(String(name)))).toEqual([
    'vision',
  ])
  for (const table of ['metric_chunks', 'epochs'])
    expect(await door.sql.unsafe(`select from ${table} where batch_key = ${key}`)).toHaveLength(0)
  expect((await door.send(makeEvent('log_line', { batch_id: BATCH }))).body.code).toBe('batch_purged')
})

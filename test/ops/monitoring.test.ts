import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { openStream, SOON } from '../live/stream.ts'

let door: Door
beforeAll(async () => {
  door = await openDoor()
})
afterAll(() => door?.stop())

const scrape = async (): Promise<string> => {
  const { status, body } = await door.app.call('GET', '/metrics')
  expect(status).toBe(200)
  return body
}
/** The samples of a metric, by their labels. */
const samples = (text: string, name: string): Record<string, number> =>
  Object.fromEntries(
    [...text.matchAll(new RegExp(`^${name}(\\{[^}]*\\})? (\\S+)$`, 'gm'))].map(([, labels, value]) => [
      labels ?? '',
      Number(value),
    ]),
  )

test('events are counted by result, transactions by size and duration', async () => {
  const before = samples(await scrape(), 'svc_ingest_events_total')
  const event = makeEvent('log_line')
  await door.send(event)
  await door.send(event)
  await door.sendAll([makeEvent('log_line'), { wrong: true }])
  await door.send({ wrong: true })
  const text = await scrape()
  const now = samples(text, 'svc_ingest_events_total')
  const more = Object.keys(now).map((key) => [key, (now[key] as number) - (before[key] as number)])
  expect(Object.fromEntries(more)).toEqual({
    '{result="stored"}': 2,
    '{result="duplicate"}': 1,
    '{result="refused"}': 2,
  })
  expect(samples(text, 'svc_ingest_group_events_sum')['']).toBeGreaterThan(2)
  expect(samples(text, 'svc_ingest_group_seconds_count')['']).toBeGreaterThan(0)
  expect(samples(text, 'svc_ingest_waiting_events')).toEqual({ '': 0 })
})

test('requests are counted by the pattern of their route, for any address', async () => {
  for (let i = 0; i < 50; i++) {
    await door.app.call('GET', `/api/batches/some-batch-${i}`, { token: door.session })
    await door.app.call('GET', `/no/such/page-${i}`)
  }
  const text = await scrape()
  expect(text).not.toMatch(/some-batch|page-/)
  const requests = samples(text, 'svc_http_requests_total')
  expect(requests['{method="GET",route="/api/batches/:id",status="404"}']).toBe(50)
  expect(requests['{method="GET",route="none",status="404"}']).toBeGreaterThanOrEqual(50)
  expect(text.split('\n').filter((line) => line.startsWith('svc_http_requests_total')).length).toBeLessThan(
    60,
  )
})

test('streams, the database, its connections, the queue and the clock have metrics', async () => {
  const stream = await openStream(door.app.address, ['dashboard'], { token: door.session })
  await door.send(makeEvent('batch_start', { batch_id: 'seen' }))
  await stream.reach(1)
  const text = await scrape()
  expect(samples(text, 'svc_sse_streams')).toEqual({ '': 1 })
  expect(samples(text, 'svc_sse_frames_total')['']).toBeGreaterThan(0)
  expect(samples(text, 'svc_database_up')).toEqual({ '': 1 })
  expect(samples(text, 'svc_database_bytes')['']).toBeGreaterThan(1e6)
  expect(samples(text, 'svc_batches_running')['']).toBeGreaterThan(0)
  const pools = Object.keys(samples(text, 'svc_database_connections'))
  for (const pool of ['read', 'write', 'ingest', 'stream']) {
    expect(
      pools.some((labels) => labels.includes(`pool="svc ${pool}"`)),
      pools.join(),
    ).toBe(true)
  }
  stream.cut()
  await expect.poll(async () => samples(await scrape(), 'svc_sse_streams'), SOON).toEqual({ '': 0 })
})

test('metrics are for this machine and for administrators; clients behind a local proxy are not local', async () => {
  const { token: stranger } = await door.app.register('stranger@example.org')
  const through = (headers: Record<string, string>, token?: string) =>
    door.app.call('GET', '/metrics', { headers, ...(token === undefined ? {} : { token }) })
  expect((await through({})).status).toBe(200)
  const passedOn: Record<string, string>[] = [
    { 'x-forwarded-for': '203.0.113.9' },
    { 'x-forwarded-for': '127.0.0.1' },
    { forwarded: 'for=127.0.0.1' },
    { 'x-real-ip': '127.0.0.1' },
  ]
  for (const headers of passedOn) {
    expect((await through(headers)).status).toBe(403)
    expect((await through(headers, stranger)).status).toBe(403)
    expect((await through(headers, door.session)).status).toBe(200)
  }
})

test('every query of the dashboard uses existing metrics and labels', async () => {
  const dashboard = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../docs/grafana/dashboard.json'), 'utf8'),
  )
  interface Panel {
    title: string
    targets?: { expr: string }[]
  }
  const queries = (dashboard.panels as Panel[]).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  expect(queries.length).toBeGreaterThan(15)
  // Metrics of the queue need a job, those of the clock a tick.
  await door.sql`select graphile_worker.add_job('mail', '{}', run_at := now() + interval '1 hour')`
  await door.app.runTask('watch')
  await door.app.call('GET', '/livez')
  const text = await scrape()
  const series = [...text.matchAll(/^(\w+)(?:\{([^}]*)\})? /gm)].map(([, name, labels = '']) => ({
    name: name as string,
    labels: new Set([...labels.matchAll(/(\w+)="/g)].map(([, label]) => label as string)),
  }))
  for (const query of queries) {
    const named = [...query.matchAll(/\b((?:svc|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)]
    expect(named.length, query).toBeGreaterThan(0)
    const grouped = [...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) =>
      (list as string).split(/,\s*/).filter((label) => label !== ''),
    )
    for (const [, name, matchers = ''] of named) {
      const these = series.filter((one) => one.name === name)
      expect(these.length, `${name} in ${query}`).toBeGreaterThan(0)
      const labels = [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label]) => label as string)
      for (const label of [...labels, ...grouped].filter((label) => label !== 'instance'))
        expect(
          these.some((one) => one.labels.has(label)),
          `${label} of ${name} in ${query}`,
        ).toBe(true)
    }
  }
  expect(new Set((dashboard.panels as Panel[]).map(({ title }) => title)).size).toBe(dashboard.panels.length)
})

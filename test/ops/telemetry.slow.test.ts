import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { runCli } from '../cli/process.ts'
import { firstToken } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { createClient } from '../kit/http.ts'

// A real process with OpenTelemetry's SDK, and a collector that takes OTLP as JSON (docs/operations.md "OpenTelemetry").
vi.setConfig({ testTimeout: 180_000 })

interface Attribute {
  key: string
  value: { stringValue?: string; intValue?: number }
}
interface ExportedSpan {
  name: string
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: Attribute[]
}
interface ExportedMetric {
  name: string
  sum?: { dataPoints: unknown[] }
  gauge?: { dataPoints: unknown[] }
  histogram?: { dataPoints: unknown[] }
}

const home = memoryFolder('svc-telemetry-').path
const spans: ExportedSpan[] = []
const metrics = new Map<string, ExportedMetric>()
let services = new Set<string>()
let text = ''
const collector = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks).toString()
  text += body
  const { resourceSpans = [], resourceMetrics = [] } = JSON.parse(body)
  for (const { resource, scopeSpans } of resourceSpans) {
    services = new Set([
      ...services,
      ...resource.attributes
        .filter((one: Attribute) => one.key === 'service.name')
        .map((one: Attribute) => one.value.stringValue),
    ])
    for (const scope of scopeSpans) spans.push(...scope.spans)
  }
  for (const { scopeMetrics } of resourceMetrics)
    for (const scope of scopeMetrics) for (const one of scope.metrics) metrics.set(one.name, one)
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
})
beforeAll(() => new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve)))
afterAll(() => {
  collector.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
})

test('the standard OTEL variables export spans of requests with their commits, and every counter', async () => {
  const { port } = collector.address() as AddressInfo
  const cli = runCli(['start'], {
    SVC_DATA_DIR: home,
    SVC_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_METRIC_EXPORT_TIMEOUT: '400',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  })
  const address = await cli.address()
  const token = await firstToken(address)
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const http = createClient(address)
  const sent = await http.call('POST', '/api/events', {
    token,
    body: makeEvent('batch_start'),
    headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
  })
  expect(sent.status).toBe(200)
  expect((await http.call('GET', '/api/batches/secret-batch')).status).toBe(404)
  const login = { email: 'person@example.org', password: PASSWORD }
  const { body: session } = await http.call('POST', '/api/auth/login', { body: login })
  const asUser = {
    token: session.token,
    headers: { traceparent: `00-${'1'.repeat(32)}-b7ad6b7169203331-01` },
  }
  expect((await http.call('GET', '/api/batches', asUser)).status).toBe(200)
  const query = '{ projects(first: 1) { edges { node { slug members { role } } } } }'
  const graph = await http.call('POST', '/graphql', { ...asUser, body: { query } })
  expect(graph.body.errors).toBe(undefined)
  http.close()
  const named = (name: string) => spans.filter((span) => span.name === name)
  await vi.waitFor(
    () => {
      expect(named('POST /api/events').map((span) => span.traceId)).toEqual([traceId])
      expect(named('GET /api/batches/:id')).toHaveLength(1)
      expect(named('POST /graphql')).toHaveLength(1)
      expect(metrics.get('svc_ingest_events_total')?.sum?.dataPoints ?? []).not.toEqual([])
      expect(metrics.get('http.server.request.duration')?.histogram?.dataPoints.length).toBeGreaterThan(1)
    },
    { timeout: 30_000 },
  )
  const [event] = named('POST /api/events')
  expect(event?.parentSpanId).toBe('b7ad6b7169203331')
  expect(event?.attributes).toContainEqual({
    key: 'http.response.status_code',
    value: { intValue: 200 },
  })
  // What a read asked of the database, statement by statement, by name.
  const under = (parent: string): string[] =>
    spans.filter((span) => span.parentSpanId === named(parent)[0]?.spanId).map((span) => span.name)
  expect(under('GET /api/batches')).toEqual(expect.arrayContaining([expect.stringMatching(/^batches\.\w+$/)]))
  expect(under('POST /graphql')).toEqual(
    expect.arrayContaining([expect.stringMatching(/^prisma\.\w+\.\w+$/)]),
  )
  expect(JSON.stringify(spans)).not.toMatch(/ (from|where|values) /i)
  // Background work, such as reading the change log, starts no trace.
  expect(
    spans.filter(({ parentSpanId }) => !parentSpanId).map(({ name }) => name.split(' ')[0]),
  ).not.toContain('changes.drawn')
  expect(named('ingest.commit').length).toBeGreaterThan(0)
  expect(metrics.get('svc_sse_streams')?.gauge?.dataPoints).toHaveLength(1)
  expect(metrics.has('svc_http_request_seconds_count')).toBe(true)
  expect(services).toEqual(new Set(['svc']))
  // No address, token or id of a batch.
  expect(text).not.toContain('secret-batch')
  expect(text).not.toContain(token)
  cli.kill('SIGTERM')
  expect((await cli.ended).code).toBe(0)
})

test('an unreachable collector causes one log line, and the service stops as fast as without it', async () => {
  const cli = runCli(['start'], {
    SVC_DATA_DIR: home,
    SVC_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_METRIC_EXPORT_INTERVAL: '500',
    OTEL_METRIC_EXPORT_TIMEOUT: '400',
    OTEL_BSP_SCHEDULE_DELAY: '200',
  })
  const http = createClient(await cli.address())
  expect((await http.call('GET', '/readyz')).status).toBe(200)
  await vi.waitFor(() => expect(cli.said.err).toMatch(/^svc: OpenTelemetry: .*(ECONNREFUSED|timed out)/m), {
    timeout: 60_000,
  })
  expect((await http.call('GET', '/readyz')).status).toBe(200)
  http.close()
  cli.kill('SIGTERM')
  expect((await cli.ended).code).toBe(0)
  expect(cli.said.err.match(/OpenTelemetry/g)).toHaveLength(1)
})

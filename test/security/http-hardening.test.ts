import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ApiDocument } from '../../src/http/docs/openapi-parts.ts'
import { openStage, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp } from '../kit/app.ts'
import { openRaw } from './raw-socket.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage()
})
afterAll(() => stage?.stop())

test('a request with two Host headers is refused, for any values', async () => {
  for (const second of ['localhost', 'evil.example']) {
    const raw = await openRaw(
      stage.app.address,
      `GET /livez HTTP/1.1\r\nhost: localhost\r\nHost: ${second}\r\nconnection: close\r\n\r\n`,
    )
    await raw.closed
    expect(raw.said()).toMatch(/^HTTP\/1\.1 400 /)
  }
})

test('a route without a credential takes a body of 64 KiB at most, also after decompression; GraphQL its own limit', async () => {
  const { app } = stage
  const padded = (bytes: number) => Buffer.from(JSON.stringify({ email: 'a'.repeat(bytes) }))
  const open = app.app.swagger() as ApiDocument
  const routes = Object.entries(open.paths).filter(([, { post }]) => post?.security?.length === 0)
  expect(routes.length).toBeGreaterThan(4)
  for (const [path] of [...routes, ['/graphql'], ['/api/sse']] as [string][]) {
    const headers = { 'content-encoding': 'gzip' }
    const bomb = await app.call('POST', path, { body: gzipSync(padded(8_000_000)), headers })
    expect([path, bomb.status, bomb.body.code]).toEqual([path, 413, 'body_too_large'])
  }
  for (const [path] of routes) {
    const long = await app.call('POST', path, { body: padded(70_000) })
    expect([path, long.status]).toEqual([path, 413])
  }
  expect((await app.call('POST', '/api/auth/login', { body: padded(1_000) })).status).toBe(422)
})

test('only routes of events and lists of files take a body of more than 1 MiB, also after decompression', async () => {
  const { app } = stage
  const { paths } = app.app.swagger() as ApiDocument
  const session = (await app.register()).token
  const reporter = await app.reporterToken(session)
  const padded = JSON.stringify({ name: 'a'.repeat(1_100_000) })
  const takesMore: string[] = []
  for (const [path, methods] of Object.entries(paths))
    for (const method of ['post', 'put', 'patch'] as const) {
      if (methods[method] === undefined) continue
      const url = path.replaceAll(/\{[^}]+\}/g, '1')
      for (const [body, headers] of [
        [Buffer.from(padded), {}],
        [gzipSync(padded), { 'content-encoding': 'gzip' }],
      ] as const) {
        const token = path.startsWith('/api/events') ? reporter : session
        const answer = await app.call(method.toUpperCase() as 'POST', url, { token, body, headers })
        // Some routes check the credential before they read the body.
        if (!['body_too_large', 'forbidden', 'unauthenticated'].includes(answer.body.code))
          takesMore.push(path)
      }
    }
  // A batch's list of files takes tokens only, which this session is not.
  expect([...new Set(takesMore)].sort()).toEqual([
    '/api/events',
    '/api/events/batch',
    '/api/projects/{slug}/artifacts',
  ])
})

test('under TLS every answer has HSTS and cross-origin headers; without TLS it has no HSTS', async () => {
  const secure = await startTestApp({ publicUrl: 'https://monitor.example.org' })
  const proxied = await startTestApp({ trustProxy: true })
  try {
    const tls = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' }
    for (const path of ['/api/docs', '/livez', '/api/projects', '/api/none']) {
      for (const { headers } of [
        await secure.call('GET', path),
        await proxied.call('GET', path, { headers: tls }),
      ]) {
        expect(headers, path).toMatchObject({
          'strict-transport-security': expect.stringMatching(/^max-age=\d{8}/),
          'cross-origin-resource-policy': 'same-origin',
          'cross-origin-opener-policy': 'same-origin',
          'permissions-policy': expect.stringContaining('camera=()'),
        })
      }
      const plain = await proxied.call('GET', path)
      expect(plain.headers['strict-transport-security']).toBeUndefined()
      // The header is used only from a trusted proxy.
      const claimed = await stage.app.call('GET', path, { headers: tls })
      expect(claimed.headers['strict-transport-security']).toBeUndefined()
    }
  } finally {
    await secure.stop()
    await proxied.stop()
  }
})

test('a CSV cell that a spreadsheet would run as a formula is escaped, in full-width forms too', async () => {
  const source = { project: 'vision' }
  const formulas = ['=1+1', '+1+1', '-1+1', '@SUM(A1)', '\tx', '\rx', '＝1+1', '＋1+1', '－1+1', '＠SUM(A1)']
  await stage.send(stage.batchOwner, [
    startOf({ id: 'csv', source }),
    ...formulas.map((model, i) =>
      makeEvent('job_start', { batch_id: 'csv', job_id: `j${i}`, source, data: { model } }),
    ),
  ])
  const { body } = await stage.get('/api/batches/csv/export.csv', stage.member.token)
  for (const formula of formulas)
    expect(body).toMatch(new RegExp(`,"?'${formula.replace(/[+@()]/g, '\\$&')}`))
})

test('no pattern of the OpenAPI document needs Unicode properties, and every operation has the statuses of all routes', async () => {
  const document: ApiDocument = (await stage.get('/api/openapi.json')).body
  const patterns = JSON.stringify(document).match(/"pattern":"(?:[^"\\]|\\.)*"/g) ?? []
  expect(patterns.length).toBeGreaterThan(20)
  expect(patterns.filter((pattern) => /\\p\{/i.test(pattern))).toEqual([])
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { responses }] of Object.entries(operations)) {
      const told = Object.keys(responses)
      for (const status of ['400', '404', '429', '500', '503'])
        expect(told, `${method} ${path}`).toContain(status)
    }
  }
})

test('a method that a path does not support is 405, and Allow lists the supported ones', async () => {
  const document: ApiDocument = (await stage.get('/api/openapi.json')).body
  for (const [path, operations] of Object.entries(document.paths)) {
    const documented = Object.keys(operations).map((method) => method.toUpperCase())
    // To every other method their last part is an id.
    if (
      [
        '/api/batches/bulk-delete',
        '/api/auth/passkeys/options',
        '/api/jobs/metrics',
        '/api/jobs/media',
      ].includes(path)
    )
      continue
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      if (documented.includes(method)) continue
      const { status, headers } = await stage.app.call(method, path.replace(/\{\w+\}/g, 'x'))
      expect(status, `${method} ${path}`).toBe(405)
      expect(
        String(headers.allow)
          .split(', ')
          .filter((name) => name !== 'HEAD')
          .sort(),
      ).toEqual(documented.sort())
    }
  }
})

import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { get, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { servePages } from '../../src/http/server/web.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { buildPage } from './built-page.ts'
import { recordedSweep, send } from './visit.ts'

let app: TestApp
beforeAll(async () => {
  await buildPage()
  app = await startTestApp()
}, 240_000)
afterAll(() => app?.stop())

const html = { headers: { accept: 'text/html,application/xhtml+xml' } }

test('every address of the page answers with the page, with the content security policy and no-cache', async () => {
  for (const path of ['/', '/sign-in', '/p/vision', '/b/some%2Fid/jobs', '/s/token']) {
    const answer = await app.call('GET', path, html)
    expect([path, answer.status], path).toEqual([path, 200])
    expect(answer.body).toContain('<div id="root">')
    expect(answer.headers['content-security-policy']).toContain(
      "default-src 'none'; script-src 'self'; style-src 'self'",
    )
    expect(answer.headers['cache-control']).toBe('no-cache')
  }
})

test.each([
  ['nothing', {}],
  ['*/*, as curl', { accept: '*/*' }],
  ['images, as some link previews', { accept: 'image/*' }],
  ['HTML above JSON', { accept: 'text/html, application/json;q=0.9' }],
])('the page is the answer for Accept: %s', async (_, headers) => {
  for (const path of [
    '/',
    '/b/some',
    '/s/token',
    '/p/vision',
    '/sign-in',
    '/admin/users',
    '/hosts',
    '/compare',
  ]) {
    const { status, headers: got } = await app.call('GET', path, { headers })
    expect([path, status, got['content-type']]).toEqual([path, 200, 'text/html; charset=utf-8'])
  }
})

test.each([
  'application/json',
  'application/json, text/plain, */*',
  'application/problem+json',
  'text/html;q=0.5, application/json',
])('a client that prefers JSON (%s) does not get the page', async (accept) => {
  for (const path of ['/', '/b/some', '/s/token']) {
    const answer = await app.call('GET', path, { headers: { accept } })
    expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'not_found'])
  }
})

test('every address of the router is a page for curl', async () => {
  const router = await readFile(join(import.meta.dirname, '../../web/src/app/router.tsx'), 'utf8')
  const paths = [...router.matchAll(/path: '(\/[^']+)'/g)].map(([, path]) => path as string)
  // Below /b/… and /admin the paths are relative to it.
  const below =
    /^\/(jobs|logs|resources|environment|timeline|delivery|sweep|files|media|comments|j\/\$jobId|users|agents|keys|audit)$/
  const whole = paths.filter((path) => !below.test(path)).map((path) => path.replace(/\$\w+/g, 'x'))
  expect(whole.length).toBeGreaterThan(10)
  for (const path of whole) expect([path, (await app.call('GET', path)).status]).toEqual([path, 200])
})

test('a link preview has the kind of page, and is the same whether the object exists or not', async () => {
  const ada = await app.register('ada@example.org')
  const reporter = await app.reporterToken(ada.token)
  await send(app, reporter, recordedSweep('secret-plan').slice(0, 10))
  const tag = (body: string, name: string) =>
    new RegExp(`property="og:${name}" content="([^"]*)"`).exec(body)?.[1]
  const there = (await app.call('GET', '/b/secret-plan')).body
  expect(there).toBe((await app.call('GET', '/b/no-such-batch')).body)
  expect(there).not.toContain('secret-plan')
  expect(/<title>(.*)<\/title>/.exec(there)?.[1]).toBe('Batch · Experiment monitor')
  for (const [path, title] of [
    ['/', 'Experiment monitor'],
    ['/b/x', 'Batch · Experiment monitor'],
    ['/p/x', 'Project · Experiment monitor'],
    ['/s/x', 'Shared batch · Experiment monitor'],
  ] as const) {
    const { body } = await app.call('GET', path)
    expect([path, tag(body, 'title')]).toEqual([path, title])
    expect(tag(body, 'description')).toMatch(/training runs/i)
    expect(tag(body, 'site_name')).toBe('Experiment monitor')
  }
})

test('files of the page have hashed names, are cacheable for a year, and have their content types', async () => {
  const { body } = await app.call('GET', '/', html)
  const [script] = /\/assets\/[\w-]+\.js/.exec(body) as RegExpExecArray
  const [style] = /\/assets\/[\w-]+\.css/.exec(body) as RegExpExecArray
  const answers = [await app.call('GET', script), await app.call('GET', style)]
  expect(answers.map((one) => [one.status, one.headers['cache-control']])).toEqual([
    [200, 'public, max-age=31536000, immutable'],
    [200, 'public, max-age=31536000, immutable'],
  ])
  expect(answers[0]?.headers['content-type']).toMatch(/javascript/)
  expect((await app.call('GET', '/favicon.svg')).headers['content-type']).toMatch(/svg/)
})

test('an address that is not of the page is not answered with the page', async () => {
  for (const path of [
    '/api/nothing',
    '/api',
    '/graphql/x',
    '/livez/x',
    '/readyz/x',
    '/metrics/x',
    '/assets/gone.js',
    '/gone.svg',
  ]) {
    const answer = await app.call('GET', path, html)
    expect([path, answer.status, answer.headers['content-type']]).toEqual([
      path,
      404,
      'application/problem+json; charset=utf-8',
    ])
  }
  const json = { headers: { accept: 'application/json' } }
  expect((await app.call('GET', '/p/vision', json)).status).toBe(404)
  expect((await app.call('GET', '/no-such-page')).status).toBe(404)
  expect((await app.call('POST', '/p/vision', html)).status).toBe(404)
})

test('no path leads out of the folder of the page', async () => {
  for (const path of [
    '/assets/../../../package.json',
    '/assets/%2e%2e/%2e%2e/package.json',
    '/..%2fpackage.json',
  ]) {
    const answer = await app.call('GET', path)
    expect(answer.status, path).toBe(404)
  }
})

test('files of the page are compressed as the browser accepts it, with an ETag for each encoding', async () => {
  const { body } = await app.call('GET', '/', html)
  const [script] = /\/assets\/libraries-[\w-]+\.js/.exec(body) as RegExpExecArray
  const plain = await app.call('GET', script)
  expect(plain.headers['content-encoding']).toBeUndefined()
  const unpack = { br: brotliDecompressSync, gzip: gunzipSync }
  const tags = new Set([plain.headers.etag])
  for (const [encoding, accepted] of [
    ['br', 'gzip, deflate, br, zstd'],
    ['gzip', 'gzip, deflate'],
  ] as const) {
    const answer = await fetchRaw(script, { 'accept-encoding': accepted })
    expect(answer.headers).toMatchObject({
      'content-encoding': encoding,
      vary: 'accept-encoding',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': plain.headers['content-type'],
    })
    expect(answer.bytes.length).toBeLessThan(Buffer.byteLength(plain.body) / 2)
    expect(unpack[encoding](answer.bytes).toString()).toBe(plain.body)
    const tag = answer.headers.etag as string
    tags.add(tag)
    const again = await fetchRaw(script, { 'accept-encoding': accepted, 'if-none-match': tag })
    expect([again.status, again.bytes.length]).toEqual([304, 0])
  }
  expect(tags.size).toBe(3)
  const page = await fetchRaw('/', { ...html.headers, 'accept-encoding': 'br' })
  expect(page.headers.vary).toBe('accept, accept-encoding')
  expect(page.headers['content-security-policy']).toContain("worker-src 'self'")
})

test('after an upgrade a browser gets the new page, although its size and its time in the package are the same', async () => {
  const root = await mkdtemp(join(tmpdir(), 'svc-page-'))
  const upgraded = fastify()
  const pages = await servePages(upgraded, { basePath: '' }, root)
  upgraded.setNotFoundHandler((request, reply) => pages(request, reply) ?? reply.code(404).send())
  const release = async (hash: string): Promise<void> => {
    for (const file of ['index.html', 'favicon.svg']) {
      await writeFile(join(root, file), `<script src="/assets/index-${hash}.js"></script>`)
      await utimes(join(root, file), 499162500, 499162500)
    }
  }
  for (const url of ['/', '/favicon.svg']) {
    await release('aaaaaaaa')
    const { etag, 'last-modified': since } = (await upgraded.inject({ url, ...html })).headers
    await release('bbbbbbbb')
    const validators = {
      ...(etag !== undefined && { 'if-none-match': String(etag) }),
      ...(since !== undefined && { 'if-modified-since': String(since) }),
    }
    const after = await upgraded.inject({ url, headers: { ...html.headers, ...validators } })
    expect([url, after.statusCode, after.body]).toEqual([url, 200, expect.stringContaining('bbbbbbbb')])
  }
  await upgraded.close()
  await rm(root, { recursive: true })
})

test('without a build the page shows how to build it, and the rest of the service works', async () => {
  const bare = fastify()
  const pages = await servePages(bare, { basePath: '' }, join(tmpdir(), `no-page-${process.pid}`))
  bare.setNotFoundHandler(
    (request, reply) => pages(request, reply) ?? reply.code(404).send({ code: 'not_found' }),
  )
  const home = await bare.inject({ url: '/', ...html })
  expect([home.statusCode, home.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8'])
  expect(home.body).toContain('npm run build')
  expect((await bare.inject({ url: '/assets/gone.js', ...html })).statusCode).toBe(404)
  expect((await bare.inject({ url: '/api/nothing', ...html })).statusCode).toBe(404)
  await bare.close()
})

/** As it came over the wire. */
const fetchRaw = (
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; bytes: Buffer }> =>
  new Promise((resolve, reject) => {
    get(new URL(path, app.address), { headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({ status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(chunks) }),
      )
    }).on('error', reject)
  })

import { execFile, spawn } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { buildNpmPackage } from '../../scripts/npm-package.mjs'
import { accepts } from '../../src/domain/events/index.ts'
import { init } from '../../typescript/reporter/src/node.ts'
import { plain } from '../../typescript/reporter/src/plain.ts'
import { type Options, Run, StopRequested } from '../../typescript/reporter/src/run.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { type FakeIngest, fakeIngest } from './fake-ingest.ts'

let folder: string
let server: FakeIngest
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-ts-'))
  process.env.SVC_REPORTER_DIR = folder
  server = await fakeIngest()
})
afterEach(() => {
  server.close()
  delete process.env.SVC_REPORTER_DIR
  rmSync(folder, { recursive: true, force: true })
})

const QUIET = { token: 'em_live_test', quiet: true, stopPollS: 0, heartbeatS: 0, resourcesS: 0 }
const begin = (options: Partial<Options> = {}) =>
  init({ project: 'vision', url: server.url, ...QUIET, ...options })
const typesOf = (fake: FakeIngest) => fake.events.map(({ event_type }) => event_type)
const spilled = () => {
  const place = join(folder, '.svc-reporter')
  const files = readdirSync(place).filter((name) => name.endsWith('.jsonl'))
  return files.flatMap((name) => readFileSync(join(place, name), 'utf8').trimEnd().split('\n'))
}

test('a run is a batch with its configuration, its steps, its jobs and the counts of its delivery', async () => {
  const run = begin({ name: 'night', config: { lr: 0.1, deep: { a: 1 } }, tags: ['a'], steps: 2 })
  run.log({ loss: 0.5 })
  run.log({ loss: Number.NaN, acc: 2n }, { step: 9 })
  run.log({ loss: 0.1 })
  run.log('a line', { level: 'warning' })
  run.job('seed0', { seed: 0 }).done({ acc: 1 })
  expect(await run.finish()).toBe(true)
  const { events } = server
  expect(typesOf(server)).toEqual([
    'batch_start',
    'job_start',
    'job_epoch',
    'job_epoch',
    'job_epoch',
    'log_line',
    'job_start',
    'job_done',
    'job_done',
    'batch_done',
  ])
  for (const event of events) expect(accepts(event)).toBe(true)
  expect(events[0]?.data).toMatchObject({
    name: 'night',
    config: { lr: 0.1, deep: { a: 1 } },
    tags: ['a'],
    n_total: 1,
  })
  expect(events[1]?.data).toEqual({ lr: 0.1, step_unit: 'step', epochs: 2 })
  expect(events.slice(2, 5).map(({ data }) => data)).toEqual([
    { epoch: 0, loss: 0.5 },
    { epoch: 9, loss: 'NaN', acc: 2 },
    { epoch: 10, loss: 0.1 },
  ])
  const delivery = {
    sender: events[0]?.event_id.slice(-12),
    produced: 10,
    accepted: 9,
    dropped: 0,
    rejected: 0,
  }
  expect(events.at(-1)?.data).toMatchObject({ n_done: 2, n_failed: 0, delivery })
  expect(run.counts).toEqual({
    produced: 10,
    accepted: 10,
    duplicate: 0,
    spilled: 0,
    dropped: 0,
    rejected: 0,
  })
})

test('an error fails the run and its open jobs; the first end counts', async () => {
  const run = begin()
  run.log({ loss: 1 })
  await run.finish(new RangeError('out of memory'))
  await run.finish()
  expect(typesOf(server).slice(-2)).toEqual(['job_failed', 'batch_failed'])
  expect(server.events.at(-1)?.data).toMatchObject({ reason: 'RangeError: out of memory', n_failed: 1 })
})

test('a stop is thrown by the next call, aborts the signal, and ends the run as stopped', async () => {
  const run = begin({ stopPollS: 0.02 })
  run.log({ loss: 1 })
  server.stopRequested = true
  await new Promise((done) => run.signal.addEventListener('abort', done))
  expect(() => run.log({ loss: 1 })).toThrow(StopRequested)
  await run.finish()
  expect(server.events.at(-1)).toMatchObject({
    event_type: 'batch_failed',
    data: { reason: 'stop_requested' },
  })
})

test('a request without an answer is sent again, and what was stored counts once', async () => {
  server.answers = [{ drop: true }, { status: 503 }, undefined]
  const run = begin()
  for (let step = 0; step < 1_200; step++) run.log({ loss: step })
  expect(await run.finish()).toBe(true)
  expect(server.events).toHaveLength(1_204)
  expect(Math.max(...server.requests)).toBe(500)
  expect(run.counts).toMatchObject({ produced: 1_204, accepted: 1_204, dropped: 0 })
})

test('while the service is away events wait on disk, in their order, and arrive when it is back', async () => {
  server.answers = [{ status: 502, body: '<html>' }]
  const run = begin()
  for (let step = 0; step < 30; step++) run.log({ loss: step })
  expect(await run.flush(10)).toBe(false)
  await expect.poll(() => run.counts.spilled).toBe(32)
  expect(spilled()).toHaveLength(32)
  server.answers = []
  expect(await run.finish()).toBe(true)
  expect(server.events.map(({ data }) => data.epoch).filter((epoch) => epoch !== undefined)).toEqual([
    ...Array(30).keys(),
  ])
  expect(readdirSync(join(folder, '.svc-reporter'))).toEqual([])
})

test('a file of more than one request is sent in parts, and begins again where another process took it', async () => {
  server.answers = [{ status: 503 }]
  const run = begin()
  const text = 'é'.repeat(5_000)
  for (let step = 0; step < 900; step++) run.log({ loss: step, text })
  await run.flush(10)
  await expect.poll(() => run.counts.spilled).toBe(902)
  server.answers = [undefined]
  expect(await run.flush(20)).toBe(true)
  expect(server.events).toHaveLength(902)
  server.answers = [{ status: 503 }]
  for (let step = 900; step < 910; step++) run.log({ loss: step })
  await run.flush(10)
  await expect.poll(() => run.counts.spilled).toBe(10)
  const place = join(folder, '.svc-reporter')
  const [name = ''] = readdirSync(place)
  const taken = readFileSync(join(place, name), 'utf8')
  expect(taken.trimEnd().split('\n')).toHaveLength(10)
  rmSync(join(place, name))
  for (let step = 910; step < 913; step++) run.log({ loss: step })
  await expect.poll(() => existsSync(join(place, name))).toBe(true)
  server.answers = []
  expect(await run.finish()).toBe(true)
  expect(server.events.map(({ data }) => data.epoch)).toEqual(expect.arrayContaining([910, 911, 912]))
  expect(readdirSync(place)).toEqual([])
})

test('refused tokens and projects keep events for the user, and bad events cost only themselves', async () => {
  server.answers = [
    { item: ({ data }) => data.epoch === 1 && { status: 422, code: 'invalid_event_data', detail: 'no' } },
    { item: ({ data }) => data.epoch === 2 && { status: 403, code: 'project_forbidden' } },
    undefined,
  ]
  const run = begin()
  run.log({ loss: 0 })
  run.log({ loss: 1 })
  await run.flush()
  run.log({ loss: 2 })
  expect(await run.finish()).toBe(true)
  expect(run.counts).toMatchObject({ dropped: 1, rejected: 1 })
  const [name] = readdirSync(join(folder, '.svc-reporter', 'rejected'))
  expect(readFileSync(join(folder, '.svc-reporter', 'rejected', name ?? ''), 'utf8')).toContain('"epoch":2')
})

test('a refused array is halved until the event that is refused stands alone', async () => {
  const run = begin()
  await run.flush()
  server.answers = [
    { status: 413, body: { code: 'payload_too_large' } },
    { status: 413, body: { code: 'payload_too_large' } },
    undefined,
  ]
  for (let step = 0; step < 40; step++) run.log({ loss: step })
  expect(await run.finish()).toBe(true)
  expect(run.counts).toMatchObject({ dropped: 0, accepted: run.counts.produced })
  expect(server.requests.slice(1, 4)).toEqual([42, 21, 10])
})

test('429 waits as long as it says', async () => {
  server.answers = [
    { status: 429, body: { code: 'rate_limited' }, headers: { 'retry-after': '1' } },
    undefined,
  ]
  const run = begin()
  const begun = Date.now()
  expect(await run.flush(10)).toBe(true)
  expect(Date.now() - begun).toBeGreaterThanOrEqual(900)
  await run.finish()
})

test('a full queue without a disk loses the oldest values, never a start or an end, and counts them', () => {
  const platform = {
    url: undefined,
    token: undefined,
    source: {},
    snapshot: {},
    openStore: () => undefined,
    print: () => {},
    watchEnd: () => () => {},
  }
  const run = new Run({ project: 'vision', url: 'http://127.0.0.1:1', ...QUIET, queueSize: 10 }, platform)
  for (let step = 0; step < 100; step++) run.log({ loss: step })
  expect(run.counts).toMatchObject({ produced: 102, dropped: 92 })
  run.endNow(undefined)
})

test('no value of a program harms it, and each is sent as well as it can be', () => {
  const cyclic: Record<string, unknown> = { a: 1 }
  cyclic.self = cyclic
  const hostile = {
    get bad() {
      throw new Error('no')
    },
  }
  const tree = Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => 1))
  expect(
    plain({
      cyclic,
      hostile,
      when: new Date(0),
      map: new Map([['k', 1]]),
      set: new Set([1]),
      typed: new Float32Array([1, 2]),
    }),
  ).toEqual({
    cyclic: { a: 1, self: '<circular>' },
    hostile: '[object Object]',
    when: '1970-01-01T00:00:00.000Z',
    map: { k: 1 },
    set: [1],
    typed: [1, 2],
  })
  expect(plain(['a\0b\ud800', -Infinity, undefined, 10n ** 30n, Symbol('s')])).toEqual([
    'ab\ufffd',
    '-Infinity',
    null,
    `1${'0'.repeat(30)}`,
    'Symbol(s)',
  ])
  expect(JSON.stringify(plain(tree)).length).toBeLessThan(60_000)
  const run = begin()
  expect(() => run.log({ loss: 1 }, { step: 0.5 })).not.toThrow()
  expect(() => run.log({ text: 'x'.repeat(300_000) })).not.toThrow()
  expect(run.counts.dropped).toBe(1)
  run.endNow(undefined)
})

test('a link in the folder of spill files is not followed', async () => {
  server.answers = [{ status: 503 }]
  const run = begin({ batchId: 'b' })
  const mine = join(folder, 'mine.txt')
  writeFileSync(mine, 'mine')
  await run.flush(5)
  const place = join(folder, '.svc-reporter')
  const [name = ''] = readdirSync(place)
  rmSync(join(place, name))
  symlinkSync(mine, join(place, name))
  run.log({ loss: 1 })
  run.endNow(undefined)
  expect(readFileSync(mine, 'utf8')).toBe('mine')
})

test.each([
  ['ends', '', 0, 'batch_done', undefined],
  ['throws', 'throw new TypeError("bad")', 1, 'batch_failed', 'TypeError: bad'],
  ['exits with 3', 'process.exit(3)', 3, 'batch_failed', 'Error: exit status 3'],
])('a program that %s has the status and output that it has without a run, and every event', async (_what, end, status, type, reason) => {
  const script = join(folder, 'train.ts')
  const source = join(import.meta.dirname, '../../typescript/reporter/src/node.ts')
  writeFileSync(
    script,
    `import { init } from ${JSON.stringify(source)}
     const run = init({ project: 'vision', batchId: 'b', quiet: true })
     for (let step = 0; step < 50; step++) run.log({ loss: step })
     console.log('out')
     ${end}`,
  )
  const child = spawn(process.execPath, ['--import', 'tsx', script], {
    cwd: join(import.meta.dirname, '../..'),
    env: { ...process.env, SVC_URL: server.url, SVC_TOKEN: 't', SVC_REPORTER_DIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  expect(await new Promise((done) => child.once('close', done))).toBe(status)
  expect(out).toBe('out\n')
  const events = [
    ...server.events,
    ...(type === 'batch_done' ? [] : spilled().map((line) => JSON.parse(line))),
  ]
  expect(new Set(events.map(({ data }) => data.epoch)).size).toBe(51)
  const ended = events.find(({ event_type }) => event_type === type)
  expect(ended?.data.reason).toBe(reason)
})

let app: TestApp
let site: ReturnType<typeof createServer>
let dist: string
beforeAll(async () => {
  buildNpmPackage()
  dist = mkdtempSync(join(tmpdir(), 'svc-npm-'))
  // A page of another origin, with the package as npm installs it.
  site = createServer((request, response) => {
    const path =
      request.url === '/' ? undefined : join(dist, 'node_modules/@svc/reporter/dist', request.url ?? '')
    const type = path && extname(path) === '.js' ? 'text/javascript' : 'text/html'
    response
      .writeHead(200, { 'content-type': type })
      .end(path ? readFileSync(path) : '<!doctype html><title>app</title>')
  })
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  app = await startTestApp({ reporterOrigins: [origin] })
})
afterAll(async () => {
  site?.close()
  await app?.stop()
  if (dist) rmSync(dist, { recursive: true, force: true })
})

test('npm installs the package from the service, and a page of an allowed origin reports with it', async () => {
  const registry = `${app.address}/npm/`
  const arguments_ = [
    'install',
    '@svc/reporter',
    `--@svc:registry=${registry}`,
    '--no-audit',
    '--no-fund',
    '--prefix',
    dist,
  ]
  await promisify(execFile)('npm', arguments_, { cwd: dist, shell: process.platform === 'win32' })
  expect(readdirSync(join(dist, 'node_modules/@svc/reporter')).sort()).toEqual([
    'LICENSE',
    'README.md',
    'dist',
    'package.json',
  ])

  const { token } = await app.register()
  const reporter = await app.reporterToken(token)
  const browser = await openBrowser()
  const page = await (await browser.newContext()).newPage()
  await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
  // As text: vitest would rewrite an import within a function.
  const id: string = await page.evaluate(`(async () => {
    const { init } = await import('/browser.js')
    const run = init({ project: 'in-a-page', url: '${app.address}', token: '${reporter}', steps: 3 })
    for (let step = 0; step < 3; step++) run.log({ loss: 1 / (step + 1) })
    if (!(await run.finish())) throw new Error(JSON.stringify(run.counts))
    return run.id
  })()`)
  const { body } = await app.call('GET', `/api/batches/${id}`, { token })
  expect(body).toMatchObject({ status: 'completed', project: 'in-a-page', n_done: 1 })
  const delivery = await app.call('GET', `/api/batches/${id}/delivery`, { token })
  expect(delivery.body).toMatchObject({ state: 'complete', missing: 0 })
  await browser.close()
})

test('no other origin and no other route is opened', async () => {
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  const ask = async (method: string, path: string, from: string) => {
    const answer = await fetch(app.address + path, { method, headers: { origin: from } })
    return [answer.status, answer.headers.get('access-control-allow-origin')]
  }
  expect(await ask('OPTIONS', '/api/events/batch', origin)).toEqual([204, origin])
  expect(await ask('GET', '/api/batches/b/stop-requested', origin)).toEqual([404, origin])
  expect((await ask('OPTIONS', '/api/events/batch', 'https://elsewhere.example'))[1]).toBeNull()
  expect((await ask('GET', '/api/batches', origin))[1]).toBeNull()
})

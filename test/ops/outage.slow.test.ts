import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { startEmbedded } from '../../src/db/embedded.ts'
import { createLog, type ServiceLog } from '../../src/log.ts'
import { startListening } from '../../src/stream/listen.ts'
import { newHome } from '../faults/server-process.ts'
import { makeEvent, openDoor, UNLIMITED } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const SOON = { timeout: 60_000, interval: 200 }
const lines = (app: TestApp) =>
  app
    .logged()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { level: number; msg: string; err?: { stack?: string } })
const about = (app: TestApp, words: RegExp) => lines(app).filter(({ msg }) => words.test(msg))
const figure = async (app: TestApp, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await app.call('GET', '/metrics')).body)?.[1])

describe('a database that becomes unreachable', () => {
  test('counts as unreachable also if it accepts queries and does not answer', {
    timeout: 120_000,
  }, async () => {
    const { home, remove } = newHome()
    const embedded = await startEmbedded({ home, log: () => {}, settings: { shared_buffers: '16MB' } })
    const app = await startTestApp({ ...UNLIMITED, databaseUrl: embedded.url('postgres'), logLevel: 'info' })
    const sql = postgres(embedded.url('postgres'), { max: 1 })
    cleanUps.push(
      remove,
      () => embedded.stop(),
      () => app.stop(),
      () => sql.end(),
    )
    await expect.poll(async () => (await app.call('GET', '/readyz')).status, SOON).toBe(200)
    const backends = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name like 'svc%' and pid <> pg_backend_pid()`
    // The postmaster too: it would open new connections.
    const pids = [...backends.map(({ pid }) => pid), embedded.pid]
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    try {
      await expect.poll(async () => (await app.call('GET', '/readyz')).status, SOON).toBe(503)
      expect((await app.call('GET', '/livez')).status).toBe(200)
      const probes = Array.from({ length: 12 }, () => app.call('GET', '/readyz'))
      expect(new Set((await Promise.all(probes)).map(({ status }) => status))).toEqual(new Set([503]))
      await expect.poll(() => about(app, /the database cannot be used/).length, SOON).toBe(1)
    } finally {
      for (const pid of pids) process.kill(pid, 'SIGCONT')
    }
    await expect.poll(async () => (await app.call('GET', '/readyz')).status, SOON).toBe(200)
    await expect.poll(() => about(app, /can be used again/).length, SOON).toBe(1)
    expect(about(app, /the database cannot be used/)).toHaveLength(1)
    expect(lines(app).filter(({ err }) => err?.stack !== undefined)).toEqual([])
  })

  test('is logged in one line, and in another when it is back; every transport answers 503 with Retry-After', {
    timeout: 240_000,
  }, async () => {
    const { home, remove } = newHome()
    cleanUps.push(remove)
    const open = () => startEmbedded({ home, log: () => {}, settings: { shared_buffers: '16MB' } })
    let embedded = await open()
    const app = await startTestApp({ ...UNLIMITED, databaseUrl: embedded.url('postgres'), logLevel: 'info' })
    cleanUps.push(
      () => embedded.stop(),
      () => app.stop(),
    )
    const { token: session } = await app.register()
    const token = await app.reporterToken(session)
    const event = () => makeEvent('log_line', { batch_id: 'one' })
    expect((await app.call('POST', '/api/events', { token, body: event() })).status).toBe(200)
    const query = {
      query: '{ batch(id: "one") { id status } projects(first: 2) { edges { node { slug } } } }',
    }
    let n = 0
    const asked = [
      () => app.call('POST', '/api/events', { token, body: event() }),
      () => app.call('POST', '/api/events/batch', { token, body: [event()] }),
      () => app.call('GET', '/api/batches', { token: session }),
      () => app.call('GET', '/api/batches/one/metrics', { token: session }),
      () => app.call('GET', '/api/auth/me', { token: session }),
      () =>
        app.call('POST', '/api/auth/login', {
          body: { email: `person${++n}@example.org`, password: 'nine more x' },
        }),
      () => app.call('GET', '/api/sse?channels=dashboard', { token: session }),
      () => app.call('POST', '/graphql', { token: session, body: query }),
      () => app.call('GET', '/readyz'),
    ]
    await embedded.stop()
    await expect.poll(async () => (await app.call('GET', '/readyz')).status, SOON).toBe(503)
    for (let round = 0; round < 10; round++) {
      for (const ask of asked) {
        const { status, headers, body } = await ask()
        expect(status, JSON.stringify(body)).toBe(503)
        expect(headers['retry-after']).toMatch(/^[1-9]\d*$/)
      }
      await sleep(100)
    }
    expect((await app.call('GET', '/livez')).status).toBe(200)
    expect(await figure(app, 'svc_database_up')).toBe(0)

    embedded = await open()
    for (const ask of asked.slice(0, 4)) await expect.poll(async () => (await ask()).status, SOON).toBe(200)
    await expect.poll(() => about(app, /can be used again/).length, SOON).toBe(1)
    expect(about(app, /the database cannot be used/)).toHaveLength(1)
    expect(lines(app).filter(({ err }) => err?.stack !== undefined)).toEqual([])
    expect(await figure(app, 'svc_database_outages_total')).toBe(1)
    expect(await figure(app, 'svc_database_faults_total')).toBeGreaterThan(50)
    expect(await figure(app, 'svc_database_up')).toBe(1)
  })
})

test('connections that this server closed are no outage, a refused one is', async () => {
  const nowhere = 'postgresql://127.0.0.1:1/none'
  const { lines, log } = written()
  const endWatch = log.watch(nowhere, () => Promise.reject(new Error('away')))
  cleanUps.push(async () => endWatch())
  const ask = async (sql: postgres.Sql): Promise<string> => {
    const err = await sql`select 1`.catch((error) => error)
    log.log.error({ err }, 'a request failed')
    return err.code
  }
  const ended = postgres(nowhere, { max: 1 })
  await ended.end()
  expect(await ask(ended)).toBe('CONNECTION_ENDED')
  expect([log.outages.unavailable, lines]).toEqual([false, []])
  const refused = postgres(nowhere, { max: 1 })
  cleanUps.push(() => refused.end())
  expect(await ask(refused)).toBe('ECONNREFUSED')
  expect(log.outages.unavailable).toBe(true)
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([expect.stringMatching(/cannot be used/)])
})

test('an outage needs a person, which is level 50, only once it has lasted a minute', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  cleanUps.push(async () => void vi.useRealTimers())
  const { lines, log } = written()
  const endWatch = log.watch('postgresql://127.0.0.1:1/none', () => Promise.reject(new Error('away')))
  cleanUps.push(async () => endWatch())
  const levels = () => lines.map((line) => JSON.parse(line).level)
  const err = Object.assign(new Error('away'), { code: 'ECONNREFUSED', port: 1 })
  log.log.error({ err }, 'a request failed')
  await vi.advanceTimersByTimeAsync(50_000)
  expect(levels()).toEqual([40])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(levels()).toEqual([40, 50])
})

test('a time limit that passes while the database answers is no outage', async () => {
  const { lines, log } = written()
  let answers = true
  const endWatch = log.watch('postgresql://127.0.0.1:1/none', async () => {
    if (!answers) throw new Error('unavailable')
  })
  cleanUps.push(async () => endWatch())
  // What `pg` throws, also if this process was blocked while the answer arrived.
  const late = () => log.log.error({ err: new Error('timeout expired') }, 'LISTEN failed')
  late()
  await sleep(50)
  expect([log.outages.unavailable, lines]).toEqual([false, []])
  answers = false
  late()
  await expect.poll(() => log.outages.unavailable).toBe(true)
  expect(lines.map((line) => JSON.parse(line).reason)).toEqual(['timeout expired'])
})

function written(): { lines: string[]; log: ServiceLog } {
  const lines: string[] = []
  const to = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return {
    lines,
    log: createLog(
      {
        logLevel: 'warn',
        logFormat: 'json',
        databaseUrl: undefined,
        replica: undefined,
        smtp: undefined,
        identityProviders: [],
        encryptionKey: undefined,
        backupPassphrase: undefined,
      },
      to,
    ),
  }
}

describe('a disk that is full', () => {
  test('is 503 with Retry-After for writes, reads work, and writes recover by themselves', {
    timeout: 240_000,
  }, async () => {
    const door = await openDoor({ logLevel: 'info' })
    cleanUps.push(() => door.stop())
    const { app, sql } = door
    const first = makeEvent('log_line', { batch_id: 'full' })
    expect((await door.send(first)).status).toBe(200)
    // What PostgreSQL says when it cannot make a table longer; a disk of its own would need rights that tests lack.
    await sql`create function disk_full() returns trigger language plpgsql as $$ begin
      raise exception 'could not extend file "base/1/2": No space left on device' using errcode = '53100';
    end $$`
    await sql`create trigger disk_full before insert on events for each statement execute function disk_full()`
    const refused = []
    for (let i = 0; i < 20; i++) {
      const event = makeEvent('log_line', { batch_id: 'full' })
      refused.push(event)
      const answer = i % 2 === 0 ? await door.send(event) : await door.sendAll([event])
      expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable' } })
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
      expect(JSON.stringify(answer.body)).not.toMatch(/extend|device/)
      // Repeats of stored events, and reads, need no disk space.
      expect((await door.send(first)).body.deduplicated).toBe(true)
      expect((await app.call('GET', '/api/batches/full', { token: door.session })).status).toBe(200)
    }
    expect(about(app, /the database cannot be used/)).toHaveLength(1)
    expect(app.logged()).toContain('No space left on device')
    await sql`drop trigger disk_full on events`
    for (const event of refused) expect((await door.send(event)).body).toMatchObject({ deduplicated: false })
    await expect.poll(() => about(app, /can be used again/).length, SOON).toBe(1)
  })
})

test('a database that is unreachable for long leaks nothing per attempt to LISTEN', async () => {
  let attempts = 0
  const away = createServer((socket) => {
    attempts++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(away, 'listening')
  const warnings: Error[] = []
  const warn = (warning: Error): void => {
    if (warning.name === 'MaxListenersExceededWarning') warnings.push(warning)
  }
  process.on('warning', warn)
  const { port } = away.address() as AddressInfo
  const listener = startListening({
    url: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    notified: () => {},
    failed: () => {},
  })
  // Node warns of more than ten listeners of one signal.
  await expect.poll(() => attempts, { timeout: 60_000 }).toBeGreaterThan(12)
  await listener.stop()
  process.off('warning', warn)
  away.close()
  expect(warnings).toEqual([])
})

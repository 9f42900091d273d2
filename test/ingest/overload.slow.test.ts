import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { startEmbedded } from '../../src/db/embedded.ts'
import {
  firstToken,
  killPostmaster,
  newHome,
  residentMiB,
  type ServerProcess,
  startServer,
  until,
} from '../faults/server-process.ts'
import { startTestApp } from '../kit/app.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { killRounds, patienceMs } from '../kit/effort.ts'
import { type Answer, type Client, createClient } from '../kit/http.ts'
import { type OpenTransaction, openTransaction } from '../kit/open-transaction.ts'
import { makeEvent, type TestEvent, UNLIMITED } from './sending.ts'

// Overload, shutdown, no database: acknowledged events are stored, and refused clients get a clear answer.

const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

interface Service {
  server: ServerProcess
  database: TestDatabase
  http: Client
  token: string
  sendAll(events: TestEvent[]): Promise<Answer>
}

async function openService(): Promise<Service> {
  const database = await freshDatabase()
  const server = await startServer({
    SVC_DATABASE_URL: database.url,
    SVC_RATE_LIMIT_EVENTS_PER_S: '1000000',
    SVC_RATE_LIMIT_BURST: '1000000',
  })
  const http = createClient(server.address)
  cleanUps.push(async () => {
    http.close()
    server.kill('SIGKILL')
    await server.ended
    await database.drop()
  })
  const token = await firstToken(server.address)
  return {
    server,
    database,
    http,
    token,
    sendAll: (body) => http.call('POST', '/api/events/batch', { token, body }),
  }
}

/** Blocks writes of events until it is released. */
async function holdWriter({ database }: Service): Promise<OpenTransaction> {
  const writer = await openTransaction(database.sql, (tx) => tx`lock table events in access exclusive mode`)
  cleanUps.push(writer.release)
  return writer
}

/** Waits until so many requests are under way. */
async function untilUnderWay({ http }: Service, requests: number): Promise<void> {
  const underWay = async () =>
    Number(/^svc_http_requests_in_flight (\d+)$/m.exec((await http.call('GET', '/metrics')).body)?.[1])
  await until(async () => (await underWay()) >= requests)
}

const eventIds = (events: TestEvent[]): string[] => events.map((e) => e.event_id)
async function storedIds({ database }: Service): Promise<Set<string>> {
  const rows = await database.sql`select event_id from events`
  return new Set(rows.map((row) => row.event_id))
}

describe('a writer that cannot keep up', () => {
  test('accepts a bounded amount of work; the rest is 503 with Retry-After, and memory stays bounded', async () => {
    const service = await openService()
    const line = 'x'.repeat(200_000)
    /** 4 MB. */
    const heavy = (): TestEvent[] =>
      Array.from({ length: 20 }, () => makeEvent('log_line', { data: { line, level: 'info' } }))
    expect((await service.sendAll(heavy())).status).toBe(200)
    const before = residentMiB(service.server.pid)
    const writer = await holdWriter(service)
    // 400 MB, six times what may wait.
    const requests = Array.from({ length: 100 }, heavy)
    const answers: (Answer | undefined)[] = requests.map(() => undefined)
    const next = requests.keys()
    const clients = Array.from({ length: 25 }, async () => {
      for (const i of next) answers[i] = await service.sendAll(requests[i] as TestEvent[])
    })
    // Those that may wait hold their clients; all other requests pass through the remaining ones.
    await until(() => answers.filter((a) => a !== undefined).length >= 80)
    for (const answer of answers) {
      if (answer === undefined) continue
      expect(answer).toMatchObject({ status: 503, body: { code: 'overloaded' } })
      expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
    }
    const during = residentMiB(service.server.pid)
    if (before !== undefined && during !== undefined) expect(during - before).toBeLessThan(640)
    expect((await service.http.call('GET', '/livez')).status).toBe(200)

    await writer.release()
    await Promise.all(clients)
    const stored = await storedIds(service)
    for (const [i, answer] of answers.entries()) {
      const ids = eventIds(requests[i] as TestEvent[])
      expect([200, 503]).toContain(answer?.status)
      expect(ids.every((id) => stored.has(id))).toBe(answer?.status === 200)
    }
    expect(answers.filter((a) => a?.status === 200).length).toBeGreaterThan(3)
    // It has recovered: the refused events are accepted now.
    const refused = requests.find((_, i) => answers[i]?.status === 503) as TestEvent[]
    expect((await service.sendAll(refused)).status).toBe(200)
  }, 240_000)

  test('answers every request of a group that waited long', async () => {
    const service = await openService()
    const writer = await holdWriter(service)
    const requests = Array.from({ length: 50 }, (_, i) => [
      makeEvent('log_line', { batch_id: `wait ${i % 5}` }),
    ])
    const answers = requests.map((events) => service.sendAll(events))
    await untilUnderWay(service, requests.length)
    await writer.release()
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ status: 200, body: { results: [{ deduplicated: false }] } })
    }
  })
})

describe('a client that floods the service', () => {
  /** Sends arrays or single events as fast as the answers come, from `streams` connections, until it is stopped. */
  function flood(service: Service, streams: number, size: number) {
    const seen = { stored: 0, refused: 0 }
    let over = false
    const clients = Array.from({ length: streams }, async (_, n) => {
      while (!over) {
        const events = Array.from({ length: size }, () =>
          makeEvent('log_line', { batch_id: `flood ${n % 4}` }),
        )
        const answer = await service.sendAll(events)
        if (answer.status === 200) seen.stored += size
        else {
          expect(answer).toMatchObject({ status: 503, body: { code: 'overloaded' } })
          expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
          seen.refused++
          await sleep(200)
        }
      }
    })
    return {
      seen,
      end: () => {
        over = true
        return Promise.all(clients)
      },
    }
  }

  /** Another person's token. */
  async function smallClient({ http }: Service) {
    const body = { email: 'small@example.org', password: 'a small client of the service' }
    const { body: session } = await http.call('POST', '/api/auth/register', { body })
    const made = await http.call('POST', '/api/tokens', {
      token: session.token,
      body: { name: 'small', scope: 'reporter' },
    })
    const token: string = made.body.token
    return (i: number) =>
      http.call('POST', '/api/events', {
        token,
        body: makeEvent('log_line', {
          batch_id: 'small',
          source: { project: 'small' },
          job_id: `job ${i % 3}`,
        }),
      })
  }

  test.each([
    ['in arrays', 60, 500],
    ['one by one, over many connections', 950, 1],
  ])(
    '%s is refused; a small request at the same time never is',
    { timeout: 120_000 },
    async (_name, streams, size) => {
      const service = await openService()
      const send = await smallClient(service)
      expect((await send(0)).status).toBe(200)
      // The service writes nothing for a while, so that its queue is certainly full.
      const writer = await holdWriter(service)
      const { seen, end } = flood(service, streams, size)
      await until(() => seen.refused > 20)
      const whileFull = Array.from({ length: 30 }, (_, i) => send(i))
      await sleep(500)
      await writer.release()
      const statuses = (await Promise.all(whileFull)).map(({ status }) => status)
      // And while it works at full speed: each request waits behind those accepted before it.
      for (let i = 0; i < 5; i++) {
        const answers = await Promise.all([1, 2, 3, 4].map((n) => send(n)))
        statuses.push(...answers.map(({ status }) => status))
      }
      await end()
      expect(statuses).toEqual(statuses.map(() => 200))
      expect(seen.stored).toBeGreaterThan(0)
    },
  )
})

describe('SIGTERM', () => {
  test('answers requests in flight, then ends within 10 seconds', async () => {
    const service = await openService()
    const { server } = service
    const writer = await holdWriter(service)
    const requests = Array.from({ length: 20 }, () => [makeEvent('log_line'), makeEvent('job_epoch')])
    const answers = requests.map((events) =>
      service.sendAll(events).catch((error: Error) => ({ status: String(error), headers: {}, body: null })),
    )
    await untilUnderWay(service, requests.length)
    server.kill('SIGTERM')
    const asked = performance.now()
    // No new connection is accepted: the port is closed, or the answer says so.
    const late = createClient(server.address)
    const knock = () =>
      late.call('GET', '/livez').then(
        ({ status }) => status,
        () => 503,
      )
    await until(async () => (await knock()) === 503)
    late.close()
    await writer.release()
    expect((await Promise.all(answers)).map((a) => a.status)).toEqual(Array(20).fill(200))
    service.http.close()
    const { code, atMs } = await server.ended
    expect(code).toBe(0)
    expect(atMs - asked).toBeLessThan(10_000)
    const stored = await storedIds(service)
    expect(requests.flatMap(eventIds).every((id) => stored.has(id))).toBe(true)
  }, 240_000)

  test('under load loses nothing that was acknowledged, and ends cleanly', async () => {
    const service = await openService()
    const { server } = service
    const acknowledged: string[] = []
    let asked = false
    const clients = Array.from({ length: 8 }, async (_, n) => {
      for (;;) {
        const events = Array.from({ length: n % 2 === 0 ? 1 : 50 }, () =>
          makeEvent('log_line', { batch_id: `load ${n}` }),
        )
        const answer = await service.sendAll(events).catch(() => undefined)
        if (answer?.status !== 200) {
          // Refused, or the connection is closed: only after SIGTERM.
          expect(asked, JSON.stringify(answer?.body)).toBe(true)
          return
        }
        acknowledged.push(...eventIds(events))
      }
    })
    await until(() => acknowledged.length > 500)
    asked = true
    server.kill('SIGTERM')
    const askedAt = performance.now()
    await Promise.all(clients)
    const { code, atMs } = await server.ended
    expect(code).toBe(0)
    expect(atMs - askedAt).toBeLessThan(10_000)
    const stored = await storedIds(service)
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
  }, 240_000)

  test('ends in time even if the writer stays blocked', async () => {
    const service = await openService()
    await holdWriter(service)
    const answer = service.sendAll([makeEvent('log_line')]).then(
      ({ status }) => status,
      () => 'no answer',
    )
    await untilUnderWay(service, 1)
    const asked = performance.now()
    service.server.kill('SIGTERM')
    const { atMs } = await service.server.ended
    expect(atMs - asked).toBeLessThan(12_000)
    expect(await answer).not.toBe(200)
  }, 240_000)
})

describe('a database that becomes unreachable', () => {
  test.each([
    'stopped',
    'killed',
  ])('and comes back (%s): 503 meanwhile, then requests succeed without a restart of the server', async (how) => {
    const { home, remove } = newHome()
    cleanUps.push(remove)
    const open = () => startEmbedded({ home, log: () => {}, settings: { shared_buffers: '16MB' } })
    let embedded = await open()
    const app = await startTestApp({ ...UNLIMITED, databaseUrl: embedded.url('postgres') })
    cleanUps.push(
      () => embedded.stop(),
      () => app.stop(),
    )
    const token = await app.reporterToken((await app.register()).token)
    const send = (event: TestEvent, path = '/api/events') =>
      app.call('POST', path, { token, body: path === '/api/events' ? event : [event] })
    const first = makeEvent('log_line')
    const { body } = await send(first)
    expect(body.deduplicated).toBe(false)

    if (how === 'stopped') await embedded.stop()
    else killPostmaster(home)
    // Its sessions may take a moment to end after a kill.
    await until(async () => (await app.call('GET', '/readyz')).status === 503)
    // At once, while the token is still remembered, and later, when it has to be looked up.
    const rejected: TestEvent[] = []
    for (const pause of [0, 0, 2_100]) {
      await sleep(pause)
      for (const path of ['/api/events', '/api/events/batch']) {
        const event = makeEvent('log_line')
        const answer = await send(event, path)
        expect(answer).toMatchObject({ status: 503, body: { code: 'unavailable', status: 503 } })
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
        expect(JSON.stringify(answer.body)).not.toMatch(/ECONN|postgres|127\.0\.0\.1|5432|password/i)
        rejected.push(event)
      }
    }
    expect((await app.call('GET', '/readyz')).headers['retry-after']).toMatch(/^[1-9]\d*$/)
    expect((await app.call('GET', '/livez')).status).toBe(200)

    embedded = await open()
    await until(async () => (await app.call('GET', '/readyz')).status === 200)
    expect((await send(first)).body).toEqual({ db_id: body.db_id, deduplicated: true })
    for (const event of rejected) expect((await send(event)).status).toBe(200)
    // Every connection of the pools has healed, not just one.
    const answers = await Promise.all(Array.from({ length: 30 }, () => send(makeEvent('log_line'))))
    expect(answers.map((a) => a.status)).toEqual(Array(30).fill(200))
  }, 240_000)

  test(
    'in the middle of many requests leaves each of them stored, or not acknowledged',
    async () => {
      const { home, remove } = newHome()
      cleanUps.push(remove)
      const open = () => startEmbedded({ home, log: () => {}, settings: { shared_buffers: '16MB' } })
      let embedded = await open()
      const app = await startTestApp({ ...UNLIMITED, databaseUrl: embedded.url('postgres') })
      cleanUps.push(
        () => embedded.stop(),
        () => app.stop(),
      )
      const token = await app.reporterToken((await app.register()).token)
      const acknowledged = new Map<string, number>()
      const unknown: TestEvent[] = []
      let over = false
      const clients = Array.from({ length: 8 }, async () => {
        while (!over) {
          const event = makeEvent('log_line')
          const answer = await app.call('POST', '/api/events', { token, body: event })
          if (answer.status === 200) acknowledged.set(event.event_id, answer.body.db_id)
          else {
            expect(answer.status).toBe(503)
            unknown.push(event)
            await sleep(20)
          }
        }
      })
      for (let time = 0; time < killRounds(3); time++) {
        const had = acknowledged.size
        await until(() => acknowledged.size > had + 50)
        killPostmaster(home)
        const failed = unknown.length
        await until(() => unknown.length > failed)
        embedded = await open()
      }
      const had = acknowledged.size
      await until(() => acknowledged.size > had + 50)
      over = true
      await Promise.all(clients)
      for (const event of unknown) {
        const { status, body } = await app.call('POST', '/api/events', { token, body: event })
        expect(status).toBe(200)
        acknowledged.set(event.event_id, body.db_id)
      }
      for (const [event_id, db_id] of acknowledged) {
        const { body } = await app.call('POST', '/api/events', {
          token,
          body: makeEvent('log_line', { event_id }),
        })
        expect(body).toEqual({ db_id, deduplicated: true })
      }
    },
    patienceMs(240),
  )
})

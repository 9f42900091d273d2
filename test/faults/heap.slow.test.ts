import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { arraysOf, wholeRuns } from '../../bench/kit/events.ts'
import { postAll } from '../../bench/kit/load.ts'
import { PASSWORD } from '../kit/app.ts'
import { COMMAND } from '../kit/command.ts'
import { freshDatabase, type TestDatabase } from '../kit/database.ts'
import { wholeHeapTest } from '../kit/effort.ts'
import { type Client, createClient } from '../kit/http.ts'
import { firstToken, type ServerProcess, startServer, until } from './server-process.ts'

// Memory does not grow with what was stored, opened or asked: a server whose heap is 200 MB uses as much of it after the
// whole of some work as after a third of it. Each kind of work is as small as it can be while the leaks that were found
// would still show; SVC_TEST_HEAP=full does all of it: 150 epochs a run, 20,000 documents, 5,000 right passwords.

/** All of the work takes minutes. */
const PATIENCE = { timeout: 900_000 }
const HEAP_MB = 200
const MAX_GROWTH = 0.1
const ARRAY = 250

let database: TestDatabase
let server: ServerProcess
let client: Client
let token: string
let session: string
beforeAll(async () => {
  database = await freshDatabase()
  const settings = {
    DATABASE_URL: database.url,
    SVC_RATE_LIMIT_EVENTS_PER_S: '1000000',
    SVC_RATE_LIMIT_BURST: '1000000',
    SVC_TRUST_PROXY: '1',
    SVC_CREDENTIAL_COST_PER_S: '1000000',
    SVC_VISITOR_COST_PER_S: '1000000',
  }
  const probe = join(import.meta.dirname, '../kit/heap-probe.mjs')
  const flags = ['--expose-gc', `--max-old-space-size=${HEAP_MB}`, '--import', probe]
  server = await startServer(settings, [...flags, ...COMMAND])
  client = createClient(server.address)
  token = await firstToken(server.address)
  const body = { email: 'person@example.org', password: PASSWORD }
  session = (await client.call('POST', '/api/auth/login', { body })).body.token
})
afterAll(async () => {
  client?.close()
  server?.kill('SIGTERM')
  await server?.ended
  await database?.drop()
})

/** Megabytes of used heap after a full collection. */
async function usedHeap(): Promise<number> {
  const from = server.said().length
  server.kill('SIGUSR2')
  const found = () => /used heap (\d+)\n/.exec(server.said().slice(from))
  await until(() => found() !== null)
  return Number(found()?.[1]) / 2 ** 20
}

/** Does the work so many times, and compares the used heap after a third of them with that at the end. */
async function expectNoGrowth(
  what: string,
  times: number,
  work: (from: number, to: number) => Promise<void>,
): Promise<void> {
  const third = Math.ceil(times / 3)
  await work(0, third)
  const early = await usedHeap()
  await work(third, times)
  const late = await usedHeap()
  console.info(`${what}: ${early.toFixed(1)} MB of heap after ${third}, ${late.toFixed(1)} MB after ${times}`)
  expect(late / early).toBeLessThan(1 + MAX_GROWTH)
}

/** Calls `one` for each number, `atOnce` at a time. */
async function each(from: number, to: number, one: (n: number) => Promise<void>, atOnce = 8): Promise<void> {
  let next = from
  const run = async (): Promise<void> => {
    while (next < to) await one(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, run))
}

async function send(bodies: string[], contentType = 'application/json'): Promise<void> {
  const load = await postAll(server.address, '/api/events/batch', bodies, {
    connections: 4,
    token,
    contentType,
  })
  expect(load.failures).toBe(0)
}

test('after 3,000 runs the heap is as after 1,000', PATIENCE, async () => {
  const epochs = wholeHeapTest ? 150 : 12
  await expectNoGrowth('runs', 3_000, async (from, to) => {
    for (let n = from; n < to; n += 250) {
      const ids = Array.from({ length: Math.min(250, to - n) }, (_, i) => `run-${n + i}`)
      await send(arraysOf(wholeRuns(ids, epochs), ARRAY))
    }
  })
})

test('after 300,000 steps of one run the heap is as after 100,000', PATIENCE, async () => {
  let at = Date.UTC(2026, 0, 1)
  const columns = (epochs: number[]): string =>
    JSON.stringify({
      schema_version: '1.1',
      batch_id: 'long',
      job_id: 'job',
      source: { project: 'bench', host: 'box1', user: 'person' },
      event_ids: epochs.map(() => randomUUID()),
      timestamps: epochs.map(() => new Date(at++).toISOString()),
      epochs,
      series: { loss: epochs.map(() => Math.random()) },
    })
  await expectNoGrowth('steps', 300_000, async (from, to) => {
    for (let n = from; n < to; n += 10_000) {
      const bodies = Array.from({ length: 20 }, (_, i) =>
        columns(Array.from({ length: 500 }, (_, k) => n + i * 500 + k)),
      )
      await send(bodies, 'application/vnd.svc.epochs+json;version=1')
    }
  })
})

test('after 2,000 short streams the heap is as after a third of them', PATIENCE, async () => {
  const open = async (n: number): Promise<void> => {
    const path = `/api/sse?channels=batch:run-${n % 500}`
    // The answer of a stream is its headers; the connection is closed then.
    const answer = await client.call('GET', path, { token: session, headers: from(n) })
    expect(answer.status).toBe(200)
  }
  await expectNoGrowth('streams', 2_000, (from, to) => each(from, to, open))
})

test(
  'after thousands of GraphQL documents that differ the heap is as after a third of them',
  PATIENCE,
  async () => {
    const ask = async (n: number): Promise<void> => {
      // One in ten is refused, and kept with its error.
      const fields = n % 10 === 0 ? 'no_such_field' : 'edges { node { id status } }'
      const body = { query: `query Q${n} { batches(first: 1, filter: {group: "g${n}"}) { ${fields} } }` }
      const answer = await client.call('POST', '/graphql', { token: session, body })
      expect(answer.status).toBe(200)
      expect(answer.body.errors === undefined).toBe(n % 10 !== 0)
    }
    await expectNoGrowth('documents', wholeHeapTest ? 20_000 : 3_000, (from, to) => each(from, to, ask))
  },
)

test('after 5,000 sign-ins the heap is as after a third of them', PATIENCE, async () => {
  // Checking a password takes 40 ms of processor time, so few are right; the others exceed the limit of their network.
  const right = wholeHeapTest ? 5_000 : 150
  const signIn = async (n: number): Promise<void> => {
    const isRight = n % Math.ceil(5_000 / right) === 0
    const body = { email: isRight ? 'person@example.org' : `unknown${n}@example.org`, password: PASSWORD }
    const headers = from(isRight ? n : 2_501)
    const answer = await client.call('POST', '/api/auth/login', { body, headers })
    expect(isRight ? [200] : [401, 429]).toContain(answer.status)
  }
  await expectNoGrowth('sign-ins', 5_000, (from, to) => each(from, to, signIn))
})

test('after 1,000 opened shares the heap is as after a third of them', PATIENCE, async () => {
  const open = async (n: number): Promise<void> => {
    const path = `/api/batches/run-${n}/shares`
    const share = await client.call('POST', path, { token: session, body: {} })
    expect(share.status).toBe(201)
    const opened = await client.call('GET', `/api/shared/${share.body.token}`, { headers: from(n) })
    expect(opened.status).toBe(200)
  }
  await expectNoGrowth('shares', 1_000, (from, to) => each(from, to, open))
})

/** A client address of its own, of 2,500 networks. */
const from = (n: number) => ({ 'x-forwarded-for': `10.${n % 250}.${Math.floor(n / 250) % 10}.1` })

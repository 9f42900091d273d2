import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CONFIG_KEYS } from '../../src/config.ts'
import { newHome, type ServerProcess, startServer } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { type Client, createClient } from '../kit/http.ts'
import { type Load, startLoad } from './visitor-load.ts'

// What visitors can do to everybody else, with one link to a batch or one public project: little. The control is the
// same server just before each attack.

const BATCH = 'sweep'
const JOBS = 400
const EPOCHS = 15
const AT_ONCE = 50

const { home, remove } = newHome()
let server: ServerProcess
let client: Client
let token: string
let session: string
let share: string
let project: string

beforeAll(async () => {
  // Each attack comes from a network of its own, whose budget is full.
  server = await startServer({
    SVC_DATA_DIR: home,
    SVC_TRUST_PROXY: 'true',
    SVC_VISITOR_COST_PER_S: CONFIG_KEYS.SVC_VISITOR_COST_PER_S.fallback,
  })
  client = createClient(server.address)
  const account = { email: 'owner@example.org', password: PASSWORD }
  session = (await client.call('POST', '/api/auth/register', { body: account })).body.token
  const reporter = { name: 'reporter', scope: 'reporter' }
  token = (await client.call('POST', '/api/tokens', { token: session, body: reporter })).body.token
  const send = async (events: unknown[]): Promise<void> => {
    const { status } = await client.call('POST', '/api/events/batch', { token, body: events })
    expect(status).toBe(200)
  }
  const jobs = Array.from({ length: JOBS }, (_, n) => ({ batch_id: BATCH, job_id: `job-${n}` }))
  await send([makeEvent('batch_start', { batch_id: BATCH, data: { n_total: JOBS } })])
  await send(jobs.map((job) => makeEvent('job_start', job)))
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    const data = { epoch, loss: 1 / (epoch + 1), acc: epoch / EPOCHS, lr: 0.1 }
    await send(jobs.map((job) => makeEvent('job_epoch', { ...job, data })))
  }
  const batch = await client.call('GET', `/api/batches/${BATCH}`, { token: session })
  project = batch.body.project
  const visibility = { visibility: 'public' }
  await client.call('PATCH', `/api/projects/${project}`, { token: session, body: visibility })
  share = (await client.call('POST', `/api/batches/${BATCH}/shares`, { token: session, body: {} })).body.token
})
afterAll(async () => {
  client?.close()
  server?.kill('SIGTERM')
  await server?.ended
  await remove()
})

const stream = { accept: 'text/event-stream' }
const JOBS_OF = (first: number): string =>
  `jobs(first: ${first}) { edges { node { jobId metrics { key steps values } } } }`

/** Each is run so many times at once; the requests differ where that keeps the server from sharing work. */
const ATTACKS: Record<string, (n: number) => Load['requests'][number]> = {
  'subscriptions to a share, each of another name': (n) => ({
    method: 'POST',
    path: '/graphql',
    headers: stream,
    body: {
      query: `subscription S${n} { batch(id: "${BATCH}", share: "${share}") { batch { ${JOBS_OF(400)} } } }`,
    },
  }),
  'subscriptions to a public project, each of another field': (n) => ({
    method: 'POST',
    path: '/graphql',
    headers: stream,
    body: { query: `subscription { project(slug: "${project}") { batches { a${n}: id ${JOBS_OF(50)} } } }` },
  }),
  'replays from an old cursor': (n) => ({
    method: n % 2 === 0 ? 'GET' : 'POST',
    path: n % 2 === 0 ? `/api/sse?channels=share:${share}` : '/graphql',
    headers: { ...stream, 'last-event-id': '1' },
    ...(n % 2 === 1 && {
      body: {
        query: `subscription { batch(id: "${BATCH}", share: "${share}") { batch { a${n}: id ${JOBS_OF(400)} } } }`,
      },
    }),
  }),
  'queries for a shared batch': (n) => ({
    method: 'POST',
    path: '/graphql',
    body: { query: `query Q${n} { sharedBatch(token: "${share}") { ${JOBS_OF(400)} } }` },
  }),
  'series, exports and lists over REST': (n) => ({
    method: 'GET',
    path: [
      `/api/batches/${BATCH}/metrics`,
      `/api/batches/${BATCH}/metrics.csv`,
      `/api/batches/${BATCH}/metrics.arrow`,
      `/api/shared/${share}?limit=500`,
      `/api/jobs?limit=500`,
    ][n % 5] as string,
  }),
}

interface Times {
  ingest: number[]
  livez: number[]
  list: number[]
}
let epoch = 1_000

/** The times of what others do: a reporter, a probe, and the owner who looks at the list. Nothing may be refused. */
async function measure(seconds: number): Promise<Times> {
  const times: Times = { ingest: [], livez: [], list: [] }
  const end = performance.now() + seconds * 1_000
  const repeat = async (name: keyof Times, call: () => Promise<{ status: number }>): Promise<void> => {
    while (performance.now() < end) {
      const began = performance.now()
      expect((await call()).status, name).toBe(200)
      times[name].push(performance.now() - began)
      await sleep(20)
    }
  }
  const point = () =>
    makeEvent('job_epoch', {
      batch_id: BATCH,
      job_id: `job-${epoch % JOBS}`,
      data: { epoch: epoch++, loss: 1 },
    })
  await Promise.all([
    repeat('ingest', () => client.call('POST', '/api/events', { token, body: point() })),
    repeat('livez', () => client.call('GET', '/livez')),
    repeat('list', () => client.call('GET', '/api/batches?limit=50', { token: session })),
  ])
  return times
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
/** What a timer and a busy machine add to any time, in milliseconds. */
const NOISE_MS = 3

test.each(Object.keys(ATTACKS))('%s: everybody else waits at most three times as long', {
  timeout: 120_000,
}, async (name) => {
  const attack = ATTACKS[name] as (typeof ATTACKS)[string]
  const network = { 'x-forwarded-for': `192.0.2.${Object.keys(ATTACKS).indexOf(name)}` }
  const requests = Array.from({ length: AT_ONCE }, (_, n) => {
    const request = attack(n)
    return { ...request, headers: { ...request.headers, ...network } }
  })
  const quiet: Times = { ingest: [], livez: [], list: [] }
  const attacked: Times = { ingest: [], livez: [], list: [] }
  const add = (to: Times, times: Times): void => {
    for (const what of ['ingest', 'livez', 'list'] as const) to[what].push(...times[what])
  }
  // Of a busy machine one round may be unlucky; more are run only then.
  for (let round = 0; round < 4; round++) {
    add(quiet, await measure(2))
    const end = await startLoad({ address: server.address, requests })
    try {
      add(attacked, await measure(4))
    } finally {
      const report = await end()
      expect(report.withoutRetryAfter).toBe(0)
    }
    if (ratios(quiet, attacked).every((ratio) => ratio <= 3)) break
  }
  const found = ['ingest', 'livez', 'list'].map((what, i) => {
    const [before, during] = [quiet, attacked].map((times) => median(times[what as keyof Times]).toFixed(1))
    return `${what} ${before} → ${during} ms (${ratios(quiet, attacked)[i]?.toFixed(1)})`
  })
  console.info(`${name}: ${found.join(', ')}`)
  for (const ratio of ratios(quiet, attacked)) expect(ratio, found.join(', ')).toBeLessThanOrEqual(3)
})

const ratios = (quiet: Times, attacked: Times): number[] =>
  (['ingest', 'livez', 'list'] as const).map(
    (what) => Math.max(0, median(attacked[what]) - NOISE_MS) / median(quiet[what]),
  )

test('a visitor who waits as told is served again', { timeout: 120_000 }, async () => {
  for (;;) {
    const { status, headers } = await client.call('GET', `/api/shared/${share}?limit=1`, {
      headers: { 'x-forwarded-for': '192.0.2.4' },
    })
    if (status === 200) break
    expect(status).toBe(429)
    await sleep(Number(headers['retry-after']) * 1_000)
  }
})

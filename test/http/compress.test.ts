import { request } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compressAnswers } from '../../src/http/server/compress.ts'
import { sendProblem, toProblem } from '../../src/http/server/respond.ts'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { startTestApp } from '../kit/app.ts'

const JOBS = 60
const ID = 'sweep'
let door: Door
beforeAll(async () => {
  door = await openDoor()
  const of = { batch_id: ID }
  await door.sendAll([
    makeEvent('batch_start', of),
    ...Array.from({ length: JOBS }, (_, n) => `seed${n}`).flatMap((job_id, n) => [
      makeEvent('job_start', { ...of, job_id, data: { seed: n } }),
      makeEvent('job_epoch', { ...of, job_id, data: { epoch: 1, train_loss: 1 / (n + 1) } }),
      makeEvent('job_done', { ...of, job_id, data: { elapsed_s: 60 } }),
    ]),
  ])
})
afterAll(() => door?.stop())

interface Raw {
  status: number
  encoding: string | undefined
  vary: string | undefined
  bytes: Buffer
}

/** The bytes as received, which fetch does not show. */
const ask = (
  path: string,
  accepted: string | undefined,
  options: { address?: string; method?: string; body?: unknown; token?: string } = {},
): Promise<Raw> =>
  new Promise((resolve, reject) => {
    const { address = door.app.address, method = 'GET', body, token = door.session } = options
    const headers = {
      authorization: `Bearer ${token}`,
      ...(accepted !== undefined && { 'accept-encoding': accepted }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const sent = request(new URL(path, address), { method, headers }, (answer) => {
      const chunks: Buffer[] = []
      const done = (): void => {
        const { 'content-encoding': encoding, vary } = answer.headers
        resolve({ status: answer.statusCode ?? 0, encoding, vary, bytes: Buffer.concat(chunks) })
      }
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', done)
      if (answer.headers['content-type']?.startsWith('text/event-stream')) {
        done()
        answer.destroy()
      }
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

const BROWSER = 'gzip, deflate, br, zstd'
const QUERY = {
  query: `{ batch(id: "${ID}") { jobs(first: ${JOBS}) { edges { node { jobId params latest status startedAt } } } } }`,
}

test.each([
  ['a list', `/api/batches/${ID}/jobs?limit=${JOBS}`, {}],
  ['series, which are written while they are read', `/api/batches/${ID}/metrics`, {}],
  ['an answer of GraphQL', '/graphql', { method: 'POST', body: QUERY }],
  ['the API as a document', '/api/openapi.json', {}],
])('%s is compressed for clients that accept it, with the same content', async (_what, path, options) => {
  const plain = await ask(path, undefined, options)
  expect([plain.status, plain.encoding]).toEqual([200, undefined])
  expect(plain.bytes.length).toBeGreaterThan(4_096)
  for (const [accepted, encoding, unpack] of [
    [BROWSER, 'br', brotliDecompressSync],
    ['gzip, deflate', 'gzip', gunzipSync],
  ] as const) {
    const packed = await ask(path, accepted, options)
    expect(packed).toMatchObject({ status: 200, encoding })
    expect(packed.vary?.split(', ')).toContain('accept-encoding')
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2)
    expect(unpack(packed.bytes).equals(plain.bytes)).toBe(true)
  }
  expect((await ask(path, 'identity', options)).encoding).toBeUndefined()
})

test('short answers, files, streams and the answers to events are not compressed', async () => {
  const events = Array.from({ length: 500 }, () => makeEvent('log_line', { batch_id: ID }))
  for (const [path, options] of [
    [`/api/batches/${ID}`, {}],
    [`/api/batches/${ID}/export.csv`, {}],
    [`/api/batches/${ID}/metrics.csv`, {}],
    [`/api/batches/${ID}/metrics.arrow`, {}],
    [`/api/sse?channels=batch:${ID}`, {}],
    ['/api/events/batch', { method: 'POST', body: events, token: door.token }],
  ] as const) {
    const answer = await ask(path, BROWSER, options)
    expect([path, answer.status, answer.encoding]).toEqual([path, 200, undefined])
  }
})

test('an error answer is readable for a client that accepts compression', async () => {
  const app = fastify()
  app.setErrorHandler((error, _request, reply) => sendProblem(reply, toProblem(error)))
  await compressAnswers(app)
  app.get('/breaks', (_request, reply) => {
    const broken = new Readable({ read: () => void broken.destroy(new Error('the first read failed')) })
    return reply.type('application/json').send(broken)
  })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  try {
    const answer = await ask('/breaks', BROWSER, { address })
    expect([answer.status, answer.encoding]).toEqual([500, undefined])
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ code: 'internal' })
  } finally {
    await app.close()
  }
})

const ALL_JOBS = `{ batch(id: "${ID}") { jobs(first: 60) { edges { node {
  nodeId key jobId status model dataset params finalMetrics latest startedAt endedAt elapsedS epochs failureReason
} } } } }`

test('a client that disconnects during its answer is not logged as an error', async () => {
  const app = await startTestApp({ databaseUrl: door.app.config.databaseUrl, logLevel: 'error' })
  try {
    for (let ms = 0; ms < 40; ms++) {
      const sent = request(new URL('/graphql', app.address), {
        method: 'POST',
        headers: {
          authorization: `Bearer ${door.session}`,
          'accept-encoding': BROWSER,
          'content-type': 'application/json',
        },
      })
      sent.on('error', () => {})
      sent.end(JSON.stringify({ query: ALL_JOBS }))
      await sleep(ms / 2)
      sent.destroy()
    }
  } finally {
    await app.stop()
  }
  expect(app.logged()).toBe('')
})

import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventSource } from 'eventsource'
import { afterEach, expect, test } from 'vitest'
import { firstToken, type ServerProcess, startServer } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { freshDatabase } from '../kit/database.ts'
import { createClient } from '../kit/http.ts'
import { channelsQuery } from '../live/stream.ts'

/** The setup of docs/scaling.md: two processes on one database behind a plain proxy, one of which dies. */
const cleanUps: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

interface Proxy {
  address: string
  server: Server
  /** Requests that each upstream was given. */
  given: Map<string, number>
}

/**
 * Round robin, as nginx does it: `X-Forwarded-For` is extended, a refused connection moves on to the next server, and
 * what has begun and breaks is broken to the client.
 */
async function startProxy(upstreams: readonly string[]): Promise<Proxy> {
  const given = new Map<string, number>()
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks)
      const ask = (tries: number): void => {
        const upstream = upstreams[turn++ % upstreams.length] as string
        const said = incoming.headers['x-forwarded-for']
        const from = incoming.socket.remoteAddress as string
        const sent = request(
          new URL(incoming.url as string, upstream),
          {
            method: incoming.method as string,
            headers: {
              ...incoming.headers,
              'x-forwarded-for': said === undefined ? from : `${String(said)}, ${from}`,
              'x-forwarded-proto': 'http',
            },
          },
          (answer) => {
            given.set(upstream, (given.get(upstream) ?? 0) + 1)
            outgoing.writeHead(answer.statusCode as number, answer.headers)
            answer.on('error', () => outgoing.destroy())
            answer.pipe(outgoing)
          },
        )
        outgoing.on('close', () => sent.destroy())
        sent.on('error', (error: NodeJS.ErrnoException) => {
          if (error.code === 'ECONNREFUSED' && tries < upstreams.length) ask(tries + 1)
          else if (outgoing.headersSent) outgoing.destroy()
          else outgoing.writeHead(502).end()
        })
        sent.end(body)
      }
      ask(1)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUps.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server, given }
}

async function openReplicas(
  settings: Record<string, string> = {},
): Promise<{ replicas: ServerProcess[]; proxy: Proxy }> {
  const database = await freshDatabase()
  cleanUps.push(() => database.drop())
  const replicas = await Promise.all(
    [1, 2].map(() => startServer({ SVC_DATABASE_URL: database.url, SVC_TRUST_PROXY: 'true', ...settings })),
  )
  cleanUps.push(async () => {
    for (const replica of replicas) replica.kill('SIGKILL')
    await Promise.all(replicas.map((replica) => replica.ended))
  })
  return { replicas, proxy: await startProxy(replicas.map(({ address }) => address)) }
}

test('with a session of one replica, events through both and a stream across the kill of one, nothing is lost, repeated or out of order', {
  timeout: 240_000,
}, async () => {
  const { replicas, proxy } = await openReplicas()
  const http = createClient(proxy.address)
  cleanUps.push(() => http.close())
  const email = 'ada@example.org'
  const body = { email, password: 'correct horse battery' }
  const { token: session } = (await http.call('POST', '/api/auth/register', { body })).body
  for (let i = 0; i < 4; i++)
    expect((await http.call('GET', '/api/auth/me', { token: session })).body.user.email).toBe(email)
  const { token } = (
    await http.call('POST', '/api/tokens', { token: session, body: { name: 'r', scope: 'reporter' } })
  ).body
  expect((await http.call('POST', '/api/events', { token, body: makeEvent('batch_start') })).status).toBe(200)

  const told: { id: number; db_id: number }[] = []
  const source = new EventSource(`${proxy.address}/api/sse?${channelsQuery('logs:batch-1')}`, {
    fetch: (url, init) =>
      fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${session}` } }),
  })
  cleanUps.push(() => source.close())
  let resets = 0
  source.addEventListener('reset', () => resets++)
  source.addEventListener('logs', ({ data, lastEventId }) => {
    for (const { db_id } of JSON.parse(data).payload.lines) told.push({ id: Number(lastEventId), db_id })
  })
  await expect.poll(() => source.readyState, { timeout: 60_000 }).toBe(EventSource.OPEN)

  const stored: number[] = []
  let stop = false
  const senders = [0, 1, 2].map(async (n) => {
    for (let i = 0; !stop; i++) {
      const event = makeEvent('log_line', { data: { line: `${n} ${i}` } })
      for (;;) {
        const answer = await http.call('POST', '/api/events', { token, body: event }).catch(() => undefined)
        if (answer?.status === 200) {
          stored.push(answer.body.db_id)
          break
        }
        // A replica died over it: whether it was stored is unknown, and the same event again is safe.
        await sleep(50)
      }
    }
  })
  await expect.poll(() => told.length, { timeout: 60_000 }).toBeGreaterThan(50)
  const [first] = replicas as [ServerProcess, ServerProcess]
  first.kill('SIGKILL')
  const had = told.length
  await expect.poll(() => told.length, { timeout: 60_000 }).toBeGreaterThan(had + 100)
  stop = true
  await Promise.all(senders)
  await expect.poll(() => told.length, { timeout: 60_000 }).toBe(new Set(stored).size)
  expect(told.map(({ db_id }) => db_id).toSorted((a, b) => a - b)).toEqual(
    [...new Set(stored)].toSorted((a, b) => a - b),
  )
  expect(told.map(({ id }) => id)).toEqual(told.map(({ id }) => id).toSorted((a, b) => a - b))
  expect(resets).toBe(0)
  expect([...proxy.given.values()].every((n) => n > 5)).toBe(true)
  expect(proxy.given.size).toBe(2)
})

test('each replica has its own rate limit: two allow twice the rate, and their headers show it', {
  timeout: 240_000,
}, async () => {
  const { proxy, replicas } = await openReplicas({
    SVC_RATE_LIMIT_EVENTS_PER_S: '0.001',
    SVC_RATE_LIMIT_BURST: '5',
  })
  const token = await firstToken((replicas[0] as ServerProcess).address)
  const http = createClient(proxy.address)
  cleanUps.push(() => http.close())
  const statuses: number[] = []
  for (let i = 0; i < 14; i++) {
    const answer = await http.call('POST', '/api/events', { token, body: makeEvent('log_line') })
    statuses.push(answer.status)
    expect(answer.headers['ratelimit-policy']).toContain('q=5')
    if (answer.status === 429) expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/)
  }
  expect(statuses.filter((status) => status === 200)).toHaveLength(10)
  expect(statuses.slice(10)).toEqual([429, 429, 429, 429])
})

test('an address that a client writes into X-Forwarded-For is ignored behind the proxy', {
  timeout: 240_000,
}, async () => {
  const { proxy, replicas } = await openReplicas()
  await firstToken((replicas[0] as ServerProcess).address)
  const http = createClient(proxy.address)
  cleanUps.push(() => http.close())
  const statuses: number[] = []
  for (let i = 0; i < 45; i++) {
    const body = { email: `unknown${i}@example.org`, password: 'wrong password' }
    const headers = { 'x-forwarded-for': `203.0.113.${i}` }
    statuses.push((await http.call('POST', '/api/auth/login', { body, headers })).status)
  }
  // 20 a minute from one address, at each of the two.
  expect(statuses.filter((status) => status === 401)).toHaveLength(40)
  expect(statuses.slice(40)).toEqual([429, 429, 429, 429, 429])
})

import { readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { startServer } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { PASSWORD } from '../kit/app.ts'
import { freshDatabase } from '../kit/database.ts'
import { freePort } from '../kit/free-port.ts'
import { createClient } from '../kit/http.ts'
import { type RunningProxy, runCaddy, runNginx } from '../kit/proxy.ts'
import { buildPage } from '../web/built-page.ts'

/**
 * The texts of docs/scaling.md, word for word but for addresses and the certificate, in the real nginx and Caddy: writers
 * that send more than two servers take, and one server killed meanwhile. Without apt this fails and says so.
 */
const SCALING = readFileSync(join(import.meta.dirname, '../../docs/scaling.md'), 'utf8')
const WRITERS = 300
/** Reads before the kill and after it. */
const READS = 18
const LONG = { timeout: 90_000 }

const cleanUps: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const blockOf = (language: string): string => {
  const text = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\n\`\`\``).exec(SCALING)?.[1]
  if (text === undefined) throw new Error(`docs/scaling.md has no block of ${language}`)
  return text
}

async function started(proxy: Promise<RunningProxy>): Promise<string> {
  const { address, stop } = await proxy
  cleanUps.push(stop)
  return address
}

const proxies = {
  async nginx(servers: readonly string[], folder: string) {
    const port = await freePort()
    const text = withAddresses(blockOf('nginx'), servers)
      .replace(/listen 443 ssl http2;.*/, `listen 127.0.0.1:${port};`)
      .replace(/^ *ssl_certificate.*\n/gm, '')
    expect(text).not.toMatch(/ssl|10\.0\.0/)
    return started(runNginx(text, port, folder))
  },
  async caddy(servers: readonly string[], folder: string) {
    const port = await freePort()
    const text = withAddresses(blockOf('caddy'), servers)
      .replace('Host monitor.example.org', 'Host 127.0.0.1')
      .replace('monitor.example.org {', `http://:${port} {`)
    return started(runCaddy(text, port, folder))
  },
}

const withAddresses = (text: string, servers: readonly string[]): string =>
  text
    .replaceAll('10.0.0.11:8080', new URL(servers[0] as string).host)
    .replaceAll('10.0.0.12:8080', new URL(servers[1] as string).host)

/** A POST: its status, or the error code of the connection. */
const post = (url: URL, agent: Agent, token: string, body: Buffer): Promise<number | string> =>
  new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': body.length,
    }
    const sent = request(url, { method: 'POST', agent, headers }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode as number))
      answer.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'broken'))
    })
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'broken'))
    sent.end(body)
  })

test.each([
  'nginx',
  'caddy',
] as const)('behind %s every page and read is answered under overload by 300 writers and with a killed server', async (kind) => {
  await buildPage()
  const database = await freshDatabase()
  cleanUps.push(() => database.drop())
  const settings = {
    SVC_DATABASE_URL: database.url,
    SVC_TRUST_PROXY: 'true',
    SVC_ALLOWED_HOSTS: '127.0.0.1',
    SVC_RATE_LIMIT_EVENTS_PER_S: '1000000000',
    SVC_RATE_LIMIT_BURST: '1000000000',
  }
  const servers = await Promise.all([startServer(settings), startServer(settings)])
  cleanUps.push(async () => {
    for (const server of servers) server.kill('SIGKILL')
    await Promise.all(servers.map(({ ended }) => ended))
  })
  const folder = memoryFolder('svc-proxy-').path
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }))
  const address = await proxies[kind](
    servers.map((server) => server.address),
    folder,
  )
  const client = createClient(address)
  cleanUps.push(() => client.close())
  const account = { email: 'ada@example.org', password: PASSWORD }
  const session = (await client.call('POST', '/api/auth/register', { body: account })).body.token
  const made = await client.call('POST', '/api/tokens', {
    token: session,
    body: { name: 'a', scope: 'reporter' },
  })
  const token: string = made.body.token

  const agent = new Agent({ keepAlive: true, maxSockets: WRITERS })
  cleanUps.push(() => agent.destroy())
  const outcomes: Record<string, number> = {}
  let over = false
  /** When answers came that the proxy made up. */
  const madeUp: number[] = []
  const line = 'x'.repeat(200)
  const write = async (writer: number): Promise<void> => {
    const batch = `overload-${writer}`
    const start = [
      makeEvent('batch_start', { batch_id: batch, job_id: null }),
      makeEvent('job_start', { batch_id: batch, job_id: 'a' }),
    ]
    const url = new URL('/api/events/batch', address)
    await post(url, agent, token, Buffer.from(JSON.stringify(start)))
    while (!over) {
      const events = Array.from({ length: 200 }, () =>
        makeEvent('log_line', { batch_id: batch, job_id: 'a', data: { line, level: 'info' } }),
      )
      const outcome = await post(url, agent, token, Buffer.from(JSON.stringify(events)))
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      if (outcome === 502) madeUp.push(performance.now())
      if (outcome !== 200) await sleep(100)
    }
  }
  const reads: { path: string; status: number | string }[] = []
  let killedAt = Number.POSITIVE_INFINITY
  const read = async (): Promise<void> => {
    const paths = [
      '/',
      '/b/overload-1',
      '/api/batches',
      '/api/batches?limit=5',
      '/readyz',
      '/pip/simple/svc-agent',
    ]
    for (let i = 0; !over; i++) {
      const path = paths[i % paths.length] as string
      const asked = performance.now()
      const answer = await client.call('GET', path, { token: session }).then(
        ({ status }) => status,
        (error: NodeJS.ErrnoException) => error.code ?? 'broken',
      )
      // An answer whose head had left before the kill is cut off, which no proxy can repair. A browser asks again.
      const cutOff = typeof answer === 'string' && asked < killedAt && performance.now() > killedAt
      if (!cutOff) reads.push({ path, status: answer })
      await sleep(20)
    }
  }
  const kill = async (): Promise<void> => {
    await expect.poll(() => reads.length >= READS && outcomes[503] !== undefined, LONG).toBe(true)
    killedAt = performance.now()
    servers[1].kill('SIGKILL')
    const before = reads.length
    await expect.poll(() => reads.length >= before + READS, LONG).toBe(true)
  }
  const killed = kill().finally(() => {
    over = true
  })
  await Promise.all([...Array.from({ length: WRITERS }, (_, i) => write(i)), read(), read(), read(), killed])

  const expected = new Set([200, 308])
  expect(reads.filter(({ status }) => !expected.has(status as number))).toEqual([])
  expect(outcomes[200]).toBeGreaterThan(0)
  console.info(`${kind}: ${reads.length} reads, events by answer ${JSON.stringify(outcomes)}`)
  // Refusals are the service's. Caddy alone cannot send a body twice, until it knows that a server is gone.
  const allowed = (at: number) => kind === 'caddy' && at >= killedAt
  expect(madeUp.filter((at) => !allowed(at))).toEqual([])
  // By then it knows: every event is answered by the other server.
  const last = JSON.stringify([makeEvent('batch_start', { batch_id: 'after', job_id: null })])
  await expect
    .poll(() => post(new URL('/api/events/batch', address), agent, token, Buffer.from(last)), LONG)
    .toBe(200)
}, 240_000)

/**
 * The first visit of a batch on a slow line: 50 kB/s with 100 ms of latency, nothing cached, 20 jobs of 1,000 epochs and
 * eight metrics with noise. The aim is the first chart within 6 s. The bytes that arrive before it are held against what
 * the line carries in that time, and the time against that of a bare page that gets as many bytes in one file.
 *
 * SLOW_LINE_TRACE=1 prints every request of the last round: when it was sent, when it ended, and its bytes.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, CDPSession, Page } from '@playwright/test'
import { openSql } from '../src/db/sql.ts'
import { launchBrowser } from '../test/kit/browser.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { fillBatch, packAll } from './kit/series.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'
import { WATCH, watched } from './kit/watch.ts'

export const longMinutes = 2

const BYTES_PER_S = 50_000
const LATENCY_MS = 100
const AIM_MS = 6_000
const ROUNDS = 5
const BATCH = 'slow-line'

interface Visit {
  ms: number
  bytes: number
  requests: Request[]
}
interface Request {
  url: string
  sentMs: number
  endedMs: number
  bytes: number
}

export async function benchSlowLine(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const sql = openSql(database.url, { name: 'bench', max: 2 })
  const browser = await launchBrowser()
  try {
    await fillBatch(sql, BATCH, 20, 1_000)
    await packAll(sql)
    await sql.unsafe('vacuum (analyze)')
    const visits: Visit[] = []
    const bare: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const seen = await visit(browser, server)
      visits.push(seen)
      bare.push(await visitBare(browser, seen.bytes))
    }
    if (process.env.SLOW_LINE_TRACE !== undefined) print(visits.at(-1))
    const ms = median(visits.map((one) => one.ms))
    const bytes = median(visits.map((one) => one.bytes))
    const carried = (BYTES_PER_S * AIM_MS) / 1000
    return [
      {
        what: 'first visit of a batch at 50 kB/s: the first chart is drawn',
        value: `${(ms / 1000).toFixed(1)} s`,
        limit: `${AIM_MS / 1000} s`,
        ratio: ms / AIM_MS,
        aim: { most: 1 },
      },
      {
        what: 'bytes that arrive before it',
        value: `${(bytes / 1000).toFixed(0)} kB`,
        limit: `${carried / 1000} kB, what the line carries in that time`,
        ratio: bytes / carried,
        aim: { most: 1 },
      },
      {
        what: 'its time',
        value: `${(ms / 1000).toFixed(1)} s`,
        limit: `as many bytes in one file ${(median(bare) / 1000).toFixed(1)} s`,
        ratio: ms / median(bare),
      },
    ]
  } finally {
    await browser.close()
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

async function visit(browser: Browser, { address }: BenchServer): Promise<Visit> {
  return withPage(browser, address, async (page) => {
    const email = `slow-${process.hrtime.bigint()}@example.com`
    await page.request.post('/api/auth/register', { data: { email, password: 'bench password' } })
    await page.addInitScript(WATCH)
    const devtools = await slowDown(page)
    const requests = listRequests(devtools)
    await page.goto(`/b/${BATCH}`, { waitUntil: 'commit' })
    const ms = await watched<number>(page, `firstChart()`)
    const all = [...requests.values()]
    return { ms, bytes: all.reduce((sum, one) => sum + one.bytes, 0), requests: all }
  })
}

/** One file of so many bytes, over the same line; the browser's own interception would be faster than the line. */
async function visitBare(browser: Browser, bytes: number): Promise<number> {
  const server = createServer((_, answer) => {
    answer.setHeader('content-type', 'text/html')
    answer.end(`<!doctype html>${'x'.repeat(bytes)}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const { port } = server.address() as AddressInfo
    return await withPage(browser, `http://127.0.0.1:${port}`, async (page) => {
      await slowDown(page)
      const begun = performance.now()
      await page.goto('/')
      return performance.now() - begun
    })
  } finally {
    server.close()
  }
}

async function withPage<T>(browser: Browser, baseURL: string, work: (page: Page) => Promise<T>): Promise<T> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, baseURL })
  try {
    return await work(await context.newPage())
  } finally {
    await context.close()
  }
}

async function slowDown(page: Page): Promise<CDPSession> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Network.enable')
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: BYTES_PER_S,
    uploadThroughput: BYTES_PER_S,
  })
  return devtools
}

/** What arrives, headers included, as it arrives; times since the first request. */
function listRequests(devtools: CDPSession): Map<string, Request> {
  const all = new Map<string, Request>()
  let begunS: number | undefined
  devtools.on('Network.requestWillBeSent', ({ requestId, request, timestamp }) => {
    begunS ??= timestamp
    const sentMs = (timestamp - begunS) * 1000
    all.set(requestId, { url: request.url, sentMs, endedMs: Number.NaN, bytes: 0 })
  })
  devtools.on('Network.dataReceived', ({ requestId, encodedDataLength }) => {
    const one = all.get(requestId)
    if (one !== undefined) one.bytes += encodedDataLength
  })
  devtools.on('Network.loadingFinished', ({ requestId, timestamp, encodedDataLength }) => {
    const one = all.get(requestId)
    if (one === undefined || begunS === undefined) return
    one.endedMs = (timestamp - begunS) * 1000
    one.bytes = encodedDataLength
  })
  return all
}

function print(seen: Visit | undefined): void {
  for (const { url, sentMs, endedMs, bytes } of seen?.requests ?? [])
    console.error(
      `${sentMs.toFixed(0).padStart(6)} ${endedMs.toFixed(0).padStart(6)} ms ${String(bytes).padStart(7)} B  ${new URL(url).pathname}${new URL(url).search.slice(0, 80)}`,
    )
}

if (process.argv[1] === import.meta.filename) printFigures('Slow line', await benchSlowLine())

/**
 * The page in a real browser before the real server, against its aims in docs/performance.md: how soon a project of 10,000 batches and a batch
 * of 1,000 jobs can be worked with, how they scroll, how soon a chart of a million points is drawn, what happens while
 * rows arrive, how soon another user sees accepted events, and the size of each route. Every round is a browser
 * context of its own, so nothing is cached; medians of rounds are told. Browser and server share the machine's cores.
 * Beside them are the frames of a page that runs no scripts of ours: what this browser reaches on this machine.
 *
 * PAGE_SMALL=1 runs it with a tenth of the data and one round.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from '@playwright/test'
import { openSql } from '../src/db/sql.ts'
import { launchBrowser } from '../test/kit/browser.ts'
import { coreFiles, sizeOfFiles } from './kit/bundle.ts'
import { openListeners } from './kit/listeners.ts'
import { percentile } from './kit/load.ts'
import { seedManyBatches, seedManyJobs } from './kit/many-batches.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { fillBatch, packAll } from './kit/series.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'
import { openBare, openMeter, WATCH, watched } from './kit/watch.ts'

export const longMinutes = 3

const SMALL = process.env.PAGE_SMALL !== undefined
const BATCHES = SMALL ? 1_000 : 10_000
const JOBS = SMALL ? 100 : 1_000
const ROUNDS = SMALL ? 1 : 5
const CHARTS = [
  { jobs: 100, epochs: SMALL ? 1_000 : 10_000 },
  { jobs: SMALL ? 200 : 1_000, epochs: SMALL ? 500 : 1_000 },
]
const PROJECT = 'project-3'
const SCROLL_MS = 3_000
/** More than are passed in that time. */
const STILL_ROWS = 220
const LIVE_JOBS = 50
const LIVE_MS = SMALL ? 5_000 : 15_000
const OTHERS = SMALL ? 100 : 1_000
const MARKS = SMALL ? 20 : 100
const APART_MS = 100

interface Site {
  server: BenchServer
  browser: Browser
}

export async function benchPage(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url, {
    SVC_MAX_STREAMS_PER_ADDRESS: '2000',
    SVC_REGISTRATIONS_PER_HOUR: '1000000',
  })
  const sql = openSql(database.url, { name: 'bench', max: 2 })
  const browser = await launchBrowser()
  try {
    await seedManyBatches(sql, BATCHES)
    for (const { jobs, epochs } of CHARTS) await fillBatch(sql, `chart-${jobs}`, jobs, epochs)
    // Before there are jobs without stored epochs, which would never be packed.
    await packAll(sql)
    await sql`/* page.one_project */
      update batches set project_key = (select key from projects where slug = ${PROJECT}) where id like 'sweep-%'`
    await seedManyJobs(sql, 'many-jobs', JOBS)
    await sendEvents(
      server,
      'live',
      Array.from({ length: LIVE_JOBS * 20 }, (_, n) => n),
    )
    await sendEvents(server, 'marks', [0], 1)
    await sql`/* page.public */ update projects set visibility = 'public'`
    await sql.unsafe('vacuum (analyze)')

    const site: Site = { server, browser }
    const figures: Figure[] = []
    for (const part of [tables, charts, live, delay, sizes]) {
      figures.push(...(await part(site)))
      console.error(`  ${part.name}: done`)
    }
    return figures
  } finally {
    await browser.close()
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

/** A browser of a signed-in user, with an empty cache. */
async function visit<T>({ server, browser }: Site, see: (page: Page) => Promise<T>) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    baseURL: server.address,
  })
  try {
    const email = `page-${process.hrtime.bigint()}@example.com`
    const made = await context.request.post('/api/auth/register', {
      data: { email, password: 'bench password' },
    })
    if (!made.ok()) throw new Error(`registering: ${await made.text()}`)
    context.setDefaultTimeout(60_000)
    await context.addInitScript(WATCH)
    return await see(await context.newPage())
  } finally {
    await context.close()
  }
}

async function tables(site: Site): Promise<Figure[]> {
  const pages = [
    { what: `project page, ${BATCHES.toLocaleString('en')} batches`, path: `/p/${PROJECT}`, filter: true },
    { what: `batch page, ${JOBS.toLocaleString('en')} jobs`, path: '/b/many-jobs/jobs', filter: false },
  ]
  const figures: Figure[] = []
  for (const { what, path, filter } of pages) {
    const painted: number[] = []
    const filtered: number[] = []
    const frames: number[] = []
    const stillFrames: number[] = []
    const cpu: { painted: number; frame: number }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await visit(site, async (page) => {
        const meter = await openMeter(page)
        await page.goto(path, { waitUntil: 'commit' })
        painted.push(await watched(page, 'rowsPainted()'))
        const paintedMs = await meter()
        if (filter) filtered.push(await watched(page, `filtered('status:failed', 'failed')`))
        await page.goto(path)
        await watched(page, 'rowsPainted()')
        await sleep(1_000)
        const before = await meter()
        const lengths = await watched<number[]>(page, `scrolled(${SCROLL_MS})`)
        frames.push(percentile(lengths, 95))
        cpu.push({ painted: paintedMs, frame: ((await meter()) - before) / lengths.length })
        await openBare(page, await watched<string>(page, `still(${STILL_ROWS})`))
        await sleep(1_000)
        stillFrames.push(percentile(await watched<number[]>(page, `scrolled(${SCROLL_MS})`), 95))
      })
    }
    figures.push(within(`${what}: rows painted`, median(painted), 1_000))
    if (filter) figures.push(within(`${what}: a filter answers`, median(filtered), 1_000))
    const still = `${STILL_ROWS} such rows without scripts`
    figures.push(smooth(`${what}: scrolling`, median(frames), still, median(stillFrames)))
    figures.push({
      what: `${what}: the main thread's processor time until rows are painted / a frame of scrolling`,
      value: `${median(cpu.map((one) => one.painted)).toFixed(0)} / ${median(cpu.map((one) => one.frame)).toFixed(1)} ms`,
      limit: '',
    })
  }
  return figures
}

async function charts(site: Site): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { jobs, epochs } of CHARTS) {
    const taken: { ms: number; bytes: number; label: string }[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await visit(site, async (page) => {
        await page.goto(`/b/chart-${jobs}?series=%5Etrain_loss%24&all=true`)
        taken.push(await watched(page, 'drawn()'))
      })
    }
    const [first] = taken
    const million = ((jobs * epochs) / 1e6).toLocaleString('en')
    figures.push(
      within(
        `chart of ${million}M points in ${jobs.toLocaleString('en')} series, data arrived → drawn (${first?.label}, ${((first?.bytes ?? 0) / 1e6).toFixed(1)} MB)`,
        median(taken.map(({ ms }) => ms)),
        500,
      ),
    )
  }
  return figures
}

/** Fifty epochs a second, of fifty jobs. */
async function live(site: Site): Promise<Figure[]> {
  const figures: Figure[] = []
  const emptyP95Ms = await visit(site, async (page) => {
    await openBare(page, '<!doctype html>')
    const stop = new AbortController()
    const sending = sendSteadily(site.server, stop.signal)
    const frames = await watched<number[]>(page, `frames(${LIVE_MS})`)
    stop.abort()
    await sending
    return percentile(frames, 95)
  })
  for (const [what, path] of [
    ['charts', '/b/live'],
    ['table of jobs', '/b/live/jobs'],
  ] as const) {
    await visit(site, async (page) => {
      const meter = await openMeter(page)
      await page.goto(path)
      await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
      await sleep(2_000)
      await watched(page, 'tasks.splice(0)')
      const stop = new AbortController()
      const sending = sendSteadily(site.server, stop.signal)
      const before = await meter()
      const frames = await watched<number[]>(page, `frames(${LIVE_MS})`)
      const spentMs = (await meter()) - before
      stop.abort()
      const sent = await sending
      const tasks = await watched<{ duration: number }[]>(page, 'tasks')
      const longest = Math.max(0, ...tasks.map(({ duration }) => duration))
      const over = tasks.filter(({ duration }) => duration > 100).length
      const told = `${what} with ${Math.round(sent / (LIVE_MS / 1000))} live rows/s`
      figures.push(
        {
          what: `${told}: tasks over 100 ms`,
          value: `${over}, the longest ${longest.toFixed(0)} ms`,
          limit: '100 ms',
          ratio: longest / 100,
          aim: { most: 1 },
        },
        smooth(told, percentile(frames, 95), 'an empty page beside them', emptyP95Ms),
        {
          what: `${told}: the main thread's processor time a frame / a row`,
          value: `${(spentMs / frames.length).toFixed(1)} / ${(spentMs / sent).toFixed(1)} ms`,
          limit: '',
        },
      )
    })
  }
  return figures
}

let epoch = 1_000
async function sendSteadily(server: BenchServer, stop: AbortSignal): Promise<number> {
  let sent = 0
  for (let due = performance.now(); !stop.aborted; due += 100) {
    await sendEvents(
      server,
      'live',
      Array.from({ length: 5 }, () => epoch++),
    )
    sent += 5
    await sleep(Math.max(0, due + 100 - performance.now()))
  }
  return sent
}

/** One epoch after another, accepted here and seen in a browser, while others listen to the same. */
async function delay(site: Site): Promise<Figure[]> {
  const listeners = await openListeners(site.server.address, '/api/sse?channels=metrics:marks', OTHERS)
  try {
    return await visit(site, async (page) => {
      await page.goto('/b/marks?series=%5Eval_loss%24')
      await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
      await page.locator('[data-points]', { hasText: '1 of 1 points' }).waitFor()
      await watched(page, 'count()')
      const accepted = new Map<number, number>()
      for (let n = 2; n <= MARKS + 1; n++) {
        const due = performance.now() + APART_MS
        await sendEvents(site.server, 'marks', [n], 1)
        accepted.set(n, Date.now())
        await sleep(Math.max(0, due - performance.now()))
      }
      await page.locator('[data-points]', { hasText: `${MARKS + 1} of ${MARKS + 1} points` }).waitFor()
      await sleep(500)
      const seen = await watched<{ n: number; ms: number }[]>(page, 'counts')
      const taken = [...accepted].map(([n, at]) => {
        const first = seen.find((one) => one.n >= n)
        return Math.max(0, (first?.ms ?? Number.POSITIVE_INFINITY) - at)
      })
      const [p50, p99] = [percentile(taken, 50), percentile(taken, 99)]
      return [
        {
          what: `event accepted → drawn in another browser, ${OTHERS.toLocaleString('en')} other streams, p50 / p99`,
          value: `${p50.toFixed(0)} / ${p99.toFixed(0)} ms`,
          limit: '300 ms',
          ratio: p99 / 300,
          aim: { most: 1 },
        },
      ]
    })
  } finally {
    listeners.close()
  }
}

/** What a first visit of a route loads, files of the build alone. */
async function sizes(site: Site): Promise<Figure[]> {
  const core = sizeOfFiles(coreFiles())
  const figures: Figure[] = [
    {
      what: 'size of what every page loads, gzip (brotli)',
      value: `${core.gzipKb.toFixed(0)} kB (${core.brotliKb.toFixed(0)} kB)`,
      limit: '145 kB',
      ratio: core.gzipKb / 145,
      aim: { most: 1 },
    },
  ]
  for (const [what, path] of [
    ['home', '/'],
    ['a project', `/p/${PROJECT}`],
    ['a batch, charts', '/b/live'],
    ['a batch, jobs', '/b/live/jobs'],
    ['a batch, log', '/b/live/logs'],
    ['comparison', '/compare?b=live'],
    ['hosts', '/hosts'],
  ] as const) {
    await visit(site, async (page) => {
      const files = new Set(['index.html'])
      page.on('request', (request) => {
        const { pathname } = new URL(request.url())
        if (pathname.startsWith('/assets/')) files.add(pathname.slice(1))
      })
      await page.goto(path)
      await page.waitForLoadState('networkidle', { timeout: 5_000 }).catch(() => {})
      const size = sizeOfFiles(files)
      figures.push({
        what: `size of ${what}, first visit, gzip (brotli)`,
        value: `${size.gzipKb.toFixed(0)} kB (${size.brotliKb.toFixed(0)} kB)`,
        limit: '',
      })
    })
  }
  return figures
}

const within = (what: string, ms: number, aimMs: number): Figure => ({
  what,
  value: `${ms.toFixed(0)} ms`,
  limit: `${aimMs.toLocaleString('en')} ms`,
  ratio: ms / aimMs,
  aim: { most: 1 },
})
/** Browsers draw at most 60 frames a second here. The report shows beside the aim what a page without our scripts reaches. */
const smooth = (what: string, p95Ms: number, bare: string, bareP95Ms: number): Figure => ({
  what: `${what}: frames/s, by the 95th percentile of their lengths`,
  value: `${(1000 / p95Ms).toFixed(0)}/s (${p95Ms.toFixed(1)} ms)`,
  limit: `50/s; ${bare} ${(1000 / bareP95Ms).toFixed(0)}/s`,
  ratio: 1000 / p95Ms / 50,
  aim: { least: 1 },
})

/** Epochs by number; they go round the jobs. */
async function sendEvents(
  server: BenchServer,
  batchId: string,
  numbers: readonly number[],
  jobs = LIVE_JOBS,
): Promise<void> {
  const events = numbers.map((n) => ({
    event_id: crypto.randomUUID(),
    schema_version: '1.1',
    event_type: 'job_epoch',
    timestamp: new Date().toISOString(),
    batch_id: batchId,
    job_id: `job-${n % jobs}`,
    source: { project: 'bench' },
    data: {
      epoch: Math.floor(n / jobs),
      train_loss: Math.exp(-n / 9_000),
      val_loss: Math.exp(-n / 10_000),
      lr: 3e-4,
      batch_time_ms: 12 + (n % 7),
      acc: 1 - Math.exp(-n / 8_000),
    },
  }))
  for (let i = 0; i < events.length; i += 500) {
    const response = await fetch(`${server.address}/api/events/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${server.token}` },
      body: JSON.stringify(events.slice(i, i + 500)),
    })
    if (!response.ok) throw new Error(`events were refused: ${await response.text()}`)
  }
}

if (process.argv[1] === import.meta.filename) printFigures('Page', await benchPage())

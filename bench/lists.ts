import { performance } from 'node:perf_hooks'
import { startApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import { openSql, PAGED_READS, type Sql } from '../src/db/sql.ts'
import type { Known } from '../src/domain/caller.ts'
import { type Page, positionOf, type SortPosition } from '../src/domain/keyset-pages.ts'
import { type BatchFilter, EVERY_BATCH, listBatches, listJobsOfBatch } from '../src/domain/lists/index.ts'
import type { Clock } from '../src/domain/liveness.ts'
import { presentBatches, viewsOfJobs } from '../src/domain/present.ts'
import { createClient } from '../test/kit/http.ts'
import { seedManyBatches, seedManyJobs } from './kit/many-batches.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { startDatabase } from './kit/server.ts'

/**
 * The lists, page by page, each against the barest statement that reads the same rows: `npx tsx bench/lists.ts`.
 * What lies between is visibility, the columns of four tables, and the views. Then the same through HTTP.
 */
const BATCHES = 10_000
const JOBS = 1_000
const LIMIT = 50
const ROUNDS = 15

const FILTERS: [string, Partial<BatchFilter>, (sql: Sql) => ReturnType<Sql>][] = [
  ['no filter', {}, (sql) => sql`true`],
  [
    'project',
    { project: ['project-3'] },
    (sql) => sql`project_key = (select key from projects where slug = 'project-3')`,
  ],
  ['status', { status: ['running'] }, (sql) => sql`status = 'running'`],
  ['host', { host: ['host-7'] }, (sql) => sql`filter_text(host) = 'host-7'`],
  ['owner', { owner: ['user 21'] }, (sql) => sql`owner_id = (select id from users where name = 'user 21')`],
  ['tag (1 in 3)', { tag: ['often'] }, (sql) => sql`filter_texts(tags) && array['often']`],
  ['tag (1 in 20)', { tag: ['some'] }, (sql) => sql`filter_texts(tags) && array['some']`],
  ['tag (1 in 1,000)', { tag: ['seldom'] }, (sql) => sql`filter_texts(tags) && array['seldom']`],
  ['q (every one)', { q: ['python'] }, (sql) => sql`search like '%python%'`],
  ['q (1 in 500)', { q: ['needle'] }, (sql) => sql`search like '%needle%'`],
]

export async function benchLists(): Promise<Figure[]> {
  const database = await startDatabase()
  const { config } = readConfig({ SVC_DATABASE_URL: database.url, SVC_PORT: '0', SVC_LOG_LEVEL: 'error' })
  const server = await startApp(config)
  const sql = openSql(database.url, { name: 'bench', max: 1, settings: PAGED_READS })
  const client = createClient(server.address)
  try {
    const crowd = await seedManyBatches(sql, BATCHES)
    await seedManyJobs(sql, 'many-jobs', JOBS)
    await sql`/* bench.public */ update projects set visibility = 'public'`
    const figures: Figure[] = []
    const clock: Clock = {
      now: new Date(),
      startedAt: new Date(0),
      stallTimeoutMin: 15,
      lostAfterMin: 60,
      idleJobThresholdMin: 10,
    }
    const caller: Known = {
      kind: 'known',
      user: { id: crowd.admin, email: '', name: '', role: 'admin' },
      via: 'session',
      credentialId: crowd.admin,
    }

    for (const [name, change, where] of FILTERS) {
      const filter = { ...EVERY_BATCH, ...change }
      const pages = await walk(async (page) => {
        const rows = await listBatches(sql, caller, filter, page)
        await presentBatches(sql, caller, rows.slice(0, LIMIT), clock)
        return rows.map(positionOf)
      })
      const bare = await walk(
        (page) => sql<SortPosition[]>`/* bench.bare */
        select *, started_at "startedAt" from batches
        where deleted_at is null and ${where(sql)}
          and ${page.after === undefined ? sql`true` : sql`(started_at, key) < (${page.after.startedAt}::timestamptz, ${page.after.key})`}
        order by started_at desc, key desc limit ${page.limit}`,
      )
      figures.push({
        what: `page of ${LIMIT} of ${BATCHES.toLocaleString('en')} batches, ${name}`,
        value: `${pages.toFixed(2)} ms`,
        limit: `bare SQL ${bare.toFixed(2)} ms`,
        ratio: pages / bare,
      })
    }

    const [batch] = await sql<{ key: number }[]>`select key from batches where id = 'many-jobs'`
    const key = batch?.key as number
    const jobs = await timed(async () => {
      let after: SortPosition | undefined
      do {
        const rows = await listJobsOfBatch(sql, { key }, { limit: 501, after })
        await viewsOfJobs(sql, rows.slice(0, 500), clock)
        const last = rows.length > 500 ? rows[499] : undefined
        after = last && positionOf(last)
      } while (after !== undefined)
    })
    const bareJobs = await timed(
      () => sql`/* bench.bare_jobs */
      select j.*, p.* from jobs j join job_progress p on p.job_key = j.key where j.batch_key = ${key}
      order by j.started_at desc, j.key desc`,
    )
    figures.push({
      what: `all ${JOBS.toLocaleString('en')} jobs of a batch with their latest metrics`,
      value: `${jobs.toFixed(1)} ms`,
      limit: `bare SQL ${bareJobs.toFixed(1)} ms`,
      ratio: jobs / bareJobs,
    })

    const http = async (path: string) => {
      const { status } = await client.call('GET', path)
      if (status !== 200) throw new Error(`${path}: ${status}`)
    }
    for (const [what, path, bare] of [
      [
        `HTTP: the newest ${LIMIT} batches, anonymous, twenty projects`,
        `/api/batches?limit=${LIMIT}`,
        undefined,
      ],
      ['HTTP: one batch', '/api/batches/sweep-5000', undefined],
      ['HTTP: 500 jobs of a batch', '/api/batches/many-jobs/jobs?limit=500', undefined],
    ] as const) {
      const ms = await timed(() => http(path))
      const live = await timed(() => http('/livez'))
      figures.push({ what, value: `${ms.toFixed(2)} ms`, limit: bare ?? `/livez ${live.toFixed(2)} ms` })
    }
    return figures
  } finally {
    client.close()
    await sql.end({ timeout: 5 })
    await server.stop()
    await database.stop()
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const begin = performance.now()
    await work()
    times.push(performance.now() - begin)
  }
  return median(times)
}

/** The median time of a page, over the first pages of the list again and again. */
async function walk(read: (page: Page) => Promise<readonly SortPosition[]>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    let after: SortPosition | undefined
    for (let n = 0; n < 5; n++) {
      const begin = performance.now()
      const rows = await read({ limit: LIMIT + 1, after })
      times.push(performance.now() - begin)
      after = rows.length > LIMIT ? rows[LIMIT - 1] : undefined
      if (after === undefined) break
    }
  }
  return median(times)
}

if (process.argv[1] === import.meta.filename) printFigures('Lists', await benchLists())

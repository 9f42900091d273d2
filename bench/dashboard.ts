/**
 * The counts of the dashboard: those that are kept in memory and follow the change log, against Prisma's `groupBy` and
 * `count` (docs/decisions/0035-the-graph-through-prisma.md). `npx tsx bench/dashboard.ts` prints the ratios by the number of batches.
 */
import { join } from 'node:path'
import { migrate } from '../src/db/migrate.ts'
import { openGraph, type PrismaClient } from '../src/db/prisma.ts'
import { openSql, PAGED_READS, type Sql } from '../src/db/sql.ts'
import type { Known } from '../src/domain/caller.ts'
import { createDashboardCache, summaryOf } from '../src/domain/dashboard/index.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { startDatabase } from './kit/server.ts'

const SIZES = [500, 10_000, 100_000]
const ROUNDS = 20
const WARM_UP = 5
const DAY_MS = 86_400_000
const ME = '00000000-0000-4000-8000-000000000001'
const ADMIN: Known = {
  kind: 'known',
  via: 'session',
  credentialId: '',
  user: { id: ME, email: 'one@example.com', name: 'One', role: 'admin' },
}

export async function benchDashboard(): Promise<Figure[]> {
  const database = await startDatabase()
  const sql = openSql(database.url, { name: 'bench', max: 4, settings: PAGED_READS })
  const graph = openGraph(database.url, { max: 4 })
  const figures: Figure[] = []
  try {
    await migrate(sql, join(import.meta.dirname, '..', 'prisma', 'migrations'), { log: () => {} })
    await sql`insert into users (id, email, email_key, name, role) values (${ME}, 'one@example.com', 'one@example.com', 'One', 'admin')`
    await sql`insert into projects (slug, display_name, owner_id)
      select 'p' || n, 'Project ' || n, ${ME} from generate_series(1, 10) n`
    let stored = 0
    for (const size of SIZES) {
      await fill(sql, stored, size)
      stored = size
      figures.push(await compare(sql, graph.prisma, size))
    }
  } finally {
    await graph.close()
    await sql.end()
    await database.stop()
  }
  return figures
}

async function compare(sql: Sql, prisma: PrismaClient, size: number): Promise<Figure> {
  const now = new Date()
  const clock = {
    now,
    startedAt: new Date(0),
    stallTimeoutMin: 15,
    lostAfterMin: 60,
    idleJobThresholdMin: 10,
  }
  const cache = createDashboardCache()
  const kept = () => summaryOf(sql, ADMIN, [], clock, cache)
  const counted = () => Promise.all([kept(), countsOf(prisma, now)])
  const [before, after] = await Promise.all([kept(), countsOf(prisma, now)])
  if (before.completed !== after.completed || before.failed_jobs_24h !== after.failed_jobs_24h)
    throw new Error(`the counts differ: ${JSON.stringify([before, after])}`)
  const times = { kept: [] as number[], counted: [] as number[] }
  for (let round = 0; round < ROUNDS + WARM_UP; round++) {
    const [a, b] = [await timed(kept), await timed(counted)]
    if (round < WARM_UP) continue
    times.kept.push(a)
    times.counted.push(b)
  }
  const [a, b] = [median(times.kept), median(times.counted)]
  return {
    what: `${size.toLocaleString('en')} batches, by groupBy and count`,
    value: `${b.toFixed(1)} ms`,
    limit: `kept in memory ${a.toFixed(1)} ms`,
    ratio: b / a,
  }
}

/** What Prisma can say of them. */
async function countsOf(prisma: PrismaClient, now: Date) {
  const since = { gte: new Date(now.getTime() - DAY_MS).toISOString() }
  const alive = { deletedAt: null }
  const [byStatus, ended, failed_jobs_24h] = await Promise.all([
    prisma.batch.groupBy({ by: 'status', where: alive, _count: true }),
    prisma.batch.groupBy({ by: 'status', where: { ...alive, endedAt: since }, _count: true }),
    prisma.job.count({ where: { status: 'failed', endedAt: since, batch: alive } }),
  ])
  const of = (rows: typeof byStatus, status: string) => rows.find((row) => row.status === status)?._count ?? 0
  return { completed: of(byStatus, 'completed'), failed24h: of(ended, 'failed'), failed_jobs_24h }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** Four batches an hour, of five jobs each; the newest 20 run, and every tenth failed with its jobs. */
async function fill(sql: Sql, from: number, to: number): Promise<void> {
  await sql`insert into batches (id, project_key, owner_id, status, started_at, ended_at, tags, command)
    select 'b' || n, 1 + n % 10, ${ME}, case when n <= 20 then 'running' when n % 10 = 0 then 'failed' else 'completed' end,
      now() - n * interval '15 minutes', case when n <= 20 then null else now() - n * interval '15 minutes' + interval '10 minutes' end,
      '{a,b}', 'python train.py --lr 0.1' from generate_series(${from + 1}::int, ${to}::int) n`
  await sql`insert into batch_progress (batch_key, first_seen_at, last_seen_at, n_jobs, n_completed, n_failed)
    select key, started_at, coalesce(ended_at, now()), 5, case when status = 'failed' then 0 else 5 end, case when status = 'failed' then 5 else 0 end
    from batches where key > ${from}`
  await sql`insert into jobs (batch_key, project_key, id, status, started_at, ended_at, params)
    select b.key, b.project_key, 'j' || n, b.status, b.started_at, b.ended_at, '{"lr": 0.1}'
    from batches b, generate_series(1, 5) n where b.key > ${from}`
  await sql`analyze`
}

if (process.argv[1] === import.meta.filename) printFigures('dashboard', await benchDashboard())

/**
 * Charts against their named limit, in one run: a million points of one series, over 100 and over 1,000 jobs, read
 * and sampled, against the barest scan of the same points that PostgreSQL can do: an index that covers them, summed
 * inside the server so that nothing is sent. Rounds are interleaved and medians told; CPU comes from /proc.
 */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { openSql, type Sql } from '../src/db/sql.ts'
import { readSeries, sample } from '../src/domain/metrics/index.ts'
import { asTheyAre } from '../src/domain/telemetry.ts'
import { SERIES_FRAMES } from '../src/http/series/series-frames.ts'
import { cpuMsOf } from './kit/cpu.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { type FilledBatch, fillBatch, packAll, SERIES } from './kit/series.ts'
import { startDatabase, startServer } from './kit/server.ts'

const ROUNDS = 9
/** A fixed field of the events and an extra one: both must cost the same. */
const KEYS = ['train_loss', 'throughput'] as const
/** Per series, so that the chart has some 100,000 points for any number of jobs. */
const pointsFor = ({ jobs }: FilledBatch): number => 100_000 / jobs

interface Taken {
  bareMs: number
  bareCpuMs: number
  sampledMs: number
  httpMs: number
  httpCpuMs: number
  bytes: number
  /** What charts ask for besides: by its name in `ASKED`. */
  askedMs: Record<string, number>
}

/** Options for the same points, as the page requests them. All points are read, even if few are returned. */
const ASKED = {
  'smoothed beside the raw values': '/metrics?smooth=0.9&x=epoch',
  'on an axis of wall time': '/metrics?x=wall',
  'with outliers counted': '/metrics?clip=0.01',
  'in groups, mean, deviation, least and greatest': '/metrics/groups?group_by=status',
  'all of it as JSON, as a notebook asks': '/metrics?x=epoch',
} as const

export async function benchCharts(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const sql = openSql(database.url, { name: 'bench', max: 2 })
  try {
    const batches = [
      await fillBatch(sql, 'charts-100', 100, 10_000),
      await fillBatch(sql, 'charts-1000', 1_000, 1_000),
    ]
    await sql`create table bare (job_key bigint, epoch int, train_loss float8, throughput float8)`
    await sql`insert into bare select job_key, epoch, vals[1], vals[7] from epochs`
    await sql`create index bare_train_loss on bare (job_key, epoch) include (train_loss)`
    await sql`create index bare_throughput on bare (job_key, epoch) include (throughput)`
    const { seconds } = await packAll(sql)
    await sql`vacuum analyze`

    const figures: Figure[] = []
    for (const batch of batches) {
      for (const key of KEYS) {
        const taken: Taken[] = []
        for (let round = -2; round < ROUNDS; round++) {
          const one = await takeRound(sql, database.pid, server, batch, key)
          if (round >= 0) taken.push(one) // the first ones warm up
        }
        figures.push(...figuresOf(batch, key, taken))
      }
    }
    const values = batches.reduce((sum, b) => sum + b.jobs * b.epochs * (SERIES.length + 1), 0)
    figures.push({
      what: 'Packing, values/s (in the background, half of the time asleep)',
      value: `${Math.round(values / seconds).toLocaleString('en')}/s`,
      limit: '',
    })
    return figures
  } finally {
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

async function takeRound(
  sql: Sql,
  postgres: number,
  server: { address: string; pid: number },
  batch: FilledBatch,
  key: (typeof KEYS)[number],
): Promise<Taken> {
  const bareCpu = cpuMsOf(postgres)
  let begun = performance.now()
  const [bare] = await sql`
    select count(${sql(key)}) n, sum(${sql(key)}) from bare
    where job_key = any (array(select key from jobs where batch_key = ${batch.key}))`
  const bareMs = performance.now() - begun
  const bareCpuMs = cpuMsOf(postgres) - bareCpu

  begun = performance.now()
  let read = 0
  for await (const { steps, values } of readSeries(asTheyAre(sql), batch.key, { keys: [key] })) {
    read += sample(steps, values, pointsFor(batch)).totalPoints
  }
  const sampledMs = performance.now() - begun
  if (bare?.n !== batch.jobs * batch.epochs || read !== bare.n) throw new Error('not the same points')

  const httpCpu = cpuMsOf(postgres) + cpuMsOf(server.pid)
  begun = performance.now()
  const answer = await lastByte(
    `${server.address}/api/batches/${batch.id}/metrics?keys=${key}&points=${pointsFor(batch)}`,
    SERIES_FRAMES,
  )
  const { bytes } = answer
  const httpMs = performance.now() - begun
  const httpCpuMs = cpuMsOf(postgres) + cpuMsOf(server.pid) - httpCpu
  if (answer.status !== 200) throw new Error(`metrics: ${answer.status}`)
  const askedMs: Record<string, number> = {}
  for (const [what, path] of Object.entries(ASKED)) {
    const began = performance.now()
    const points = path.includes('/groups') ? 1_000 : pointsFor(batch)
    const url = `${server.address}/api/batches/${batch.id}${path}&keys=${key}&points=${points}`
    const { status } = await lastByte(url, what.includes('JSON') ? '*/*' : SERIES_FRAMES)
    askedMs[what] = performance.now() - began
    if (status !== 200) throw new Error(`${path}: ${status}`)
  }
  return {
    askedMs,
    bareMs,
    bareCpuMs,
    sampledMs,
    httpMs,
    httpCpuMs,
    bytes,
  }
}

/** Until the last byte is there, compressed as it comes: what a reader makes of it is not the server's time. */
async function lastByte(url: string, accept: string): Promise<{ status: number | undefined; bytes: number }> {
  const asked = get(url, { headers: { accept, 'accept-encoding': 'gzip, deflate, br' } })
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let bytes = 0
  for await (const piece of answer) bytes += piece.length
  return { status: answer.statusCode, bytes }
}

function figuresOf(batch: FilledBatch, key: string, taken: Taken[]): Figure[] {
  const of = (field: Exclude<keyof Taken, 'askedMs'>): number => median(taken.map((t) => t[field]))
  const ms = (value: number): string => `${value.toFixed(0)} ms`
  const what = `1M points of ${key} over ${batch.jobs} jobs`
  return [
    {
      what: `${what}: read and sampled by M4`,
      value: ms(of('sampledMs')),
      limit: `covering scan ${ms(of('bareMs'))}, ${ms(of('bareCpuMs'))} CPU`,
      ratio: median(taken.map((t) => t.sampledMs / t.bareMs)),
      aim: { most: 1.5 },
    },
    {
      what: `${what}: the same over HTTP, ${(of('bytes') / 1e6).toFixed(1)} MB`,
      value: `${ms(of('httpMs'))}, ${ms(of('httpCpuMs'))} CPU`,
      limit: '150 ms',
      ratio: of('httpMs') / 150,
      aim: { most: 1 },
    },
    ...Object.keys(ASKED).map((way) => {
      const taking = median(taken.map(({ askedMs }) => askedMs[way] as number))
      return {
        what: `${what}: over HTTP, ${way}`,
        value: ms(taking),
        limit: '150 ms',
        ratio: taking / 150,
        aim: { most: 1 },
      }
    }),
  ]
}

if (process.argv[1] === import.meta.filename) printFigures('Charts', await benchCharts())

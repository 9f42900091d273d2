/**
 * The nested query project > batch > job > metrics over GraphQL, against the same rows by one bare statement with
 * json_agg (docs/performance.md), and where its time goes. `npx tsx bench/graph.ts` after `npm run build`.
 * BENCH_POSTGRAPHILE=<folder with node_modules> adds PostGraphile on the same database.
 */
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { openSql, type Sql } from '../src/db/sql.ts'
import { cpuMsOf } from './kit/cpu.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

const ROUNDS = 25
const EPOCHS = 50
/** At most so many times the bare statement, for lists of up to 500 and of up to 5,000 rows. */
const UP_TO_500 = 3
const UP_TO_5000 = 4

const JOB_FIELDS = 'jobId status model dataset startedAt endedAt epochs failureReason params latest'
const NESTED = `{ project(slug: "fifty") { slug batches(first: 50) { edges { node {
  id status host startedAt tags nTotal
  jobs(first: 20) { edges { node { ${JOB_FIELDS} metrics(keys: ["train_loss", "val_loss"]) { key steps values } } } }
} } } } }`
const MANY = `{ batch(id: "many") { id status host startedAt tags nTotal
  jobs(first: 5000) { edges { node { ${JOB_FIELDS} metrics(keys: ["train_loss", "val_loss"]) { key steps values } } } }
} }`
const jobsOfMany = (first: number) => `{ batch(id: "many") { id status host startedAt tags nTotal
  jobs(first: ${first}) { edges { node { ${JOB_FIELDS} } } }
} }`

/** What PostGraphile makes of the tables; its metrics are rows, because it knows no columns. */
const PG_JOBS = (
  first: number,
  metrics: boolean,
) => `jobsByBatchKey(first: ${first}, orderBy: [STARTED_AT_DESC, KEY_DESC]) { nodes {
    id status model dataset startedAt endedAt failureReason params jobProgressByJobKey { epochs series lastValue }
    ${metrics ? 'epochesByJobKey(orderBy: EPOCH_ASC) { nodes { epoch vals } }' : ''} } }`
const PG_BATCH = 'id status host startedAt tags nTotal'
const PG_NESTED = `{ projectBySlug(slug: "fifty") { slug batchesByProjectKey(first: 50, orderBy: [STARTED_AT_DESC, KEY_DESC]) { nodes {
  ${PG_BATCH} ${PG_JOBS(20, true)} } } } }`
const pgMany = (metrics: boolean, first = 5000) =>
  `{ batchById(id: "many") { ${PG_BATCH} ${PG_JOBS(first, metrics)} } }`

const latest = `(select json_object_agg(n, v) from unnest(p.series, p.last_value) as u (n, v))`
const jobObject = (
  metrics: boolean,
) => `json_build_object('jobId', j.id, 'status', upper(j.status), 'model', j.model,
  'dataset', j.dataset, 'startedAt', j.started_at, 'endedAt', j.ended_at, 'epochs', p.epochs,
  'failureReason', j.failure_reason, 'params', j.params, 'latest', ${latest}
  ${
    metrics
      ? `, 'metrics', (
    select json_agg(json_build_object('key', m.key, 'steps', m.steps, 'values', m.vals) order by m.key)
    from (
      select n.key, json_agg(e.epoch order by e.epoch) steps, json_agg(e.vals[n.no] order by e.epoch) vals
      from unnest(p.series) with ordinality as n (key, no) join epochs e on e.job_key = j.key
      where n.key in ('train_loss', 'val_loss') and e.vals[n.no] is not null
      group by n.key) m)`
      : ''
  })`
const batchObject = (
  metrics: boolean,
  first: number,
) => `json_build_object('id', b.id, 'status', upper(b.status),
  'host', b.host, 'startedAt', b.started_at, 'tags', b.tags, 'nTotal', b.n_total, 'jobs', (
    select json_agg(json_build_object('node', ${jobObject(metrics)}) order by j.started_at desc, j.key desc)
    from (select * from jobs where batch_key = b.key order by started_at desc, key desc limit ${first}) j
    join job_progress p on p.job_key = j.key))`
const NESTED_SQL = `/* bench.bare */ select json_build_object('slug', r.slug, 'batches', (
    select json_agg(json_build_object('node', ${batchObject(true, 20)}) order by b.started_at desc, b.key desc)
    from (select * from batches where project_key = r.key and deleted_at is null
      order by started_at desc, key desc limit 50) b))::text answer
  from projects r where r.slug = 'fifty'`
const manySql = (metrics: boolean, first = 5000) =>
  `/* bench.bare */ select ${batchObject(metrics, first)}::text answer from batches b where b.id = 'many'`

export async function benchGraph(): Promise<Figure[]> {
  const database = await startDatabase()
  const server = await startServer(database.url)
  const sql = openSql(database.url, { name: 'bench', max: 2 })
  let other: { address: string; stop: () => void } | undefined
  try {
    await fill(sql)
    const token = await readToken(server, sql)
    const figures: Figure[] = []
    other = await startPostgraphile(database.url, sql)
    for (const [what, query, bare, pgQuery, most] of [
      ['50 batches × 20 jobs × 2 series of 50', NESTED, NESTED_SQL, PG_NESTED, UP_TO_5000],
      ['5,000 jobs × 2 series of 50', MANY, manySql(true), pgMany(true), UP_TO_5000],
      ['50 jobs, no series', jobsOfMany(50), manySql(false, 50), pgMany(false, 50), UP_TO_500],
      ['500 jobs, no series', jobsOfMany(500), manySql(false, 500), pgMany(false, 500), UP_TO_500],
      ['5,000 jobs, no series', jobsOfMany(5000), manySql(false), pgMany(false), UP_TO_5000],
    ] as const) {
      const body = Buffer.from(JSON.stringify({ query }))
      const ask = () => post(server.address, body, token)
      const run = async () => (await sql.unsafe(bare))[0]?.answer.length as number
      // They take turns, so that other load on the machine affects both.
      const times = {
        graphql: [] as number[],
        bare: [] as number[],
        other: [] as number[],
        node: 0,
        database: 0,
      }
      let size = 0
      for (let i = -3; i < ROUNDS; i++) {
        const cpu = { node: cpuMsOf(server.pid), database: cpuMsOf(database.pid) }
        const graphql = await timed(ask)
        if (i >= 0) times.node += cpuMsOf(server.pid) - cpu.node
        if (i >= 0) times.database += cpuMsOf(database.pid) - cpu.database
        const direct = await timed(run)
        size = graphql.value
        if (i >= 0) {
          times.graphql.push(graphql.ms)
          times.bare.push(direct.ms)
        }
        const rival = other?.address
        if (rival !== undefined && i < 3) {
          const body = Buffer.from(JSON.stringify({ query: pgQuery }))
          const { ms } = await timed(() => post(rival, body))
          if (i >= 0) times.other.push(ms)
        }
      }
      const [a, b] = [median(times.graphql), median(times.bare)]
      figures.push({
        what,
        value: `${a.toFixed(1)} ms (node ${(times.node / ROUNDS).toFixed(0)}, PostgreSQL ${(times.database / ROUNDS).toFixed(0)} ms of CPU), ${(size / 1e6).toFixed(1)} MB`,
        limit: `json_agg ${b.toFixed(1)} ms`,
        ratio: a / b,
        aim: { most },
      })
      if (other !== undefined) {
        const c = median(times.other)
        figures.push({ what: '  PostGraphile', value: `${c.toFixed(1)} ms`, limit: 'json_agg', ratio: c / b })
      }
    }
    return figures
  } finally {
    other?.stop()
    await sql.end()
    await server.stop()
    await database.stop()
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const from = performance.now()
  const value = await work()
  return { ms: performance.now() - from, value }
}

/** A bare client, so that the time is the server's. @returns the bytes of the answer */
function post(address: string, body: Buffer, token = 'none'): Promise<number> {
  const { hostname, port, host } = new URL(address)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let bytes = 0
    let head = ''
    socket.on('data', (chunk: Buffer) => {
      if (head.length < 1_000) head += chunk.subarray(0, 1_000).toString('latin1')
      bytes += chunk.length
    })
    socket.on('end', () => {
      if (head.startsWith('HTTP/1.1 200') && !head.includes('{"errors"')) resolve(bytes)
      else reject(new Error(head))
    })
    socket.on('error', reject)
    socket.write(
      `POST /graphql HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\naccept: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
    )
    socket.write(body)
  })
}

/** Of the folder that BENCH_POSTGRAPHILE names; undefined without one. */
async function startPostgraphile(
  url: string,
  sql: Sql,
): Promise<{ address: string; stop: () => void } | undefined> {
  const folder = process.env.BENCH_POSTGRAPHILE
  if (folder === undefined) return undefined
  await sql`comment on table epochs is '@foreignKey (job_key) references jobs (key)'`
  const port = await new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
  const args = ['-c', url, '-s', 'public', '-n', '127.0.0.1', '-p', String(port), '-M']
  const child = spawn(join(folder, 'node_modules/.bin/postgraphile'), args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production' },
  })
  let told = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      told += chunk
      if (told.includes('GraphQL API')) resolve()
    })
    child.once('exit', () => reject(new Error(told)))
  })
  return { address: `http://127.0.0.1:${port}`, stop: () => child.kill() }
}

/** A read token of the projects' owner. */
async function readToken({ address, session, userId }: BenchServer, sql: Sql): Promise<string> {
  await sql`update projects set owner_id = ${userId}`
  const response = await fetch(`${address}/api/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${session}` },
    body: JSON.stringify({ name: 'bench', scope: 'read' }),
  })
  return ((await response.json()) as { token: string }).token
}

/** Rows as ingest leaves them: finished jobs whose series are short, so that they are not packed. */
async function fill(sql: Sql): Promise<void> {
  await sql`
    insert into projects (slug, display_name, owner_id)
    select slug, slug, (select id from users limit 1)
    from unnest(array['fifty', 'one']) as s (slug)`
  await sql`
    insert into batches (id, project_key, owner_id, status, started_at, ended_at, n_total, host, tags)
    select 'batch-' || g, p.key, p.owner_id, 'completed', timestamptz '2026-01-01' + g * interval '1 minute',
      timestamptz '2026-01-02', 20, 'box1', array['night']
    from projects p, generate_series(1, 50) g where p.slug = 'fifty'
    union all
    select 'many', p.key, p.owner_id, 'completed', timestamptz '2026-01-01', timestamptz '2026-01-02', 5000, 'box1', '{}'
    from projects p where p.slug = 'one'`
  await sql`
    insert into batch_progress (batch_key, first_seen_at, last_seen_at, n_jobs, n_completed)
    select key, started_at, ended_at, n_total, n_total from batches`
  await sql`
    insert into jobs (batch_key, id, status, started_at, ended_at, model, dataset, params, metrics)
    select b.key, 'job-' || g, 'completed', b.started_at + g * interval '1 second', b.ended_at, 'resnet18', 'cifar10',
      jsonb_build_object('lr', random(), 'seed', g, 'optimizer', 'adam'), jsonb_build_object('acc', random())
    from batches b, generate_series(1, b.n_total) g`
  await sql`
    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, epochs, max_epoch, series, last_epoch,
      last_value, min_value, max_value)
    select key, batch_key, started_at, ended_at, ${EPOCHS}, ${EPOCHS - 1}, '{train_loss,val_loss,lr}',
      array[49, 49, 49], array[random(), random(), 0.001], '{0,0,0}', '{1,1,1}' from jobs`
  await sql`
    insert into epochs (epoch_high, batch_key, job_key, epoch, ts, db_id, vals)
    select 0, j.batch_key, j.key, e, j.started_at, j.key * 100 + e, array[random(), random(), 0.001]
    from jobs j, generate_series(0, ${EPOCHS - 1}) e`
  await sql`analyze`
}

if (process.argv[1] === import.meta.filename) printFigures('Nested queries', await benchGraph())

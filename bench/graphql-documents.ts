/**
 * Statements and time of ten GraphQL documents, those of the page among them, and of pages of 50 and 500 rows, in this
 * process. `npx tsx bench/graphql-documents.ts` prints them; copied into another checkout it measures that one, and
 * `BEFORE=<its output as JSON>` prints the ratios.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DocumentNode, parse, print, separateOperations } from 'graphql'
import { migrate } from '../src/db/migrate.ts'
import { openGraph } from '../src/db/prisma.ts'
import { openSql, PAGED_READS, type Sql } from '../src/db/sql.ts'
import type { Known } from '../src/domain/caller.ts'
import { createContext } from '../src/graphql/context.ts'
import { createGraphql, type Graphql } from '../src/graphql/handlers.ts'
import { servedSchema } from '../src/graphql/schema.ts'
import { workLimits } from '../test/kit/work-limits.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { startDatabase } from './kit/server.ts'

const ROUNDS = 25
const ME = '00000000-0000-4000-8000-000000000001'
const QUERIES = join(import.meta.dirname, '../web/src/lib/api')

/** All documents of the page, whose operations share fragments. */
const PAGE = readdirSync(QUERIES)
  .filter((file) => file.endsWith('.graphql'))
  .map((file) => readFileSync(join(QUERIES, file), 'utf8'))
  .join('\n')

const DOCUMENTS: Record<string, { query: string; variables?: Record<string, unknown> }> = {
  'batches(50), every column': {
    query: `{ batches(first: 50) { edges { node { id name projectSlug status host user commit command experimentType tags notes group
      config summary starred nTotal nDone slots { started } startedAt endedAt lastSeenAt elapsedS progress etaS owner { name }
      environment can { stop } } } } }`,
  },
  'batches(500), a few columns': {
    query: '{ batches(first: 500) { edges { node { id status startedAt nDone } } } }',
  },
  'batches(50) by a metric': {
    query:
      '{ batches(first: 50, orderBy: { by: FIELD, field: "best.loss" }) { edges { node { id status columns(names: ["best.loss"]) } } } }',
  },
  'jobs(50)': {
    query: '{ jobs(first: 50) { edges { node { jobId status params latest startedAt elapsedS } } } }',
  },
  'jobs(500)': {
    query: '{ jobs(first: 500) { edges { node { jobId status params latest startedAt elapsedS } } } }',
  },
  'jobs(500), resources': { query: '{ jobs(first: 500) { edges { node { resources { key } } } } }' },
  'batches(200), health': { query: '{ batches(first: 200) { edges { node { health { stalled } } } } }' },
  'jobs(100), log lines': {
    query: '{ jobs(first: 100) { edges { node { logLines(first: 5) { edges { node { line } } } } } } }',
  },
  'project > batches(50) > jobs(20)': {
    query: `{ project(slug: "p") { batches(first: 50) { edges { node { id jobs(first: 20) { edges { node { jobId latest params } } } } } } } }`,
  },
  'batch with 50 jobs': {
    query: `{ batch(id: "b1") { id status owner { name } project { slug } health { status } eta { etaS } delivery { state }
      timeline { step } jobs(first: 50) { totalCount edges { node { jobId status params latest best metrics(keys: ["loss"]) { steps values } } } } } }`,
  },
  projects: { query: '{ projects(first: 50) { edges { node { slug role owner { name } } } } }' },
}
/** Operations of the page, with variables that the data below answers. */
const OF_PAGE: Record<string, Record<string, unknown>> = {
  Batches: { first: 80, columns: [], withColumns: false },
  BatchParts: {
    id: 'b1',
    first: 80,
    ...{ head: true, jobs: true, eta: true, health: true },
    ...{ control: true, delivery: true, shares: true, muted: true },
  },
  BatchJobs: { id: 'b1', first: 500 },
  HomeParts: { summary: true, running: true, lost: true, hosts: true },
  ProjectParts: { slug: 'p', head: true, fields: true, members: true, rules: true, links: true },
  Projects: {},
}
const operations = separateOperations(parse(PAGE))
for (const [name, variables] of Object.entries(OF_PAGE))
  DOCUMENTS[`page: ${name}`] = { query: print(operations[name] as DocumentNode), variables }

async function main(): Promise<Figure[]> {
  const database = await startDatabase()
  let statements = 0
  const onStatement = (): void => void statements++
  const sql = openSql(database.url, { name: 'bench', max: 4, settings: PAGED_READS, onStatement })
  const graph = openGraph(database.url, { max: 4, onStatement })
  try {
    await migrate(sql, join(import.meta.dirname, '..', 'prisma', 'migrations'), { log: () => {} })
    await fill(sql)
    const graphql = endpoint(sql, graph.prisma)
    const before: Record<string, Measured> = JSON.parse(process.env.BEFORE ?? '{}')
    const found: Record<string, Measured> = {}
    const figures: Figure[] = []
    for (const [what, { query, variables }] of Object.entries(DOCUMENTS)) {
      const times: number[] = []
      for (let round = 0; round < ROUNDS + 5; round++) {
        statements = 0
        const begun = performance.now()
        await ask(graphql, query, variables)
        if (round >= 5) times.push(performance.now() - begun)
      }
      const one = { statements, ms: median(times) }
      found[what] = one
      const old = before[what]
      figures.push({
        what,
        value: `${one.statements} statements, ${one.ms.toFixed(1)} ms`,
        limit: old === undefined ? '' : `${old.statements} statements, ${old.ms.toFixed(1)} ms`,
        ratio: old === undefined ? 1 : one.ms / old.ms,
      })
    }
    if (process.env.BENCH_OUT !== undefined) writeFileSync(process.env.BENCH_OUT, JSON.stringify(found))
    return figures
  } finally {
    await graph.close()
    await sql.end()
    await database.stop()
  }
}

interface Measured {
  statements: number
  ms: number
}

function endpoint(sql: Sql, prisma: ReturnType<typeof openGraph>['prisma']): Graphql {
  const caller: Known = {
    kind: 'known',
    via: 'session',
    credentialId: '',
    user: { id: ME, email: 'one@example.com', name: 'One', role: 'admin' },
  }
  return createGraphql({
    schema: servedSchema(),
    ...workLimits(),
    log: { error: (about: unknown) => console.error(about) } as never,
    contextFor: () =>
      createContext({
        caller,
        db: sql,
        prisma,
        clock: {
          now: new Date(),
          startedAt: new Date(0),
          stallTimeoutMin: 15,
          lostAfterMin: 60,
          idleJobThresholdMin: 10,
        },
        live: { cursor: 0, follow: () => Promise.reject(new Error('nothing is followed here')) },
      }),
  })
}

async function ask(graphql: Graphql, query: string, variables: Record<string, unknown> = {}): Promise<void> {
  const body = { query, variables }
  const headers = { 'content-type': 'application/json' }
  const admin = { kind: 'known', via: 'session', credentialId: '', user: { id: ME } } as Known
  const answer = await graphql.answer({ method: 'POST', url: '/graphql', headers, body }, admin)
  const { errors } = JSON.parse(answer.body)
  if (errors !== undefined) throw new Error(JSON.stringify(errors))
}

/** A project of 500 batches; every tenth runs, and the first has 500 jobs, the others 20. */
async function fill(sql: Sql): Promise<void> {
  await sql`insert into users (id, email, email_key, name, role) values (${ME}, 'one@example.com', 'one@example.com', 'One', 'admin')`
  await sql`insert into projects (slug, display_name, owner_id)
    select case when n = 1 then 'p' else 'p' || n end, 'Project ' || n, ${ME} from generate_series(1, 60) n`
  await sql`insert into batches (id, project_key, owner_id, status, started_at, host, experiment_type, n_total, command, commit_sha,
      username, tags, config, env_snapshot)
    select 'b' || n, (select key from projects where slug = 'p'), ${ME}, case when n % 10 = 0 then 'running' else 'completed' end,
      now() - n * interval '1 hour', 'host-' || n, 'sweep', 20, 'python train.py', 'abc', 'one', '{a,b}',
      '{"lr": 0.1, "model": {"depth": 18}}', '{"cwd": "/work", "command": "python train.py"}' from generate_series(1, 500) n`
  await sql`insert into batch_progress (batch_key, first_seen_at, last_seen_at, n_jobs, n_completed)
    select key, started_at, started_at, case when id = 'b1' then 500 else 20 end, 20 from batches`
  await sql`insert into jobs (batch_key, project_key, id, status, started_at, model, dataset, params, metrics)
    select b.key, b.project_key, 'j' || n, 'completed', b.started_at + n * interval '1 second', 'resnet', 'cifar',
      jsonb_build_object('lr', 0.1 / n, 'depth', 18), '{"acc": 0.9}'
    from batches b cross join lateral generate_series(1, case when b.id = 'b1' then 500 else 20 end) n`
  await sql`insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, epochs, max_step, series, last_step,
      last_value, min_value, max_value)
    select key, batch_key, started_at, started_at, 50, 49, '{loss,acc}', '{49,49}', '{0.1,0.9}', '{0.1,0.1}', '{1,0.9}' from jobs`
  await sql`insert into log_lines (batch_key, db_id, job_key, ts, level, rank, line)
    select batch_key, key * 10 + n, key, started_at, 'info', 20, 'line ' || n from jobs, generate_series(1, 5) n`
  await sql`insert into resource_snapshots (batch_key, db_id, job_key, ts, gpu_util_pct, ram_mb)
    select batch_key, key * 10 + n, key, started_at + n * interval '1 minute', 90, 1000 from jobs, generate_series(1, 5) n`
  await sql`analyze`
}

if (process.argv[1] === import.meta.filename) printFigures('graphql', await main())

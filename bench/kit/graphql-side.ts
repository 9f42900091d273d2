/**
 * One side of `bench/graphql-documents.ts`: the GraphQL of a checkout, over a database of its own with the same rows. Its
 * parent sends documents and gets statements and time back.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Sql } from '../../src/db/sql.ts'
import type { Known } from '../../src/domain/caller.ts'
import type { Graphql } from '../../src/graphql/handlers.ts'
import { startDatabase } from './server.ts'

export interface Asked {
  query: string
  variables?: Record<string, unknown>
}
export interface Measured {
  statements: number
  ms: number
  /** Processor time of this process. */
  cpuMs: number
  errors?: unknown
}

const ME = '00000000-0000-4000-8000-000000000001'
const ADMIN: Known = {
  kind: 'known',
  via: 'session',
  credentialId: '',
  user: { id: ME, email: 'one@example.com', name: 'One', role: 'admin' },
}

/** @param checkout the folder of the source that is measured */
async function serve(checkout: string): Promise<void> {
  const load = (file: string) => import(pathToFileURL(join(checkout, file)).href)
  const { openSql, PAGED_READS }: typeof import('../../src/db/sql.ts') = await load('src/db/sql.ts')
  const { openGraph }: typeof import('../../src/db/prisma.ts') = await load('src/db/prisma.ts')
  const { migrate }: typeof import('../../src/db/migrate.ts') = await load('src/db/migrate.ts')
  const database = await startDatabase()
  let statements = 0
  const onStatement = (): void => void statements++
  const sql = openSql(database.url, { name: 'bench', max: 4, settings: PAGED_READS, onStatement })
  const graph = openGraph(database.url, { max: 4, onStatement })
  await migrate(sql, join(checkout, 'prisma', 'migrations'), { log: () => {} })
  await fill(sql)
  const graphql = await endpoint(load, sql, graph.prisma)
  process.on('message', async (asked: Asked | 'end') => {
    if (asked === 'end') {
      await graph.close()
      await sql.end()
      await database.stop()
      process.disconnect()
      return
    }
    statements = 0
    const cpu = process.cpuUsage()
    const begun = performance.now()
    const errors = await ask(graphql, asked)
    const ms = performance.now() - begun
    const { user, system } = process.cpuUsage(cpu)
    process.send?.({ statements, ms, cpuMs: (user + system) / 1000, errors } satisfies Measured)
  })
  process.send?.('ready')
}

/** Older checkouts have `servedSchemas`, and a schema for each kind of operation. */
async function endpoint(
  load: (file: string) => Promise<unknown>,
  sql: Sql,
  prisma: unknown,
): Promise<Graphql> {
  const schemas = (await load('src/graphql/schema.ts')) as Record<string, () => object>
  const { createGraphql } = (await load('src/graphql/handlers.ts')) as {
    createGraphql: (options: object) => Graphql
  }
  const { createContext } = (await load('src/graphql/context.ts')) as {
    createContext: (given: object) => unknown
  }
  const { workLimits } = (await load('test/kit/work-limits.ts')) as { workLimits: () => object }
  const { servedSchema, servedSchemas } = schemas
  return createGraphql({
    ...(servedSchema === undefined ? servedSchemas?.() : { schema: servedSchema() }),
    ...workLimits(),
    log: { error: (about: unknown) => console.error(about) },
    contextFor: () =>
      createContext({
        caller: ADMIN,
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

async function ask(graphql: Graphql, { query, variables = {} }: Asked): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const request = { method: 'POST', url: '/graphql', headers, body: { query, variables } }
  const answer = await graphql.answer(request, ADMIN)
  return JSON.parse(answer.body).errors
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
  await fillEntities(sql)
  await sql`analyze`
}

/** At least 500 rows of each other entity. */
async function fillEntities(sql: Sql): Promise<void> {
  await sql`insert into projects (slug, display_name, owner_id)
    select 'more' || n, 'More ' || n, ${ME} from generate_series(1, 500) n`
  await sql`insert into audit_log (at, actor_id, via, action, subject) select now(), ${ME}, 'session', 'token.created', 'token:' || n from generate_series(1, 600) n`
  await sql`insert into reports (project_key, user_id, title, body)
    select key, ${ME}, 'Report of ' || slug, 'Text' from projects`
  await sql`insert into saved_views (project_key, user_id, title, path)
    select key, ${ME}, 'View of ' || slug, '/p/' || slug from projects`
  await fillParts(sql)
  const [rule] = await sql<
    { id: string }[]
  >`insert into notification_rules (project_key, name, trigger, created_at)
    select key, 'rule', 'batch_done', now() from projects where slug = 'p' returning id`
  await sql`insert into notification_firings (rule_id, event_key, trigger, happened_at, fired_at, outcome)
    select ${rule?.id ?? null}, 'e' || n, 'batch_done', now(), now(), 'mail' from generate_series(1, 600) n`
  await sql`insert into notification_mails (firing_id, address_key, state, at) select id, 'one@example.com', 'sent', now() from notification_firings`
}

/** A project and a batch with 50 rows of each entity that is read below them, and another of each with 500. */
async function fillParts(sql: Sql): Promise<void> {
  await sql`insert into users (email, email_key, name, role)
    select n || '@example.org', n || '@example.org', 'User ' || n, 'user' from generate_series(1, 500) n`
  await sql`insert into tokens (user_id, name, scope, hash, last4)
    select ${ME}, 'token ' || n, 'read', sha256(n::text::bytea), 'abcd' from generate_series(1, 500) n`
  await sql`insert into agents (user_id, hostname, version, token_hash, registered_at, last_seen_at, told_at)
    select ${ME}, 'agent-' || n, '1', sha256(n::text::bytea), now(), now(), now() from generate_series(1, 500) n`
  for (const n of [50, 500]) {
    const name = `of${n}`
    await sql`insert into projects (slug, display_name, owner_id) values (${name}, ${name}, ${ME})`
    await sql`insert into project_members (project_key, user_id, role)
      select p.key, u.id, 'member' from projects p, (select id from users where id <> ${ME} limit ${n}) u where p.slug = ${name}`
    await sql`insert into notification_rules (project_key, name, trigger, created_at)
      select p.key, 'rule ' || n, 'batch_done', now() from projects p, generate_series(1, ${n}::int) n where p.slug = ${name}`
    await sql`insert into batches (id, project_key, owner_id, status, started_at)
      select ${name}, key, ${ME}, 'completed', now() - interval '1 year' from projects where slug = ${name}`
    await sql`insert into batch_progress (batch_key, first_seen_at, last_seen_at) select key, started_at, started_at from batches where id = ${name}`
    await sql`insert into shares (batch_key, token_hash, created_by)
      select b.key, sha256((${name} || n)::bytea), ${ME} from batches b, generate_series(1, ${n}::int) n where b.id = ${name}`
    await sql`insert into agent_commands (agent_id, kind, batch_key, state, command, created_at)
      select a.id, 'rerun', b.key, 'done', 'python train.py', now()
      from batches b, (select id from agents limit ${n}) a where b.id = ${name}`
  }
}

await serve(process.argv[2] ?? join(import.meta.dirname, '../..'))

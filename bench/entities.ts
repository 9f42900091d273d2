/**
 * Entities that are read by key or as plain lists: a page of 50 through Prisma against the SQL that reads the same
 * (docs/decisions/0035-the-graph-through-prisma.md). `npx tsx bench/entities.ts` prints the ratios.
 */
import { join } from 'node:path'
import { migrate } from '../src/db/migrate.ts'
import { openGraph } from '../src/db/prisma.ts'
import { openSql, PAGED_READS, type Sql } from '../src/db/sql.ts'
import { commandsForStream, commandsOf, listHosts } from '../src/domain/agents/index.ts'
import { batchRecords, readBatches } from '../src/domain/batches/index.ts'
import type { Known } from '../src/domain/caller.ts'
import { jobRecords, readJobs } from '../src/domain/jobs/index.ts'
import { listMembers, listProjects } from '../src/domain/projects/index.ts'
import { listSessions } from '../src/domain/sessions/index.ts'
import { listUsers } from '../src/domain/users/index.ts'
import { type Figure, median, printFigures } from './kit/report.ts'
import { startDatabase } from './kit/server.ts'

const ROUNDS = 60
const SIZE = 50
const NOW = new Date('2026-06-01T00:00:00Z')
const ME = '00000000-0000-4000-8000-000000000001'
const PERSON = { select: { id: true, name: true } } as const
const NEWEST = [{ createdAt: 'desc' }, { id: 'desc' }] as const

export async function benchEntities(): Promise<Figure[]> {
  const database = await startDatabase()
  const sql = openSql(database.url, { name: 'bench', max: 1, settings: PAGED_READS })
  const graph = openGraph(database.url, { max: 1 })
  const { prisma } = graph
  try {
    await migrate(sql, join(import.meta.dirname, '..', 'prisma', 'migrations'), { log: () => {} })
    await fill(sql)
    const caller: Known = {
      kind: 'known',
      via: 'session',
      user: { id: ME, email: 'one@example.com', name: 'One', role: 'admin' },
    } as Known
    const keys = (await sql<{ key: number }[]>`select key from batches order by key limit ${SIZE}`).map(
      (b) => b.key,
    )
    const jobKeys = (await sql<{ key: number }[]>`select key from jobs order by key limit ${SIZE}`).map(
      (j) => j.key,
    )
    const page = { limit: SIZE, after: undefined }
    const take = SIZE
    const pairs: Record<string, [() => Promise<unknown>, () => Promise<unknown>]> = {
      users: [() => listUsers(sql, page), () => prisma.user.findMany({ take, orderBy: [...NEWEST] })],
      sessions: [
        () => listSessions(sql, ME, page, NOW),
        () => prisma.session.findMany({ where: { userId: ME, closedAt: null }, take, orderBy: [...NEWEST] }),
      ],
      tokens: [
        // The statement that it was before it became Prisma's.
        () => sql`/* bench.tokens */
          select id, name, scope, last4, created_at, last_used_at from tokens
          where user_id = ${ME} and revoked_at is null and command_id is null order by created_at desc, id desc limit ${take}`,
        () =>
          prisma.token.findMany({
            where: { userId: ME, revokedAt: null, commandId: null },
            select: { id: true, name: true, scope: true, last4: true, createdAt: true, lastUsedAt: true },
            take,
            orderBy: [...NEWEST],
          }),
      ],
      audit: [
        () => sql`/* bench.audit */
          select a.id, a.at, a.via, a.address, a.action, a.subject, a.detail,
            case when u.id is null then null else jsonb_build_object('id', u.id, 'name', u.name) end actor
          from audit_log a left join users u on u.id = a.actor_id order by a.id desc limit ${take}`,
        () => prisma.auditEntry.findMany({ include: { actor: PERSON }, take, orderBy: { id: 'desc' } }),
      ],
      shares: [
        () => sql`/* bench.shares */
          select s.id, s.anonymous, jsonb_build_object('id', u.id, 'name', u.name) "createdBy", s.created_at, s.expires_at
          from shares s join users u on u.id = s.created_by
          where s.batch_key = ${keys[0] as number} and s.revoked_at is null
          order by s.created_at desc, s.id desc limit ${take}`,
        () =>
          prisma.share.findMany({
            where: { batchKey: keys[0] as number, revokedAt: null },
            include: { creator: PERSON },
            take,
            orderBy: [...NEWEST],
          }),
      ],
      projects: [
        () => listProjects(sql, caller, page),
        () =>
          prisma.project.findMany({
            include: { owner: PERSON },
            take,
            orderBy: [{ createdAt: 'desc' }, { key: 'desc' }],
          }),
      ],
      members: [
        () => listMembers(sql, 1, page),
        () => prisma.projectMember.findMany({ where: { projectKey: 1 }, include: { user: PERSON }, take }),
      ],
      commands: [
        () => commandsForStream(sql, keys[0] as number, { userId: ME }, NOW),
        () => commandsOf(prisma, [keys[0] as number], { userId: ME }, NOW),
      ],
      'agents and hosts': [
        () => sql`/* bench.hosts */
          select h.*, u.name owner_name from hosts h join users u on u.id = h.user_id
          order by h.registered_at desc, h.id desc limit ${take}`,
        () => listHosts(prisma, caller, page),
      ],
      'batches by key': [
        () => readBatches(sql, caller, keys),
        () => batchRecords(prisma, caller, { key: { in: keys } }),
      ],
      'jobs by key': [() => readJobs(sql, jobKeys), () => jobRecords(prisma, jobKeys)],
    }
    const figures: Figure[] = []
    for (const [what, [bySql, byPrisma]] of Object.entries(pairs)) {
      const times = { sql: [] as number[], prisma: [] as number[] }
      for (let round = 0; round < ROUNDS + 10; round++) {
        const [a, b] = [await timed(bySql), await timed(byPrisma)]
        // The first rounds prepare statements and warm the code.
        if (round < 10) continue
        times.sql.push(a)
        times.prisma.push(b)
      }
      const [a, b] = [median(times.sql), median(times.prisma)]
      figures.push({
        what: `${what}, a page of ${SIZE} through Prisma`,
        value: `${b.toFixed(2)} ms`,
        limit: `SQL ${a.toFixed(2)} ms`,
        ratio: b / a,
      })
    }
    return figures
  } finally {
    await graph.close()
    await sql.end()
    await database.stop()
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** 60 of each, all of one account. */
async function fill(sql: Sql): Promise<void> {
  await sql`insert into users (id, email, email_key, name, role)
    select ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, n || '@example.com', n || '@example.com', 'User ' || n,
      'user' from generate_series(1, 60) n`
  await sql`insert into sessions (user_id, cookie_hash, created_at, last_used_at)
    select ${ME}, sha256(n::text::bytea), ${NOW}, ${NOW} from generate_series(1, 60) n`
  await sql`insert into tokens (user_id, name, scope, hash, last4)
    select ${ME}, 'token ' || n, 'reporter', sha256(n::text::bytea), 'abcd' from generate_series(1, 60) n`
  await sql`insert into audit_log (at, actor_id, via, action, subject, detail)
    select now(), ${ME}, 'session', 'token.created', 'token:' || n, '{"name": "x"}' from generate_series(1, 60) n`
  await sql`insert into projects (slug, display_name, owner_id)
    select 'project-' || n, 'Project ' || n, ${ME} from generate_series(1, 60) n`
  await sql`insert into project_members (project_key, user_id, role)
    select 1, id, 'member' from users where id <> ${ME}`
  await sql`insert into batches (id, project_key, owner_id, status, started_at, host, experiment_type, n_total, command,
      commit_sha, username, tags, env_snapshot)
    select 'batch-' || n, 1, ${ME}, 'completed', now() - n * interval '1 hour', 'host-' || n, 'sweep', 20, 'python train.py',
      'abc', 'one', '{a,b}', '{"cwd": "/work", "command": "python train.py"}' from generate_series(1, 60) n`
  await sql`insert into batch_progress (batch_key, first_seen_at, last_seen_at) select key, started_at, started_at from batches`
  await sql`insert into jobs (batch_key, id, status, started_at, model, dataset, params, metrics)
    select key, 'job', 'completed', started_at, 'resnet', 'cifar', '{"lr": 0.1, "depth": 18}', '{"acc": 0.9}' from batches`
  await sql`insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, epochs, series, last_epoch, last_value)
    select key, batch_key, started_at, started_at, 50, '{loss,acc}', '{50,50}', '{0.1,0.9}' from jobs`
  await sql`insert into shares (batch_key, token_hash, created_by)
    select 1, sha256(n::text::bytea), ${ME} from generate_series(1, 60) n`
  await sql`insert into agents (user_id, hostname, version, token_hash, registered_at, last_seen_at, told_at)
    select ${ME}, 'host-' || n, '1', sha256(n::text::bytea), now(), now(), now() from generate_series(1, 60) n`
  await sql`insert into agent_commands (agent_id, kind, batch_key, state, command, created_at)
    select id, 'rerun', 1, 'done', 'python train.py', now() from agents limit ${SIZE}`
  await sql`analyze`
}

if (process.argv[1] === import.meta.filename) printFigures('entities', await benchEntities())

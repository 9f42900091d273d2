import type { Sql } from '../../src/db/sql.ts'

/** Who sees the many batches: a member of three of the twenty projects, and an administrator. */
export interface Crowd {
  member: string
  admin: string
}

/**
 * `n` batches straight into the tables, as a busy service would have them: twenty projects, fifty hosts, forty owners,
 * one batch in a hundred running, failed or stopped each, tags and words from everywhere to once in a thousand.
 */
export async function seedManyBatches(sql: Sql, n: number): Promise<Crowd> {
  await sql`/* seed.users */
    insert into users (email, email_key, name, role)
    select 'u' || i || '@example.org', 'u' || i || '@example.org', 'user ' || i, case i when 0 then 'admin' else 'user' end
    from generate_series(0, 39) i`
  await sql`/* seed.projects */
    insert into projects (slug, display_name, owner_id)
    select 'project-' || i, 'Project ' || i, (select id from users where name = 'user ' || (i % 20 + 1))
    from generate_series(0, 19) i`
  await sql`/* seed.members */
    insert into project_members (project_key, user_id, role)
    select p.key, u.id, 'member' from projects p, users u
    where u.name = 'user 30' and p.slug in ('project-3', 'project-7', 'project-11')`
  await sql`/* seed.batches */
    insert into batches (id, project_key, owner_id, status, started_at, experiment_type, n_total, host, command, tags, notes, env_snapshot)
    select 'sweep-' || i, (select key from projects where slug = 'project-' || i % 20),
      (select id from users where name = 'user ' || i * 7 % 40),
      case i % 100 when 1 then 'running' when 2 then 'failed' when 3 then 'stopped' else 'completed' end,
      '2026-01-01'::timestamptz + i * interval '1 minute', 'sweep', 20, 'Host-' || i * 13 % 50,
      'python train.py --seed ' || i || case when i % 500 = 0 then ' --needle' else '' end,
      array['all'] || case when i % 3 = 0 then array['often'] else '{}' end
        || case when i % 20 = 0 then array['some'] else '{}' end
        || case when i % 1000 = 0 then array['seldom'] else '{}' end,
      '', '{"commit": "abc1234", "command": "python train.py", "cwd": "/work", "hostname": "host"}'
    from generate_series(1, ${n}::int) i`
  await sql`/* seed.progress */
    insert into batch_progress (batch_key, first_seen_at, last_seen_at, n_jobs, n_completed)
    select key, started_at, started_at + interval '1 hour', 20, 20 from batches`
  await sql.unsafe('vacuum analyze')
  const id = async (name: string) =>
    ((await sql<{ id: string }[]>`select id from users where name = ${name}`)[0] as { id: string }).id
  return { member: await id('user 30'), admin: await id('user 0') }
}

/** `n` jobs of one more batch, and twenty of each batch that runs, with ten series each, straight into the tables. */
export async function seedManyJobs(sql: Sql, batchId: string, n: number): Promise<void> {
  await sql`/* seed.batch_of_jobs */
    with made as (
      insert into batches (id, project_key, owner_id, status, started_at, n_total)
      select ${batchId}, p.key, p.owner_id, 'running', now(), ${n} from projects p where p.slug = 'project-3'
      returning key)
    insert into batch_progress (batch_key, first_seen_at, last_seen_at, n_jobs, n_running)
    select key, now(), now(), ${n}, ${n} from made`
  await sql`/* seed.jobs */
    with made as (
      insert into jobs (batch_key, id, status, started_at, model, dataset, params)
      select b.key, 'seed' || i, case when i % 5 = 0 then 'running' else 'completed' end,
        b.started_at + i * interval '1 second', 'resnet', 'cifar', '{"lr": 0.1, "seed": 1}'
      from batches b, generate_series(1, case when b.id = ${batchId} then ${n}::int else 20 end) i
      where b.status = 'running'
      returning key, batch_key, started_at)
    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, epochs, max_epoch, series, last_epoch, last_value, min_value, max_value)
    select key, batch_key, started_at, started_at, 100, 99, s.names, s.epochs, s.vals, s.vals, s.vals
    from made, (
      select array_agg('series/' || i) names, array_agg(99) epochs, array_agg(i * 0.123456789) vals
      from generate_series(1, 10) i) s`
  await sql.unsafe('vacuum analyze')
}

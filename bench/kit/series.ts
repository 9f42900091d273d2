import type { Sql } from '../../src/db/sql.ts'
import { createWriter } from '../../src/stream/commit.ts'
import { createPacker } from '../../src/workers/pack.ts'

export interface FilledBatch {
  id: string
  key: number
  jobs: number
  epochs: number
}

export const SERIES = [
  'train_loss',
  'val_loss',
  'lr',
  'batch_time_ms',
  'acc',
  'grad_norm',
  'throughput',
] as const

/**
 * A finished batch of a public project, as ingest would have left it: epochs of all jobs in turn, so that the rows of
 * one job lie scattered over the table. Written by SQL, because how it got there is not what is measured.
 */
export async function fillBatch(sql: Sql, id: string, jobs: number, epochs: number): Promise<FilledBatch> {
  const [batch] = await sql<{ key: number }[]>`
    with owner as (
      insert into users (email, email_key, name) values ('charts@example.org', 'charts@example.org', 'charts')
      on conflict (email_key) do update set name = excluded.name returning id),
    project as (
      insert into projects (slug, display_name, visibility, owner_id) select 'charts', 'charts', 'public', id from owner
      on conflict (slug) do update set display_name = excluded.display_name returning key, owner_id),
    batch as (
      insert into batches (id, project_key, owner_id, status, started_at, ended_at)
      select ${id}, key, owner_id, 'completed', timestamptz '2026-01-01', timestamptz '2026-01-02' from project
      returning key),
    progress as (
      insert into batch_progress (batch_key, first_seen_at, last_seen_at, n_jobs, n_completed)
      select key, timestamptz '2026-01-01', timestamptz '2026-01-02', ${jobs}, ${jobs} from batch)
    select key from batch`
  const key = batch?.key as number
  await sql`
    with made as (
      insert into jobs (batch_key, id, status, outcome, started_at, ended_at)
      select ${key}, 'job-' || n, 'completed', 'completed', timestamptz '2026-01-01', timestamptz '2026-01-02'
      from generate_series(1, ${jobs}) n
      returning key)
    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, epochs, max_epoch, series)
    select key, ${key}, timestamptz '2026-01-01', timestamptz '2026-01-02', ${epochs}, ${epochs - 1},
      ${[...SERIES]}::text[]
    from made`
  await sql`
    insert into epochs (epoch_high, batch_key, job_key, epoch, ts, db_id, vals)
    select 0, j.batch_key, j.key, e, timestamptz '2026-01-01' + e * interval '1 second', e,
      array[exp(-e / 400.0) + random() / 10, exp(-e / 400.0) + random() / 5, 3e-4, 10 + random(), random(), random(),
        900 + random()]
    from generate_series(0, ${epochs - 1}) e, jobs j where j.batch_key = ${key}`
  return { id, key, jobs, epochs }
}

/** Packs everything that waits. */
export async function packAll(sql: Sql): Promise<{ seconds: number }> {
  const packer = createPacker({ sql, writer: createWriter(sql) })
  const begun = performance.now()
  const waits = async (): Promise<boolean> =>
    (
      await sql`select 1 from job_progress where coalesce(packed_step, packed_to) is null
      or coalesce(packed_step, packed_to) < coalesce(max_step, max_epoch) limit 1`
    ).length > 0
  while (await waits()) await packer.round()
  return { seconds: (performance.now() - begun) / 1000 }
}

import { visibleProjectsFilter } from '../access.ts'
import type { Caller } from '../caller.ts'
import { readJobs } from '../jobs/index.ts'
import type { Telemetry } from '../telemetry.ts'
import type { Attempt } from './attempt-fields.ts'
import { type AttemptedJob, latestAttempts } from './latest.ts'

/** How many generations of reruns are followed backwards, and from there forwards. */
const MAX_ANCESTORS = 20
const MAX_DESCENDANTS = 40
/** The most batches of a job that are shown: the latest ones. */
const MAX_RERUNS = 100

/**
 * The same job in batches that reran its batch or that its batch reran, if the caller may see them: the latest attempt
 * in each batch, oldest first, by the key of the requested job. The search ends at a batch that is not visible.
 */
export async function rerunsOfJobs(
  db: Telemetry,
  caller: Caller,
  jobs: readonly AttemptedJob[],
  now: Date,
): Promise<Map<number, Attempt[]>> {
  if (jobs.length === 0) return new Map()
  const seen = db`b.deleted_at is null and b.purged_at is null
    and b.project_key in (select p.key from projects p where ${visibleProjectsFilter(db, caller)})`
  const rows = await db<{ job_key: number; of_key: number }[]>`/* attempts.reruns */
    with recursive back as (
      select b.key of_batch, b.key, b.id, b.rerun_of, 0 far
      from batches b where b.key = any (${[...new Set(jobs.map((job) => job.batch_key))]}::bigint[])
      union all
      select k.of_batch, b.key, b.id, b.rerun_of, k.far + 1 from back k join batches b on b.id = k.rerun_of
      where k.far < ${MAX_ANCESTORS}::int and ${seen}),
    forward as (
      select * from (select distinct on (of_batch) of_batch, key, id, 0 far from back order by of_batch, back.far desc) roots
      union all
      select f.of_batch, b.key, b.id, f.far + 1 from forward f join batches b on b.rerun_of = f.id
      where f.far < ${MAX_DESCENDANTS}::int and ${seen}),
    family as (select of_batch, key from forward union select of_batch, key from back),
    numbered as (
      select j.key job_key, u.key of_key, row_number() over (partition by u.key order by j.started_at desc, j.key desc) nth
      from unnest(${jobs.map((job) => job.key)}::bigint[]) as x (key) join jobs u on u.key = x.key
      join family f on f.of_batch = u.batch_key and f.key <> u.batch_key
      join jobs j on j.batch_key = f.key and j.id = u.id)
    select job_key, of_key from numbered where nth <= ${MAX_RERUNS} order by nth desc`
  const found = new Map<number, Attempt[]>()
  if (rows.length === 0) return found
  const others = await readJobs(db, [...new Set(rows.map((row) => row.job_key))])
  const latest = await latestAttempts(db, others, now)
  for (const { job_key, of_key } of rows) {
    const one = latest.get(job_key)
    if (one === undefined) continue
    const list = found.get(of_key)
    if (list === undefined) found.set(of_key, [one.attempt])
    else list.push(one.attempt)
  }
  return found
}

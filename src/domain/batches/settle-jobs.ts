import type { Tx } from '../../db/sql.ts'
import type { BatchState, JobStatus } from './batch.ts'

/**
 * When a batch ends, its unfinished jobs become lost, except those that reported later; if it turns out to continue, they
 * run again. Called after the jobs of the same events were saved.
 * @param ends key of a batch → its `jobsEndAt`
 * @returns the jobs whose status changed, and the counts of every batch
 */
export async function settleJobs(
  tx: Tx,
  ends: ReadonlyMap<number, string | null>,
): Promise<{
  jobs: { batchKey: number; key: number; id: string; status: JobStatus }[]
  counts: Map<number, BatchState['jobs']>
}> {
  const keys = [...ends.keys()]
  const jobs = await tx<
    { batchKey: number; key: number; id: string; status: JobStatus }[]
  >`/* batches.settle_jobs */
    update jobs j set status = case when x.ends_at is null then 'running' else 'lost' end
    from unnest(${keys}::bigint[], ${[...ends.values()]}::timestamptz[]) as x (key, ends_at), job_progress p
    where j.batch_key = x.key and p.job_key = j.key and j.outcome = 'running'
      and case when x.ends_at is null then j.status <> 'running' else j.status <> 'lost' and p.last_seen_at <= x.ends_at end
    returning j.batch_key "batchKey", j.key, j.id, j.status`
  const rows = await tx<({ batchKey: number } & BatchState['jobs'])[]>`/* batches.count_jobs */
    with counted as (
      select x.key,
        count(j.key) filter (where j.status = 'running')::int n_running,
        count(j.key) filter (where j.status = 'completed')::int n_completed,
        count(j.key) filter (where j.status = 'failed')::int n_failed,
        count(j.key) filter (where j.status = 'stopped')::int n_stopped,
        count(j.key) filter (where j.status = 'lost')::int n_lost
      from unnest(${keys}::bigint[]) as x (key) left join jobs j on j.batch_key = x.key group by x.key)
    update batch_progress p set n_running = c.n_running, n_completed = c.n_completed, n_failed = c.n_failed,
      n_stopped = c.n_stopped, n_lost = c.n_lost,
      n_jobs = c.n_running + c.n_completed + c.n_failed + c.n_stopped + c.n_lost
    from counted c where p.batch_key = c.key
    returning p.batch_key "batchKey", p.n_running running, p.n_completed completed, p.n_failed failed,
      p.n_stopped stopped, p.n_lost lost`
  return { jobs, counts: new Map(rows.map(({ batchKey, ...counts }) => [batchKey, counts])) }
}

import type { Telemetry } from '../telemetry.ts'

/** Where a process that continues a batch, or joins it, finds it. */
export interface ResumePoint {
  project: string
  /** The job that was created last; null before any. */
  newest_job: string | null
  /** The last step of each job, newest job first; null without steps. */
  jobs: { job_id: string; last_step: number | null }[]
}

const MAX_JOBS = 500

/** The last steps of the newest jobs of a batch. */
export async function resumePointOf(
  db: Telemetry,
  batch: { key: number; projectSlug: string },
): Promise<ResumePoint> {
  await db.restore({ batches: [batch.key] })
  const jobs = await db<ResumePoint['jobs']>`/* batches.resume_point */
    select j.id job_id, coalesce(p.max_step, p.max_epoch) last_step
    from jobs j join job_progress p on p.job_key = j.key
    where j.batch_key = ${batch.key} order by j.key desc limit ${MAX_JOBS}`
  return { project: batch.projectSlug, newest_job: jobs[0]?.job_id ?? null, jobs }
}

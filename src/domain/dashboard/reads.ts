import type { Db } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { visibleProjectKeys } from '../access.ts'
import { aliveAt } from '../batches/index.ts'
import type { Caller } from '../caller.ts'
import { type Fields, instant, nullable, text, type ViewOf, word } from '../field.ts'
import { type Clock, isIdle, isStalled } from '../liveness.ts'
import type { DashboardCache } from './cache.ts'
import type { Summary } from './summary-fields.ts'

const DAY_MS = 86_400_000

/**
 * The keys of these projects, of all visible ones, or null for every project: counts of a project that does not exist would
 * be zeros.
 * @throws Problem project_not_found
 */
async function existingProjectKeys(db: Db, caller: Caller, slugs: string[]): Promise<number[] | null> {
  const keys = await visibleProjectKeys(db, caller, slugs)
  if (keys !== null && keys.length < new Set(slugs).size) throw new Problem('project_not_found')
  return keys
}

/** @param projects slugs; empty: all that the caller may see */
export async function summaryOf(
  db: Db,
  caller: Caller,
  projects: string[],
  clock: Clock,
  cache: DashboardCache,
): Promise<Summary> {
  const keys = await existingProjectKeys(db, caller, projects)
  const [{ used, idle: unused, ...counts }, running, jobs] = await Promise.all([
    cache.of(db, keys, clock.now),
    db<{ last_seen_at: string; last_live_at: string | null; n_running: number }[]>`/* dashboard.running */
      select p.last_seen_at, p.last_live_at, p.n_running from batches b join batch_progress p on p.batch_key = b.key
      where b.status = 'running' and b.deleted_at is null
        and (${keys}::int[] is null or b.project_key = any (${keys}::int[]))`,
    // A job runs only while its batch does, so the status of the batch is not a condition: if the statistics
    // know of no running batch, PostgreSQL would look up each job among all running ones.
    db<Evidence[]>`/* dashboard.gpu_evidence */
      select j.gpu_first_at, j.gpu_last_at, j.gpu_busy_at, j.gpu_low_samples,
        p.gpu_low_samples batch_low_samples, p.last_seen_at, p.last_live_at, p.gpu_first_at batch_first_at, p.gpu_last_at batch_last_at,
        p.gpu_busy_at batch_busy_at, r.started_at
      from jobs r
      join job_progress j on j.job_key = r.key
      join batch_progress p on p.batch_key = r.batch_key
      join batches b on b.key = r.batch_key
      where r.status = 'running' and b.deleted_at is null
        and (${keys}::int[] is null or r.project_key = any (${keys}::int[]))
        and (j.gpu_last_at is not null or p.gpu_last_at is not null)`,
  ])
  const isSilent = (batch: { last_seen_at: string; last_live_at: string | null }): boolean =>
    isStalled({ status: 'running', aliveAt: aliveAt(batch) }, clock)
  const lively = running.filter((batch) => !isSilent(batch))
  const idle = jobs.filter(
    (j) =>
      !isSilent(j) &&
      isIdle(
        {
          status: 'running',
          startedAt: j.started_at,
          gpu: {
            firstAt: j.gpu_first_at,
            lastAt: j.gpu_last_at,
            busyAt: j.gpu_busy_at,
            lowSamples: j.gpu_low_samples,
          },
        },
        {
          firstAt: j.batch_first_at,
          lastAt: j.batch_last_at,
          busyAt: j.batch_busy_at,
          lowSamples: j.batch_low_samples,
        },
        clock,
      ),
  )
  return {
    ...counts,
    running: lively.length,
    running_jobs: lively.reduce((sum, batch) => sum + batch.n_running, 0),
    stalled: running.length - lively.length,
    idle: idle.length,
    gpu_hours: hours(used),
    idle_gpu_hours: hours(unused),
  }
}

interface Evidence {
  started_at: string
  gpu_first_at: string | null
  gpu_last_at: string | null
  gpu_busy_at: string | null
  gpu_low_samples: number
  batch_low_samples: number
  last_seen_at: string
  last_live_at: string | null
  batch_first_at: string | null
  batch_last_at: string | null
  batch_busy_at: string | null
}

/** Rounded to a thousandth of an hour. */
const hours = (seconds: number): number => Math.round(seconds / 3.6) / 1000

const ACTIVITY_TYPES = [
  'batch_started',
  'job_failed',
  'batch_completed',
  'batch_failed',
  'batch_stopped',
  'batch_lost',
] as const

export const activityFields = {
  at: { type: instant, public: 'hidden' },
  type: { type: word(ACTIVITY_TYPES), public: 'hidden' },
  project: { type: text, public: 'hidden' },
  batch_id: { type: text, public: 'hidden' },
  job_id: { type: nullable(text), public: 'hidden' },
  reason: { type: nullable(text), public: 'hidden' },
} as const satisfies Fields
/** The key is that of the batch or job; with `at` and `rank` it is the place in the list. */
type Activity = ViewOf<typeof activityFields> & { key: number; rank: number }

export interface ActivityPosition {
  at: string
  rank: number
  key: number
}

/** Failed jobs are shown if they started within this time. */
const FAILED_JOBS_DAYS = 30

/** What started and ended, newest first, in the projects that the caller may see. */
export async function activityOf(
  db: Db,
  caller: Caller,
  projects: string[],
  page: { limit: number; after: ActivityPosition | undefined },
  now: Date,
): Promise<readonly Activity[]> {
  const keys = await existingProjectKeys(db, caller, projects)
  if (keys?.length === 0) return []
  const { limit, after } = page
  const visible = db`b.deleted_at is null and (${keys}::int[] is null or b.project_key = any (${keys}::int[]))`
  const before = (at: string, rank: number, key: string) =>
    after === undefined
      ? db`true`
      : db`(${db.unsafe(at)}, ${rank}::int, ${db.unsafe(key)})
          < (${after.at}::timestamptz, ${after.rank}::int, ${after.key}::bigint)`
  const recently = new Date(now.getTime() - FAILED_JOBS_DAYS * DAY_MS).toISOString()
  return db<Activity[]>`/* dashboard.activity */
    select a.at, a.type, p.slug project, a.batch_id, a.job_id, a.reason, a.key, a.rank
    from (
      (select b.started_at at, 'batch_started' type, b.project_key, b.id batch_id, null job_id, null reason, b.key, 0 rank
        from batches b where ${visible} and ${before('b.started_at', 0, 'b.key')}
        order by b.started_at desc, b.key desc limit ${limit})
      union all
      (select j.ended_at, 'job_failed', b.project_key, b.id, j.id, j.failure_reason, j.key, 1
        from jobs j join batches b on b.key = j.batch_key
        where j.status = 'failed' and j.started_at >= ${recently} and j.ended_at is not null and ${visible}
          and ${before('j.ended_at', 1, 'j.key')}
        order by j.ended_at desc, j.key desc limit ${limit})
      union all
      (select b.ended_at, 'batch_' || b.status, b.project_key, b.id, null, b.failure_reason, b.key, 2
        from batches b
        where b.ended_at is not null and b.status <> 'running' and ${visible} and ${before('b.ended_at', 2, 'b.key')}
        order by b.ended_at desc, b.key desc limit ${limit})) a
    join projects p on p.key = a.project_key
    order by a.at desc, a.rank desc, a.key desc
    limit ${limit}`
}

import { required } from '../../checked.ts'
import { byBatch } from '../../db/by-batch.ts'
import type { Db } from '../../db/sql.ts'
import { elapsedS } from '../batches/index.ts'
import { numberOf, typeCodes, writeNumber } from '../events/index.ts'
import type { JobRow } from '../jobs/index.ts'
import { warm } from '../warm.ts'
import type { Attempt } from './attempt-fields.ts'

/** The columns of a job that its attempts need. */
export type AttemptedJob = Pick<
  JobRow,
  | 'key'
  | 'batch_key'
  | 'batch_id'
  | 'id'
  | 'status'
  | 'started_at'
  | 'ended_at'
  | 'last_seen_at'
  | 'event_skews'
  | 'reported_s'
  | 'failure_reason'
  | 'epochs'
  | 'max_epoch'
  | 'series'
>

export interface Latest {
  attempt: Attempt
  /** The newest of all events of the job. */
  firstSeenAt: string
}

interface Row {
  job_key: number
  starts: number
  last_start: string | null
  epochs: number | null
  first_epoch: number | null
  last_epoch: number | null
  reported: unknown
}

/**
 * The latest attempt of each of these jobs, which for nearly every job is its only one; one statement. Its status is
 * the job's status; its epochs are those whose latest event it reported.
 */
export async function latestAttempts(
  db: Db,
  jobs: readonly AttemptedJob[],
  now: Date,
): Promise<Map<number, Latest>> {
  await warm(db, { batches: jobs.map(({ batch_key }) => batch_key) })
  const places = jobs.map((job) => ({ batchKey: job.batch_key, jobKey: job.key }))
  const [seen, rows] = await Promise.all([
    db<{ job_key: number; first_seen_at: string }[]>`/* attempts.first_seen */
      select job_key, first_seen_at from job_progress where job_key = any (${jobs.map((job) => job.key)}::bigint[])`,
    byBatch(
      db,
      places,
      (own, batch) => db<Row[]>`/* attempts.latest */
    select u.job_key, m.starts, m.last_start, x.epochs, coalesce(x.first, f.epoch) first_epoch, x.last last_epoch,
      r.reported
    from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[]) as u (batch_key, job_key)
    cross join lateral (
      select count(*) starts, max(e.ts) last_start from events e
      where e.batch_key = ${batch} and e.job_key = u.job_key and e.type in (${typeCodes(db, 'job_start')})) m
    left join lateral (
      select count(*) epochs, min(e.epoch_high * 4294967296 + e.epoch) first, max(e.epoch_high * 4294967296 + e.epoch) last from epochs e
      where m.starts > 1 and e.batch_key = ${batch} and e.job_key = u.job_key and e.ts >= m.last_start) x on m.starts > 1
    left join lateral (
      select e.epoch_high * 4294967296 + e.epoch epoch from epochs e
      where m.starts <= 1 and e.batch_key = ${batch} and e.job_key = u.job_key order by e.epoch_high, e.epoch limit 1) f on true
    left join lateral (
      select e.payload::json #> '{data,elapsed_s}' reported from events e
      where m.starts > 1 and e.batch_key = ${batch} and e.job_key = u.job_key
        and e.type in (${typeCodes(db, 'job_done', 'job_failed')}) and e.ts >= m.last_start
      order by e.ts desc, e.event_id desc limit 1) r on true`,
    ),
  ])
  const byKey = new Map(rows.map((row) => [row.job_key, row]))
  const firstSeen = new Map(seen.map((row) => [row.job_key, row.first_seen_at]))
  return new Map(
    jobs.flatMap((job): [number, Latest][] => {
      const row = byKey.get(job.key)
      const firstSeenAt = firstSeen.get(job.key)
      return row === undefined || firstSeenAt === undefined
        ? []
        : [[job.key, { attempt: view(job, row, now), firstSeenAt }]]
    }),
  )
}

function view(job: AttemptedJob, row: Row, now: Date): Attempt {
  const again = row.starts > 1
  const startedAt = again ? required(row.last_start) : job.started_at
  // The job's length and last event may come from an earlier attempt.
  const said = again ? numberOf(row.reported) : (job.reported_s ?? undefined)
  const lastSeenAt = again ? (job.ended_at ?? job.last_seen_at) : job.last_seen_at
  return {
    n: Math.max(1, row.starts),
    batch_id: job.batch_id,
    started_at: startedAt,
    ended_at: job.ended_at,
    status: job.status,
    failure_reason: job.failure_reason,
    epochs: again ? (row.epochs ?? 0) : job.epochs,
    first_epoch: row.first_epoch,
    last_epoch: again ? row.last_epoch : job.max_epoch,
    superseded_epochs: 0,
    superseded_ranges: [],
    elapsed_s:
      said === undefined
        ? elapsedS(
            {
              status: job.status,
              started_at: startedAt,
              last_seen_at: lastSeenAt,
              event_skews: job.event_skews,
            },
            now,
          )
        : writeNumber(said),
    complete: true,
  }
}

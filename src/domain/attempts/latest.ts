import { required } from '../../checked.ts'
import { elapsedS } from '../batches/index.ts'
import { numberOf, typeCodes, writeNumber } from '../events/index.ts'
import type { JobRow } from '../jobs/index.ts'
import { firstStepOf } from '../metrics/index.ts'
import { readByBatch, type Telemetry } from '../telemetry.ts'
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
  first_epoch: number | null
}

/** What the last of several attempts reported. */
interface LastRow {
  job_key: number
  epochs: number
  first_epoch: number | null
  last_epoch: number | null
  reported: unknown
}

/**
 * The latest attempt of each of these jobs, which for nearly every job is its only one; one statement. Its status is
 * the job's status; its epochs are those whose latest event it reported. Only jobs with several attempts are restored
 * from the archive.
 */
export async function latestAttempts(
  db: Telemetry,
  jobs: readonly AttemptedJob[],
  now: Date,
): Promise<Map<number, Latest>> {
  const places = jobs.map((job) => ({ batchKey: job.batch_key, jobKey: job.key }))
  const [seen, rows] = await Promise.all([
    db<{ job_key: number; first_seen_at: string }[]>`/* attempts.first_seen */
      select job_key, first_seen_at from job_progress where job_key = any (${jobs.map((job) => job.key)}::bigint[])`,
    readByBatch(
      db,
      places,
      'kept',
      (own, batch) => db<Row[]>`/* attempts.latest */
    select u.job_key, m.starts, m.last_start, f.step first_epoch
    from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[]) as u (batch_key, job_key)
    cross join lateral (
      select count(*) starts, max(e.ts) last_start from events e
      where e.batch_key = ${batch} and e.job_key = u.job_key and e.type in (${typeCodes(db, 'job_start')})) m
    left join lateral (${firstStepOf(db, batch)}) f on m.starts <= 1`,
    ),
  ])
  const byKey = new Map(rows.map((row) => [row.job_key, row]))
  const last = await lastOfSeveral(
    db,
    places.flatMap((place) => {
      const row = byKey.get(place.jobKey)
      return row === undefined || row.starts <= 1 ? [] : [{ ...place, since: required(row.last_start) }]
    }),
  )
  const firstSeen = new Map(seen.map((row) => [row.job_key, row.first_seen_at]))
  return new Map(
    jobs.flatMap((job): [number, Latest][] => {
      const row = byKey.get(job.key)
      const firstSeenAt = firstSeen.get(job.key)
      return row === undefined || firstSeenAt === undefined
        ? []
        : [[job.key, { attempt: view(job, row, last.get(job.key), now), firstSeenAt }]]
    }),
  )
}

async function lastOfSeveral(
  db: Telemetry,
  places: readonly { batchKey: number; jobKey: number; since: string }[],
): Promise<Map<number, LastRow>> {
  if (places.length === 0) return new Map()
  const rows = await readByBatch(
    db,
    places,
    undefined,
    (own, batch) => db<LastRow[]>`/* attempts.last_of_several */
    select u.job_key, x.epochs, x.first first_epoch, x.last last_epoch, r.reported
    from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[],
      ${own.map((job) => job.since)}::text[]::timestamptz[]) as u (batch_key, job_key, since)
    cross join lateral (
      select count(*) epochs, min(e.epoch_high * 4294967296 + e.epoch) first, max(e.epoch_high * 4294967296 + e.epoch) last from epochs e
      where e.batch_key = ${batch} and e.job_key = u.job_key and e.ts >= u.since) x
    left join lateral (
      select e.payload::json #> '{data,elapsed_s}' reported from events e
      where e.batch_key = ${batch} and e.job_key = u.job_key
        and e.type in (${typeCodes(db, 'job_done', 'job_failed')}) and e.ts >= u.since
      order by e.ts desc, e.event_id desc limit 1) r on true`,
  )
  return new Map(rows.map((row) => [row.job_key, row]))
}

function view(job: AttemptedJob, row: Row, last: LastRow | undefined, now: Date): Attempt {
  const again = row.starts > 1
  const startedAt = again ? required(row.last_start) : job.started_at
  // The job's length and last event may come from an earlier attempt.
  const said = again ? numberOf(last?.reported) : (job.reported_s ?? undefined)
  const lastSeenAt = again ? (job.ended_at ?? job.last_seen_at) : job.last_seen_at
  return {
    n: Math.max(1, row.starts),
    batch_id: job.batch_id,
    started_at: startedAt,
    ended_at: job.ended_at,
    status: job.status,
    failure_reason: job.failure_reason,
    epochs: again ? (last?.epochs ?? 0) : job.epochs,
    first_epoch: again ? (last?.first_epoch ?? null) : row.first_epoch,
    last_epoch: again ? (last?.last_epoch ?? null) : job.max_epoch,
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

import { entryOf, itemAt, lastOf } from '../../checked.ts'
import { canonicalInstant, showInstant } from '../../db/instant.ts'
import { STOP_REASON } from '../batches/index.ts'
import {
  eventTypeCode,
  numberOf,
  payloadEpoch,
  typeCodes,
  withTemplate,
  writeNumber,
} from '../events/index.ts'
import { readByBatch, type Telemetry } from '../telemetry.ts'
import { attemptsIn, type Bounds, type Mark } from './attempt.ts'
import type { Attempt } from './attempt-fields.ts'
import { type AttemptedJob, type Latest, latestAttempts } from './latest.ts'

/** The most attempts of a job that are shown: the latest ones. */
const MAX_ATTEMPTS = 500

/**
 * The attempts of each of these jobs within its batch, oldest first. A job with one attempt costs look-ups; one with
 * several costs a scan of the events between its first and last start, for superseded epochs.
 */
export async function attemptsOfJobs(
  db: Telemetry,
  jobs: readonly AttemptedJob[],
  now: Date,
): Promise<Map<number, Attempt[]>> {
  const found = new Map<number, Attempt[]>()
  if (jobs.length === 0) return found
  const latest = await latestAttempts(db, jobs, now)
  const again = jobs.filter(({ key }) => (latest.get(key)?.attempt.n ?? 1) > 1)
  const bounds = await boundsOf(db, again)
  for (const job of jobs) {
    const last = latest.get(job.key)
    if (last === undefined) continue
    const attempts = bounds.get(job.key)
    found.set(
      job.key,
      attempts === undefined || attempts.length < 2 ? [last.attempt] : await allOf(db, job, attempts, last),
    )
  }
  return found
}

interface ReportedMark extends Mark {
  /** The data of its payload, unless it was purged. */
  reason: string | null
  elapsed: unknown
  purged: boolean
}

interface MarkRow {
  job_key: number
  type: number
  ts: string
  event_id: string
  reason: string | null
  elapsed: unknown
  purged: boolean
}

const KINDS = new Map<number, Mark['kind']>([
  [eventTypeCode('job_start'), 'start'],
  [eventTypeCode('job_done'), 'done'],
  [eventTypeCode('job_failed'), 'failed'],
])

/** The latest attempts of these jobs with their starts and ends. */
async function boundsOf(
  db: Telemetry,
  jobs: readonly Pick<AttemptedJob, 'key' | 'batch_key'>[],
): Promise<Map<number, Bounds<ReportedMark>[]>> {
  const places = jobs.map((job) => ({ batchKey: job.batch_key, jobKey: job.key }))
  const rows = await readByBatch(
    db,
    places,
    'kept',
    (own, batch) => db<MarkRow[]>`/* attempts.marks */
    select e.job_key, e.type, e.ts, e.event_id, e.payload::json #>> '{data,reason}' reason,
      e.payload::json #> '{data,elapsed_s}' elapsed, e.payload is null purged
    from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[]) as u (batch_key, job_key)
    cross join lateral (
      select min(s.ts) ts from (
        select ts from events where batch_key = ${batch} and job_key = u.job_key and type in (${typeCodes(db, 'job_start')}) order by ts desc limit ${MAX_ATTEMPTS}) s) first
    join events e on e.batch_key = ${batch} and e.job_key = u.job_key
      and e.type in (${typeCodes(db, 'job_start', 'job_done', 'job_failed')}) and e.ts >= first.ts`,
  )
  const marks = new Map<number, ReportedMark[]>()
  for (const row of rows) {
    const list = marks.get(row.job_key) ?? []
    marks.set(row.job_key, list)
    list.push({
      kind: entryOf(KINDS, row.type),
      at: canonicalInstant(row.ts),
      eventId: row.event_id,
      reason: row.reason,
      elapsed: row.elapsed,
      purged: row.purged,
    })
  }
  return new Map([...marks].map(([key, list]) => [key, attemptsIn(list).slice(-MAX_ATTEMPTS)]))
}

interface EpochsRow {
  place: number
  epochs: number
  first_epoch: number | null
  last_epoch: number | null
  superseded: number
  ranges: [number, number][]
  last_at: string | null
  lost: boolean
}

/**
 * Which epochs each attempt reported. Those of the last one are in the table of epochs. For earlier ones the raw events
 * that were stored and happened before the last start are scanned, by the job's own times, so that the scan is limited
 * to their block ranges. Purged events are replaced, as far as possible, by what the tables still contain.
 */
async function epochsOf(
  db: Telemetry,
  job: Pick<AttemptedJob, 'key' | 'batch_key'>,
  starts: readonly string[],
  since: string,
): Promise<Map<number, EpochsRow>> {
  await db.restore({ batches: [job.batch_key] })
  const rows = await db<EpochsRow[]>`/* attempts.epochs */
    with told as materialized (
      select width_bucket(e.ts, ${starts}::text[]::timestamptz[]) place, e.db_id, e.ts,
        ${payloadEpoch(db)} epoch
      from events e ${withTemplate(db)}
      where e.batch_key = ${job.batch_key} and e.job_key = ${job.key} and e.type in (${typeCodes(db, 'job_epoch')}) and e.ts >= ${since}::timestamptz
        and e.ts < ${lastOf(starts)}::timestamptz),
    standing as materialized (select epoch_high * 4294967296 + epoch epoch, db_id, ts, stamps from epochs where batch_key = ${job.batch_key} and job_key = ${job.key}),
    known as (
      select place, epoch from told where epoch is not null
      union
      select width_bucket(ts, ${starts}::text[]::timestamptz[]), epoch from standing
      union
      select width_bucket(left(s.stamp ->> 1, 27)::timestamptz, ${starts}::text[]::timestamptz[]), epoch
      from standing, jsonb_array_elements(stamps) as s (stamp)
      where exists (select from told where epoch is null)),
    latest as (select place, epoch, max(place) over (partition by epoch) > place superseded from known),
    counted as (
      select place, count(*) epochs, min(epoch) first_epoch, max(epoch) last_epoch,
        count(*) filter (where superseded) superseded,
        range_agg(int8range(epoch, epoch + 1)) filter (where superseded) ranges
      from latest group by place),
    heard as (
      select place, max(ts) last_at,
        coalesce(bool_or(epoch is null and db_id not in (select db_id from standing where stamps is null)), false) lost
      from told group by place)
    select coalesce(c.place, h.place) place, coalesce(c.epochs, 0) epochs, c.first_epoch, c.last_epoch,
      coalesce(c.superseded, 0) superseded, h.last_at, coalesce(h.lost, false) lost,
      coalesce((
        select jsonb_agg(jsonb_build_array(lower(r), upper(r) - 1) order by lower(r))
        from (select r from unnest(c.ranges) r limit 20) r), '[]') ranges
    from counted c full join heard h on h.place = c.place
    where coalesce(c.place, h.place) > 0`
  return new Map(rows.map((row) => [row.place, row]))
}

async function allOf(
  db: Telemetry,
  job: AttemptedJob,
  attempts: readonly Bounds<ReportedMark>[],
  { attempt: last, firstSeenAt }: Latest,
): Promise<Attempt[]> {
  const starts = attempts.map(({ start }) => start.at)
  // Events before the first start belong to the first attempt, unless it is older than those shown.
  const whole = last.n === attempts.length
  const first = itemAt(starts, 0)
  const epochs = await epochsOf(
    db,
    job,
    whole ? ['-infinity', ...starts.slice(1)] : starts,
    whole && canonicalInstant(firstSeenAt) < first ? firstSeenAt : first,
  )
  return attempts.map((bounds, i) => {
    const n = last.n - attempts.length + i + 1
    if (i === attempts.length - 1) return { ...last, n }
    return view(job, n, bounds, epochs.get(i + 1))
  })
}

/** An attempt that has a later one. */
function view(
  job: AttemptedJob,
  n: number,
  { start, end }: Bounds<ReportedMark>,
  epochs: EpochsRow | undefined,
): Attempt {
  const endedAt = end?.at ?? null
  const until = endedAt ?? epochs?.last_at ?? null
  const said = numberOf(end?.elapsed)
  return {
    n,
    batch_id: job.batch_id,
    started_at: showInstant(start.at),
    ended_at: endedAt === null ? null : showInstant(endedAt),
    status:
      end === null
        ? 'superseded'
        : end.kind === 'done'
          ? 'completed'
          : end.reason === STOP_REASON
            ? 'stopped'
            : 'failed',
    failure_reason: end?.kind === 'failed' ? end.reason : null,
    epochs: epochs?.epochs ?? 0,
    first_epoch: epochs?.first_epoch ?? null,
    last_epoch: epochs?.last_epoch ?? null,
    superseded_epochs: epochs?.superseded ?? 0,
    superseded_ranges: epochs?.ranges ?? [],
    elapsed_s:
      said !== undefined
        ? writeNumber(said)
        : until === null
          ? null
          : Math.max(0, Date.parse(until) - Date.parse(start.at)) / 1000,
    complete: epochs?.lost !== true && !(end?.kind === 'failed' && end.purged),
  }
}

/** The time span of an attempt's events: `until` is excluded; null: no end. */
export interface Span {
  from: string
  before: string | null
}

/** When the `n`th attempt of each of these jobs ran, by key; without the jobs that have no such attempt. */
export async function spansOf(
  db: Telemetry,
  jobs: readonly AttemptedJob[],
  n: number,
  now: Date,
): Promise<Map<number, Span>> {
  const latest = await latestAttempts(db, jobs, now)
  const again = jobs.filter(({ key }) => (latest.get(key)?.attempt.n ?? 1) > 1)
  const bounds = again.length === 0 ? new Map() : await boundsOf(db, again)
  return new Map(
    jobs.flatMap(({ key }): [number, Span][] => {
      const span = spanAmong(bounds.get(key) ?? [], latest.get(key), n)
      return span === undefined ? [] : [[key, span]]
    }),
  )
}

/** @param attempts the latest ones of the job, oldest first; none if it has one alone */
function spanAmong(
  attempts: readonly Bounds<ReportedMark>[],
  last: Latest | undefined,
  n: number,
): Span | undefined {
  if (last === undefined || n > last.attempt.n) return undefined
  if (last.attempt.n === 1) return { from: last.firstSeenAt, before: null }
  const i = n - 1 - (last.attempt.n - attempts.length)
  const start = attempts[i]?.start.at
  if (start === undefined) return undefined
  const from = n === 1 && canonicalInstant(last.firstSeenAt) < start ? last.firstSeenAt : start
  return { from, before: attempts[i + 1]?.start.at ?? null }
}

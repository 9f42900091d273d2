import { entryOf } from '../../checked.ts'
import { canonicalInstant } from '../../db/instant.ts'
import type { Fragment, Tx } from '../../db/sql.ts'
import { type SqlFragment, sqlFragment, sqlWords } from '../../db/sql-fragment.ts'
import type { JobStatus } from '../batches/index.ts'
import { type Numeric, numberOf } from '../events/index.ts'
import { sentBy } from '../field.ts'
import type { Merged } from '../merge.ts'
import { newProgress, type SeriesProgress, seriesNumber, unchanged } from '../metrics/index.ts'
import { fieldsUnder, type JobState, jobEndedAt, jobStartedAt } from './job.ts'
import { jobFields } from './job-fields.ts'

/** A job as a JSON row: NaN and infinities are text. */
export interface StoredJobRow {
  key: number
  batch_key: number
  batch_id: string
  id: string
  status: JobStatus
  outcome: JobState['outcome']
  outcome_stamp: string
  failure_reason: string | null
  start_fields: Merged | null
  final_fields: Merged | null
  first_seen_at: string
  last_seen_at: string
  epochs: number
  max_epoch: number | null
  series: string[]
  last_epoch: number[]
  last_value: Numeric[]
  min_value: Numeric[]
  max_value: Numeric[]
  packed_to: number | null
  gpu_first_at: string | null
  gpu_last_at: string | null
  gpu_busy_at: string | null
  gpu_low_samples: number
}

const instant = (text: string | null): string | null => (text === null ? null : canonicalInstant(text))

/** The jobs of these pairs that exist. Their batches are locked, so no other transaction changes them. */
export const jobsForIngest = (tx: Tx, batchIds: string[], jobIds: string[]): Fragment => tx`
    select j.key, j.batch_key, b.id batch_id, j.id, j.status, j.outcome, j.outcome_stamp, j.failure_reason,
      j.start_fields, j.final_fields, p.first_seen_at, p.last_seen_at, p.epochs, coalesce(p.max_step, p.max_epoch) max_epoch, p.series,
      coalesce(p.last_step, p.last_epoch) last_epoch, p.last_value, p.min_value, p.max_value,
      coalesce(p.packed_step, p.packed_to) packed_to, p.gpu_first_at, p.gpu_last_at, p.gpu_busy_at, p.gpu_low_samples
    from unnest(${batchIds}::text[], ${jobIds}::text[]) as u (batch_id, job_id)
    join batches b on b.id = u.batch_id
    join jobs j on j.batch_key = b.key and j.id = u.job_id
    join job_progress p on p.job_key = j.key`

export const jobOf = (row: StoredJobRow): JobState & { batchId: string } => ({
  batchId: row.batch_id,
  key: row.key,
  batchKey: row.batch_key,
  id: row.id,
  status: row.status,
  outcome: row.outcome,
  outcomeStamp: row.outcome_stamp,
  failureReason: row.failure_reason,
  start: row.start_fields,
  final: row.final_fields,
  firstSeenAt: canonicalInstant(row.first_seen_at),
  lastSeenAt: canonicalInstant(row.last_seen_at),
  progress: progressOf(row),
  gpu: {
    firstAt: instant(row.gpu_first_at),
    lastAt: instant(row.gpu_last_at),
    busyAt: instant(row.gpu_busy_at),
    lowSamples: row.gpu_low_samples,
  },
  changed: { summary: false, seen: false },
})

function progressOf(row: StoredJobRow): SeriesProgress {
  const progress = newProgress()
  for (const name of row.series) seriesNumber(progress, name)
  return Object.assign(progress, {
    epochs: row.epochs,
    maxEpoch: row.max_epoch,
    lastEpoch: row.last_epoch,
    lastValue: row.last_value.map(Number),
    min: row.min_value.map(Number),
    max: row.max_value.map(Number),
    packedTo: row.packed_to,
    changed: unchanged(),
  })
}

/** Creates the rows of new jobs and gives each its key. Their batches are locked, so no other transaction creates them. */
export async function createJobs(tx: Tx, jobs: JobState[]): Promise<void> {
  const rows = await tx<{ key: number; batch_key: number; id: string }[]>`/* jobs.create */
    with made as (
      insert into jobs (batch_key, id, status, started_at)
      select batch_key, id, 'running', started_at::timestamptz
      from unnest(
        ${jobs.map((j) => j.batchKey)}::bigint[], ${jobs.map((j) => j.id)}::text[], ${jobs.map((j) => j.firstSeenAt)}::text[]
      ) with ordinality as j (batch_key, id, started_at, n)
      order by n
      returning key, batch_key, id, started_at),
    progress as (
      insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at)
      select key, batch_key, started_at, started_at from made)
    select key, batch_key, id from made`
  const keys = new Map(rows.map((row) => [`${row.batch_key} ${row.id}`, row.key]))
  for (const job of jobs) job.key = entryOf(keys, `${job.batchKey} ${job.id}`)
}

const STARTED = sentBy(jobFields, 'job_start')
const FINAL = sentBy(jobFields, 'job_done')
const SENT = [...STARTED, ...FINAL]
const SET_SENT = sqlWords(SENT.map(({ column }) => `${column} = x.${column}`).join(', '))
const SENT_TYPES = sqlWords(SENT.map(({ column, sql }) => `${column} ${sql}`).join(', '))

const sentIn = (merged: Merged | null, fields: typeof SENT): Record<string, unknown> =>
  Object.fromEntries(fields.map(({ name, column, otherwise }) => [column, merged?.values[name] ?? otherwise]))

/** Writes the start and end of jobs whose summary changed. */
export function saveJobSummaries(jobs: JobState[]): SqlFragment {
  const rows = jobs.map((job) => ({
    key: job.key,
    status: job.status,
    started_at: jobStartedAt(job),
    ended_at: jobEndedAt(job),
    ...sentIn(job.start, STARTED),
    ...sentIn(job.final, FINAL),
    params: fieldsUnder(job.start, 'params/'),
    metrics: fieldsUnder(job.final, 'metrics/'),
    failure_reason: job.failureReason,
    reported_s: numberText(job.final?.values.elapsed_s),
    start_fields: job.start,
    final_fields: job.final,
    outcome: job.outcome,
    outcome_stamp: job.outcomeStamp,
    settled: job.traceback !== undefined,
    traceback: job.traceback,
  }))
  return sqlFragment`
    update jobs j set
      status = x.status, started_at = x.started_at, ended_at = x.ended_at,
      params = x.params, metrics = x.metrics, failure_reason = x.failure_reason, reported_s = x.reported_s,
      start_fields = x.start_fields, final_fields = x.final_fields, outcome = x.outcome, outcome_stamp = x.outcome_stamp,
      ${SET_SENT},
      traceback = case when x.settled then x.traceback else j.traceback end
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as x (
      key bigint, status text, started_at timestamptz, ended_at timestamptz, params jsonb,
      metrics jsonb, failure_reason text, reported_s float8, start_fields jsonb, final_fields jsonb, outcome text,
      outcome_stamp text, settled boolean, traceback text, ${SENT_TYPES})
    where j.key = x.key`
}

/** NaN and infinities travel as text: JSON has no way to write them. */
const numberText = (value: unknown): string | null => {
  const number = numberOf(value)
  return number === undefined ? null : String(number)
}

/** Whether only the latest epochs of the job's progress changed: true for nearly every job of a group. */
export const onlyAdvanced = ({ changed, progress }: JobState): boolean =>
  progress.changed.values && !progress.changed.names && !progress.changed.chunks && !changed.seen

const array = (values: number[]): string => `{${values.join(',')}}`

/**
 * Writes jobs that only advanced; each column one text split by newlines, half the cost of JSON rows. A noisy series
 * finds a new least or greatest value ever more seldom, so these stay as they are unless they moved.
 */
export function advanceJobs(jobs: JobState[]): SqlFragment {
  const bounds = ({ progress }: JobState, values: number[]): string =>
    progress.changed.bounds ? array(values) : ''
  const column = (value: (job: JobState) => string | number | null): string => jobs.map(value).join('\n')
  return sqlFragment`
    update job_progress p set
      last_seen_at = x.last::timestamptz, epochs = x.epochs::int, max_step = x.max::bigint,
      last_step = x.last_epoch::bigint[], last_value = x.last_value::float8[],
      min_value = coalesce(nullif(x.least, '')::float8[], p.min_value),
      max_value = coalesce(nullif(x.greatest, '')::float8[], p.max_value)
    from rows from (
      string_to_table(${column((j) => j.key)}, chr(10)),
      string_to_table(${column((j) => j.lastSeenAt)}, chr(10)),
      string_to_table(${column((j) => j.progress.epochs)}, chr(10)),
      string_to_table(${column((j) => j.progress.maxEpoch)}, chr(10)),
      string_to_table(${column((j) => array(j.progress.lastEpoch))}, chr(10)),
      string_to_table(${column((j) => array(j.progress.lastValue))}, chr(10)),
      string_to_table(${column((j) => bounds(j, j.progress.min))}, chr(10)),
      string_to_table(${column((j) => bounds(j, j.progress.max))}, chr(10))
    ) as x (key, last, epochs, max, last_epoch, last_value, least, greatest)
    where p.job_key = x.key::bigint`
}

/** Writes the changes of the jobs' progress. */
export function saveJobProgress(jobs: JobState[]): SqlFragment {
  const rows = jobs.map(({ key, firstSeenAt, lastSeenAt, gpu, progress }) => ({
    key,
    first: firstSeenAt,
    last: lastSeenAt,
    gf: gpu.firstAt,
    gl: gpu.lastAt,
    gb: gpu.busyAt,
    low: gpu.lowSamples,
    ...(progress.changed.values
      ? {
          epochs: progress.epochs,
          max: progress.maxEpoch,
          le: array(progress.lastEpoch),
          lv: array(progress.lastValue),
          mn: array(progress.min),
          mx: array(progress.max),
          series: progress.changed.names ? progress.names : null,
          unpack: progress.changed.chunks,
        }
      : {}),
  }))
  return sqlFragment`
    update job_progress p set
      first_seen_at = x.first, last_seen_at = x.last, gpu_first_at = x.gf, gpu_last_at = x.gl, gpu_busy_at = x.gb,
      gpu_low_samples = x.low,
      epochs = coalesce(x.epochs, p.epochs), max_step = coalesce(x.max, p.max_step),
      series = coalesce(x.series, p.series), last_step = coalesce(x.le::bigint[], p.last_step),
      last_value = coalesce(x.lv::float8[], p.last_value), min_value = coalesce(x.mn::float8[], p.min_value),
      max_value = coalesce(x.mx::float8[], p.max_value), 
      packed_step = case when x.unpack then null else p.packed_step end,
      packed_to = case when x.unpack then null else p.packed_to end
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as x (
      key bigint, first timestamptz, last timestamptz, gf timestamptz, gl timestamptz, gb timestamptz, low int, epochs int,
      max bigint, le text, lv text, mn text, mx text, series text[], unpack boolean)
    where p.job_key = x.key`
}

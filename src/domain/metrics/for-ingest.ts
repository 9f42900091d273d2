import { required } from '../../checked.ts'
import { byBatch, groupByBatch } from '../../db/by-batch.ts'
import { CopyRows } from '../../db/copy.ts'
import { canonicalInstant } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { type SqlFragment, sqlFragment } from '../../db/sql-fragment.ts'
import { stampOf } from '../merge.ts'
import { highOf, lowOf } from '../step.ts'
import type { EpochRow } from './series-progress.ts'

export type EpochPlace = Pick<EpochRow, 'batchKey' | 'jobKey' | 'epoch'>
/** A job, and the batch of its rows. */
export type JobPlace = Pick<EpochRow, 'batchKey' | 'jobKey'>

/** The stored rows, with what merging needs. */
export async function loadEpochs(tx: Tx, places: readonly EpochPlace[]): Promise<EpochRow[]> {
  const rows = await byBatch(
    tx,
    places,
    (own, batch) => tx<
      {
        batch_key: number
        job_key: number
        epoch: number
        ts: string
        db_id: number
        event_id: string
        vals: (number | null)[]
        stamps: [string, string][] | null
      }[]
    >`/* epochs.load */
    select e.batch_key, e.job_key, e.epoch_high * 4294967296 + e.epoch epoch, e.ts, e.db_id, v.event_id, e.vals, e.stamps
    from (select distinct * from unnest(${own.map((p) => p.batchKey)}::bigint[], ${own.map((p) => p.jobKey)}::bigint[],
      ${own.map((p) => highOf(p.epoch))}::int[], ${own.map((p) => lowOf(p.epoch))}::int[]) as u (batch_key, job_key, high, low)) u
    join epochs e on e.batch_key = ${batch} and e.job_key = u.job_key and e.epoch_high = u.high and e.epoch = u.low
    join events v on v.batch_key = ${batch} and v.db_id = e.db_id`,
  )
  return rows.map((row) => ({
    batchKey: row.batch_key,
    jobKey: row.job_key,
    epoch: row.epoch,
    at: canonicalInstant(row.ts),
    dbId: row.db_id,
    stamp: stampOf(canonicalInstant(row.ts), false, row.event_id),
    vals: row.vals.map((v) => v ?? undefined),
    stamps: row.stamps === null ? null : new Map(row.stamps),
  }))
}

const literal = (vals: readonly (number | undefined)[]): string => {
  let text = '{'
  for (let i = 0; i < vals.length; i++) text += `${i === 0 ? '' : ','}${vals[i] ?? 'NULL'}`
  return `${text}}`
}

/** Writes the epochs of one event alone (nearly all): new rows, each column one text split by newlines. */
export const insertEpochs = (rows: readonly EpochRow[]): SqlFragment => sqlFragment`
  insert into epochs (batch_key, job_key, epoch_high, epoch, ts, db_id, vals)
  select batch_key::bigint, job_key::bigint, high::int, low::int, ts::timestamptz, db_id::bigint, vals::float8[]
  from rows from (
    string_to_table(${rows.map((r) => r.batchKey).join('\n')}, chr(10)),
    string_to_table(${rows.map((r) => r.jobKey).join('\n')}, chr(10)),
    string_to_table(${rows.map((r) => highOf(r.epoch)).join('\n')}, chr(10)),
    string_to_table(${rows.map((r) => lowOf(r.epoch)).join('\n')}, chr(10)),
    string_to_table(${rows.map((r) => r.at).join('\n')}, chr(10)),
    string_to_table(${rows.map((r) => r.dbId).join('\n')}, chr(10)),
    string_to_table(${rows.map((r) => literal(r.vals)).join('\n')}, chr(10))
  ) as e (batch_key, job_key, high, low, ts, db_id, vals)`

/** The same rows for COPY, in a pipelined write. */
export function copyEpochs(rows: readonly EpochRow[]): CopyRows {
  const values = rows.reduce((sum, r) => sum + r.vals.length, 0)
  const copy = new CopyRows('epochs', EPOCH_COLUMNS, rows.length * EPOCH_BYTES + values * VALUE_BYTES)
  for (const { batchKey, jobKey, epoch, at, dbId, vals } of rows)
    copy
      .row()
      .int8(batchKey)
      .int8(jobKey)
      .int4(highOf(epoch))
      .int4(lowOf(epoch))
      .timestamptz(at)
      .int8(dbId)
      .float8s(vals)
  return copy
}

const EPOCH_COLUMNS = ['batch_key', 'job_key', 'epoch_high', 'epoch', 'ts', 'db_id', 'vals']
/** The size of a row besides its values, and the size of each value. */
const EPOCH_BYTES = 90
const VALUE_BYTES = 12

/** Writes epochs that several events were merged into: they carry their stamps and may replace stored values. */
export async function mergeEpochs(tx: Tx, rows: readonly EpochRow[]): Promise<void> {
  const merged = rows.map((r) => ({
    batch_key: r.batchKey,
    job_key: r.jobKey,
    high: highOf(r.epoch),
    low: lowOf(r.epoch),
    ts: r.at,
    db_id: r.dbId,
    vals: literal(r.vals),
    stamps: [...required(r.stamps)],
  }))
  await tx`/* epochs.merge */
    insert into epochs as e (batch_key, job_key, epoch_high, epoch, ts, db_id, vals, stamps)
    select batch_key, job_key, high, low, ts, db_id, vals::float8[], stamps
    from jsonb_to_recordset(${JSON.stringify(merged)}::text::jsonb)
      as x (batch_key bigint, job_key bigint, high int, low int, ts timestamptz, db_id bigint, vals text, stamps jsonb)
    on conflict (batch_key, job_key, epoch_high, epoch) do update
      set ts = excluded.ts, db_id = excluded.db_id, vals = excluded.vals, stamps = excluded.stamps`
}

/** Recomputes the lowest and highest values of these jobs, finite where there is one, after a merge replaced a value. */
export async function recountExtremes(tx: Tx, jobs: readonly JobPlace[]): Promise<void> {
  const extremes = await byBatch(
    tx,
    jobs,
    (own, batch) => tx<
      { job_key: number; n: number; least: number | null; greatest: number | null }[]
    >`/* epochs.extremes */
      select e.job_key, v.n,
        coalesce(min(v.v) filter (where v.v not in ('NaN', 'Infinity', '-Infinity')), min(v.v) filter (where v.v <> 'NaN')) least,
        coalesce(max(v.v) filter (where v.v not in ('NaN', 'Infinity', '-Infinity')), max(v.v) filter (where v.v <> 'NaN')) greatest
      from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[]) as u (batch_key, job_key)
      join epochs e on e.batch_key = ${batch} and e.job_key = u.job_key
      cross join lateral unnest(e.vals) with ordinality as v (v, n)
      group by e.job_key, v.n`,
  )
  const column = (value: (row: (typeof extremes)[number]) => number | null) => extremes.map(value)
  await tx`/* epochs.save_extremes */
    with arrays as (
      select p.job_key,
        array_agg(coalesce(x.least, 'NaN') order by s.n) least, array_agg(coalesce(x.greatest, 'NaN') order by s.n) greatest
      from job_progress p
      cross join lateral generate_subscripts(p.series, 1) as s (n)
      left join unnest(
        ${column((x) => x.job_key)}::bigint[], ${column((x) => x.n)}::bigint[], ${column((x) => x.least)}::float8[],
        ${column((x) => x.greatest)}::float8[]) as x (job_key, n, least, greatest) on x.job_key = p.job_key and x.n = s.n
      where p.job_key = any (${jobs.map((job) => job.jobKey)}::bigint[])
      group by p.job_key)
    update job_progress p set min_value = a.least, max_value = a.greatest from arrays a where a.job_key = p.job_key`
}

/** Deletes the chunks of jobs whose packed epochs were changed; they are packed again when the job is quiet. */
export async function dropChunks(tx: Tx, jobs: readonly JobPlace[]): Promise<void> {
  await Promise.all(
    [...groupByBatch(jobs)].map(
      ([batchKey, own]) => tx`/* chunks.drop */
        delete from metric_chunks where batch_key = ${batchKey} and job_key = any (${own.map((job) => job.jobKey)}::bigint[])`,
    ),
  )
}

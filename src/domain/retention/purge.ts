import type { Db, Tx } from '../../db/sql.ts'
import { forgetArchived } from '../cold/index.ts'
import type { Cutoffs } from './retention.ts'

/**
 * Purging a deleted batch (contract §2, §7): from the first step on its id is only remembered and its events are refused;
 * its rows then go in small steps; after a kill the next sweep continues. What is kept: the row with the id, the
 * event ids with their db_ids, and what is kept to answer for: audit, agents' commands and their steps.
 */

/** Rows of one step, and of steps on tables with large rows. */
export interface StepSizes {
  rows: number
  large: number
  /** db_ids of one step. */
  ids: number
}
export const STEPS: StepSizes = { rows: 5_000, large: 500, ids: 50_000 }

/** Marks expired batches; waits for events that are being stored. @returns how many */
export async function markPurged(tx: Tx, cutoffs: Cutoffs, limit: number): Promise<number> {
  const keys = await tx<{ key: number }[]>`/* retention.purgeable */
    select b.key from batches b
    where b.deleted_at is not null and b.emptied_at is null and b.purged_at is null and b.deleted_at < ${cutoffs.deleted}
    order by b.deleted_at limit ${limit}`
  if (keys.length === 0) return 0
  await tx`/* retention.lock_purgeable */
    select from batches b join batch_progress p on p.batch_key = b.key
    where b.key = any (${keys.map((row) => row.key)}::bigint[]) order by b.key for no key update of p, b`
  const { count } = await tx`/* retention.mark_purged */
    update batches set purged_at = ${cutoffs.now}
    where key = any (${keys.map((row) => row.key)}::bigint[]) and purged_at is null and deleted_at < ${cutoffs.deleted}`
  return count
}

export interface PurgedBatch {
  key: number
  id: string
  project: string
}

/** Purged batches that still have rows, oldest first. */
export const batchesToEmpty = (db: Db, limit: number): Promise<PurgedBatch[]> =>
  db<PurgedBatch[]>`/* retention.to_empty */
    select b.key, b.id, p.slug project from batches b join projects p on p.key = b.project_key
    where b.deleted_at is not null and b.emptied_at is null and b.purged_at is not null
    order by b.deleted_at, b.key limit ${limit}`

/**
 * The rows of a batch, table by table: a step deletes some rows and returns how many; after zero the next table
 * follows.
 */
type Step = (tx: Tx, batchKey: number, sizes: StepSizes) => Promise<number>

const STEPS_OF_BATCH: Step[] = [
  async (tx, batchKey, { rows }) =>
    (
      await tx`/* retention.purge_lines */
        delete from log_lines l using (
          select db_id from log_lines where batch_key = ${batchKey} order by batch_key, db_id limit ${rows}) d
        where l.batch_key = ${batchKey} and l.db_id = d.db_id`
    ).count,
  async (tx, batchKey, { rows }) =>
    (
      await tx`/* retention.purge_snapshots */
        delete from resource_snapshots r using (
          select ts, db_id from resource_snapshots where batch_key = ${batchKey}
          order by batch_key, ts, db_id limit ${rows}) d
        where r.batch_key = ${batchKey} and r.ts = d.ts and r.db_id = d.db_id`
    ).count,
  async (tx, batchKey, { rows }) =>
    (
      await tx`/* retention.purge_epochs */
        delete from epochs e using (
          select job_key, epoch_high, epoch from epochs where batch_key = ${batchKey}
          order by job_key, epoch_high, epoch limit ${rows}) d
        where e.batch_key = ${batchKey} and e.job_key = d.job_key and e.epoch_high = d.epoch_high and e.epoch = d.epoch`
    ).count,
  async (tx, batchKey, { large }) =>
    (
      await tx`/* retention.purge_chunks */
        delete from metric_chunks c using (
          select job_key, series_no, first_high, first_epoch from metric_chunks where batch_key = ${batchKey}
          order by job_key, series_no, first_high, first_epoch limit ${large}) d
        where c.batch_key = ${batchKey} and c.job_key = d.job_key and c.series_no = d.series_no
          and c.first_high = d.first_high and c.first_epoch = d.first_epoch`
    ).count,
  async (tx, batchKey, { rows }) =>
    (
      await tx`/* retention.purge_fields */
        delete from batch_fields where ctid = any (array(select ctid from batch_fields where batch_key = ${batchKey} limit ${rows}))`
    ).count,
  async (tx, batchKey, { rows }) =>
    (
      await tx`/* retention.purge_files */
        delete from batch_files where batch_key = ${batchKey} and path in (
          select path from batch_files where batch_key = ${batchKey} order by path limit ${rows})`
    ).count,
  async (tx, batchKey, { rows }) =>
    (
      await tx`/* retention.purge_claims */
        delete from file_claims where batch_key = ${batchKey} and path in (
          select path from file_claims where batch_key = ${batchKey} order by path limit ${rows})`
    ).count,
  async (tx, batchKey, { rows }) =>
    (
      await tx`/* retention.purge_media */
        delete from media m using (
          select key, step, job_key from media where batch_key = ${batchKey} order by batch_key, key, step, job_key limit ${rows}) d
        where m.batch_key = ${batchKey} and m.key = d.key and m.step = d.step and m.job_key = d.job_key`
    ).count,
  async (tx, batchKey) =>
    (await tx`/* retention.purge_media_keys */ delete from media_keys where batch_key = ${batchKey}`).count,
  async (tx, batchKey, { large }) => {
    // Packing holds this lock; what it wrote meanwhile is deleted with the job.
    await tx`/* retention.lock_jobs_of */ select from batch_progress where batch_key = ${batchKey} for no key update`
    const jobs = await tx<{ key: number }[]>`/* retention.purge_jobs */
      delete from jobs j using (select key from jobs where batch_key = ${batchKey} order by batch_key, id limit ${large}) d
      where j.key = d.key returning j.key`
    const keys = jobs.map((job) => job.key)
    await tx`/* retention.purge_late_chunks */ 
      delete from metric_chunks where batch_key = ${batchKey} and job_key = any (${keys}::bigint[])`
    return jobs.length
  },
]

/**
 * Deletes the rows of a batch except its events, step by step; `commit` runs each step in a transaction of its own.
 * @returns false if it was cancelled
 */
export async function emptyBatch(
  batchKey: number,
  commit: (step: (tx: Tx) => Promise<number>) => Promise<number>,
  stopped: () => boolean,
  sizes: StepSizes = STEPS,
): Promise<boolean> {
  for (const step of STEPS_OF_BATCH) {
    do {
      if (stopped()) return false
    } while ((await commit((tx) => step(tx, batchKey, sizes))) > 0)
  }
  return true
}

/**
 * The first and last db_id of the batches' events; null without events. Its cost depends on what was stored in between.
 */
export async function eventRange(
  db: Db,
  batchKeys: readonly number[],
): Promise<{ first: number; last: number } | null> {
  // The sums keep the planner from searching for the minimum along all db_ids.
  const [row] = await db<{ first: number | null; last: number | null }[]>`/* retention.event_range */
    select min(db_id + 0) as first, max(db_id + 0) as last from events where batch_key = any (${batchKeys}::bigint[])`
  return row === undefined || row.first === null || row.last === null
    ? null
    : { first: row.first, last: row.last }
}

/** Deletes the payloads of the batches' events with db_ids from `from` to before `to`. */
export async function purgePayloads(
  tx: Tx,
  batchKeys: readonly number[],
  from: number,
  to: number,
): Promise<number> {
  const { count } = await tx`/* retention.purge_payloads */
    update events set payload = null, packed = null
    where db_id >= ${from} and db_id < ${to} and batch_key = any (${batchKeys}::bigint[])
      and (payload is not null or packed is not null)`
  return count
}

/** The last step: deletes the contents of the batches' rows; their ids remain. */
export async function forgetBatches(tx: Tx, batchKeys: readonly number[], now: string): Promise<void> {
  const keys = batchKeys
  await tx`/* retention.forget_sweeps */ delete from sweeps where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_uses */ delete from artifact_uses where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_makers */ delete from artifact_makers where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_maker */
    update artifact_versions set batch_key = null, job_id = null where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_notices */ delete from notices where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_comments */ delete from comments where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_shares */ delete from shares where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_templates */ delete from payload_templates where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_conflicts */ delete from start_conflicts where batch_key = any (${keys}::bigint[])`
  await tx`/* retention.forget_episodes */ delete from verdicts where batch_key = any (${keys}::bigint[])`
  await forgetArchived(tx, keys)
  await tx`/* retention.forget_batches */
    update batches set emptied_at = ${now}, experiment_type = null, host = null, username = null, commit_sha = null,
      command = null, env_snapshot = null, failure_reason = null, reported = null, tags = '{}', notes = '',
      start_fields = null, ending = null, name = null, group_name = null, config = null, summary = null,
      traceback = null, detail_fields = null
    where key = any (${keys}::bigint[])`
}

/** How many batches would be purged, by project. */
export const countPurgeable = (db: Db, cutoffs: Cutoffs): Promise<{ project: string; n: number }[]> =>
  db<{ project: string; n: number }[]>`/* retention.count_purgeable */
    select p.slug project, count(*) n from batches b join projects p on p.key = b.project_key
    where b.deleted_at is not null and b.emptied_at is null
      and (b.purged_at is not null or b.deleted_at < ${cutoffs.deleted})
    group by p.slug`

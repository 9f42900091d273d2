import { commitInTwoPhases } from '../../db/cluster.ts'
import type { Db, Sql, Tx } from '../../db/sql.ts'
import { eventTypeCode } from '../events/index.ts'
import { TIMES } from '../metrics/index.ts'
import { touchBatch } from '../touch-batch.ts'
import { fingerprintOf, type Written } from './archive.ts'

/** The table `cold_batches`: which batch is on its way into the archive, in it, or back. */

/** Batches whose time has come, longest ended first. A batch that was brought back stays for some time. */
export const batchesToArchive = (
  db: Db,
  { ended, thawed, limit }: { ended: string; thawed: string; limit: number },
): Promise<{ key: number; id: string; project: string }[]> =>
  db<{ key: number; id: string; project: string }[]>`/* cold.due */
    select b.key, b.id, p.slug project from batches b
    join batch_progress g on g.batch_key = b.key join projects p on p.key = b.project_key
    left join cold_batches c on c.batch_key = b.key
    where b.cold_at is null and b.status <> 'running' and b.ended_at < ${ended}::timestamptz
      and coalesce(g.last_received_at, g.last_seen_at) < ${ended}::timestamptz
      and b.deleted_at is null and b.purged_at is null
      and (c.state is null or c.state = 'writing' or (c.state = 'warm' and coalesce(c.thawed_at, '-infinity') < ${thawed}::timestamptz))
    order by b.ended_at limit ${limit}`

/** What will be written there is removed again unless it is noted as verified; so is what was there before. */
export async function noteWriting(
  tx: Tx,
  batchKey: number,
  location: string,
  objectsKeptUntil: string,
): Promise<void> {
  await tx`/* cold.leave_old */
    insert into cold_removals (location, due_at)
    select location, case when state = 'writing' then now() else ${objectsKeptUntil}::timestamptz end
    from cold_batches where batch_key = ${batchKey} and state in ('writing', 'warm')
    on conflict (location) do nothing`
  await tx`/* cold.note_writing */
    insert into cold_batches (batch_key, state, location) values (${batchKey}, 'writing', ${location})
    on conflict (batch_key) do update set state = 'writing', location = excluded.location, manifest_sha256 = null, verified_at = null`
}

export async function noteVerified(tx: Tx, batchKey: number, written: Written): Promise<void> {
  await tx`/* cold.note_verified */
    update cold_batches set state = 'verified', manifest_sha256 = ${written.manifestSha256}, fingerprint = ${written.fingerprint},
      bytes = ${written.bytes}, n_rows = ${written.rows}, oldest_line = ${instantAt(written.oldestLine)}, oldest_other = ${instantAt(written.oldestOther)},
      gpu_used_s = ${written.gpu.used}, gpu_idle_s = ${written.gpu.idle}, verified_at = now(), problem = null, problem_at = null
    where batch_key = ${batchKey} and state = 'writing' and location = ${written.location}`
}

const instantAt = (micros: number | null): string | null =>
  micros === null ? null : new Date(micros / 1000).toISOString()

/** What `svc doctor` shows the operator. */
export async function noteProblem(db: Db, batchKey: number, problem: string): Promise<void> {
  await db`/* cold.note_problem */
    update cold_batches set problem = ${problem.slice(0, 1_000)}, problem_at = now() where batch_key = ${batchKey}`
}

/** Batches whose archive was verified so long ago that no read that started before still runs. */
export const batchesToDrop = (
  db: Db,
  verified: string,
): Promise<Pick<ColdBatch, 'key' | 'location' | 'manifestSha256'>[]> =>
  db<Pick<ColdBatch, 'key' | 'location' | 'manifestSha256'>[]>`/* cold.to_drop */
    select batch_key key, location, manifest_sha256 "manifestSha256" from cold_batches
    where state = 'verified' and verified_at <= ${verified}::timestamptz order by verified_at`

/** The batch changed after it was read: what is in the archive is not all of it. */
export class ChangedMeanwhile extends Error {}

/**
 * Deletes the epochs of jobs whose chunks reach their last epoch. Of other jobs, which are short, the epochs are what
 * charts read.
 */
const DROP_PACKED_EPOCHS = `/* cold.drop_epochs */
  with packed as materialized (
    select c.job_key from (
      select distinct on (job_key) job_key, last_high, last_epoch from metric_chunks
      where batch_key = $1 and series_no = ${TIMES} order by job_key, first_high desc, first_epoch desc) c
    where not exists (
      select from epochs e where e.batch_key = $1 and e.job_key = c.job_key
        and (e.epoch_high, e.epoch) > (c.last_high, c.last_epoch)))
  delete from epochs e using packed p where e.batch_key = $1 and e.job_key = p.job_key`

/** Starts, ends and alerts stay: attempts, timelines and previews of rules read them. */
const KEPT_TYPES = (
  ['batch_start', 'batch_done', 'batch_failed', 'job_start', 'job_done', 'job_failed'] as const
).map(eventTypeCode)
const DROP_EVENTS = `/* cold.drop_events */
  delete from events e where e.batch_key = $1 and e.type not in (${KEPT_TYPES.join(', ')})
    and not (e.type = ${eventTypeCode('log_line')} and coalesce(e.payload, '') like '%"alert"%')`

/** What is deleted of an archived batch. The other tables keep their rows (decision 0045, 0046). */
const DROPS = [DROP_EVENTS, DROP_PACKED_EPOCHS]

/**
 * Deletes the events and epochs of a batch whose archive is verified, and marks it, in one transaction. The batch's lock
 * is taken last, so that events of others in the same group do not wait for the deletion.
 * @returns false when a reader needs it again
 * @throws ChangedMeanwhile; then nothing was removed
 */
export async function dropRows(tx: Tx, batchKey: number): Promise<boolean> {
  const [row] = await tx<{ state: string; fingerprint: string }[]>`/* cold.lock_verified */
    select state, fingerprint from cold_batches where batch_key = ${batchKey} for update`
  if (row?.state !== 'verified') return false
  await commitInTwoPhases(tx)
  for (const text of DROPS) await tx.unsafe(text, [batchKey])
  const [batch] = await tx<{ stands: boolean }[]>`/* cold.lock_dropped */
    select b.deleted_at is null and b.purged_at is null stands
    from batch_progress p join batches b on b.key = p.batch_key where p.batch_key = ${batchKey} for no key update of p, b`
  if (batch?.stands !== true || (await fingerprintOf(tx, batchKey)) !== row.fingerprint)
    throw new ChangedMeanwhile()
  // Both rows get another version, by which servers notice that what they remember of the batch no longer holds.
  await tx`/* cold.dropped_batch */ update batches set cold_at = now() where key = ${batchKey}`
  await touchBatch(tx, batchKey)
  await tx`/* cold.dropped */ update cold_batches set state = 'cold', kept_location = location where batch_key = ${batchKey}`
  return true
}

/** The archive is of no use any more: it is written again. */
export async function noteOutdated(db: Db, batchKey: number): Promise<void> {
  await db`/* cold.outdated */
    update cold_batches set state = 'warm', thawed_at = null where batch_key = ${batchKey} and state = 'verified'`
}

/** A batch in the archive, with its objects. */
export interface ColdBatch {
  key: number
  id: string
  project: string
  location: string
  manifestSha256: string
}

/**
 * Archived batches with something that retention would have removed from the tables a day ago. A run logs for hours or
 * days, and each copy without what expired is a whole archive: one a day is enough.
 */
export const batchesWithDue = (
  db: Db,
  { lines, payloads }: { lines: string; payloads: string | null },
): Promise<ColdBatch[]> =>
  db<ColdBatch[]>`/* cold.with_due */
    select c.batch_key key, b.id, p.slug project, c.location, c.manifest_sha256 "manifestSha256"
    from cold_batches c join batches b on b.key = c.batch_key join projects p on p.key = b.project_key
    where c.state = 'cold' and (c.oldest_line < ${lines}::timestamptz - interval '1 day'
      or c.oldest_other < ${payloads}::timestamptz - interval '1 day')
    order by c.batch_key`

/** What will be written there is removed again unless it is noted as a copy. */
export async function noteCopying(tx: Tx, location: string): Promise<void> {
  await tx`/* cold.note_copying */
    insert into cold_removals (location, due_at) values (${location}, now() + interval '1 day') on conflict (location) do nothing`
}

/** The batch relies on a copy of its archive from now on, unless it was restored meanwhile. */
export async function noteCopied(
  tx: Tx,
  { key, location: from }: Pick<ColdBatch, 'key' | 'location'>,
  copy: Omit<Written, 'fingerprint' | 'gpu'>,
  objectsKeptUntil: string,
): Promise<void> {
  const { count } = await tx`/* cold.note_copied */
    update cold_batches set location = ${copy.location}, manifest_sha256 = ${copy.manifestSha256}, bytes = ${copy.bytes},
      n_rows = ${copy.rows}, oldest_line = ${instantAt(copy.oldestLine)}, oldest_other = ${instantAt(copy.oldestOther)},
      kept_location = case when kept_location = location then ${copy.location} else kept_location end, problem = null, problem_at = null
    where batch_key = ${key} and state = 'cold' and location = ${from}`
  if (count === 0) return
  await tx`/* cold.rely_on_copy */ delete from cold_removals where location = ${copy.location}`
  await tx`/* cold.leave_copied */
    insert into cold_removals (location, due_at) values (${from}, ${objectsKeptUntil}::timestamptz) on conflict (location) do nothing`
}

/** Archived batches whose lines expire. Their lines are deleted by the sweeper. */
export const batchesWithDueLines = (db: Db, lines: string): Promise<{ key: number; project: string }[]> =>
  db<{ key: number; project: string }[]>`/* cold.with_due_lines */
    select c.batch_key key, p.slug project
    from cold_batches c join batches b on b.key = c.batch_key join projects p on p.key = b.project_key
    where c.state = 'cold' and c.oldest_line < ${lines}::timestamptz order by c.batch_key`

/** Of batches that are purged: their objects go, and nothing refers to them. */
export async function forgetArchived(tx: Tx, batchKeys: readonly number[]): Promise<void> {
  const keys = [...batchKeys]
  await tx`/* cold.leave_purged */
    insert into cold_removals (location, due_at) select location, now() from cold_batches where batch_key = any (${keys}::bigint[])
    on conflict (location) do update set due_at = now()`
  await tx`/* cold.forget */ delete from cold_batches where batch_key = any (${keys}::bigint[])`
  await tx`/* cold.forget_mark */ update batches set cold_at = null where key = any (${keys}::bigint[]) and cold_at is not null`
}

/** Objects that may go, unless a batch came to rely on them. */
export const dueRemovals = (db: Db): Promise<{ location: string }[]> =>
  db<{ location: string }[]>`/* cold.removals */
    select r.location from cold_removals r where r.due_at <= now()
      and not exists (select from cold_batches c where c.location = r.location and c.state in ('verified', 'cold', 'writing'))`

export async function noteRemoved(db: Db, location: string): Promise<void> {
  await db`/* cold.removed */ delete from cold_removals where location = ${location}`
}

export interface ArchivedBatch {
  key: number
  id: string
  project: string
  state: 'writing' | 'verified' | 'cold' | 'warm'
  location: string
  manifestSha256: string | null
  problem: string | null
}

/** Those whose objects must be there, and those that something went wrong with. */
export const archivedBatches = (db: Sql): Promise<ArchivedBatch[]> =>
  db<ArchivedBatch[]>`/* cold.list */
    select c.batch_key key, b.id, p.slug project, c.state, c.location, c.manifest_sha256 "manifestSha256", c.problem
    from cold_batches c join batches b on b.key = c.batch_key join projects p on p.key = b.project_key
    where c.state in ('verified', 'cold') or c.problem is not null
    order by c.batch_key`

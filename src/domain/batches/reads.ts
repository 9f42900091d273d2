import type { Fragment } from 'postgres'
import { itemAt } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import { wideRows } from '../../db/wide-rows.ts'
import { requireReader, seesProject } from '../access.ts'
import type { Caller } from '../caller.ts'
import { columnsOf } from '../field.ts'
import { isStorable } from '../storable-text.ts'
import { batchFields } from './batch-fields.ts'
import { eventSkews } from './receipts.ts'
import type { BatchRow } from './view.ts'

/**
 * The rows of these batches, in no order. The permissions were checked before. The keys are passed through a
 * sub-select, so that one plan fits any number of keys and PostgreSQL caches it: in large databases planning each time
 * took ten times as long as the rest.
 */
export async function readBatches(db: Db, caller: Caller, keys: number[]): Promise<BatchRow[]> {
  return wideRows(db<BatchRow[]>`/* batches.read */
    select ${batchColumns(db)} from batches b ${batchJoins(db, caller)}
    where b.key = any ((select ${keys}::bigint[])::bigint[])`)
}

/** The batches that the caller may see, in no order: permissions and content in one statement. */
export async function readVisibleBatches(
  db: Db,
  caller: Caller,
  batchIds: readonly string[],
): Promise<BatchRow[]> {
  requireReader(caller)
  const ids = batchIds.filter(isStorable)
  // A single id as an equality: for an array PostgreSQL would plan every time, which costs more than the read.
  const isId = ids.length === 1 ? db`= ${itemAt(ids, 0)}` : db`= any (${ids}::text[])`
  const rows = await wideRows(db<BatchRow[]>`/* batches.read_visible */
    select ${batchColumns(db)} from batches b ${batchJoins(db, caller)}
    where b.id ${isId} and b.purged_at is null and b.deleted_at is null`)
  return rows.filter(({ visibility, project_owner_id: ownerId, role }) =>
    seesProject(caller, { visibility, ownerId, role }),
  )
}

/** A `BatchRow`, of `b` with `batchJoins`. */
export const batchColumns = (db: Db): Fragment => db`
  b.key, b.project_key, p.slug project, b.stop_requested_at is not null stop_requested, b.owner_id, u.name owner_name,
  ${db.unsafe(columnsOf(batchFields, 'b'))},
  b.reported, s.last_seen_at, s.last_received_at, s.last_live_at, s.clock_skews, ${db.unsafe(eventSkews('s'))},
  b.process, s.n_jobs, s.n_running, s.n_completed, s.n_failed, s.n_stopped, b.deleted_at, p.visibility, p.owner_id project_owner_id, m.role`

export const batchJoins = (db: Db, caller: Caller): Fragment => db`
  join batch_progress s on s.batch_key = b.key
  join projects p on p.key = b.project_key
  join users u on u.id = b.owner_id
  left join project_members m on m.project_key = p.key
    and m.user_id = ${caller.kind === 'known' ? caller.user.id : null}::uuid`

import type { Fragment } from 'postgres'
import { itemAt } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import { wideRows } from '../../db/wide-rows.ts'
import { requireReader, seesProject } from '../access.ts'
import { type Caller, isAdmin } from '../caller.ts'
import { escapeLike, every, oneOf, oneOfAnyCase, some } from '../conditions.ts'
import { columnsOf } from '../field.ts'
import { isStorable } from '../storable-text.ts'
import type { BatchStatus } from './batch.ts'
import { batchFields } from './batch-fields.ts'
import type { FieldCondition } from './field-names.ts'
import { eventSkews } from './receipts.ts'
import type { BatchRow } from './view.ts'

/** A filter of batches (contract §4): OR within a field, AND between fields; an empty field is no condition. */
export interface BatchFilter {
  project: string[]
  status: BatchStatus[]
  host: string[]
  /** Ids of users; addresses if the caller may know them. */
  owner: string[]
  tag: string[]
  group: string[]
  starred: boolean[]
  /** If empty: batches that are not archived, unless the filter names ids or selects deleted ones. */
  archived: boolean[]
  /** Text in the id, name, group, experiment type, command, notes or tags. */
  q: string[]
  /** Deleted batches that the caller may restore, instead of the others. */
  deleted: boolean
  /** Exact ids. */
  id?: string[]
  /** Conditions on parameters and metrics of its jobs; all must hold. */
  where?: FieldCondition[]
}

export const EVERY_BATCH: BatchFilter = {
  project: [],
  status: [],
  host: [],
  owner: [],
  tag: [],
  group: [],
  starred: [],
  archived: [],
  q: [],
  deleted: false,
}

/**
 * Whether the best plan depends on how common a word is: reading the list in order until a page is full, or using the
 * index of words.
 */
export const wordDecides = ({ q }: BatchFilter): boolean => q.length > 0

/**
 * The conditions on a row `t` of batches, without the filter's `where`; `owners` are the ids that the filter's `owner`
 * matches.
 */
export function conditions(
  db: Db,
  caller: Caller,
  filter: BatchFilter,
  owners: string[] | undefined,
): Fragment[] {
  const where = filter.deleted ? [restorable(db, caller)] : [db`t.deleted_at is null`]
  const ids = filter.id ?? []
  if (filter.status.length > 0) where.push(oneOf(db, db`t.status`, filter.status))
  if (filter.host.length > 0) where.push(oneOfAnyCase(db, db`t.host`, filter.host))
  if (owners !== undefined) where.push(oneOf(db, db`t.owner_id`, owners))
  if (filter.tag.length > 0) where.push(db`filter_texts(t.tags) && filter_texts(${filter.tag}::text[])`)
  if (ids.length > 0) where.push(db`t.id = any (${ids}::text[])`)
  if (filter.group.length > 0) where.push(oneOfAnyCase(db, db`t.group_name`, filter.group))
  const archived = filter.archived.length > 0 || ids.length > 0 || filter.deleted ? filter.archived : [false]
  where.push(...isMarked(db, db`t.starred`, filter.starred), ...isMarked(db, db`t.archived`, archived))
  if (filter.q.length > 0) {
    where.push(
      some(
        db,
        filter.q.flatMap((term) => {
          const pattern = escapeLike(term)
          return [
            db`t.search like '%' || lower(${pattern}) || '%'`,
            db`batch_search_text(t.name, t.group_name, null, null, null) like '%' || lower(${pattern}) || '%'`,
          ]
        }),
      ),
    )
  }
  return where
}

/** The condition that the mark has one of these values; none if both or neither are given. */
const isMarked = (db: Db, mark: Fragment, values: readonly boolean[]): Fragment[] =>
  values.length === 0 || new Set(values).size === 2 ? [] : [values[0] ? mark : db`not ${mark}`]

/** The right to restore a batch is the right to delete it (contract §2). */
function restorable(db: Db, caller: Caller): Fragment {
  const deleted = db`t.deleted_at is not null and t.purged_at is null`
  if (caller.kind === 'anonymous') return db`false`
  if (isAdmin(caller)) return deleted
  const userId = caller.user.id
  return every(db, [
    deleted,
    some(db, [
      db`t.owner_id = ${userId}::uuid`,
      db`t.project_key in (select p.key from projects p where p.owner_id = ${userId}::uuid)`,
    ]),
  ])
}

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

import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { termsOf } from '../../query/index.ts'
import { type Caller, isAdmin } from '../caller.ts'
import { every, oneOf, some } from '../conditions.ts'
import { batchHasText } from './batch-conditions.ts'
import { namesField } from './conditions.ts'
import { BATCH_PARAMETERS, everything, type FilterOf, fieldsMeet } from './parameters.ts'

/**
 * A filter of batches (contract §4). Owners are ids of users, or addresses if the caller may know them. Without `archived`:
 * batches that are not archived, unless the filter names ids or selects deleted ones.
 */
export type BatchFilter = FilterOf<typeof BATCH_PARAMETERS> & {
  /** Deleted batches that the caller may restore, instead of the others. */
  deleted: boolean
}
export const EVERY_BATCH: BatchFilter = { ...everything(BATCH_PARAMETERS), deleted: false }

/**
 * Whether the best plan depends on how common a word is: reading the list in order until a page is full, or using the
 * index of words.
 */
export const wordDecides = ({ q, where }: BatchFilter): boolean =>
  q.length > 0 || where.some((query) => termsOf(query).some(({ kind }) => kind === 'words'))

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
  const isAsked =
    filter.archived.length > 0 ||
    filter.id.length > 0 ||
    filter.deleted ||
    filter.where.some((query) => namesField(query, 'batch', 'archived'))
  const archived = isAsked ? filter.archived : [false]
  // The project is the scope of the list.
  const asked = { ...filter, archived, project: [], owner: [] }
  if (owners !== undefined) where.push(oneOf(db, db`t.owner_id`, owners))
  where.push(...fieldsMeet(db, 'batch', BATCH_PARAMETERS, asked))
  if (filter.q.length > 0) {
    where.push(
      some(
        db,
        filter.q.map((term) => batchHasText(db, term)),
      ),
    )
  }
  return where
}

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

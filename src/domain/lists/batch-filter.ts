import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { type Query, termsOf } from '../../query/index.ts'
import type { BatchStatus } from '../batches/index.ts'
import { type Caller, isAdmin } from '../caller.ts'
import { every, oneOf, oneOfAnyCase, some } from '../conditions.ts'
import { batchHasText } from './batch-conditions.ts'
import { namesField } from './conditions.ts'

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
  /** Queries (docs/query.md); all must hold. */
  where?: Query[]
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
export const wordDecides = ({ q, where = [] }: BatchFilter): boolean =>
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
  const ids = filter.id ?? []
  if (filter.status.length > 0) where.push(oneOf(db, db`t.status`, filter.status))
  if (filter.host.length > 0) where.push(oneOfAnyCase(db, db`t.host`, filter.host))
  if (owners !== undefined) where.push(oneOf(db, db`t.owner_id`, owners))
  if (filter.tag.length > 0) where.push(db`filter_texts(t.tags) && filter_texts(${filter.tag}::text[])`)
  if (ids.length > 0) where.push(db`t.id = any (${ids}::text[])`)
  if (filter.group.length > 0) where.push(oneOfAnyCase(db, db`t.group_name`, filter.group))
  const isAsked =
    filter.archived.length > 0 ||
    ids.length > 0 ||
    filter.deleted ||
    (filter.where ?? []).some((query) => namesField(query, 'batch', 'archived'))
  const archived = isAsked ? filter.archived : [false]
  where.push(...isMarked(db, db`t.starred`, filter.starred), ...isMarked(db, db`t.archived`, archived))
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

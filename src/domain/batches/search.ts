import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { ownersNamed } from '../access.ts'
import type { Caller } from '../caller.ts'
import {
  countsOf,
  type PagePlan,
  pageOrder,
  type SortBy,
  type SortColumns,
  type SortPosition,
  sortedPages,
} from '../sorted-pages.ts'
import { type BatchFilter, batchColumns, batchJoins, conditions } from './reads.ts'
import type { BatchRow } from './view.ts'

export interface BatchOrder {
  by: 'started_at' | 'last_seen_at' | 'status' | 'host'
  descending: boolean
}

export type FoundBatch = BatchRow & SortColumns & { parent: number }

/**
 * A page of batches for each of these projects, in one statement; or one page of all of them. Which projects the caller
 * sees was settled before (`visibleProjectKeys`); the filter's own `project` is not looked at.
 */
export async function searchBatches(
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
  order: BatchOrder,
  page: { limit: number; after: SortPosition | undefined },
): Promise<FoundBatch[]> {
  const owners = await ownersOf(db, caller, filter)
  if (owners?.length === 0) return []
  const joins = order.by === 'last_seen_at' ? db`join batch_progress tp on tp.batch_key = t.key` : db``
  const by = sortBy(db, order)
  const plan = { ...planOf(db, caller, scope, filter, owners), joins }
  return db<FoundBatch[]>`/* batches.search */
    with page as materialized (${sortedPages(db, plan, by, page)})
    select ${batchColumns(db)}, page.parent, page.sort_rank, page.sort_number, page.sort_text
    from page join batches b on b.key = page.key ${batchJoins(db, caller)}
    order by ${pageOrder(db, by)}`
}

/** How many batches of each project match; under 0 those of a scope that is one. */
export async function countBatches(
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
): Promise<Map<number, number>> {
  const owners = await ownersOf(db, caller, filter)
  if (owners?.length === 0) return new Map()
  const rows = await db<{ parent: number; n: number }[]>`/* batches.count */
    ${countsOf(db, planOf(db, caller, scope, filter, owners))}`
  return new Map(rows.map((row) => [row.parent, row.n]))
}

/** Projects that get a page each, or that share one (null: every project there is). */
export type BatchScope = { each: readonly number[] } | { together: readonly number[] | null }

const ownersOf = async (db: Db, caller: Caller, filter: BatchFilter): Promise<string[] | undefined> =>
  filter.owner.length === 0 ? undefined : ownersNamed(db, caller, filter.owner)

function planOf(
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
  owners: string[] | undefined,
): PagePlan {
  const where: Fragment[] = conditions(db, caller, filter, owners)
  if ('each' in scope) return { table: 'batches', column: 'project_key', parents: scope.each, where }
  if (scope.together !== null) where.push(db`t.project_key = any (${[...scope.together]}::bigint[])`)
  return { table: 'batches', column: 'project_key', parents: null, where }
}

function sortBy(db: Db, { by, descending }: BatchOrder): SortBy {
  switch (by) {
    case 'started_at':
      return { byStart: true, descending }
    case 'last_seen_at':
      return { number: db`extract(epoch from tp.last_seen_at)::float8`, descending }
    case 'status':
      return { text: db`t.status`, descending }
    case 'host':
      return { text: db`t.host`, descending }
  }
}

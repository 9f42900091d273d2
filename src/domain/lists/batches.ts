import type { Fragment } from 'postgres'
import { type Db, withCustomPlan } from '../../db/sql.ts'
import { wideRows } from '../../db/wide-rows.ts'
import { partsOf } from '../../query/index.ts'
import { ownersNamed, visibleProjectKeys } from '../access.ts'
import { type BatchRow, batchColumns, batchJoins } from '../batches/index.ts'
import type { Caller } from '../caller.ts'
import {
  countsOf,
  keysetPages,
  NEWEST_FIRST,
  type Page,
  type PagePlan,
  type PageScope,
  pageOrder,
  type SortBy,
  type SortColumns,
} from '../keyset-pages.ts'
import { batchConditionOf } from './batch-conditions.ts'
import { type BatchFilter, conditions, wordDecides } from './batch-filter.ts'
import { fieldOrder } from './columns.ts'
import { declaredField } from './field-kinds.ts'
import { MAX_SORTED } from './field-names.ts'
import type { FoundKey } from './jobs.ts'
import { type Places, resolveNames } from './places.ts'
import { type Met, metByStored, storedOrder, unknownFields } from './stored-conditions.ts'

/** A value that batches are ordered by under a name of its own. */
type Ordered = (db: Db) => { number?: Fragment; text?: Fragment; joins?: Fragment }
const withProgress =
  (number: (db: Db) => Fragment): Ordered =>
  (db) => ({ number: number(db), joins: db`join batch_progress tp on tp.batch_key = t.key` })
const byField =
  (name: string): Ordered =>
  (db) =>
    fieldOrder(db, [{ kind: 'field', field: declaredField('batch', name) }], false)

/**
 * The orders of lists of batches that are not those of a name in queries: in REST, GraphQL and here. Those of `progress` and
 * `elapsed` change by events alone, so that all pages of a list are of one moment.
 */
const ORDERS = {
  started_at: () => ({}),
  last_seen_at: withProgress((db) => db`extract(epoch from tp.last_seen_at)::float8`),
  status: byField('status'),
  host: byField('host'),
  owner: (db) => ({
    text: db`left(tu.name, ${MAX_SORTED})`,
    joins: db`join users tu on tu.id = t.owner_id`,
  }),
  id: byField('id'),
  progress: withProgress(
    (db) => db`(tp.n_completed + tp.n_failed + tp.n_stopped)::float8
      / greatest(t.n_total, tp.n_completed + tp.n_failed + tp.n_stopped, 1)`,
  ),
  elapsed: withProgress(
    (db) => db`extract(epoch from coalesce(t.ended_at, tp.last_seen_at) - t.started_at)::float8`,
  ),
} satisfies Record<string, Ordered>
type BatchColumn = keyof typeof ORDERS
export const BATCH_COLUMNS = Object.keys(ORDERS) as [BatchColumn, ...BatchColumn[]]

export interface BatchOrder {
  /** A column, or a name as in queries. */
  by: BatchColumn | { name: string }
  descending: boolean
}

export type FoundBatch = BatchRow & SortColumns & { parent: number }

/** The batches that the caller may see. Texts are compared without case. */
export async function listBatches(
  db: Db,
  caller: Caller,
  filter: BatchFilter,
  page: Page,
  order: BatchOrder = NEWEST_FIRST,
): Promise<FoundBatch[]> {
  return (await findBatches(db, caller, filter, page, order)).rows
}

/**
 * The same, with the names of the filter, the order and the columns that no batch there has.
 * @param columns names that are shown
 */
export async function findBatches(
  db: Db,
  caller: Caller,
  filter: BatchFilter,
  page: Page,
  order: BatchOrder = NEWEST_FIRST,
  columns: readonly string[] = [],
): Promise<{ rows: FoundBatch[]; unknown: readonly string[] }> {
  const together = await visibleProjectKeys(db, caller, filter.project)
  const places = await placesOfBatches(db, caller, { together }, filter, order, columns)
  const rows =
    together?.length === 0 ? [] : await searchBatches(db, caller, { together }, filter, order, page, places)
  return { rows, unknown: places.unknown }
}

/** What the names of a filter and an order mean in the batches of these projects. */
export const placesOfBatches = (
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
  order: BatchOrder,
  columns: readonly string[] = [],
): Promise<Places> =>
  resolveNames(
    db,
    caller,
    'batch',
    { column: 'project_key', keys: 'each' in scope ? scope.each : scope.together },
    filter.where,
    [...(typeof order.by === 'string' ? [] : [order.by.name]), ...columns],
  )

/**
 * A page of batches for each of these projects, or one page of all of them, in one statement. The permissions were
 * checked before (`visibleProjectKeys`); `project` of the filter is ignored.
 */
export async function searchBatches(
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
  order: BatchOrder,
  page: Page,
  places?: Places,
): Promise<FoundBatch[]> {
  const found = await keysOfPage(db, caller, scope, filter, order, page, places)
  if (found === undefined) return []
  const { by, keys } = found
  const query = db<FoundBatch[]>`/* batches.search */
    with page as materialized (${keys})
    select ${batchColumns(db)}, page.parent, page.sort_rank, page.sort_number, page.sort_text
    from page join batches b on b.key = page.key ${batchJoins(db, caller)}
    order by ${pageOrder(db, by)}`
  return wideRows(wordDecides(filter) ? withCustomPlan(query) : query)
}

/** The same page without its rows, which `batchRecords` reads through Prisma. */
export async function searchBatchKeys(
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
  order: BatchOrder,
  page: Page,
  places: Places,
): Promise<FoundKey[]> {
  const found = await keysOfPage(db, caller, scope, filter, order, page, places)
  if (found === undefined) return []
  const query = db<FoundKey[]>`/* batches.search_keys */
    with page as materialized (${found.keys})
    select page.* from page order by ${pageOrder(db, found.by)}`
  return wordDecides(filter) ? withCustomPlan(query) : query
}

/** @returns undefined if no batch can be found */
async function keysOfPage(
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
  order: BatchOrder,
  page: Page,
  places: Places | undefined,
): Promise<{ by: SortBy; keys: Fragment } | undefined> {
  const owners = await ownersOf(db, caller, filter)
  if (owners?.length === 0) return undefined
  const named = places ?? (await placesOfBatches(db, caller, scope, filter, order))
  const { joins = db``, ...by } = sortBy(db, order, named)
  const met = await metConditions(db, filter, named)
  const stored =
    typeof order.by === 'string'
      ? undefined
      : storedOrder(db, named.of(order.by.name), order.descending, metBy(met))
  const plan = { ...planOf(db, caller, scope, filter, owners, met, stored !== undefined), joins }
  if (!by.byStart) by.stored = stored
  return { by, keys: keysetPages(db, plan, by, page) }
}

/** How many batches of each project match; by key 0 for a scope of several projects together. */
export async function countBatches(
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
  places?: Places,
): Promise<Map<number, number>> {
  const owners = await ownersOf(db, caller, filter)
  if (owners?.length === 0) return new Map()
  const named = places ?? (await placesOfBatches(db, caller, scope, filter, NEWEST_FIRST))
  const met = await metConditions(db, filter, named)
  const rows = await db<{ parent: number; n: number }[]>`/* batches.count */
    ${countsOf(db, planOf(db, caller, scope, filter, owners, met, false))}`
  return new Map(rows.map((row) => [row.parent, row.n]))
}

/** Projects with a page each, or with one page together (null: all projects). */
export type BatchScope = PageScope

const ownersOf = async (db: Db, caller: Caller, filter: BatchFilter): Promise<string[] | undefined> =>
  filter.owner.length === 0 ? undefined : ownersNamed(db, caller, filter.owner)

/** A condition of a filter: its computed form, and the form that the stored fields have. */
interface Asked {
  computed: Fragment
  stored: Met | undefined
}

/** Each part that must hold, so that each can use an index. */
const metConditions = (db: Db, { where }: BatchFilter, places: Places): Promise<Asked[]> =>
  Promise.all(
    where.flatMap(partsOf).map(async (part) => ({
      computed: batchConditionOf(db, part, places),
      stored: await metByStored(db, part, places),
    })),
  )

const metBy = (asked: readonly Asked[]): Met[] =>
  asked.flatMap(({ stored }) => (stored === undefined ? [] : stored))

function planOf(
  db: Db,
  caller: Caller,
  scope: BatchScope,
  filter: BatchFilter,
  owners: string[] | undefined,
  asked: readonly Asked[],
  ordered: boolean,
): PagePlan {
  const where = conditions(db, caller, filter, owners)
  const plan: PagePlan = {
    table: 'batches',
    column: 'project_key',
    scope,
    where: [...where, ...asked.map(({ computed }) => computed)],
  }
  if (!ordered && metBy(asked).length === 0) return plan
  const known = asked.flatMap(({ computed, stored }) => [
    ...(stored?.where ?? []),
    ...(stored?.bound.exact ? [] : [computed]),
  ])
  return { ...plan, stored: { where: [...where, ...known], unknown: unknownFields(db) } }
}

function sortBy(db: Db, { by, descending }: BatchOrder, places: Places): SortBy & { joins?: Fragment } {
  if (typeof by !== 'string') return { ...fieldOrder(db, places.of(by.name), descending), descending }
  return by === 'started_at' ? { byStart: true, descending } : { ...ORDERS[by](db), descending }
}

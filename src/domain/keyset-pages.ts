import type { Fragment } from 'postgres'
import type { Db } from '../db/sql.ts'
import { every, literalNumber } from './conditions.ts'

/**
 * Keyset pages of `batches` or `jobs` (as `t`) in any order: one page of all rows, of some parents together, or for each of
 * many parents, in one statement. Rows are ordered by what they have: numbers, then texts, then NaN, then nothing, in both
 * directions; among equals newest first. So "the ten best" never begins with a diverged run.
 */

/**
 * The value that rows are ordered by: a number or a text, as SQL over `t`, null if a row has none; or their start,
 * which has an index.
 */
export type SortBy =
  | {
      byStart?: false
      number?: Fragment
      text?: Fragment
      descending: boolean
      stored?: StoredOrder | undefined
    }
  | { byStart: true; descending: boolean }

/** A table with the order of most rows; `Stored.unknown` selects the others, whose value is computed. */
export interface StoredOrder {
  /** With batch_key, rank, number and word as in `SortColumns`; no row where a batch has nothing. As `f`. */
  rows: Fragment
  /** Over `f`: the field; an index has its rows by rank, number and word. */
  where: Fragment
  /** Over `f`: an index goes on with it, newest first in the direction of the list. */
  newest?: Fragment | undefined
  /** Over `f`: what the conditions mean for this field, so that the index begins there. */
  within?: Fragment | undefined
}

/** The position of a page: after this row. */
export interface SortPosition {
  rank: number
  number: number
  text: string
  startedAt: string
  key: number
}

/** As the statement returns it, beside the columns of the row. */
export interface SortColumns {
  sort_rank: number
  sort_number: number
  sort_text: string
}

export const positionOf = (row: SortColumns & { started_at: string; key: number }): SortPosition => ({
  rank: row.sort_rank,
  number: row.sort_number,
  text: row.sort_text,
  startedAt: row.started_at,
  key: row.key,
})

export interface Page {
  /** The number of rows to read: one more than are shown, to know whether there are more. */
  limit: number
  after: SortPosition | undefined
}

/** The default order of lists. */
export const NEWEST_FIRST = { by: 'started_at', descending: true } as const

/** A page for each of these parents; or one page of the rows of all of them (null: of all rows). */
export type PageScope = { each: readonly number[] } | { together: readonly number[] | null }

export interface PagePlan {
  table: 'batches' | 'jobs'
  /** The SQL column of the parent. */
  column: 'project_key' | 'batch_key'
  scope: PageScope
  /** Further tables that `where` and `by` use. */
  joins?: Fragment
  where: readonly Fragment[]
  /** Where most rows have what they are ordered and filtered by in a table: for these, in place of `where`, without `joins`. */
  stored?: { where: readonly Fragment[]; unknown: Fragment } | undefined
}

/** In more parents than this a page is looked for in one walk over the whole list. */
const MAX_WALKS = 100

/**
 * The keys of the pages: rows (parent, key, started_at, sort_rank, sort_number, sort_text), for a `with page as
 * materialized (…)`; `parent` is 0 where parents share a page. Order by `pageOrder`.
 *
 * In the order of the start each of the parents that share a page is walked along its own index and the walks are merged,
 * so a page costs about a page for each, however much others hold.
 */
export function keysetPages(db: Db, plan: PagePlan, by: SortBy, page: Page): Fragment {
  const limit = literalNumber(db, page.limit)
  const rest = page.after === undefined ? [] : [isAfter(db, by, page.after)]
  const computed = (conditions: readonly Fragment[]): Fragment => db`
    select t.key, t.started_at, o.*
    from ${db(plan.table)} t ${plan.joins ?? db``} ${sortColumns(db, by)}
    where ${every(db, [...conditions, ...rest])}
    order by ${orderOf(db, by, db`t`)}
    limit ${limit}`
  const walk = (...of: Fragment[]): Fragment => {
    const { stored } = plan
    if (stored === undefined) return computed([...of, ...plan.where])
    const unknown = computed([...of, ...plan.where, db`t.key in (${stored.unknown})`])
    const known = [...of, ...stored.where, db`t.key not in (${stored.unknown})`]
    if (!by.byStart && by.stored !== undefined)
      return storedWalk(db, plan.table, by, by.stored, page, [...known, ...rest], unknown)
    return db`
      select w.* from ((${unknown}) union all (${computed(known)})) w order by ${orderOf(db, by, db`w`)} limit ${limit}`
  }
  const { scope } = plan
  if ('each' in scope) {
    return db`
      select s.key parent, w.*
      from unnest(${[...scope.each]}::bigint[]) as s (key) cross join lateral (${walk(inScope(db, plan))}) w`
  }
  const keys = scope.together
  if (by.byStart && keys !== null && keys.length > 1 && keys.length <= MAX_WALKS) {
    return db`
      select 0::bigint parent, w.*
      from unnest(${[...keys]}::bigint[]) as s (key)
      cross join lateral (${walk(db`t.${db(plan.column)} = s.key`)}) w
      order by ${orderOf(db, by, db`w`)} limit ${limit}`
  }
  return db`select 0::bigint parent, w.* from (${walk(inScope(db, plan))}) w`
}

const RANKS = [0, 1, 2]
const NOTHING = 3

/**
 * The page from a stored order: what has to be computed, and from each rank the first rows of its index; those that have
 * nothing are looked for only where these do not fill the page, newest first (as a join, for which `offset` leaves no choice,
 * all would be read, by workers that take longer to start than the rest).
 */
function storedWalk(
  db: Db,
  table: PagePlan['table'],
  by: SortBy,
  { rows, where, newest, within = db`true` }: StoredOrder,
  { limit, after }: Page,
  conditions: readonly Fragment[],
  unknown: Fragment,
): Fragment {
  const most = literalNumber(db, limit)
  const begin = after?.rank ?? 0
  const ofRank = (rank: number): Fragment => {
    // As `isAfter` says, in words that an index understands.
    const beyond = by.descending ? db`<=` : db`>=`
    const from = after?.rank === rank ? db`and f.number ${beyond} ${after.number}::float8` : db``
    return db`
      union all (
        select t.key, t.started_at, o.*
        from ${rows} f join ${db(table)} t on t.key = f.batch_key
        cross join lateral (select f.rank sort_rank, f.number sort_number, f.word sort_text) o
        where ${where} and f.rank = ${literalNumber(db, rank)} ${from} and ${within} and ${every(db, conditions)}
        order by ${orderOf(db, by, db`t`, newest)} limit ${most})`
  }
  const ranks = RANKS.filter((rank) => rank >= begin).reduce((all, rank) => db`${all} ${ofRank(rank)}`, db``)
  return db`
    with head as materialized ((${unknown}) ${ranks})
    select w.* from (
      select * from head
      union all (
        select t.key, t.started_at, o.*
        from ${db(table)} t cross join (values (${literalNumber(db, NOTHING)}, 0::float8, '')) as o (sort_rank, sort_number, sort_text)
        where (select count(*) from head where sort_rank < ${literalNumber(db, NOTHING)}) < ${most}
          and not exists (select from ${rows} f where f.batch_key = t.key and ${where} offset 0)
          and ${every(db, conditions)}
        order by t.started_at desc, t.key desc limit ${most})) w
    order by ${orderOf(db, by, db`w`)} limit ${most}`
}

/** An equality, which keeps the order of the parent's index. */
function inScope(db: Db, { scope, column }: PagePlan): Fragment {
  const parent = db`t.${db(column)}`
  if ('each' in scope) return db`${parent} = s.key`
  if (scope.together === null) return db`true`
  const [one, ...more] = scope.together
  if (one !== undefined && more.length === 0) return db`${parent} = ${one}`
  return db`${parent} = any (${[...scope.together]}::bigint[])`
}

function sortColumns(db: Db, by: SortBy): Fragment {
  if (by.byStart) return db`cross join (values (0, 0::float8, '')) as o (sort_rank, sort_number, sort_text)`
  return db`
    cross join lateral (select ${by.number ?? db`null::float8`} number, ${by.text ?? db`null::text`} word) v
    cross join lateral (
      select
        case when v.number <> 'NaN' then 0 when v.word is not null then 1 when v.number is not null then 2 else 3 end sort_rank,
        case when v.number <> 'NaN' then v.number else 0 end sort_number,
        case when v.number is null then coalesce(v.word, '') else '' end collate "C" sort_text) o`
}

/** The order of the rows of `page`, parent by parent. */
export const pageOrder = (db: Db, by: SortBy): Fragment => db`page.parent, ${orderOf(db, by, db`page`)}`

/** How many rows each parent has: rows (parent, n); parent 0 where parents share a page. */
export const countsOf = (db: Db, plan: PagePlan): Fragment => db`
  select s.key parent, c.n
  from ${'each' in plan.scope ? db`unnest(${[...plan.scope.each]}::bigint[])` : db`(values (0::bigint))`} as s (key)
  cross join lateral (
    select sum(w.n)::int n from (${countOf(db, plan)}) w) c`

function countOf(db: Db, plan: PagePlan): Fragment {
  const count = (...conditions: readonly Fragment[]): Fragment => db`
    select count(*) n from ${db(plan.table)} t ${plan.joins ?? db``}
    where ${every(db, [inScope(db, plan), ...conditions])}`
  const { stored } = plan
  if (stored === undefined) return count(...plan.where)
  return db`
    ${count(...plan.where, db`t.key in (${stored.unknown})`)}
    union all ${count(...stored.where, db`t.key not in (${stored.unknown})`)}`
}

function orderOf(db: Db, by: SortBy, row: Fragment, stored?: Fragment): Fragment {
  if (by.byStart && !by.descending) return db`${row}.started_at, ${row}.key`
  const start =
    stored === undefined ? db`${row}.started_at desc` : by.descending ? db`${stored} desc` : stored
  const newest = db`${start}, ${row}.key desc`
  if (by.byStart) return newest
  return by.descending
    ? db`sort_rank, sort_number desc, sort_text desc, ${newest}`
    : db`sort_rank, sort_number, sort_text, ${newest}`
}

function isAfter(db: Db, by: SortBy, after: SortPosition): Fragment {
  const start = db`(${after.startedAt}::timestamptz, ${after.key}::bigint)`
  const older = db`(t.started_at, t.key) < ${start}`
  if (by.byStart) return by.descending ? older : db`(t.started_at, t.key) > ${start}`
  const beyond = by.descending ? db`<` : db`>`
  const number = db`${after.number}::float8`
  return db`(o.sort_rank > ${after.rank}::int or o.sort_rank = ${after.rank}::int and (
    o.sort_number ${beyond} ${number} or o.sort_number = ${number} and (
      o.sort_text ${beyond} ${after.text} or o.sort_text = ${after.text} and ${older})))`
}

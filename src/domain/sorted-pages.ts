import type { Fragment } from 'postgres'
import type { Db } from '../db/sql.ts'
import { every, written } from './newest-first.ts'

/**
 * Pages of `batches` or `jobs` (as `t`) in any order, for one parent or for many in one statement. Rows are ordered by
 * what they have: numbers, then texts, then NaN, then nothing, whatever the direction; among equals newest first. So
 * "the ten best" never begins with a diverged run.
 */

/**
 * What rows are ordered by: a number or a text, as SQL over `t`, null where a row has none; or their start, which an
 * index gives.
 */
export type SortBy =
  | { byStart?: false; number?: Fragment; text?: Fragment; descending: boolean }
  | { byStart: true; descending: boolean }

/** Where a page goes on: after this row. */
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

export interface PagePlan {
  table: 'batches' | 'jobs'
  column: 'project_key' | 'batch_key'
  /** The parents, each of which gets a page of its own; null: one page of all rows. */
  parents: readonly number[] | null
  /** Further tables that `where` and `by` speak of. */
  joins?: Fragment
  where: readonly Fragment[]
}

/**
 * The keys of the pages: rows (parent, key, started_at, sort_rank, sort_number, sort_text), for a `with page as
 * materialized (…)`. Order by `pageOrder`.
 */
export function sortedPages(
  db: Db,
  plan: PagePlan,
  by: SortBy,
  { limit, after }: { limit: number; after: SortPosition | undefined },
): Fragment {
  const conditions = [scopeOf(db, plan), ...plan.where]
  if (after !== undefined) conditions.push(isAfter(db, by, after))
  return db`
    select s.key parent, w.*
    from ${parentsOf(db, plan)} cross join lateral (
      select t.key, t.started_at, o.*
      from ${db(plan.table)} t ${plan.joins ?? db``} ${sortColumns(db, by)}
      where ${every(db, conditions)}
      order by ${orderOf(db, by, db`t`)}
      limit ${written(db, limit)}) w`
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

/** How many rows each parent has: rows (parent, n). */
export const countsOf = (db: Db, plan: PagePlan): Fragment => db`
  select s.key parent, c.n
  from ${parentsOf(db, plan)} cross join lateral (
    select count(*)::int n from ${db(plan.table)} t ${plan.joins ?? db``}
    where ${scopeOf(db, plan)} and ${every(db, plan.where)}) c`

const parentsOf = (db: Db, { parents }: PagePlan): Fragment =>
  parents === null ? db`(values (0::bigint)) as s (key)` : db`unnest(${[...parents]}::bigint[]) as s (key)`

const scopeOf = (db: Db, { parents, column }: PagePlan): Fragment =>
  parents === null ? db`true` : db`t.${db(column)} = s.key`

function orderOf(db: Db, by: SortBy, row: Fragment): Fragment {
  if (by.byStart && !by.descending) return db`${row}.started_at, ${row}.key`
  const newest = db`${row}.started_at desc, ${row}.key desc`
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

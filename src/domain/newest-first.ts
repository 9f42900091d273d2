import type { Fragment } from 'postgres'
import type { Db } from '../db/sql.ts'

/** Where a page of a list ordered by (started_at, key), newest first, goes on: after this row. */
export interface StartPosition {
  startedAt: string
  key: number
}

export interface Page<Position> {
  /** Rows to read: one more than are shown, to know whether there are more. */
  limit: number
  after: Position | undefined
}

/** More scopes than this are looked for in one walk over the whole list rather than each in its own order. */
const MOST_WALKS = 100

/**
 * The keys of one page of `batches` or `jobs` (as `t`), newest first. Each scope (a project, a batch) is walked in the
 * order of its own index and the walks are merged, so a page costs about a page for each scope, however much others
 * hold.
 * @param scope rows of these keys only, at least one; null for all
 * @param where conditions over `t`, all of which must hold
 */
export function newestFirst(
  db: Db,
  table: 'batches' | 'jobs',
  scope: { column: 'project_key' | 'batch_key'; keys: number[] } | null,
  where: readonly Fragment[],
  { limit, after }: Page<StartPosition>,
): Fragment {
  const conditions = [...where]
  if (after !== undefined) {
    conditions.push(db`(t.started_at, t.key) < (${after.startedAt}::timestamptz, ${after.key}::bigint)`)
  }
  const walk = (...more: Fragment[]): Fragment => db`
    select t.key, t.started_at from ${db(table)} t
    where ${every(db, [...more, ...conditions])}
    order by t.started_at desc, t.key desc limit ${written(db, limit)}`
  if (scope === null) return walk()
  const { keys } = scope
  const column = db`t.${db(scope.column)}`
  if (keys.length === 1) return walk(db`${column} = ${keys[0] as number}`)
  if (keys.length > MOST_WALKS) return walk(db`${column} = any (${keys}::bigint[])`)
  return db`
    select w.key, w.started_at
    from unnest(${keys}::bigint[]) as s (key)
    cross join lateral (${walk(db`${column} = s.key`)}) w
    order by w.started_at desc, w.key desc limit ${written(db, limit)}`
}

/**
 * The number as part of the statement. Of a limit that is a parameter PostgreSQL assumes a tenth of all rows: the more
 * rows, the dearer the plan for all values seems, until it plans anew every time.
 */
export const written = (db: Db, count: number): Fragment => db.unsafe(String(Math.trunc(count)))

/** `a and b and …`; true when there is none. */
export const every = (db: Db, conditions: readonly Fragment[]): Fragment =>
  conditions.reduce((joined, next) => db`${joined} and ${next}`, db`true`)

/** `(a or b or …)`; false when there is none. */
export const some = (db: Db, conditions: readonly Fragment[]): Fragment =>
  db`(${conditions.reduce((joined, next) => db`${joined} or ${next}`, db`false`)})`

/** A condition that the column has one of these values, as an equality where there is one: it keeps an index's order. */
export const oneOf = (db: Db, column: Fragment, values: string[]): Fragment =>
  values.length === 1
    ? db`${column} = ${values[0] as string}`
    : db`${column} in (${listed(db, values, (v) => db`${v}`)})`

/** The same without regard to case, and in the first 200 characters, for columns indexed by `filter_text(column)`. */
export const oneOfAnyCase = (db: Db, column: Fragment, values: string[]): Fragment =>
  values.length === 1
    ? db`filter_text(${column}) = filter_text(${values[0] as string})`
    : db`filter_text(${column}) in (${listed(db, values, (v) => db`filter_text(${v})`)})`

const listed = (db: Db, values: string[], one: (value: string) => Fragment): Fragment =>
  values.slice(1).reduce((list, v) => db`${list}, ${one(v)}`, one(values[0] as string))

/** The text as a LIKE pattern that means itself. */
export const likeLiterally = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

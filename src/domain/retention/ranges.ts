import type { Db, Fragment, Tx } from '../../db/sql.ts'
import { eventTypeCode } from '../events/index.ts'
import type { Cutoffs } from './retention.ts'

/**
 * Finds log lines and payloads that are due without an index of its own on the tables that ingest fills, and without
 * looking at what is not due. db_ids rise with time, so stretches of them age together: of each that was swept, the
 * table `swept_stretches` has the time of the oldest event that still has its payload. A log line has its row as long as
 * its event has the payload.
 */
export interface RangeSizes {
  /** db_ids of a stretch. */
  ids: number
  /** How many of the newest ranges are always scanned: transactions may still add events to them. */
  open: number
  /** Events of one transaction. */
  rows: number
}

export const RANGES: RangeSizes = { ids: 65_536, open: 16, rows: 5_000 }

/**
 * How many events of one page of the table lose their payload in a transaction, pass by pass. An event without payload is a
 * new version of its row. Where it finds room on its page, none of the table's indexes is written (a heap-only tuple); a
 * page that was filled has room for one or two, and for more once the payloads of those are gone.
 */
export const PASSES: readonly (number | null)[] = [1, 4, null]

export interface Slice {
  /** The first db_id. */
  from: number
  /** The db_id after the last. */
  to: number
  /** Of each page; null: all. */
  perPage: number | null
}

export interface SweptSlice {
  lines: number
  payloads: number
  /** The start of the next slice; null at the end of this one. */
  next: number | null
  /** Whether another pass has something to delete. */
  unfinished: boolean
  oldestLine: string | null
  oldestOther: string | null
}

const LINE = eventTypeCode('log_line')

/** The stretch of the newest event; -1 before the first. */
async function newestStretch(db: Db, sizes: RangeSizes): Promise<number> {
  const [row] = await db<{ db_id: number }[]>`/* retention.newest */
    select db_id from events order by db_id desc limit 1`
  return row === undefined ? -1 : Math.floor(row.db_id / sizes.ids)
}

/** The numbers of the stretches that may hold something due, ascending. */
export async function rangesDue(db: Db, cutoffs: Cutoffs, sizes: RangeSizes): Promise<number[]> {
  const newest = await newestStretch(db, sizes)
  const rows = await db<{ number: number }[]>`/* retention.stretches_due */
    select n.number from generate_series(0, ${newest}::bigint) n (number)
    left join swept_stretches s on s.number = n.number
    where s.number is null or n.number > ${newest - sizes.open}::bigint
      or s.oldest_line < ${cutoffs.lines}::timestamptz or s.oldest_other < ${cutoffs.payloads}::timestamptz
    order by n.number`
  return rows.map((row) => row.number)
}

/** The events of a slice that have their payload, with the page that they are on; `due` says which are removed. */
const slice = (db: Db, from: number, to: number, cutoffs: Cutoffs, limit: Fragment): Fragment => db`
  select e.db_id, e.batch_key, e.ts, e.type = ${LINE} as line, (e.ctid::text::point)[0] as page,
    coalesce(e.ts < case when e.type = ${LINE} then ${cutoffs.lines}::timestamptz else ${cutoffs.payloads}::timestamptz end, false) as due
  from events e
  where e.db_id >= ${from} and e.db_id < ${to} and (e.payload is not null or e.packed is not null)
  order by e.db_id ${limit}`

/** Removes what is due among the first events of a slice, or as much of it as one pass may take of a page. */
export async function sweepSlice(
  tx: Tx,
  { from, to, perPage }: Slice,
  cutoffs: Cutoffs,
  sizes: RangeSizes,
): Promise<SweptSlice> {
  const [row] = await tx<
    {
      seen: number
      last: number | null
      lines: number
      payloads: number
      unfinished: boolean
      oldest_line: string | null
      oldest_other: string | null
    }[]
  >`/* retention.sweep_slice */
    with slice as materialized (${slice(tx, from, to, cutoffs, tx`limit ${sizes.rows}`)}),
    numbered as materialized (
      select s.*, due and row_number() over (partition by page, due order by db_id) <= coalesce(${perPage}::int, ${sizes.rows}::int) goes
      from slice s),
    nulled as (update events e set payload = null, packed = null from numbered s where s.goes and e.batch_key = s.batch_key and e.db_id = s.db_id),
    lines as (delete from log_lines l using numbered s where s.goes and s.line and l.batch_key = s.batch_key and l.db_id = s.db_id)
    select count(*) seen, max(db_id) last, count(*) filter (where goes and line) lines,
      count(*) filter (where goes and not line) payloads, coalesce(bool_or(due and not goes), false) unfinished,
      min(ts) filter (where line and not due) oldest_line, min(ts) filter (where not line and not due) oldest_other
    from numbered`
  if (row === undefined) throw new Error('sweeping gave no row')
  return {
    lines: row.lines,
    payloads: row.payloads,
    next: row.seen < sizes.rows || row.last === null ? null : row.last + 1,
    unfinished: row.unfinished,
    oldestLine: row.oldest_line,
    oldestOther: row.oldest_other,
  }
}

/** Notes what a whole sweep of the stretch found left; not of the newest ones, which are not complete. */
export async function noteSwept(
  tx: Tx,
  stretch: number,
  left: { oldestLine: string | null; oldestOther: string | null },
  sizes: RangeSizes,
): Promise<void> {
  if (stretch > (await newestStretch(tx, sizes)) - sizes.open) return
  await tx`/* retention.note_swept */
    insert into swept_stretches (number, oldest_line, oldest_other)
    values (${stretch}, ${left.oldestLine}::timestamptz, ${left.oldestOther}::timestamptz)
    on conflict (number) do update set oldest_line = excluded.oldest_line, oldest_other = excluded.oldest_other`
}

/** How much of a stretch is due, by project. */
export async function countDue(
  db: Db,
  stretch: number,
  cutoffs: Cutoffs,
  sizes: RangeSizes,
): Promise<{ project: string; lines: number; payloads: number }[]> {
  const from = stretch * sizes.ids
  return db<{ project: string; lines: number; payloads: number }[]>`/* retention.count_due */
    with due as materialized (
      select s.batch_key, count(*) filter (where s.line) lines, count(*) filter (where not s.line) payloads
      from (${slice(db, from, from + sizes.ids, cutoffs, db``)}) s
      where s.due group by s.batch_key)
    select p.slug project, sum(d.lines)::bigint lines, sum(d.payloads)::bigint payloads
    from due d join batches b on b.key = d.batch_key join projects p on p.key = b.project_key
    group by p.slug`
}

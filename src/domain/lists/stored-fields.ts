import type { Sql, Tx } from '../../db/sql.ts'
import { MAX_SORTED } from './field-names.ts'

/**
 * The fields of batches as rows of an index, so that a list need not compute them for every batch. They are written when
 * nothing has changed a batch for a while, and forgotten by the first change of its progress row (migration 052), in the
 * same transaction. What is not known is computed (batch-conditions.ts, columns.ts), so a list is exact at any time.
 *
 * Rows are named `last.x`, `min.x`, `max.x` for a series; `low.x`, `high.x` for a parameter over the jobs, `also.x` for
 * each other value of it; `final.low.x`, `final.high.x` for metrics of job_done; `config.x`; and `nested` where one of
 * these JSON columns holds more than numbers and texts, which a path as a name could reach.
 */

/** The longest name that is stored. */
export const MAX_STORED_NAME = 128
/** The fields of a running batch are stored after this many seconds of silence. */
const SILENT_S = 600

/** Batches older than `before` whose fields are not stored and that do not change now, the newest first. */
export async function findUnstored(sql: Sql, limit: number, before: number): Promise<number[]> {
  const rows = await sql<{ key: number }[]>`/* batches.unstored_fields */
    select p.batch_key key from batch_progress p join batches b on b.key = p.batch_key
    where not p.fields_known and p.batch_key < ${before}
      and (b.status <> 'running' or coalesce(p.last_received_at, p.last_seen_at) < now() - ${SILENT_S} * interval '1 second')
    order by p.batch_key desc limit ${limit}`
  return rows.map(({ key }) => key)
}

/**
 * Stores the current fields of a batch.
 * @returns false if it did nothing: another transaction has the batch's lock, or has stored them
 */
export async function storeFields(tx: Tx, batchKey: number): Promise<boolean> {
  const locked = await tx`/* batches.lock_fields */
    select set_config('synchronous_commit', 'off', true) from batch_progress
    where batch_key = ${batchKey} and not fields_known for no key update skip locked`
  if (locked.length === 0) return false
  await tx`/* batches.drop_fields */ delete from batch_fields where batch_key = ${batchKey}`
  await tx`/* batches.store_fields */
    insert into batch_fields (batch_key, field, rank, number, word, newest)
    with given as materialized (
      select 'param' as of, e.key as name, e.value
      from jobs j cross join lateral jsonb_each(j.params) e where j.batch_key = ${batchKey} and e.key not in ('model', 'dataset')
      union all select 'final', e.key, e.value
      from jobs j cross join lateral jsonb_each(j.metrics) e where j.batch_key = ${batchKey}
      union all select 'config', e.key, e.value
      from batches b cross join lateral jsonb_each(case jsonb_typeof(b.config) when 'object' then b.config end) e
      where b.key = ${batchKey}),
    typed as (
      select g.of, g.name, case when s.is_number then s.word::float8 end as number,
        case when jsonb_typeof(g.value) in ('string', 'boolean') and not s.is_number then s.word end as word
      from given g
      cross join lateral (select g.value #>> '{}' as word) w
      cross join lateral (select w.word, jsonb_typeof(g.value) = 'number'
        or jsonb_typeof(g.value) = 'string' and w.word in ('NaN', 'Infinity', '-Infinity') as is_number) s
      union all
      select 'param', n.name, null, n.word
      from jobs j cross join lateral (values ('model', j.model), ('dataset', j.dataset)) n (name, word)
      where j.batch_key = ${batchKey}),
    spread as (
      select of, name, min(number) filter (where number <> 'NaN') as low, max(number) filter (where number <> 'NaN') as high,
        coalesce(bool_or(number = 'NaN'), false) as nan,
        min(left(word, ${MAX_SORTED}::int) collate "C") as first, max(left(word, ${MAX_SORTED}::int) collate "C") as last
      from typed group by of, name),
    series as (
      select s.name, (array_agg(p.last_value[s.at] order by p.last_seen_at desc, p.job_key desc))[1] as last,
        coalesce(min(p.min_value[s.at]) filter (where p.min_value[s.at] <> 'NaN'), max(p.min_value[s.at])) as least,
        coalesce(max(p.max_value[s.at]) filter (where p.max_value[s.at] <> 'NaN'), max(p.max_value[s.at])) as greatest
      from job_progress p cross join lateral unnest(p.series) with ordinality as s (name, at)
      where p.batch_key = ${batchKey} group by s.name),
    fields as (
      select s.name, v.prefix, nullif(v.number, 'NaN') as number, v.number = 'NaN' as nan, null::text as word
      from series s
      cross join lateral (values ('last.', s.last), ('min.', s.least), ('max.', s.greatest)) v (prefix, number)
      union all
      select s.name, v.prefix, v.number, s.nan, v.word
      from spread s
      cross join lateral (values
        (case s.of when 'param' then 'low.' when 'final' then 'final.low.' else 'config.' end, s.low, s.first),
        (case s.of when 'param' then 'high.' when 'final' then 'final.high.' end, s.high, s.last)) v (prefix, number, word)
      where v.prefix is not null),
    ranked as (
      select prefix, name, rank, coalesce(number, 0) as number, case when rank = 1 and not nan then word else '' end as word
      from fields cross join lateral (
        select case when number is not null then 0 when word is not null then 1 when nan then 2 end as rank) r
      where rank is not null),
    each_param as (
      select distinct name, case when number = 'NaN' then 2 when number is not null then 0 else 1 end as rank,
        coalesce(nullif(number, 'NaN'), 0) as number, coalesce(left(word, ${MAX_SORTED}::int), '') as word
      from typed where of = 'param' and (number is not null or word is not null)),
    also as (
      select 'also.' as prefix, e.* from each_param e
      where not exists (
        select from ranked r where r.prefix in ('low.', 'high.') and r.name = e.name
          and r.rank = e.rank and r.number = e.number and r.word = e.word)),
    stored as (
      select prefix || name as field, rank, number, word
      from (select * from ranked union all select * from also) f where length(name) <= ${MAX_STORED_NAME}::int
      union all
      select 'nested', 0, 0, '' where exists (select from given where jsonb_typeof(value) in ('object', 'array')))
    select ${batchKey}::bigint, s.field, s.rank, s.number, s.word,
      case when s.field like 'high.%' or s.field like 'max.%' then t.start else -t.start end
    from stored s, (
      select (extract(epoch from started_at) * 1000000)::bigint as start from batches where key = ${batchKey}) t`
  await tx`/* batches.fields_stored */ update batch_progress set fields_known = true where batch_key = ${batchKey}`
  return true
}

import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { some } from '../conditions.ts'
import { writeNumber } from '../events/index.ts'
import { type Field, fieldOf, holds } from '../json-field.ts'
import { type BatchField, type FieldCondition, MAX_SORTED } from './field-names.ts'

/** The lowest and highest value and the number of distinct values over the jobs; a series has one value. */
export interface FieldValue {
  low: unknown
  high: unknown
  n: number
}

/** SQL for whether any job of the batch `t` meets the condition. */
export function meets(db: Db, condition: FieldCondition): Fragment {
  const { of, key: name } = condition
  const inJobs = (...fields: Field[]): Fragment => db`exists (
    select from jobs j where j.batch_key = t.key and ${some(
      db,
      fields.map((field) => holds(db, field, condition)),
    )})`
  const final = (): Field => fieldOf(db, db`j.metrics`, name, false)
  const config = (): Fragment => holds(db, fieldOf(db, db`t.config`, name, false), condition)
  const series = (of: 'last' | 'min' | 'max'): Fragment =>
    holds(db, { number: seriesOf(db, { of, name }) }, condition)
  switch (of) {
    case 'param':
      return inJobs(paramOf(db, name))
    case 'final':
      return inJobs(final())
    case 'config':
      return config()
    case 'any':
      return some(db, [inJobs(paramOf(db, name), final()), series('last'), config()])
    default:
      return series(of)
  }
}

/**
 * SQL for the value that batches (as `t`) are ordered by. Of several values of a parameter the lowest counts in
 * ascending order, else the highest.
 */
export function fieldOrder(
  db: Db,
  field: BatchField,
  descending: boolean,
): { number?: Fragment; text?: Fragment; joins: Fragment } {
  if (field.of !== 'param') {
    // `offset` makes PostgreSQL compute it once for each batch, and not at each use in the order.
    return {
      number: db`tf.number`,
      joins: db`left join lateral (select ${seriesOf(db, field)} number offset 0) tf on true`,
    }
  }
  const { number, text } = paramOf(db, field.name)
  const pick = descending ? db`max` : db`min`
  return {
    number: db`coalesce(tf.number, tf.nan)`,
    text: db`tf.word`,
    joins: db`
      left join lateral (
        select ${pick}(v.number) filter (where v.number <> 'NaN') number, max(v.number) filter (where v.number = 'NaN') nan,
          ${pick}(left(v.word, ${MAX_SORTED}) collate "C") word
        from jobs j cross join lateral (select ${number ?? db`null::float8`} number, ${text ?? db`null::text`} word) v
        where j.batch_key = t.key) tf on true`,
  }
}

/** Over a row `j` of jobs. */
const paramOf = (db: Db, name: string): Field =>
  name === 'model' || name === 'dataset'
    ? { text: db`j.${db(name)}` }
    : fieldOf(db, db`j.params`, name, false)

/** Over a row `t` of batches, as one number: NaN while there is none that is finite, null without the series. */
function seriesOf(db: Db, { of, name }: BatchField): Fragment {
  if (of === 'last') {
    return db`(
      select sp.last_value[array_position(sp.series, ${name}::text)] from job_progress sp
      where sp.batch_key = t.key and ${name}::text = any (sp.series)
      order by sp.last_seen_at desc, sp.job_key desc limit 1)`
  }
  const [pick, column] = of === 'min' ? [db`min`, db`sp.min_value`] : [db`max`, db`sp.max_value`]
  return db`(
    select coalesce(${pick}(v.value) filter (where v.value <> 'NaN'), max(v.value))
    from job_progress sp
    cross join lateral (select ${column}[array_position(sp.series, ${name}::text)] value) v
    where sp.batch_key = t.key)`
}

/**
 * The values of these fields, by batch key and then by the field's full name; fields that a batch does not have are
 * absent.
 */
export async function fieldsOf(
  db: Db,
  keys: readonly number[],
  fields: readonly BatchField[],
): Promise<Map<number, Record<string, FieldValue>>> {
  const params = fields.flatMap((field) => (field.of === 'param' ? field.name : []))
  const series = [...new Set(fields.flatMap((field) => (field.of === 'param' ? [] : field.name)))]
  const all = new Map<number, Record<string, FieldValue>>()
  const put = (key: number, name: string, value: FieldValue) => {
    // Without a prototype, so that any name is one like any other.
    const of = all.get(key) ?? (Object.create(null) as Record<string, FieldValue>)
    of[name] = value
    all.set(key, of)
  }
  if (keys.length === 0) return all
  if (params.length > 0) {
    const rows = await db<(FieldValue & { key: number; name: string })[]>`/* batches.params */
      select key, name, values[1] low, values[array_length(values, 1)] high, array_length(values, 1) n
      from (
        select j.batch_key key, u.name, array_agg(distinct w.value order by w.value) values
        from jobs j cross join unnest(${params}::text[]) as u (name)
        cross join lateral (select case u.name when 'model' then to_jsonb(j.model) when 'dataset' then to_jsonb(j.dataset)
          else coalesce(j.params -> u.name, j.params #> string_to_array(u.name, '/')) end value) w
        where j.batch_key = any (${[...keys]}::bigint[]) and jsonb_typeof(w.value) <> 'null'
        group by 1, 2) found`
    for (const { key, name, ...value } of rows) put(key, `param.${name}`, value)
  }
  if (series.length > 0) {
    const rows = await db<
      { key: number; name: string; last: number; min: number | null; max: number | null }[]
    >`/* batches.series */
      select p.batch_key key, u.name,
        (array_agg(p.last_value[a.at] order by p.last_seen_at desc, p.job_key desc))[1] last,
        min(p.min_value[a.at]) filter (where p.min_value[a.at] <> 'NaN') min,
        max(p.max_value[a.at]) filter (where p.max_value[a.at] <> 'NaN') max
      from job_progress p cross join unnest(${series}::text[]) as u (name)
      cross join lateral (select array_position(p.series, u.name) at) a
      where p.batch_key = any (${[...keys]}::bigint[]) and a.at is not null
      group by 1, 2`
    for (const row of rows) {
      for (const { of, name } of fields) {
        if (of === 'param' || name !== row.name) continue
        const value = writeNumber(row[of] ?? Number.NaN)
        put(row.key, `${of}.${name}`, { low: value, high: value, n: 1 })
      }
    }
  }
  return all
}

/** The fields of the newest jobs of a project, for filters and columns. */
export interface KnownFields {
  params: string[]
  series: string[]
  hosts: string[]
  owners: string[]
  tags: string[]
  /** Text values of parameters, by name. */
  values: Record<string, string[]>
}
const LOOKED_AT = 2_000
const MAX_NAMES = 300
/** The most values of one parameter; with more, users type the value. */
const MAX_VALUES = 20

export async function knownFields(db: Db, projectKey: number): Promise<KnownFields> {
  const [found] = await db<KnownFields[]>`/* batches.known_fields */
    with b as materialized (
      select host, owner_id, tags from batches where project_key = ${projectKey} and deleted_at is null
      order by started_at desc, key desc limit ${LOOKED_AT}),
    j as materialized (
      select key, params, model, dataset from jobs where project_key = ${projectKey}
      order by started_at desc, key desc limit ${LOOKED_AT})
    select
      array(select n from (
        select distinct jsonb_object_keys(params) n from j union select 'model' from j where model is not null
        union select 'dataset' from j where dataset is not null) x order by n limit ${MAX_NAMES}) params,
      array(select distinct n from j join job_progress p on p.job_key = j.key cross join unnest(p.series) n
        order by n limit ${MAX_NAMES}) series,
      array(select distinct host from b where host is not null order by host limit ${MAX_NAMES}) hosts,
      array(select distinct u.name from b join users u on u.id = b.owner_id order by u.name limit ${MAX_NAMES}) owners,
      array(select distinct t from b cross join unnest(tags) t order by t limit ${MAX_NAMES}) tags,
      coalesce((select jsonb_object_agg(name, list) from (
        select name, jsonb_agg(value order by value) list from (
          select name, value, row_number() over (partition by name order by value) n from (
            select distinct e.name, e.value #>> '{}' value from j cross join jsonb_each(params) e (name, value)
            where jsonb_typeof(e.value) in ('string', 'boolean') and length(e.value #>> '{}') between 1 and 60
            union select 'model', model from j where model is not null and length(model) <= 60
            union select 'dataset', dataset from j where dataset is not null and length(dataset) <= 60) d) ranked
        where n <= ${MAX_VALUES} group by name order by name limit ${MAX_NAMES}) x), '{}') values`
  if (found === undefined) throw new Error('a select without a table gave no row')
  return found
}

import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { formulaValue, isFormula, numberIn, parseColumnFormula } from '../../query/index.ts'
import { writeNumber } from '../events/index.ts'
import { type Field, fieldOf } from '../json-field.ts'
import { seriesOf } from './batch-conditions.ts'
import { paramOf } from './field-conditions.ts'
import { type DeclaredField, sentField } from './field-kinds.ts'
import { everyPlace, MAX_SORTED, namesOfColumn } from './field-names.ts'
import type { Place } from './places.ts'

/** Values of batches under names of queries, for columns and orders of lists. */

/** The lowest and highest value and the number of distinct values over the jobs; a series has one value. */
export interface FieldValue {
  low: unknown
  high: unknown
  n: number
}

/** A declared field of a row as a number or a text. */
export function fieldValue(db: Db, field: DeclaredField, row: Fragment): Field {
  const own = field.value(db, row)
  switch (field.kind) {
    case 'number':
      return { number: own }
    case 'time':
      return { number: db`extract(epoch from ${own})::float8` }
    case 'flag':
      return { text: db`(${own})::text` }
    case 'words':
      return { text: db`nullif(array_to_string(${own}, ', '), '')` }
    default:
      return { text: own }
  }
}

interface BatchValue extends Field {
  joins: Fragment
}

/**
 * SQL for the value that batches (as `t`) are ordered by: of the first place in which a batch has one. Of several values of
 * its jobs the lowest counts in ascending order, else the highest.
 */
export function fieldOrder(db: Db, places: readonly Place[], descending: boolean): BatchValue {
  if (places.length === 0) return { joins: db`` }
  const all = places.map((place, i) => valueOfBatch(db, place, descending, db.unsafe(`tf${i}`)))
  const joins = all.reduce((joined, one) => db`${joined} ${one.joins}`, db``)
  const [only] = all
  if (only !== undefined && all.length === 1) return only
  const first = (of: 'number' | 'text'): Fragment =>
    all.reduceRight(
      (rest, one) => db`
        case when ${one.number ?? db`null::float8`} is null and ${one.text ?? db`null::text`} is null
          then ${rest} else ${one[of] ?? db`null`} end`,
      db`null`,
    )
  return { number: db`(${first('number')})::float8`, text: db`(${first('text')})::text`, joins }
}

function valueOfBatch(db: Db, place: Place, descending: boolean, tf: Fragment): BatchValue {
  switch (place.kind) {
    case 'field': {
      const { field } = place
      if (field.entity === 'job') return overJobs(db, fieldValue(db, field, db`j`), descending, tf)
      return { ...beginning(db, fieldValue(db, field, db`t`)), joins: db`` }
    }
    case 'param':
      return overJobs(db, paramOf(db, db`j`, place.key, false), descending, tf)
    case 'final':
      return overJobs(db, fieldOf(db, db`j.metrics`, place.key, false), descending, tf)
    case 'config':
      return { ...beginning(db, fieldOf(db, db`t.config`, place.key, false)), joins: db`` }
    default:
      // `offset` makes PostgreSQL compute it once for each batch, and not at each use in the order.
      return {
        number: db`${tf}.number`,
        joins: db`left join lateral (select ${seriesOf(db, { of: place.kind, name: place.key })} number offset 0) ${tf} on true`,
      }
  }
}

const beginning = (db: Db, field: Field): Field =>
  field.text === undefined ? field : { ...field, text: db`left(${field.text}, ${MAX_SORTED})` }

function overJobs(db: Db, { number, text }: Field, descending: boolean, tf: Fragment): BatchValue {
  const pick = descending ? db`max` : db`min`
  return {
    number: db`coalesce(${tf}.number, ${tf}.nan)`,
    text: db`${tf}.word`,
    joins: db`
      left join lateral (
        select ${pick}(v.number) filter (where v.number <> 'NaN') number, max(v.number) filter (where v.number = 'NaN') nan,
          ${pick}(left(v.word, ${MAX_SORTED}) collate "C") word
        from jobs j cross join lateral (select ${number ?? db`null::float8`} number, ${text ?? db`null::text`} word) v
        where j.batch_key = t.key) ${tf} on true`,
  }
}

type Column = Extract<Place, { key: string }> & { kind: 'param' | 'last' | 'min' | 'max' }
const isColumn = (place: Place): place is Column =>
  place.kind === 'param' || place.kind === 'last' || place.kind === 'min' || place.kind === 'max'

/**
 * The values under these names, by batch key and then by name; of a name that a batch has in several places, the first.
 * Names that a batch does not have are absent, and so is a formula that has no single value in a batch.
 */
export async function columnsOf(
  db: Db,
  keys: readonly number[],
  names: readonly string[],
): Promise<Map<number, Record<string, FieldValue>>> {
  const formulas = names.flatMap((name) => {
    const formula = isFormula(name) ? parseColumnFormula(name).formula : null
    return formula === null ? [] : [{ name, formula }]
  })
  if (formulas.length === 0) return storedColumnsOf(db, keys, names)
  const stored = await storedColumnsOf(db, keys, names.flatMap(namesOfColumn))
  const plain = new Set(names)
  for (const [key, values] of stored) {
    const all = Object.create(null) as Record<string, FieldValue>
    for (const [name, value] of Object.entries(values)) if (plain.has(name)) all[name] = value
    for (const { name, formula } of formulas) {
      const value = formulaValue(formula, (wanted) => onlyNumber(values[wanted]))
      if (value === undefined) continue
      const text = writeNumber(value)
      all[name] = { low: text, high: text, n: 1 }
    }
    stored.set(key, all)
  }
  return stored
}

/** The number that all jobs of a batch have in common. */
function onlyNumber(value: FieldValue | undefined): number | undefined {
  if (value?.n !== 1) return undefined
  if (typeof value.low === 'number') return value.low
  return typeof value.low === 'string' ? numberIn(value.low) : undefined
}

async function storedColumnsOf(
  db: Db,
  keys: readonly number[],
  names: readonly string[],
): Promise<Map<number, Record<string, FieldValue>>> {
  const wanted = [...new Set(names)].map((name) => ({ name, places: everyPlace('batch', name) }))
  const places = wanted.flatMap(({ places }) => places)
  const [found, others] = await Promise.all([
    valuesOf(db, keys, places.filter(isColumn)),
    otherValuesOf(
      db,
      keys,
      places.filter((place) => !isColumn(place)),
    ),
  ])
  const all = new Map<number, Record<string, FieldValue>>()
  for (const key of keys) {
    // Without a prototype, so that any name is one like any other.
    const of = Object.create(null) as Record<string, FieldValue>
    for (const { name, places } of wanted) {
      const value = places
        .map((place) => found.get(nameIn(key, place)) ?? others.get(nameIn(key, place)))
        .find((one) => one !== undefined)
      if (value !== undefined) of[name] = value
    }
    all.set(key, of)
  }
  return all
}

const nameIn = (key: number, place: Place): string =>
  JSON.stringify([key, place.kind, place.kind === 'field' ? place.field.name : place.key])

async function valuesOf(
  db: Db,
  keys: readonly number[],
  fields: readonly Column[],
): Promise<Map<string, FieldValue>> {
  const params = [...new Set(fields.flatMap(({ kind, key }) => (kind === 'param' ? key : [])))]
  const series = [...new Set(fields.flatMap(({ kind, key }) => (kind === 'param' ? [] : key)))]
  const all = new Map<string, FieldValue>()
  if (keys.length === 0) return all
  if (params.length > 0) {
    const rows = await db<(FieldValue & { key: number; name: string })[]>`/* batches.params */
      select key, name, values[1] low, values[array_length(values, 1)] high, array_length(values, 1) n
      from (
        select j.batch_key key, u.name, array_agg(distinct w.value order by w.value) values
        from jobs j cross join unnest(${params}::text[]) as u (name)
        cross join lateral (select ${paramColumns(db, params)} value) w
        where j.batch_key = any (${[...keys]}::bigint[]) and jsonb_typeof(w.value) <> 'null'
        group by 1, 2) found`
    for (const { key, name, ...value } of rows) all.set(nameIn(key, { kind: 'param', key: name }), value)
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
      for (const kind of ['last', 'min', 'max'] as const) {
        const value = writeNumber(row[kind] ?? Number.NaN)
        all.set(nameIn(row.key, { kind, key: row.name }), { low: value, high: value, n: 1 })
      }
    }
  }
  return all
}

/** The parameter `u.name` of the row `j` as JSON; what was sent as a field is in its column, if it is not in the parameters. */
function paramColumns(db: Db, names: readonly string[]): Fragment {
  const sent = names.flatMap((name) => {
    const column = sentField(name)?.column
    return column === undefined ? [] : [db`when ${name} then to_jsonb(j.${db(column)})`]
  })
  const json = db`coalesce(j.params -> u.name, j.params #> string_to_array(u.name, '/'))`
  const [first, ...others] = sent
  return first === undefined
    ? json
    : db`coalesce(${json}, case u.name ${others.reduce((list, one) => db`${list} ${one}`, first)} end)`
}

/** The values of declared fields, of the configuration and of metrics of job_done. */
async function otherValuesOf(
  db: Db,
  keys: readonly number[],
  places: readonly Place[],
): Promise<Map<string, FieldValue>> {
  const all = new Map<string, FieldValue>()
  const [first, ...others] = places.map((place, i) => valueRows(db, place, keys, i))
  if (first === undefined || keys.length === 0) return all
  const rows = await db<(FieldValue & { key: number; nth: number })[]>`/* batches.other_fields */
    select key, nth, values[1] low, values[array_length(values, 1)] high, array_length(values, 1) n
    from (
      select key, nth, array_agg(distinct value order by value) values
      from (${others.reduce((joined, one) => db`${joined} union all ${one}`, first)}) v
      where jsonb_typeof(value) <> 'null' and value <> '[]'::jsonb group by 1, 2) found`
  for (const { key, nth, ...value } of rows) all.set(nameIn(key, places[nth] as Place), value)
  return all
}

function valueRows(db: Db, place: Place, keys: readonly number[], nth: number): Fragment {
  const inBatches = db`from batches t where t.key = any (${[...keys]}::bigint[])`
  const inJobs = db`from jobs j where j.batch_key = any (${[...keys]}::bigint[])`
  const nested = (json: Fragment, key: string): Fragment =>
    db`coalesce(${json} -> ${key}::text, ${json} #> string_to_array(${key}, '/'))`
  if (place.kind === 'field') {
    const { field } = place
    return field.entity === 'batch'
      ? db`select t.key, ${nth}::int nth, to_jsonb(${field.value(db, db`t`)}) value ${inBatches}`
      : db`select j.batch_key as key, ${nth}::int nth, to_jsonb(${field.value(db, db`j`)}) value ${inJobs}`
  }
  return place.kind === 'config'
    ? db`select t.key, ${nth}::int nth, ${nested(db`t.config`, place.key)} value ${inBatches}`
    : db`select j.batch_key as key, ${nth}::int nth, ${nested(db`j.metrics`, place.key)} value ${inJobs}`
}

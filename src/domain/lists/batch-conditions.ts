import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { numberIn, type Query } from '../../query/index.ts'
import { escapeLike, some } from '../conditions.ts'
import { type Field, fieldOf, holdsValue, isPresent } from '../json-field.ts'
import { type Compiler, conditionOf, configHas, configMeets, hasField, ownFieldMeets } from './conditions.ts'
import { type Asked, fieldMeets, paramOf } from './field-conditions.ts'
import type { Place, Places } from './places.ts'
import { ownsOf } from './possessions.ts'

/** Queries over batches: a condition on a parameter or field of a job holds if any job of the batch meets it. */

const BATCH = (db: Db): Fragment => db`t`
const JOB = (db: Db): Fragment => db`j`
const anyJob = (db: Db, condition: Fragment): Fragment =>
  db`exists (select from jobs j where j.batch_key = t.key and ${condition})`

export const batchConditionOf = (db: Db, query: Query, places: Places): Fragment =>
  conditionOf(db, query, compilerOf(db, places))

function compilerOf(db: Db, places: Places): Compiler {
  const [batch, job] = [BATCH(db), JOB(db)]
  return {
    listed: 'batch',
    places,
    words: ({ text }) => batchHasText(db, text),
    holds: (place, asked) => {
      switch (place.kind) {
        case 'field':
          return place.field.entity === 'batch'
            ? ownFieldMeets(db, place.field, batch, asked, places)
            : anyJob(db, fieldMeets(db, place.field, job, asked))
        case 'config':
          return configMeets(db, batch, place.key, asked)
        case 'param':
        case 'final':
          return anyJob(db, holdsValue(db, jobValueOf(db, place), asked.op, asked.value))
        default:
          return seriesMeets(db, { of: place.kind, name: place.key }, asked)
      }
    },
    owns: (what, name) => ownsOf(db, what, { of: 'batch', row: batch }, name),
    has: (place) => {
      switch (place.kind) {
        case 'field':
          return place.field.entity === 'batch'
            ? hasField(db, place.field, batch)
            : anyJob(db, hasField(db, place.field, job))
        case 'config':
          return configHas(db, batch, place.key)
        case 'param':
        case 'final':
          return anyJob(db, isPresent(db, jobValueOf(db, place)))
        default:
          return db`${seriesOf(db, { of: place.kind, name: place.key })} is not null`
      }
    },
  }
}

const jobValueOf = (db: Db, { kind, key }: Extract<Place, { key: string }>): Field =>
  kind === 'param' ? paramOf(db, JOB(db), key, false) : fieldOf(db, db`j.metrics`, key, false)

const seriesMeets = (db: Db, series: BatchSeries, { op, value }: Asked): Fragment =>
  numberIn(value) === undefined && op !== 'ne'
    ? db`false`
    : holdsValue(db, { number: seriesOf(db, series) }, op, value)

export interface BatchSeries {
  of: 'last' | 'min' | 'max'
  name: string
}

/** Over a row `t` of batches, as one number: NaN while there is none that is finite, null without the series. */
export function seriesOf(db: Db, { of, name }: BatchSeries): Fragment {
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

/** Text in the id, name, group, experiment type, command, notes or tags of the row `t`. */
export function batchHasText(db: Db, text: string): Fragment {
  const pattern = escapeLike(text)
  return some(db, [
    db`t.search like '%' || lower(${pattern}) || '%'`,
    db`batch_search_text(t.name, t.group_name, null, null, null) like '%' || lower(${pattern}) || '%'`,
  ])
}

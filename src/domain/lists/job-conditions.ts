import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import type { Query } from '../../query/index.ts'
import { escapeLike, some } from '../conditions.ts'
import { type Field, fieldOf, holdsValue, isPresent } from '../json-field.ts'
import { fieldValue } from './columns.ts'
import { conditionOf, configHas, configMeets, hasField, ownFieldMeets } from './conditions.ts'
import { fieldMeets, paramOf } from './field-conditions.ts'
import type { DeclaredField } from './field-kinds.ts'
import { MAX_SORTED } from './field-names.ts'
import type { Place, Places } from './places.ts'
import { ownsOf } from './possessions.ts'

/** Queries over jobs, as rows `t` of jobs and `tp` of job_progress. */

const ofBatch = (db: Db, condition: Fragment): Fragment =>
  db`exists (select from batches fc where fc.key = t.batch_key and ${condition})`

/** @param textless whether texts are hidden from the caller: a filter must not reveal them */
export function jobConditionOf(db: Db, query: Query, places: Places, textless: boolean): Fragment {
  const row = db`t`
  const batch = db`fc`
  const isHidden = (field: DeclaredField): boolean =>
    textless && (field.exposure !== 'shown' || field.entity === 'batch')
  return conditionOf(db, query, {
    listed: 'job',
    places,
    words: ({ text }) => jobHasWord(db, text, textless),
    holds: (place, asked) => {
      if (place.kind === 'field') {
        if (isHidden(place.field)) return db`false`
        return place.field.entity === 'job'
          ? fieldMeets(db, place.field, row, asked)
          : ofBatch(db, ownFieldMeets(db, place.field, batch, asked, places))
      }
      if (place.kind === 'config')
        return textless ? db`false` : ofBatch(db, configMeets(db, batch, place.key, asked))
      return holdsValue(db, jobValueOf(db, place, textless), asked.op, asked.value)
    },
    owns: (what, name) => (textless ? db`false` : ownsOf(db, what, { of: 'job', row }, name)),
    has: (place) => {
      if (place.kind === 'field')
        return place.field.entity === 'job'
          ? hasField(db, place.field, row)
          : ofBatch(db, hasField(db, place.field, batch))
      return place.kind === 'config'
        ? ofBatch(db, configHas(db, batch, place.key))
        : isPresent(db, jobValueOf(db, place, false))
    },
  })
}

/** A value of the row `t`, except of its configuration. */
export function jobValueOf(db: Db, { kind, key }: Extract<Place, { key: string }>, textless: boolean): Field {
  switch (kind) {
    case 'param':
      return paramOf(db, db`t`, key, textless)
    case 'final':
      return fieldOf(db, db`t.metrics`, key, textless)
    case 'min':
      return { number: db`tp.min_value[array_position(tp.series, ${key})]` }
    case 'max':
      return { number: db`tp.max_value[array_position(tp.series, ${key})]` }
    default:
      return { number: latestOf(db, key) }
  }
}

/** SQL: the last value of a series, over a row `tp` of job_progress. */
export const latestOf = (db: Db, key: string): Fragment =>
  key === 'epoch'
    ? db`coalesce(tp.last_value[array_position(tp.series, ${key})], tp.max_step, tp.max_epoch)`
    : db`tp.last_value[array_position(tp.series, ${key})]`

/**
 * The shortest text that the index of words (012_job_search) can search; shorter ones are soon found in the order of
 * the list.
 */
const INDEXED = 3

/** Text in the id, model or dataset of the row `t`. */
export function jobHasText(db: Db, term: string, textless: boolean): Fragment {
  if (textless || term.length < INDEXED) {
    const said = textless ? db`t.id` : db`concat_ws(chr(10), t.id, t.model, t.dataset)`
    return db`strpos(lower(${said}), lower(${term})) > 0`
  }
  return db`batch_search_text(t.id, t.model, t.dataset, null, null) like '%' || lower(${escapeLike(term)}) || '%'`
}

/** A word of a query: the same, text in the failure, or a whole tag. */
function jobHasWord(db: Db, word: string, textless: boolean): Fragment {
  const named = jobHasText(db, word, textless)
  if (textless) return named
  return some(db, [
    named,
    db`t.failure_reason is not null and lower(t.failure_reason) like '%' || lower(${escapeLike(word)}) || '%'`,
    db`t.tags <> '{}' and filter_texts(t.tags) && filter_texts(array[${word}]::text[])`,
  ])
}

/** The value under a name: of the first place in which the job has one. */
export function valueOfJob(
  db: Db,
  places: readonly Place[],
  textless: boolean,
): { number?: Fragment; text?: Fragment } {
  const all = places.map((place): Field => {
    if (place.kind === 'config') {
      const { number, text } = fieldOf(db, db`fc.config`, place.key, false)
      const ofBatch = (value: Fragment): Fragment =>
        db`(select ${value} from batches fc where fc.key = t.batch_key)`
      return textless ? {} : { number: ofBatch(number), text: ofBatch(text ?? db`null::text`) }
    }
    if (place.kind !== 'field') return jobValueOf(db, place, textless)
    const { field } = place
    if (textless && (field.exposure !== 'shown' || field.entity === 'batch')) return {}
    if (field.entity === 'job') return fieldValue(db, field, db`t`)
    const { number, text } = fieldValue(db, field, db`fc`)
    const ofBatch = (value: Fragment | undefined): Fragment | undefined =>
      value && db`(select ${value} from batches fc where fc.key = t.batch_key)`
    const found = { number: ofBatch(number), text: ofBatch(text) }
    return { ...(found.number && { number: found.number }), ...(found.text && { text: found.text }) }
  })
  const none = { number: db`null::float8`, text: db`null::text` }
  const first = (of: 'number' | 'text'): Fragment =>
    all.reduceRight(
      (rest, one) =>
        db`case when ${one.number ?? none.number} is null and ${one.text ?? none.text} is null then ${rest} else ${one[of] ?? none[of]} end`,
      none[of],
    )
  return { number: first('number'), text: db`left(${first('text')}, ${MAX_SORTED})` }
}

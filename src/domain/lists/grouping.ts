import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { fieldOf } from '../json-field.ts'
import { fieldValue } from './columns.ts'
import { paramOf } from './field-conditions.ts'
import { everyPlace, nameFault } from './field-names.ts'
import type { Place } from './places.ts'

/** The value of a job that jobs are grouped by, as text, over a row `j` of jobs; null without one. */
export type GroupValue = (db: Db) => Fragment

/**
 * What a name as in queries means for grouping: the first place in which a job has a value. `batch` means the id of the batch.
 * Undefined for text that is not a name.
 * @param isAnonymous for an anonymous share, which does not show the configuration and some fields
 */
export function groupValueOf(name: string, isAnonymous = false): GroupValue | undefined {
  if (name === '' || nameFault(name) !== null) return undefined
  const places = everyPlace('job', name === 'batch' ? 'batch_id' : name).filter(
    (place) => !isAnonymous || isShown(place),
  )
  return (db) => {
    const [first, ...others] = places.map((place) => textOf(db, place))
    return db`coalesce(${others.reduce((list, one) => db`${list}, ${one}`, first ?? db`null`)})`
  }
}

const isShown = (place: Place): boolean =>
  place.kind === 'field'
    ? place.field.exposure === 'shown' || place.field.exposure === 'scrubbed'
    : place.kind !== 'config'

/** JSON keeps a number as it was written: 1 and 1.0 are one value. */
const numberText = (db: Db, number: Fragment): Fragment =>
  db`case when (${number})::numeric in ('NaN', 'Infinity', '-Infinity') then (${number})::text else trim_scale((${number})::numeric)::text end`

function textOf(db: Db, place: Place): Fragment {
  const both = ({ number, text }: { number?: Fragment; text?: Fragment }): Fragment =>
    db`coalesce(${number === undefined ? db`null` : numberText(db, number)}, ${text ?? db`null`})`
  const ofBatch = (value: Fragment): Fragment =>
    db`(select ${value} from batches fc where fc.key = j.batch_key)`
  switch (place.kind) {
    case 'field': {
      const { field } = place
      const row = field.entity === 'job' ? db`j` : db`fc`
      const value =
        field.kind === 'time' ? db`(${field.value(db, row)})::text` : both(fieldValue(db, field, row))
      return field.entity === 'job' ? value : ofBatch(value)
    }
    case 'param':
      return both(paramOf(db, db`j`, place.key, false))
    case 'config':
      return ofBatch(both(fieldOf(db, db`fc.config`, place.key, false)))
    case 'final':
      return both(fieldOf(db, db`j.metrics`, place.key, false))
    default: {
      const column = db.unsafe({ last: 'last_value', min: 'min_value', max: 'max_value' }[place.kind])
      const value = db`gp.${column}[array_position(gp.series, ${place.key}::text)]`
      return db`(select ${numberText(db, value)} from job_progress gp where gp.job_key = j.key)`
    }
  }
}

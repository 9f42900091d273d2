import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import {
  type Comparison,
  fieldNamed,
  type Possession,
  possessionOf,
  type Query,
  type Words,
} from '../../query/index.ts'
import { every, some } from '../conditions.ts'
import { fieldOf, holdsValue, isPresent } from '../json-field.ts'
import { type Asked, fieldMeets } from './field-conditions.ts'
import { type DeclaredField, type Entity, FIELD_KINDS } from './field-kinds.ts'
import type { Place, Places } from './places.ts'

/** Compiles queries to SQL over rows `t`. Values are parameters of the statement; nothing of a query becomes SQL text. */
export interface Compiler {
  listed: Entity
  places: Places
  words: (words: Words) => Fragment
  /** Whether a place has a value that meets the condition, and whether it has one at all. */
  holds: (place: Place, asked: Asked) => Fragment
  has: (place: Place) => Fragment
  /** Whether the row has media of a key, or made or used an artifact. */
  owns: (what: Possession, name: string) => Fragment
}

export function conditionOf(db: Db, query: Query, compiler: Compiler): Fragment {
  switch (query.kind) {
    case 'and':
      return db`(${every(
        db,
        query.parts.map((part) => conditionOf(db, part, compiler)),
      )})`
    case 'or':
      return some(
        db,
        query.parts.map((part) => conditionOf(db, part, compiler)),
      )
    case 'not':
      return db`not ${conditionOf(db, query.part, compiler)}`
    case 'words':
      return compiler.words(query)
    default:
      return comparisonOf(db, query, compiler)
  }
}

/** The first place of the name that the row has a value in decides. */
function comparisonOf(db: Db, asked: Comparison, { places, holds, has, owns }: Compiler): Fragment {
  const possession = possessionOf(asked)
  if (possession !== undefined) return owns(possession, asked.value)
  const all = places.of(asked.name)
  const last = all.at(-1)
  if (last === undefined) return db`false`
  return all
    .slice(0, -1)
    .reduceRight(
      (rest, place) => db`case when ${has(place)} then ${holds(place, asked)} else ${rest} end`,
      db`(${holds(last, asked)})`,
    )
}

/** A condition on a field of the row, or on the owner, who is found by id and address too. */
export function ownFieldMeets(
  db: Db,
  field: DeclaredField,
  row: Fragment,
  asked: Asked,
  { owners }: Places,
): Fragment {
  const meets = fieldMeets(db, field, row, asked)
  if (field.name !== 'owner') return meets
  const ids = [...(owners.get(asked.value) ?? [])]
  return asked.op === 'ne'
    ? db`(${meets} and ${row}.owner_id <> all (${ids}::uuid[]))`
    : db`(${meets} or ${row}.owner_id = any (${ids}::uuid[]))`
}

export const hasField = (db: Db, field: DeclaredField, row: Fragment): Fragment =>
  field.nullable ? db`${field.value(db, row)} is not null` : db`true`

/** A value of the configuration of the batch `row`. */
export const configMeets = (db: Db, row: Fragment, key: string, { op, value }: Asked): Fragment =>
  holdsValue(db, fieldOf(db, db`${row}.config`, key, false), op, value)
export const configHas = (db: Db, row: Fragment, key: string): Fragment =>
  isPresent(db, fieldOf(db, db`${row}.config`, key, false))

/** Whether a query says something about this field of the listed rows, in place of the default of a list. */
export const namesField = (query: Query, listed: Entity, field: string): boolean => {
  switch (query.kind) {
    case 'and':
    case 'or':
      return query.parts.some((part) => namesField(part, listed, field))
    case 'not':
      return namesField(query.part, listed, field)
    case 'words':
      return false
    default:
      return fieldNamed(FIELD_KINDS[listed], query.name) === field
  }
}

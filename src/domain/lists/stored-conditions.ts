import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { numberIn, possessionOf, type Query } from '../../query/index.ts'
import { every, literalNumber, some } from '../conditions.ts'
import { numberInText } from '../json-field.ts'
import type { StoredOrder } from '../keyset-pages.ts'
import type { Asked } from './field-conditions.ts'
import { sentField } from './field-kinds.ts'
import { MAX_SORTED } from './field-names.ts'
import type { Place, Places } from './places.ts'
import { MAX_STORED_NAME } from './stored-fields.ts'

/** Orders and conditions by the stored fields of batches (stored-fields.ts). */

export const unknownFields = (db: Db): Fragment =>
  db`select u.batch_key from batch_progress u where not u.fields_known`

/**
 * The order of batches by stored rows; undefined if they cannot give it: for fields of the batch, for names with values in
 * several places, and for a parameter whose name may be a path.
 * @param met the conditions of the filter, as the stored fields have them
 */
export function storedOrder(
  db: Db,
  places: readonly Place[],
  descending: boolean,
  met: readonly Met[] = [],
): StoredOrder | undefined {
  const [place] = places
  if (place === undefined || places.length > 1 || place.kind === 'field') return undefined
  const { kind, key } = place
  if (key.length > MAX_STORED_NAME || kind === 'config' || kind === 'final') return undefined
  if (kind === 'param' && (key.includes('/') || isOtherColumn(key))) return undefined
  const field = kind === 'param' ? `${descending ? 'high' : 'low'}.${key}` : `${kind}.${key}`
  const same = met.flatMap(({ bound: { ways, exact } }) =>
    exact && ways.every(({ fields }) => fields.length === 1 && fields[0] === field)
      ? [
          some(
            db,
            ways.map(({ value }) => value),
          ),
        ]
      : [],
  )
  return {
    rows: db`batch_fields`,
    where: db`f.field = (select ${field}::text)`,
    newest: descending === isListedDescending(field) ? db`f.newest` : undefined,
    within: every(db, same),
  }
}

/**
 * Whether the index of a field has the newest batch first among equals in descending order; `storeFields` writes it so.
 */
const isListedDescending = (field: string): boolean => field.startsWith('high.') || field.startsWith('max.')

/** Up to this many batches are looked up one by one; with more, reading the list in order soon fills a page. */
const FEW = 1_000

/** A query, as far as the stored fields answer it. */
export interface Met {
  /** Conditions on a row `t` of batches whose fields are stored. */
  where: readonly Fragment[]
  bound: Bound
}

/** Stored rows of which a batch that matches has one, and fields that leave it open. */
interface Bound {
  ways: readonly Way[]
  open: readonly string[]
  /** Whether it is the whole condition; if not, the condition is checked as well. */
  exact: boolean
}
/** A row `f` of one of these fields that meets the condition. */
interface Way {
  fields: readonly string[]
  value: Fragment
}

/**
 * Undefined if the stored fields cannot answer it. The planner cannot estimate how many batches have a value of one
 * field, so this counts them in the index.
 */
export async function metByStored(db: Db, query: Query, places: Places): Promise<Met | undefined> {
  const bound = boundOf(db, query, places)
  if (bound === undefined) return undefined
  const { ways, open } = bound
  const rows = ({ fields, value }: Way): Fragment => db`
    select f.batch_key from batch_fields f where f.field = any ((select ${[...fields]}::text[])::text[]) and ${value}`
  const all = open.length === 0 ? ways : [...ways, { fields: open, value: db`true` }]
  const [first, ...others] = all
  if (first === undefined) return { where: [db`false`], bound }
  const candidates = others.reduce((joined, way) => db`${joined} union all ${rows(way)}`, rows(first))
  const [look] = await db<{ n: number }[]>`/* batches.few_by_field */
    select count(*)::int n from (select from (${candidates}) f limit ${literalNumber(db, FEW + 1)}) c`
  const where: Fragment[] = []
  // The statement of the list reads the candidates again: a batch may be stored or change in between.
  if ((look?.n ?? 0) <= FEW) where.push(db`t.key = any (array(${candidates}))`)
  else if (open.length === 0) where.push(db`t.key in (${candidates})`)
  return { where, bound }
}

/** Any of the conditions of an OR, of which all must be answered. */
function boundOf(db: Db, query: Query, places: Places): Bound | undefined {
  if (query.kind === 'is') {
    if (possessionOf(query) !== undefined) return undefined
    const all = places.of(query.name)
    // The first place of several decides, which a row of another cannot tell.
    return joined(
      all.map((place) => boundOfPlace(db, place, query)),
      all.length < 2,
    )
  }
  if (query.kind !== 'or') return undefined
  return joined(
    query.parts.map((part) => boundOf(db, part, places)),
    true,
  )
}

function joined(all: readonly (Bound | undefined)[], exact: boolean): Bound | undefined {
  const known = all.filter((bound) => bound !== undefined)
  if (known.length < all.length) return undefined
  return {
    ways: known.flatMap(({ ways }) => ways),
    open: [...new Set(known.flatMap(({ open }) => open))],
    exact: exact && known.every((bound) => bound.exact),
  }
}

function boundOfPlace(db: Db, place: Place, { op, value }: Asked): Bound | undefined {
  // Fields of jobs and batches are columns, and not stored again.
  if (place.kind === 'field' || place.key.length > MAX_STORED_NAME || op === 'ne') return undefined
  if (place.kind === 'param' && isOtherColumn(place.key)) return undefined
  const isSeries = place.kind === 'last' || place.kind === 'min' || place.kind === 'max'
  // A name of a value within a JSON column may be a path.
  const path = place.key.includes('/') && !isSeries
  const open = path ? ['nested'] : []
  const each = fieldsOf(place, 'equal')
  const anyValue = { ways: [{ fields: fieldsOf(place, 'low'), value: db`true` }], open, exact: false }
  const number = numberIn(value)
  if (isSeries && number === undefined) return { ways: [], open, exact: true }
  if (op === 'eq' || (op === 'has' && isSeries)) {
    if (place.kind === 'final') return anyValue
    return {
      ways: [
        ...(number === undefined
          ? []
          : [
              {
                fields: each,
                value: Number.isNaN(number)
                  ? db`f.rank = 2`
                  : db`f.rank = 0 and f.number = (select ${number}::float8)`,
              },
            ]),
        ...(isSeries
          ? []
          : [
              {
                fields: each,
                value: db`f.rank = 1 and filter_text(f.word) = filter_text((select ${value}::text))`,
              },
            ]),
        ...(isSeries || number === undefined || Number.isNaN(number)
          ? []
          : [
              {
                fields: each,
                value: db`f.rank = 1 and ${numberInText(db, db`f.word`)} = (select ${number}::float8)`,
              },
            ]),
      ],
      open,
      exact: !path && value !== '' && value.length < MAX_SORTED,
    }
  }
  if (op === 'has' || place.kind === 'final') return anyValue
  const fields = fieldsOf(place, op === 'lt' || op === 'le' ? 'low' : 'high')
  if (number !== undefined) {
    if (Number.isNaN(number)) return { ways: [], open, exact: true }
    const beyond = (own: Fragment): Fragment => db`${own} ${db.unsafe(SIGNS[op])} (select ${number}::float8)`
    const ways = [{ fields, value: db`f.rank = 0 and ${beyond(db`f.number`)}` }]
    if (!isSeries)
      ways.push({ fields: each, value: db`f.rank = 1 and ${beyond(numberInText(db, db`f.word`))}` })
    return { ways, open, exact: !path }
  }
  // Only the beginnings of texts are stored, and no texts beside numbers: the condition itself is checked
  // too.
  const beyond = op === 'lt' || op === 'le' ? db`<=` : db`>=`
  const text = db`(f.rank <> 1 or f.word = '' or f.word ${beyond} left((select ${value}::text), ${MAX_SORTED}))`
  return { ways: [{ fields, value: text }], open, exact: false }
}

/** Whether the parameter may be a column of jobs that is not stored with the parameters, as model and dataset are. */
const isOtherColumn = (name: string): boolean =>
  name !== 'model' && name !== 'dataset' && sentField(name) !== undefined

const SIGNS = { lt: '<', le: '<=', ge: '>=', gt: '>' }

/** The stored fields with the lowest, the highest, or each value under a name. */
function fieldsOf({ kind, key }: Extract<Place, { key: string }>, which: 'low' | 'high' | 'equal'): string[] {
  switch (kind) {
    case 'param':
      return (which === 'equal' ? ['low', 'high', 'also'] : [which]).map((prefix) => `${prefix}.${key}`)
    case 'final':
      return [`final.${which === 'equal' ? 'low' : which}.${key}`]
    default:
      return [`${kind}.${key}`]
  }
}

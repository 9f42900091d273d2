import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import {
  bestOf,
  type FieldKinds,
  faultOf,
  fieldNamed,
  MAX_TERMS,
  parse,
  possessionOf,
  type Query,
  readName,
  termsOf,
} from '../../query/index.ts'
import { ownersNamed } from '../access.ts'
import type { Caller } from '../caller.ts'
import { every, some } from '../conditions.ts'
import { type DeclaredField, declaredField, type Entity, FIELD_KINDS, sentField } from './field-kinds.ts'

/** Which values the names of queries, orders and columns mean in a list (docs/query.md). */

/** One place where a name can have a value. */
export type Place =
  | { kind: 'field'; field: DeclaredField }
  | { kind: 'param' | 'config' | 'final' | 'last' | 'min' | 'max'; key: string }

/** The rows of a list. */
export interface Within {
  column: 'project_key' | 'batch_key'
  /** Null: all. */
  keys: readonly number[] | null
}

export interface Places {
  /** In the order in which they are looked up; the first that a row has counts. */
  of: (name: string) => readonly Place[]
  /** The names that nothing in the list has, as they were written. */
  unknown: readonly string[]
  /** The ids of the people that a condition on `owner` names, besides those of that name. */
  owners: ReadonlyMap<string, readonly string[]>
}

const FOUND = ['param', 'config', 'last', 'final'] as const
type Found = Record<(typeof FOUND)[number], boolean>

/**
 * Parses the queries of a list.
 * @throws Problem invalid_query with the position of what is not understood
 */
export function readQueries(listed: Entity, texts: readonly string[]): Query[] {
  const queries = texts.flatMap((text, i) => {
    const parsed = parse(text)
    const fault = parsed.fault ?? faultOf(parsed.query, FIELD_KINDS[listed])
    if (fault !== null) {
      const position = fault.from + 1
      const path = texts.length === 1 ? 'where' : `where.${i}`
      throw new Problem('invalid_query', {
        detail: `where: ${fault.message} (at character ${position})`,
        errors: [{ path, message: `${fault.message} (at character ${position})`, position }],
      })
    }
    return parsed.query ?? []
  })
  if (queries.flatMap(termsOf).length > MAX_TERMS) {
    const message = `at most ${MAX_TERMS} conditions together`
    throw new Problem('invalid_query', { detail: `where: ${message}`, errors: [{ path: 'where', message }] })
  }
  return queries
}

/** Looks up the names of queries, and further ones, in the rows that a list reads. */
export async function resolveNames(
  db: Db,
  caller: Caller | null,
  listed: Entity,
  within: Within,
  queries: readonly Query[],
  more: readonly string[] = [],
): Promise<Places> {
  const kinds = FIELD_KINDS[listed]
  const conditions = queries
    .flatMap(termsOf)
    .flatMap((term) => (term.kind === 'is' && possessionOf(term) === undefined ? [term] : []))
  const names = [...new Set([...conditions.map(({ name }) => name), ...more])]
  const keys = new Set(names.filter((name) => isOpen(listed, kinds, name)).map((name) => readName(name).key))
  const found = keys.size === 0 ? new Map<string, Found>() : await lookUp(db, within, [...keys])
  const places = new Map(names.map((name) => [name, placesOf(listed, kinds, found, name)]))
  const asked = conditions.flatMap(({ name, value }) => (fieldNamed(kinds, name) === 'owner' ? [value] : []))
  const owners = new Map<string, readonly string[]>()
  for (const value of new Set(asked))
    owners.set(value, caller === null ? [] : await ownersNamed(db, caller, [value]))
  return {
    of: (name) => places.get(name)?.places ?? [],
    unknown: names.filter((name) => places.get(name)?.known === false),
    owners,
  }
}

/** Whether only the rows tell what the name means. */
function isOpen(listed: Entity, kinds: FieldKinds, name: string): boolean {
  const { of, key } = readName(name)
  if (of === 'param' && sentField(key) !== undefined) return false
  if (of !== 'any') return true
  const field = fieldNamed(kinds, key)
  return field === undefined || declaredField(listed, field).nullable
}

function placesOf(
  listed: Entity,
  kinds: FieldKinds,
  found: ReadonlyMap<string, Found>,
  name: string,
): { places: readonly Place[]; known: boolean } {
  const { of, key } = readName(name)
  const has = found.get(key)
  switch (of) {
    case 'any': {
      const field = fieldNamed(kinds, key)
      const own: Place[] = field === undefined ? [] : [{ kind: 'field', field: declaredField(listed, field) }]
      const others = FOUND.filter((kind) => has?.[kind]).map((kind): Place => ({ kind, key }))
      return { places: [...own, ...others], known: own.length + others.length > 0 }
    }
    case 'param':
      return { places: [{ kind: of, key }], known: has?.param ?? true }
    case 'config':
    case 'final':
      return { places: [{ kind: of, key }], known: has?.[of] ?? false }
    case 'best':
      return { places: [{ kind: bestOf(key), key }], known: has?.last ?? false }
    default:
      return { places: [{ kind: of, key }], known: has?.last ?? false }
  }
}

/**
 * Which of these names have values in the list. Batches whose fields are stored are found by an index; the jobs of the others
 * are read, as the list does.
 */
async function lookUp(
  db: Db,
  { column, keys }: Within,
  names: readonly string[],
): Promise<Map<string, Found>> {
  const within = (row: Fragment, batchKey: Fragment): Fragment =>
    keys === null
      ? db`true`
      : column === 'project_key'
        ? db`${row}.project_key = any (${[...keys]}::bigint[])`
        : db`${batchKey} = any (${[...keys]}::bigint[])`
  const inJobs = within(db`j`, db`j.batch_key`)
  const inBatches = within(db`b`, db`b.key`)
  // A batch is read whole if it is named; of projects only those whose fields are not stored, or may be paths.
  const computed = (batchKey: Fragment, condition: Fragment): Fragment =>
    column === 'batch_key'
      ? condition
      : db`${condition} and ${batchKey} in (
          select u.batch_key from batch_progress u where not u.fields_known
          union all select x.batch_key from batch_fields x where x.field = 'nested' and n.name like '%/%')`
  const stored = (fields: readonly string[]): Fragment =>
    column === 'batch_key'
      ? db`false`
      : db`exists (
          select from batch_fields f ${keys === null ? db`` : db`join batches b on b.key = f.batch_key`}
          where f.field in (${fields.slice(1).reduce((list, prefix) => db`${list}, ${prefix}::text || n.name`, db`${fields[0] ?? ''}::text || n.name`)})
            ${keys === null ? db`` : db`and ${inBatches}`})`
  const hasKey = (json: Fragment): Fragment =>
    db`(${json} ? n.name or n.name like '%/%' and ${json} #> string_to_array(n.name, '/') is not null)`
  const inColumn = (json: Fragment): Fragment =>
    db`exists (select from jobs j where ${computed(db`j.batch_key`, every(db, [inJobs, hasKey(json)]))})`
  const rows = await db<(Found & { name: string })[]>`/* lists.names */
    select n.name,
      ${some(db, [stored(['low.']), inColumn(db`j.params`)])} param,
      ${some(db, [stored(['final.low.']), inColumn(db`j.metrics`)])} final,
      ${some(db, [
        stored(['config.']),
        db`exists (select from batches b where ${computed(db`b.key`, every(db, [inBatches, hasKey(db`b.config`)]))})`,
      ])} config,
      ${some(db, [
        stored(['last.']),
        db`exists (
          select from job_progress p ${column === 'batch_key' || keys === null ? db`` : db`join batches b on b.key = p.batch_key`}
          where ${computed(
            db`p.batch_key`,
            every(db, [
              column === 'batch_key' ? within(db`p`, db`p.batch_key`) : inBatches,
              db`(n.name = any (p.series) or n.name = 'epoch' and coalesce(p.max_step, p.max_epoch) is not null)`,
            ]),
          )})`,
      ])} "last"
    from unnest(${[...names]}::text[]) as n (name)`
  return new Map(rows.map(({ name, ...found }) => [name, found]))
}

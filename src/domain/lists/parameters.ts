import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import type { Query } from '../../query/index.ts'
import { type BatchStatus, batchFields } from '../batches/index.ts'
import { oneOf, oneOfAnyCase, some } from '../conditions.ts'
import type { Field, Fields, FieldType } from '../field.ts'
import { jobFields } from '../jobs/index.ts'
import type { Comparison } from '../json-field.ts'
import { fieldMeets } from './field-conditions.ts'
import { declaredField, type Entity } from './field-kinds.ts'

/**
 * What the lists of batches and of jobs are filtered by: the declared fields with a `filter`, and what is no field. The
 * parameters of REST (http/request/filters.ts), the inputs of GraphQL (graphql/filters.ts), the filters of the domain and the
 * conditions on fields derive from these two tables.
 */

/** What a value of a parameter is; a list takes several, and one of them is enough. */
interface Taken {
  words: string
  ids: string
  states: BatchStatus
  flags: boolean
  numbers: number
  /** All of them must hold. */
  comparisons: Comparison
}
export type Takes = keyof Taken

export interface Parameter<Of extends Takes = Takes> {
  takes: Of
  means: string
  /** The declared field that has one of the values; without it, the list says what the parameter asks. */
  field?: string
  /** Null: not in GraphQL, which has it elsewhere. */
  graphql?: null
}
export type Parameters = Readonly<Record<string, Parameter>>

/** A filter of a list: OR within a parameter, AND between them; an empty one is no condition. */
export type FilterOf<P extends Parameters> = { [Name in keyof P]: Taken[P[Name]['takes']][] } & {
  /** Queries (docs/query.md); all must hold. */
  where: Query[]
}

type Filtered = Field & Required<Pick<Field, 'filter'>>
type TakesOf<Value> = [Value] extends [boolean]
  ? 'flags'
  : [Value] extends [string]
    ? [string] extends [Value]
      ? 'words' | 'ids'
      : 'states'
    : [Value] extends [number | string]
      ? 'numbers'
      : 'words'
type OfFields<F extends Fields> = {
  [Name in keyof F as F[Name] extends Filtered
    ? F[Name] extends { filter: { name: infer Other extends string } }
      ? Other
      : Name
    : never]: F[Name] extends { type: FieldType<infer Value> }
    ? Parameter<TakesOf<NonNullable<Value>>>
    : never
}

/** The parameters that fields declare. */
function ofFields<F extends Fields>(entity: Entity, fields: F): OfFields<F> {
  const parameters = Object.entries(fields).flatMap(([name, { filter, type }]): [string, Parameter][] => {
    if (filter === undefined) return []
    const { name: other = name, ...said } = filter
    return [[other, { takes: takesOf(entity, name, type), field: name, ...said }]]
  })
  // The entries are those of the table; the type of `Object.fromEntries` does not know that.
  return Object.fromEntries(parameters) as unknown as OfFields<F>
}

function takesOf(entity: Entity, name: string, { graphql }: FieldType): Takes {
  switch (declaredField(entity, name).kind) {
    case 'status':
      return 'states'
    case 'flag':
      return 'flags'
    case 'number':
      return 'numbers'
    case 'time':
      throw new TypeError(`${name} is a time, which only a query can ask for`)
    default:
      return graphql === 'ID' ? 'ids' : 'words'
  }
}

export const BATCH_PARAMETERS = {
  ...ofFields('batch', batchFields),
  q: { takes: 'words', means: 'Text in its id, name, group, experiment type, command, notes or tags' },
} as const satisfies Parameters

export const JOB_PARAMETERS = {
  project: { takes: 'words', means: 'Slug of a project', graphql: null },
  ...ofFields('job', jobFields),
  q: { takes: 'words', means: 'Text in its id, model or dataset' },
  params: { takes: 'comparisons', means: 'A condition on a parameter' },
  final_metrics: { takes: 'comparisons', means: 'A condition on a metric of job_done' },
  latest: { takes: 'comparisons', means: 'A condition on the last value of a series, or on `epoch`' },
} as const satisfies Parameters

/** The filter without a condition. */
export const everything = <P extends Parameters>(parameters: P): FilterOf<P> =>
  // One list for each name of the table, and one more.
  Object.fromEntries(
    [...Object.keys(parameters), 'where'].map((name) => [name, []]),
  ) as unknown as FilterOf<P>

/**
 * The conditions on the declared fields of a row `t`.
 * @param isHidden whether the caller may not know a field: a filter must not reveal it
 */
export function fieldsMeet<P extends Parameters>(
  db: Db,
  listed: Entity,
  parameters: P,
  filter: FilterOf<P>,
  isHidden: (exposure: Field['public']) => boolean = () => false,
): Fragment[] {
  const given = filter as Readonly<Record<string, readonly unknown[]>>
  return Object.entries(parameters).flatMap(([name, { field: of, takes }]) => {
    const values = given[name] ?? []
    if (of === undefined || values.length === 0) return []
    const field = declaredField(listed, of)
    if (isHidden(field.exposure)) return [db`false`]
    const own = field.value(db, db`t`)
    // Each in the form that its index has.
    switch (field.kind) {
      case 'flag':
        return new Set(values).size === 2 ? [] : [values[0] === true ? own : db`not ${own}`]
      case 'status':
        return [oneOf(db, own, values.map(String))]
      case 'words': {
        const has = db`filter_texts(${own}) && filter_texts(${values.map(String)}::text[])`
        return [listed === 'job' ? db`${own} <> '{}' and ${has}` : has]
      }
      case 'word':
      case 'text':
        return [
          takes === 'ids'
            ? db`${own} = any (${values.map(String)}::text[])`
            : oneOfAnyCase(db, own, values.map(String)),
        ]
      default:
        return [
          some(
            db,
            values.map((value) => fieldMeets(db, field, db`t`, { op: 'eq', value: String(value) })),
          ),
        ]
    }
  })
}

import type { FieldKind, FieldKinds } from '../../query/index.ts'
import { batchFields } from '../batches/index.ts'
import type { Field, Fields } from '../field.ts'
import { jobFields } from '../jobs/index.ts'

/**
 * The declared fields of batches and jobs as queries find and order by them: columns, and fields with a `value`. A field that
 * depends on the clock or is a structure has none, so it is not found.
 */

export type Entity = 'batch' | 'job'

const TABLES: Record<Entity, Fields> = { batch: batchFields, job: jobFields }

function kindOf(name: string, { type, column, value, whole }: Field): FieldKind | undefined {
  if (column === undefined && value === undefined) return undefined
  if (name === 'status') return 'status'
  if (whole) return 'word'
  if (type.list) return 'words'
  switch (type.graphql) {
    case 'Boolean':
      return 'flag'
    case 'DateTime':
      return 'time'
    case 'Int':
    case 'Step':
    case 'Float':
    case 'Number':
      return 'number'
    case 'JSON':
    case null:
      return undefined
    default:
      return 'text'
  }
}

const kindsOf = (entity: Entity): Record<string, FieldKind> =>
  Object.fromEntries(
    Object.entries(TABLES[entity]).flatMap(([name, field]) => {
      const kind = kindOf(name, field)
      return kind === undefined ? [] : [[name, kind]]
    }),
  )
const OWN: Record<Entity, FieldKinds> = { batch: kindsOf('batch'), job: kindsOf('job') }

/** The fields that queries over batches or over jobs know. Of a name that both have, the listed entity's own field. */
export const FIELD_KINDS: Record<Entity, FieldKinds> = {
  batch: { ...OWN.job, ...OWN.batch },
  job: { ...OWN.batch, ...OWN.job },
}

/** The names of their own fields, which the page offers. */
export const OWN_FIELDS: Record<Entity, readonly string[]> = {
  batch: Object.keys(OWN.batch),
  job: Object.keys(OWN.job),
}

export interface DeclaredField {
  entity: Entity
  name: string
  kind: FieldKind
  /** Whether a row may be without it. */
  nullable: boolean
  /** What an anonymous share shows of it. */
  exposure: Field['public']
  value: NonNullable<Field['value']>
}

/** The field of this name in a list of this entity. */
export function declaredField(listed: Entity, name: string): DeclaredField {
  const entity = Object.hasOwn(OWN[listed], name) ? listed : listed === 'batch' ? 'job' : 'batch'
  const field = TABLES[entity][name]
  const kind = OWN[entity][name]
  if (field === undefined || kind === undefined) throw new TypeError(`${name} is not a field of lists`)
  const { column } = field
  return {
    entity,
    name,
    kind,
    nullable: field.type.nullable,
    exposure: field.public,
    value:
      field.value ??
      ((db, row) => db`${row}.${db(column ?? name)}${kind === 'number' ? db`::float8` : db``}`),
  }
}

/** Columns of jobs that job_start brings, and that are parameters under `param.` too. */
export const sentField = (name: string): { column: string; isNumber: boolean } | undefined => {
  const field = Object.hasOwn(jobFields, name) ? (jobFields as Fields)[name] : undefined
  return field?.sent?.by === 'job_start' && field.column !== undefined
    ? { column: field.column, isNumber: field.type.graphql === 'Int' || field.type.graphql === 'Step' }
    : undefined
}

/** Their names. */
export const SENT_FIELDS: readonly string[] = OWN_FIELDS.job.filter((name) => sentField(name) !== undefined)

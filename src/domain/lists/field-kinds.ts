import type { Fragment } from 'postgres'
import type { Db } from '../../db/sql.ts'
import type { FieldKind, FieldKinds } from '../../query/index.ts'
import { batchFields } from '../batches/index.ts'
import type { Field, Fields } from '../field.ts'
import { jobFields } from '../jobs/index.ts'

/**
 * The declared fields of batches and jobs as queries find and order by them. A field that is a column is found without further
 * work; here are the others. A field that depends on the clock or is a structure is not found.
 */

export type Entity = 'batch' | 'job'

/** A value over a row of batches or jobs, whose alias is `row`. */
type ValueOf = (db: Db, row: Fragment) => Fragment

/** Names that are compared as a whole. */
const WORDS = new Set(['project', 'owner', 'host', 'user', 'group', 'rerun_of', 'batch_id'])

const seconds = (db: Db, from: Fragment, to: Fragment): Fragment =>
  db`greatest(0, extract(epoch from ${to} - ${from}))::float8`
const progressOf = (db: Db, row: Fragment, value: Fragment): Fragment =>
  db`(select ${value} from batch_progress fp where fp.batch_key = ${row}.key)`
const stepsOf = (db: Db, row: Fragment, value: Fragment): Fragment =>
  db`(select ${value} from job_progress fp where fp.job_key = ${row}.key)`
const reported = (db: Db, row: Fragment, name: string): Fragment =>
  db`coalesce((${row}.reported ->> ${name}::text)::float8, 0)`

const DERIVED: Record<Entity, Record<string, ValueOf>> = {
  batch: {
    project: (db, row) => db`(select fq.slug from projects fq where fq.key = ${row}.project_key)`,
    owner: (db, row) => db`(select fu.name from users fu where fu.id = ${row}.owner_id)`,
    stop_requested: (db, row) => db`(${row}.stop_requested_at is not null)`,
    n_done: (db, row) =>
      progressOf(db, row, db`greatest(${reported(db, row, 'n_done')}, fp.n_completed)::float8`),
    n_failed: (db, row) =>
      progressOf(db, row, db`greatest(${reported(db, row, 'n_failed')}, fp.n_failed)::float8`),
    n_running: (db, row) => progressOf(db, row, db`fp.n_running::float8`),
    last_seen_at: (db, row) => progressOf(db, row, db`fp.last_seen_at`),
    last_received_at: (db, row) => progressOf(db, row, db`fp.last_received_at`),
    elapsed_s: (db, row) =>
      db`coalesce((${row}.reported ->> 'elapsed_s')::float8, ${progressOf(
        db,
        row,
        seconds(
          db,
          db`${row}.started_at`,
          db`case ${row}.status when 'running' then now() else fp.last_seen_at end`,
        ),
      )})`,
    progress: (db, row) =>
      progressOf(
        db,
        row,
        db`(fp.n_completed + fp.n_failed + fp.n_stopped)::float8
          / nullif(greatest(${row}.n_total, fp.n_completed + fp.n_failed + fp.n_stopped), 0)`,
      ),
  },
  job: {
    batch_id: (db, row) => db`(select fb.id from batches fb where fb.key = ${row}.batch_key)`,
    epochs: (db, row) => stepsOf(db, row, db`fp.epochs::float8`),
    elapsed_s: (db, row) =>
      db`coalesce(${row}.reported_s, ${stepsOf(
        db,
        row,
        seconds(
          db,
          db`${row}.started_at`,
          db`case ${row}.status when 'running' then now() else fp.last_seen_at end`,
        ),
      )})`,
  },
}

const TABLES: Record<Entity, Fields> = { batch: batchFields, job: jobFields }

function kindOf(entity: Entity, name: string, { type, column }: Field): FieldKind | undefined {
  if (column === undefined && !Object.hasOwn(DERIVED[entity], name)) return undefined
  if (name === 'status') return 'status'
  if (WORDS.has(name)) return 'word'
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
      const kind = kindOf(entity, name, field)
      return kind === undefined ? [] : [[name, kind]]
    }),
  )
const OWN: Record<Entity, FieldKinds> = { batch: kindsOf('batch'), job: kindsOf('job') }

/** The fields that queries over batches or over jobs know. Of a name that both have, the listed entity's own field. */
export const FIELD_KINDS: Record<Entity, FieldKinds> = {
  batch: { ...OWN.job, ...OWN.batch },
  job: { ...OWN.batch, ...OWN.job },
}

export interface DeclaredField {
  entity: Entity
  name: string
  kind: FieldKind
  /** Whether a row may be without it. */
  nullable: boolean
  /** What an anonymous share shows of it. */
  exposure: Field['public']
  value: ValueOf
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
      DERIVED[entity][name] ??
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

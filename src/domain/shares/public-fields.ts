import { type Attempt, attemptFields } from '../attempts/index.ts'
import { type BatchView, batchFields } from '../batches/index.ts'
import type { Exposure, Fields } from '../field.ts'
import { type JobView, jobFields } from '../jobs/index.ts'

/**
 * The fields of a batch and of a job that callers without an account see, from the tables of fields (`public`). GraphQL
 * uses the same tables (graphql/public-fields.ts).
 */
type Exposed = readonly (readonly [field: string, how: Exclude<Exposure, 'hidden'>, empty: null | ''])[]

const exposedOf = (fields: Fields): Exposed =>
  Object.entries(fields).flatMap(([name, field]) =>
    field.public === 'hidden' ? [] : [[name, field.public, field.type.nullable ? null : ''] as const],
  )

export const PUBLIC_BATCH = exposedOf(batchFields)
export const PUBLIC_JOB = exposedOf(jobFields)
const PUBLIC_ATTEMPT = exposedOf(attemptFields)

/** A batch for callers without an account: only its declared fields. */
export const publicBatch = (batch: BatchView): BatchView => declared(batch, PUBLIC_BATCH)
export const publicJob = (job: JobView): JobView => declared(job, PUBLIC_JOB)

/** An attempt as a share shows it; `text` leaves a text unchanged, or makes it anonymous. */
export const sharedAttempt = (attempt: Attempt, text: <T>(value: T) => T): Attempt =>
  exposed(attempt, PUBLIC_ATTEMPT, text)

/** The public fields of a view as an anonymous share shows them. */
export const exposed = <View extends object>(view: View, fields: Exposed, scrub: <T>(value: T) => T): View =>
  mapped(view, fields, (value, how, empty) =>
    how === 'shown' ? value : how === 'scrubbed' ? scrub(value) : empty,
  )

const declared = <View extends object>(view: View, fields: Exposed): View =>
  mapped(view, fields, (value) => value)

/** Hidden fields are absent from the result, though its type still names them. */
function mapped<View extends object>(
  view: View,
  fields: Exposed,
  value: (value: unknown, how: Exposed[number][1], empty: null | '') => unknown,
): View {
  const result: Record<string, unknown> = {}
  for (const [field, how, empty] of fields) {
    if (field in view) result[field] = value(view[field as keyof View], how, empty)
  }
  return result as View
}

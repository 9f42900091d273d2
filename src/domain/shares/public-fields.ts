import type { BatchView } from '../batches/index.ts'
import type { JobView } from '../jobs/index.ts'

/**
 * What callers without an account are shown of a batch and of a job: visitors of public projects and holders of a share
 * link. A field that is not declared here is left out of every answer to them, so a new field is private until somebody
 * decides that it is public. The values say what an anonymous share (contract §4 "Shares") makes of the field:
 *
 *  shown      as it is
 *  scrubbed   with names of people and hosts, and paths, replaced in all of its texts
 *  empty      null, or an empty text where the field cannot be null
 *
 * GraphQL holds its fields to lists of their own (graphql/public-fields.ts).
 */
export type Exposure = 'shown' | 'scrubbed' | 'empty'
type Declared<View> = { readonly [Field in keyof View]?: Exposure }

/** Fields that cannot be null, as they are when empty. */
const EMPTY: Readonly<Record<string, unknown>> = { notes: '' }

export const PUBLIC_BATCH: Declared<BatchView> = {
  id: 'shown',
  name: 'scrubbed',
  project: 'shown',
  status: 'shown',
  stalled: 'shown',
  stop_requested: 'shown',
  owner: 'empty',
  host: 'empty',
  host_id: 'empty',
  user: 'empty',
  commit: 'shown',
  command: 'scrubbed',
  experiment_type: 'scrubbed',
  tags: 'scrubbed',
  // What a run was given, wrote and left behind may name people, hosts and folders in words of its own.
  notes: 'empty',
  config: 'empty',
  traceback: 'empty',
  group: 'scrubbed',
  summary: 'scrubbed',
  starred: 'shown',
  archived: 'shown',
  n_total: 'shown',
  n_done: 'shown',
  n_failed: 'shown',
  n_running: 'shown',
  slots: 'shown',
  started_at: 'shown',
  ended_at: 'shown',
  last_seen_at: 'shown',
  last_received_at: 'shown',
  clock_skew_s: 'shown',
  progress: 'shown',
  elapsed_s: 'shown',
  eta_s: 'shown',
  failure_reason: 'scrubbed',
  // Its host and folder are taken out by `anonymous` (share.ts) before its command is scrubbed.
  env_snapshot: 'scrubbed',
  rerun_of: 'shown',
  deleted_at: 'shown',
  can: 'shown',
}

export const PUBLIC_JOB: Declared<JobView> = {
  batch_id: 'shown',
  id: 'shown',
  key: 'shown',
  status: 'shown',
  model: 'scrubbed',
  dataset: 'scrubbed',
  params: 'scrubbed',
  started_at: 'shown',
  ended_at: 'shown',
  elapsed_s: 'shown',
  epochs: 'shown',
  latest: 'shown',
  metrics: 'scrubbed',
  failure_reason: 'scrubbed',
  traceback: 'empty',
  step_unit: 'scrubbed',
  pruned: 'shown',
  idle: 'shown',
  eta_s: 'shown',
}

/** A batch as callers without an account are shown it: its declared fields alone. */
export const publicBatch = (batch: BatchView): BatchView => declared(batch, PUBLIC_BATCH)
export const publicJob = (job: JobView): JobView => declared(job, PUBLIC_JOB)

/** The declared fields of a view as an anonymous share shows them. */
export function exposed<View extends object>(
  view: View,
  fields: Declared<View>,
  scrub: <T>(value: T) => T,
): View {
  return mapped(view, fields, (value, how, field) =>
    how === 'shown' ? value : how === 'scrubbed' ? scrub(value) : (EMPTY[String(field)] ?? null),
  )
}

const declared = <View extends object>(view: View, fields: Declared<View>): View =>
  mapped(view, fields, (value) => value)

/** Undeclared fields are absent from the result, though its type still names them. */
function mapped<View extends object>(
  view: View,
  fields: Declared<View>,
  value: (value: unknown, how: Exposure, field: keyof View) => unknown,
): View {
  const result: Partial<Record<keyof View, unknown>> = {}
  for (const [field, how] of Object.entries(fields) as [keyof View, Exposure][]) {
    if (field in view) result[field] = value(view[field], how, field)
  }
  return result as View
}

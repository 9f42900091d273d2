import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { visibleJob } from './reads.ts'

/** The fields of a job that users may change; undefined ones keep their values. */
export interface JobEdit {
  /** Markdown. */
  notes?: string | undefined
  tags?: string[] | undefined
}

/**
 * Changes the given fields. Events never change them.
 * @returns the job's key
 * @throws Problem job_not_found, forbidden
 */
export async function editJob(
  tx: Tx,
  actor: Known,
  key: string,
  change: JobEdit,
  now: Date,
): Promise<{ result: number; changes: Change[] }> {
  const { job, batch } = await visibleJob(tx, actor, key)
  if (!batch.may('edit')) throw new Problem('forbidden')
  const fields = Object.entries(change).flatMap(([field, value]) => (value === undefined ? [] : [field]))
  const { notes = null, tags = null } = change
  if (fields.length === 0) return { result: job.key, changes: [] }
  await tx`/* jobs.lock_batch */
    select from batches b join batch_progress p on p.batch_key = b.key
    where b.key = ${batch.key} order by b.key for no key update of p, b`
  await tx`/* jobs.edit */
    update jobs set notes = coalesce(${notes}, notes), tags = coalesce(${tags}::text[], tags) where key = ${job.key}`
  const detail = { project: batch.projectSlug, job: job.id, fields, ...(tags && { tags }) }
  await recordAudit(tx, actor, { action: 'job.edited', subject: `batch:${batch.id}`, detail }, now)
  const changed = { channel: `batch:${batch.id}` as const, batchKey: batch.key }
  return { result: job.key, changes: [{ ...changed, type: 'summary', keys: [job.key] }] }
}

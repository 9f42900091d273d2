import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { changesTags, editedTags, type TagEdit } from '../tags.ts'
import { visibleJob } from './reads.ts'

/** The fields of a job that users may change; undefined ones keep their values. */
export interface JobEdit extends TagEdit {
  /** Markdown. */
  notes?: string | undefined
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
  const { notes = null } = change
  const fields = [...(notes === null ? [] : ['notes']), ...(changesTags(change) ? ['tags'] : [])]
  if (fields.length === 0) return { result: job.key, changes: [] }
  await tx`/* jobs.lock_batch */
    select from batches b join batch_progress p on p.batch_key = b.key
    where b.key = ${batch.key} order by b.key for no key update of p, b`
  const tags = changesTags(change) ? editedTags(await tagsOf(tx, job.key), change) : null
  await tx`/* jobs.edit */
    update jobs set notes = coalesce(${notes}, notes), tags = coalesce(${tags}::text[], tags) where key = ${job.key}`
  const detail = { project: batch.projectSlug, job: job.id, fields, ...(tags && { tags }) }
  await recordAudit(tx, actor, { action: 'job.edited', subject: `batch:${batch.id}`, detail }, now)
  const changed = { channel: `batch:${batch.id}` as const, batchKey: batch.key }
  return { result: job.key, changes: [{ ...changed, type: 'summary', keys: [job.key] }] }
}

async function tagsOf(tx: Tx, key: number): Promise<string[]> {
  const [row] = await tx<{ tags: string[] }[]>`/* jobs.tags */ select tags from jobs where key = ${key}`
  return row?.tags ?? []
}

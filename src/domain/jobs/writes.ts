import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { visibleJob } from './reads.ts'

/**
 * Changes the notes of a job. Events never write them.
 * @returns the job's key
 * @throws Problem job_not_found, forbidden
 */
export async function editJob(
  tx: Tx,
  actor: Known,
  key: string,
  change: { notes?: string | undefined },
  now: Date,
): Promise<{ result: number; changes: Change[] }> {
  const { job, batch } = await visibleJob(tx, actor, key)
  if (!batch.may('edit')) throw new Problem('forbidden')
  const { notes } = change
  if (notes === undefined) return { result: job.key, changes: [] }
  await tx`/* jobs.lock_batch */
    select from batches b join batch_progress p on p.batch_key = b.key
    where b.key = ${batch.key} order by b.key for no key update of p, b`
  await tx`/* jobs.edit */ update jobs set notes = ${notes} where key = ${job.key}`
  const detail = { project: batch.projectSlug, job: job.id, fields: ['notes'] }
  await recordAudit(tx, actor, { action: 'job.edited', subject: `batch:${batch.id}`, detail }, now)
  const changed = { channel: `batch:${batch.id}` as const, batchKey: batch.key }
  return { result: job.key, changes: [{ ...changed, type: 'summary', keys: [job.key] }] }
}

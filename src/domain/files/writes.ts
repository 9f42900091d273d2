import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { visibleBatch } from '../access.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { isStorable } from '../storable-text.ts'
import { filesChanged } from './declare.ts'

/**
 * Removes a file from its batch. Its content goes when nothing else refers to it.
 * @throws Problem batch_not_found, file_not_found, forbidden
 */
export async function deleteFile(
  tx: Tx,
  actor: Known,
  { batchId, path }: { batchId: string; path: string },
  now: Date,
): Promise<{ result: undefined; changes: Change[] }> {
  const batch = await visibleBatch(tx, actor, batchId)
  if (!batch.may('delete')) throw new Problem('forbidden')
  if (!isStorable(path)) throw new Problem('file_not_found')
  const claims = await tx`/* files.delete_claim */
    delete from file_claims where batch_key = ${batch.key} and path = ${path}`
  const [gone] = await tx<{ sha256: string; size: number }[]>`/* files.delete */
    delete from batch_files f using contents c
    where f.batch_key = ${batch.key} and f.path = ${path} and c.key = f.content_key
    returning encode(c.sha256, 'hex') sha256, c.size`
  if (gone === undefined && claims.count === 0) throw new Problem('file_not_found')
  await recordAudit(
    tx,
    actor,
    {
      action: 'file.deleted',
      subject: `batch:${batch.id}`,
      detail: { project: batch.projectSlug, path, ...gone },
    },
    now,
  )
  return { result: undefined, changes: filesChanged([batch]) }
}

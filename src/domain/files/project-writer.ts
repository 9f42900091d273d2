import type { Db } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { type BatchAccess, callerMay, type ProjectFacts, visibleBatch } from '../access.ts'
import type { Caller, Known } from '../caller.ts'

/** Whether the credential is a token that sends events: of a reporter, of an agent, or of a rerun. */
export const isSender = (caller: Caller): caller is Known =>
  caller.kind === 'known' && (caller.via === 'reporter' || caller.via === 'agent' || caller.via === 'rerun')

/**
 * Refuses all but tokens that send events (contract §11 "Files").
 * @throws Problem unauthenticated, forbidden
 */
export function requireSender(caller: Caller): Known {
  if (caller.kind === 'anonymous') throw new Problem('unauthenticated')
  if (isSender(caller)) return caller
  throw new Problem('forbidden', {
    detail: 'Files are sent with a reporter token, an agent token or the token of a rerun',
  })
}

/**
 * The batch, a deleted one too, if the caller may send its events.
 * @throws Problem batch_not_found, forbidden
 */
export async function writableBatch(db: Db, caller: Known, batchId: string): Promise<BatchAccess> {
  const batch = await visibleBatch(db, caller, batchId, { polling: true, deleted: true })
  if (!batch.may('send_events')) throw new Problem('forbidden')
  return batch
}

/**
 * Whether the caller may write to the project now; the token of a rerun, if its batch is in it.
 * @param projectKey of an existing project
 */
export async function mayWriteTo(db: Db, caller: Known, projectKey: number): Promise<boolean> {
  const ownBatch = caller.via === 'rerun' ? (caller.batchId ?? '') : null
  const [row] = await db<(Omit<ProjectFacts, 'ownerId'> & { owner_id: string })[]>`/* files.project_facts */
    select p.visibility, p.owner_id, m.role from projects p
    left join project_members m on m.project_key = p.key and m.user_id = ${caller.user.id}
    where p.key = ${projectKey} and (${ownBatch}::text is null or exists (
      select from batches b where b.id = ${ownBatch} and b.project_key = p.key and b.purged_at is null))`
  if (row === undefined) return false
  return callerMay('send_events', caller, { ...row, ownerId: row.owner_id })
}

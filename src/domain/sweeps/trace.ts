import type { Tx } from '../../db/sql.ts'
import type { Change } from '../../stream/change.ts'
import type { BatchAccess } from '../access.ts'
import { type AuditEntry, recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'

/** The result of a write and its changes, as `commit` expects them. */
export interface Done<T> {
  result: T
  changes: Change[]
}

/** Records who did that, for the audit log and the timeline. */
export const auditSweep = (
  tx: Tx,
  actor: Known,
  {
    action,
    batch,
    sweep,
    detail,
  }: { action: AuditEntry['action']; batch: BatchAccess; sweep: string; detail?: Record<string, unknown> },
  now: Date,
): Promise<void> =>
  recordAudit(
    tx,
    actor,
    { action, subject: `batch:${batch.id}`, detail: { project: batch.projectSlug, sweep, ...detail } },
    now,
  )

/** What followers of the batch and of its project see. */
export const sweepChanges = ({ id, key, projectSlug }: BatchAccess): Change[] => [
  { channel: `batch:${id}`, type: 'summary', batchKey: key, keys: [] },
  { channel: `batch:${id}`, type: 'commands', batchKey: key, keys: [] },
  { channel: `project:${projectSlug}`, type: 'batches', keys: [key] },
]

import type { Tx } from '../db/sql.ts'
import type { Known } from './caller.ts'

/** What is written down so that somebody can answer for it later. `subject` names its kind: `user:<id>`. */
export interface AuditEntry {
  action:
    | 'user.role_changed'
    | 'user.disabled'
    | 'user.enabled'
    | 'signing_key.rotated'
    | 'token.created'
    | 'token.revoked'
  subject: `${string}:${string}`
  /** Never a secret. */
  detail?: Record<string, unknown>
}

/** Writes an entry in the transaction of the deed itself, so that neither stands without the other. */
export async function recordAudit(tx: Tx, actor: Known, entry: AuditEntry, now: Date): Promise<void> {
  await tx`/* audit.record */
    insert into audit_log (at, actor_id, via, action, subject, detail)
    values (${now.toISOString()}, ${actor.user.id}, ${actor.via}, ${entry.action}, ${entry.subject},
            ${JSON.stringify(entry.detail ?? {})}::text::jsonb)`
}

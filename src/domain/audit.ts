import type { Db, Tx } from '../db/sql.ts'
import type { Actor, Known } from './caller.ts'

/** What is written down so that somebody can answer for it later. `subject` names its kind: `user:<id>`. */
export interface AuditEntry {
  action:
    | 'user.role_changed'
    | 'user.disabled'
    | 'user.enabled'
    | 'user.password_reset'
    | 'identity.linked'
    | 'identity.unlinked'
    | 'signing_key.rotated'
    | 'token.created'
    | 'token.revoked'
    | 'batch.stop_requested'
    | 'batch.rerun_requested'
    | 'batch.command_cancelled'
    | 'agent.registered'
    | 'agent.revoked'
    | 'batch.edited'
    | 'batch.deleted'
    | 'batch.restored'
    | 'share.created'
    | 'share.revoked'
    | 'project.created'
    | 'project.renamed'
    | 'project.visibility_changed'
    | 'project.member_set'
    | 'project.member_removed'
    | 'project.recipients_changed'
    | 'rule.created'
    | 'rule.changed'
    | 'rule.deleted'
    | 'rule.tested'
    | 'batch.muted'
    | 'batch.unmuted'
  subject: `${string}:${string}`
  /** Never a secret. */
  detail?: Record<string, unknown>
}

/** Writes an entry in the transaction of the deed itself, so that neither stands without the other. */
export const recordAudit = (tx: Tx, actor: Actor, entry: AuditEntry, now: Date): Promise<void> =>
  recordAudits(tx, actor, [entry], now)

/** Several entries of one deed. */
export async function recordAudits(tx: Tx, actor: Actor, entries: AuditEntry[], now: Date): Promise<void> {
  const [id, via] = actor.kind === 'known' ? [actor.user.id, actor.via] : [null, actor.kind]
  await tx`/* audit.record */
    insert into audit_log (at, actor_id, via, action, subject, detail)
    select ${now.toISOString()}::timestamptz, ${id}::uuid, ${via}, action, subject, coalesce(detail, '{}')
    from jsonb_to_recordset(${JSON.stringify(entries)}::text::jsonb) as x (action text, subject text, detail jsonb)`
}

export interface AuditRecord {
  id: number
  at: string
  /** Null once the account is gone, and for an operator. */
  actor: { id: string; name: string } | null
  via: Known['via'] | 'operator'
  action: AuditEntry['action']
  subject: string
  detail: Record<string, unknown>
}

/** Stands for a command that only the owner of its batch may read: it may carry a secret. */
export const REDACTED = '[redacted]'

/**
 * The log, newest first: `limit` entries before `after`, of one subject or of all.
 * @param reader the administrator who reads: commands of other people's batches are redacted
 */
export async function listAudit(
  db: Db,
  reader: { userId: string },
  page: { limit: number; after: number | undefined; subject: string | undefined },
): Promise<AuditRecord[]> {
  const { limit, after, subject } = page
  return db<AuditRecord[]>`/* audit.list */
    select a.id, a.at, case when u.id is null then null else jsonb_build_object('id', u.id, 'name', u.name) end actor,
      a.via, a.action, a.subject,
      case when a.detail ? 'command' and not exists (
          select from batches b where a.subject like 'batch:%' and b.id = substr(a.subject, 7) and b.owner_id = ${reader.userId}::uuid)
        then a.detail || jsonb_build_object('command', ${REDACTED}::text) else a.detail end detail
    from audit_log a left join users u on u.id = a.actor_id
    where ${after === undefined ? db`true` : db`a.id < ${after}`}
      and ${subject === undefined ? db`true` : db`a.subject = ${subject}`}
    order by a.id desc limit ${limit}`
}

/** How many entries there are, of one subject or of all. */
export async function countAudit(db: Db, subject: string | undefined): Promise<number> {
  const [row] = await db<{ n: number }[]>`/* audit.count */
    select count(*)::int n from audit_log a where ${subject === undefined ? db`true` : db`a.subject = ${subject}`}`
  return row?.n ?? 0
}

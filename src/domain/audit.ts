import type { Db, Tx } from '../db/sql.ts'
import type { Actor, Known } from './caller.ts'

/** What is written down so that somebody can answer for it later. `subject` names its kind: `user:<id>`. */
export interface AuditEntry {
  action:
    | 'user.registered'
    | 'user.signed_in'
    | 'user.sign_in_failed'
    | 'user.signed_out'
    | 'user.password_changed'
    | 'user.totp_enabled'
    | 'user.totp_disabled'
    | 'user.recovery_codes_made'
    | 'user.recovery_code_used'
    | 'user.factors_reset'
    | 'passkey.created'
    | 'passkey.renamed'
    | 'passkey.deleted'
    | 'session.closed'
    | 'user.role_changed'
    | 'user.disabled'
    | 'user.enabled'
    | 'user.password_reset'
    | 'user.address_verified'
    | 'user.address_released'
    | 'identity.linked'
    | 'identity.unlinked'
    | 'signing_key.rotated'
    | 'token.created'
    | 'token.revoked'
    | 'batch.stop_requested'
    | 'batch.ended'
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
    | 'project.member_invited'
    | 'project.invitation_accepted'
    | 'project.invitation_declined'
    | 'project.invitation_withdrawn'
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
  const [id, via, address] = whoDid(actor)
  await tx`/* audit.record */
    insert into audit_log (at, actor_id, via, address, action, subject, detail)
    select ${now.toISOString()}::timestamptz, ${id}::uuid, ${via}, ${address}, action, subject, coalesce(detail, '{}')
    from jsonb_to_recordset(${JSON.stringify(entries)}::text::jsonb) as x (action text, subject text, detail jsonb)`
}

function whoDid(actor: Actor): [id: string | null, via: AuditRecord['via'], address: string | null] {
  if (actor.kind === 'known') return [actor.user.id, actor.via, actor.address ?? null]
  if (actor.kind === 'visitor') return [actor.user?.id ?? null, 'sign-in', actor.address]
  return [null, 'operator', null]
}

export interface AuditRecord {
  id: number
  at: string
  /** Null once the account is gone, for an operator, and for a sign-in that failed. */
  actor: { id: string; name: string } | null
  via: Known['via'] | 'operator' | 'sign-in'
  /** The network address that the request came from; null for what came from none, and before it was recorded. */
  address: string | null
  action: AuditEntry['action']
  subject: string
  detail: Record<string, unknown>
}

/** Stands for a command that only the owner of its batch may read: it may carry a secret. */
export const REDACTED = '[redacted]'

/** Which entries: all that meet every condition given. */
export interface AuditFilter {
  subject?: string | undefined
  /** An action such as `token.created`, or the beginning of some: `token.`. */
  action?: string | undefined
  /** The id of an account, or its e-mail address. */
  actor?: string | undefined
  address?: string | undefined
  /** From this time on. */
  from?: string | undefined
  /** Before this time. */
  to?: string | undefined
}

/**
 * The log, newest first: `limit` entries before `after`.
 * @param reader the administrator who reads: commands of other people's batches are redacted
 */
export async function listAudit(
  db: Db,
  reader: { userId: string },
  page: AuditFilter & { limit: number; after: number | undefined },
): Promise<AuditRecord[]> {
  return db<AuditRecord[]>`/* audit.list */
    select a.id, a.at, case when u.id is null then null else jsonb_build_object('id', u.id, 'name', u.name) end actor,
      a.via, a.address, a.action, a.subject,
      case when a.detail ? 'command' and not exists (
          select from batches b where a.subject like 'batch:%' and b.id = substr(a.subject, 7) and b.owner_id = ${reader.userId}::uuid)
        then a.detail || jsonb_build_object('command', ${REDACTED}::text) else a.detail end detail
    from audit_log a left join users u on u.id = a.actor_id
    where ${page.after === undefined ? db`true` : db`a.id < ${page.after}`} and ${matches(db, page)}
    order by a.id desc limit ${page.limit}`
}

/** How many entries there are. */
export async function countAudit(db: Db, filter: AuditFilter): Promise<number> {
  const [row] = await db<{ n: number }[]>`/* audit.count */
    select count(*)::int n from audit_log a where ${matches(db, filter)}`
  return row?.n ?? 0
}

/** Entries that one statement of an export reads. */
const PIECE = 1_000

/** All entries as `listAudit` shows them, in pieces: flat memory however long the log is. */
export async function* exportAudit(
  db: Db,
  reader: { userId: string },
  filter: AuditFilter,
): AsyncGenerator<AuditRecord[]> {
  let after: number | undefined
  do {
    const entries = await listAudit(db, reader, { ...filter, limit: PIECE, after })
    if (entries.length > 0) yield entries
    after = entries.length < PIECE ? undefined : entries.at(-1)?.id
  } while (after !== undefined)
}

function matches(db: Db, { subject, action, actor, address, from, to }: AuditFilter) {
  const all = db`true`
  return db`
    ${subject === undefined ? all : db`a.subject = ${subject}`}
    and ${action === undefined ? all : action.endsWith('.') ? db`starts_with(a.action, ${action})` : db`a.action = ${action}`}
    and ${actor === undefined ? all : db`a.actor_id in (select id from users where id::text = ${actor} or email_key = ${actor.toLowerCase()})`}
    and ${address === undefined ? all : db`a.address = ${address}`}
    and ${from === undefined ? all : db`a.at >= ${from}::timestamptz`}
    and ${to === undefined ? all : db`a.at < ${to}::timestamptz`}`
}

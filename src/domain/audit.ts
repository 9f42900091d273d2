import { isRecord } from '../checked.ts'
import type { Prisma, PrismaClient } from '../db/prisma.ts'
import type { Tx } from '../db/sql.ts'
import type { Actor, Known } from './caller.ts'
import { type Fields, instant, json, nullable, person, serial, text, type ViewOf } from './field.ts'
import { recordRows } from './record-rows.ts'
import { isUuid } from './uuid.ts'

/** An entry of the audit log. `subject` begins with its kind: `user:<id>`. */
export interface AuditEntry {
  action:
    | 'user.registered'
    | 'user.signed_in'
    | 'user.sign_in_failed'
    | 'user.locked_out'
    | 'user.proof_refused'
    | 'user.signed_out'
    | 'administration.refused'
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
    | 'file.deleted'
    | 'artifact.aliases_changed'
    | 'artifact.deleted'
    | 'job.edited'
    | 'report.shared'
    | 'report.unshared'
    | 'comment.deleted'
    | 'sweep.created'
    | 'sweep.paused'
    | 'sweep.resumed'
    | 'sweep.extended'
    | 'sweep.edited'
    | 'sweep.queued'
    | 'sweep.stopped'
    | 'sweep.workers_started'
  subject: `${string}:${string}`
  /** It never contains a secret. */
  detail?: Record<string, unknown>
}

/** Writes an entry in the transaction of the action, so that neither is stored without the other. */
export const recordAudit = (tx: Tx, actor: Actor, entry: AuditEntry, now: Date): Promise<void> =>
  recordAudits(tx, actor, [entry], now)

/** Writes several entries of one action. */
export async function recordAudits(tx: Tx, actor: Actor, entries: AuditEntry[], now: Date): Promise<void> {
  const [id, via, address] = actorCondition(actor)
  await tx`/* audit.record */
    insert into audit_log (at, actor_id, via, address, action, subject, detail)
    select ${now.toISOString()}::timestamptz, ${id}::uuid, ${via}, ${address}, action, subject, coalesce(detail, '{}')
    from jsonb_to_recordset(${JSON.stringify(entries)}::text::jsonb) as x (action text, subject text, detail jsonb)`
}

function actorCondition(
  actor: Actor,
): [id: string | null, via: Known['via'] | 'operator' | 'sign-in', address: string | null] {
  if (actor.kind === 'known') return [actor.user.id, actor.via, actor.address ?? null]
  if (actor.kind === 'visitor') return [actor.user?.id ?? null, 'sign-in', actor.address]
  return [null, 'operator', null]
}

/** The fields of an entry of the audit log (contract §2). */
export const auditFields = {
  id: { type: serial, column: 'id', public: 'hidden' },
  at: { type: instant, column: 'at', public: 'hidden' },
  actor: {
    type: nullable(person),
    means: 'Null for a deleted account, an operator, or a failed sign-in',
    public: 'hidden',
  },
  via: {
    type: text,
    means: 'The kind of credential; `sign-in` during a sign-in, before there is one',
    column: 'via',
    public: 'hidden',
  },
  address: {
    type: nullable(text),
    means: 'IP address of the request; null without a request',
    column: 'address',
    public: 'hidden',
  },
  action: {
    type: text,
    means: 'Object and verb, such as `batch.deleted`',
    column: 'action',
    public: 'hidden',
  },
  subject: {
    type: text,
    means: 'The object of the action, such as `batch:<id>`',
    column: 'subject',
    public: 'hidden',
  },
  detail: { type: json, column: 'detail', public: 'hidden' },
} as const satisfies Fields

/** An entry in the API. */
export type AuditRecord = ViewOf<typeof auditFields>

/** Replaces a command that only the owner of its batch may read: it may contain a secret. */
export const REDACTED = '[redacted]'

/** A filter of entries; all conditions must hold. */
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

/** The entries that meet every condition of a filter. */
function auditWhere(filter: AuditFilter): Prisma.AuditEntryWhereInput {
  const { subject, action, actor, address, from, to } = filter
  return {
    ...(subject !== undefined && { subject }),
    ...(action !== undefined && {
      action: action.endsWith('.') ? { startsWith: literally(action) } : action,
    }),
    ...(actor !== undefined &&
      (isUuid(actor) ? { actorId: actor } : { actor: { emailKey: actor.toLowerCase() } })),
    ...(address !== undefined && { address }),
    at: { ...(from !== undefined && { gte: laterMs(from) }), ...(to !== undefined && { lt: laterMs(to) }) },
  }
}

/** Prisma's `startsWith` is a LIKE without escaped wildcards. */
const literally = (text: string): string => text.replace(/[\\%_]/g, '\\$&')

/** Entries have milliseconds, so a bound in microseconds is rounded up. */
function laterMs(instant: string): Date {
  const floor = new Date(instant)
  return /\.\d{3}0*[1-9]/.test(instant) ? new Date(floor.getTime() + 1) : floor
}

/**
 * The log as an administrator reads it, newest first: `limit` entries before `after`.
 * @param reader the administrator who reads: commands of other people's batches are redacted
 */
export async function listAudit(
  prisma: PrismaClient,
  reader: { userId: string },
  page: AuditFilter & { limit: number; after: number | undefined },
): Promise<AuditRecord[]> {
  const { limit, after, ...filter } = page
  const where = { ...auditWhere(filter), ...(after !== undefined && { id: { lt: after } }) }
  const entries = await prisma.auditEntry.findMany({
    where,
    select: record.select,
    orderBy: { id: 'desc' },
    take: limit,
  })
  return withoutOthersCommands(prisma, reader, entries.map(record.rowOf))
}

export const countAudit = (prisma: PrismaClient, filter: AuditFilter): Promise<number> =>
  prisma.auditEntry.count({ where: auditWhere(filter) })

const record = recordRows<AuditRecord>(auditFields, {
  actor: {
    from: ['actor.id', 'actor.name'],
    of: (id: string | null, name: string) => (id === null ? null : { id, name }),
  },
})

/** The entries with the commands of other people's batches redacted. */
async function withoutOthersCommands(
  prisma: PrismaClient,
  reader: { userId: string },
  entries: AuditRecord[],
): Promise<AuditRecord[]> {
  const withCommand = entries.filter(({ detail }) => hasCommand(detail))
  if (withCommand.length === 0) return entries
  const own = await prisma.batch.findMany({
    where: { ownerId: reader.userId, id: { in: withCommand.map(({ subject }) => batchIn(subject)) } },
    select: { id: true },
  })
  const ids = new Set(own.map(({ id }) => `batch:${id}`))
  return entries.map((entry) =>
    hasCommand(entry.detail) && !ids.has(entry.subject)
      ? { ...entry, detail: { ...entry.detail, command: REDACTED } }
      : entry,
  )
}

const hasCommand = (detail: unknown): boolean => isRecord(detail) && Object.hasOwn(detail, 'command')

const batchIn = (subject: string): string =>
  subject.startsWith('batch:') ? subject.slice('batch:'.length) : ''

/** How many entries one statement of an export reads. */
const PAGE_SIZE = 1_000

/** All entries as in `listAudit`, page by page, so that an export of any length needs little memory. */
export async function* exportAudit(
  prisma: PrismaClient,
  reader: { userId: string },
  filter: AuditFilter,
): AsyncGenerator<AuditRecord[]> {
  let after: number | undefined
  do {
    const entries = await listAudit(prisma, reader, { ...filter, limit: PAGE_SIZE, after })
    if (entries.length > 0) yield entries
    after = entries.length < PAGE_SIZE ? undefined : entries.at(-1)?.id
  } while (after !== undefined)
}

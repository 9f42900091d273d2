import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { type Visibility, type VisibleProject, visibleProject } from '../access.ts'
import { type AuditEntry, recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { holdQuota } from '../quotas.ts'
import { isUuid } from '../uuid.ts'
import { normalProjectName, projectNameFault, projectNameKey, projectNameTaken } from './name.ts'
import { projectQuota } from './project.ts'

interface Done<T> {
  result: T
  changes: Change[]
}

/**
 * Makes a project of the actor's.
 * @returns its key
 * @throws Problem invalid_project_name; project_exists, also for one that the actor does not see or that looks like it:
 * slugs are one name space; quota_exceeded beyond `most` projects of the actor
 */
export async function createProject(
  tx: Tx,
  actor: Known,
  wanted: { slug: string; displayName: string | undefined; visibility: Visibility },
  most: number,
  now: Date,
): Promise<Done<number>> {
  const { displayName, visibility } = wanted
  const slug = normalProjectName(wanted.slug)
  const fault = projectNameFault(slug, 'slug')
  if (fault !== undefined) throw fault
  await holdQuota(tx, actor.user.id, projectQuota(most), async () => {
    const [row] = await tx<{ n: number }[]>`/* projects.count_owned */
      select count(*)::int n from projects where owner_id = ${actor.user.id}`
    return row?.n ?? 0
  })
  const [row] = await tx<{ key: number }[]>`/* projects.create */
    insert into projects (slug, display_name, visibility, owner_id, created_at, name_key)
    values (${slug}, ${displayName ?? slug}, ${visibility}, ${actor.user.id}, ${instantOf(now)}, ${projectNameKey(slug)})
    on conflict do nothing returning key`
  if (row === undefined) throw projectNameTaken(slug, undefined)
  await recordAudit(
    tx,
    actor,
    { action: 'project.created', subject: `project:${slug}`, detail: { visibility } },
    now,
  )
  return { result: row.key, changes: [] }
}

/**
 * Changes the given fields.
 * @returns the project's key
 * @throws Problem project_not_found, forbidden
 */
export async function updateProject(
  tx: Tx,
  actor: Known,
  slug: string,
  change: { displayName?: string | undefined; visibility?: Visibility | undefined },
  now: Date,
): Promise<Done<number>> {
  const project = await lockedProject(tx, actor, slug)
  const { displayName = null, visibility = null } = change
  await tx`/* projects.update */
    update projects set display_name = coalesce(${displayName}, display_name), visibility = coalesce(${visibility}, visibility)
    where key = ${project.key}`
  const note = (action: AuditEntry['action'], detail: Record<string, unknown>) =>
    recordAudit(tx, actor, { action, subject: `project:${slug}`, detail }, now)
  if (displayName !== null) await note('project.renamed', { to: displayName })
  const opened = visibility !== null && visibility !== project.visibility
  if (opened) await note('project.visibility_changed', { from: project.visibility, to: visibility })
  const changes: Change[] = [{ channel: `project:${slug}`, type: 'project', keys: [project.key] }]
  return { result: project.key, changes: opened ? [...changes, accessOf(project)] : changes }
}

/**
 * Removes a member from the project, or withdraws an invitation that was not answered.
 * @throws Problem project_not_found, forbidden, member_not_found
 */
export async function removeMember(
  tx: Tx,
  actor: Known,
  slug: string,
  userId: string,
  now: Date,
): Promise<Done<void>> {
  const project = await lockedProject(tx, actor, slug)
  const removed = isUuid(userId)
    ? await tx`/* projects.remove_member */
        delete from project_members where project_key = ${project.key} and user_id = ${userId} returning user_id`
    : []
  if (removed.length === 0) {
    const withdrawn = isUuid(userId)
      ? await tx`/* projects.withdraw_invitation */
          delete from project_invitations where project_key = ${project.key} and user_id = ${userId} returning user_id`
      : []
    if (withdrawn.length === 0) throw new Problem('member_not_found')
    const detail = { user: userId }
    const subject = `project:${slug}` as const
    await recordAudit(tx, actor, { action: 'project.invitation_withdrawn', subject, detail }, now)
    return { result: undefined, changes: [] }
  }
  const entry = {
    action: 'project.member_removed',
    subject: `project:${slug}`,
    detail: { user: userId },
  } as const
  await recordAudit(tx, actor, entry, now)
  return { result: undefined, changes: [accessOf(project)] }
}

/**
 * Sets the recipients of the project's mail.
 * @returns the project's key
 * @throws Problem project_not_found, forbidden
 */
export async function setRecipients(
  tx: Tx,
  actor: Known,
  slug: string,
  emails: string[],
  now: Date,
): Promise<Done<number>> {
  const project = await lockedProject(tx, actor, slug)
  await tx`/* projects.set_recipients */ update projects set recipients = ${emails}::text[] where key = ${project.key}`
  const detail = { count: emails.length }
  await recordAudit(
    tx,
    actor,
    { action: 'project.recipients_changed', subject: `project:${slug}`, detail },
    now,
  )
  return { result: project.key, changes: [] }
}

async function lockedProject(tx: Tx, actor: Known, slug: string): Promise<VisibleProject> {
  const seen = await visibleProject(tx, actor, slug)
  if (!seen.may('administer')) throw new Problem('forbidden')
  await tx`/* projects.lock */ select from projects where key = ${seen.key} for no key update`
  return visibleProject(tx, actor, slug)
}

const accessOf = ({ key, slug }: VisibleProject): Change => ({
  channel: `project:${slug}`,
  type: 'access',
  keys: [key],
})

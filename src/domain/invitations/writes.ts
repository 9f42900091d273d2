import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { visibleProject } from '../access.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { enqueueMessage } from '../outbox.ts'
import type { MemberView } from '../projects/index.ts'
import { findAccount } from '../users/index.ts'
import { isUuid } from '../uuid.ts'
import { type Invitation, listInvitations } from './reads.ts'

interface Done<T> {
  result: T
  changes: Change[]
}

export interface Invited {
  /** For the state `member`: whether they were a member before and only the role changed. */
  member: MemberView
  created: boolean
}

/**
 * Invites the account to the project, or changes the role of a member or of an invitation. An account whose address is
 * not verified may belong to anyone, so it is refused; if no address can be verified, the inviter may vouch for it.
 * @param options.mailConfigured whether addresses can be verified by mail here
 * @param options.confirmUnverified the inviter says who it is; counts only without a mail server
 * @throws Problem project_not_found, forbidden, user_not_found, already_owner, address_not_verified
 */
export async function inviteMember(
  tx: Tx,
  actor: Known,
  slug: string,
  wanted: { email: string; role: 'member' | 'viewer' },
  options: { mailConfigured: boolean; confirmUnverified: boolean },
  now: Date,
): Promise<Done<Invited>> {
  const seen = await visibleProject(tx, actor, slug)
  if (!seen.may('administer')) throw new Problem('forbidden')
  await tx`/* invitations.lock_project */ select from projects where key = ${seen.key} for no key update`
  const project = await visibleProject(tx, actor, slug)
  const { email, role } = wanted
  const account = await findAccount(tx, email)
  if (account === undefined) throw new Problem('user_not_found', { detail: 'No account has that address' })
  if (account.id === project.ownerId) throw new Problem('already_owner')
  const person = { user_id: account.id, name: account.name, email: account.email, role }
  const note = (action: 'project.member_set' | 'project.member_invited', detail: Record<string, unknown>) =>
    recordAudit(tx, actor, { action, subject: `project:${slug}`, detail }, now)

  const [member] = await tx<{ created_at: string }[]>`/* invitations.change_member */
    update project_members set role = ${role} where project_key = ${project.key} and user_id = ${account.id}
    returning created_at`
  if (member !== undefined) {
    await note('project.member_set', { user: account.id, role })
    return {
      result: { member: { state: 'member', ...person, ...member }, created: false },
      changes: [{ channel: `project:${slug}`, type: 'access', keys: [project.key] }],
    }
  }
  if (!account.emailVerified && (options.mailConfigured || !options.confirmUnverified)) {
    const detail = options.mailConfigured
      ? 'The owner of that account has not verified its address yet: ask them to, then invite them again'
      : 'Addresses cannot be verified without a mail server: check who owns the account, then send confirm_unverified'
    throw new Problem('address_not_verified', { detail })
  }
  const [row] = await tx<{ id: string; createdAt: string; created: boolean }[]>`/* invitations.create */
    insert into project_invitations (project_key, user_id, role, invited_by, created_at)
    values (${project.key}, ${account.id}, ${role}, ${actor.user.id}, ${instantOf(now)})
    on conflict (project_key, user_id) do update set role = excluded.role, invited_by = excluded.invited_by
    returning id, created_at "createdAt", xmax = 0 created`
  if (row === undefined) throw new Error('the invitation was not stored')
  await note('project.member_invited', {
    user: account.id,
    role,
    ...(account.emailVerified ? {} : { address_verified: false }),
  })
  if (row.created && options.mailConfigured) {
    await enqueueMessage(tx, { invitation: row.id })
  }
  return {
    result: {
      member: { state: 'invited', invitation_id: row.id, ...person, created_at: row.createdAt },
      created: row.created,
    },
    changes: [],
  }
}

/** Deletes and returns an invitation of the user; a second request finds none. */
async function take(tx: Tx, caller: Known, id: string): Promise<Invitation & { projectKey: number }> {
  if (!isUuid(id)) throw new Problem('invitation_not_found')
  const [invitation] = await listInvitations(tx, caller.user.id, { limit: 1, after: undefined, id })
  const [gone] = await tx<{ projectKey: number }[]>`/* invitations.take */
    delete from project_invitations where id = ${id} and user_id = ${caller.user.id}
    returning project_key "projectKey"`
  if (invitation === undefined || gone === undefined) throw new Problem('invitation_not_found')
  return { ...invitation, ...gone }
}

/** Gives the caller the role of the invitation. @throws Problem invitation_not_found */
export async function acceptInvitation(
  tx: Tx,
  caller: Known,
  id: string,
  now: Date,
): Promise<Done<Invitation>> {
  const { projectKey, ...invitation } = await take(tx, caller, id)
  const slug = invitation.project
  await tx`/* invitations.accept */
    insert into project_members (project_key, user_id, role, created_at)
    values (${projectKey}, ${caller.user.id}, ${invitation.role}, ${instantOf(now)})
    on conflict (project_key, user_id) do update set role = excluded.role`
  const detail = {
    user: caller.user.id,
    role: invitation.role,
    invited_by: invitation.invited_by?.id ?? null,
  }
  const subject = `project:${slug}` as const
  await recordAudit(tx, caller, { action: 'project.invitation_accepted', subject, detail }, now)
  return {
    result: invitation,
    changes: [{ channel: `project:${slug}`, type: 'access', keys: [projectKey] }],
  }
}

/** @throws Problem invitation_not_found */
export async function declineInvitation(
  tx: Tx,
  caller: Known,
  id: string,
  now: Date,
): Promise<Done<Invitation>> {
  const { projectKey: _, ...invitation } = await take(tx, caller, id)
  const subject = `project:${invitation.project}` as const
  const detail = { user: caller.user.id }
  await recordAudit(tx, caller, { action: 'project.invitation_declined', subject, detail }, now)
  return { result: invitation, changes: [] }
}

/** @throws Problem project_not_found, forbidden, invitation_not_found */
export async function withdrawInvitation(
  tx: Tx,
  actor: Known,
  slug: string,
  id: string,
  now: Date,
): Promise<Done<void>> {
  const project = await visibleProject(tx, actor, slug)
  if (!project.may('administer')) throw new Problem('forbidden')
  const [gone] = isUuid(id)
    ? await tx<{ user: string }[]>`/* invitations.withdraw */
        delete from project_invitations where id = ${id} and project_key = ${project.key} returning user_id "user"`
    : []
  if (gone === undefined) throw new Problem('invitation_not_found')
  const subject = `project:${slug}` as const
  await recordAudit(tx, actor, { action: 'project.invitation_withdrawn', subject, detail: gone }, now)
  return { result: undefined, changes: [] }
}

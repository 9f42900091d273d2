import type { Db } from '../../db/sql.ts'
import type { CreationPosition } from '../cursors.ts'
import { type Fields, instant, nullable, person, text, uuid, type ViewOf, word } from '../field.ts'

const common = {
  id: { type: uuid, public: 'hidden' },
  role: { type: word(['member', 'viewer']), public: 'hidden' },
  invited_by: { type: nullable(person), means: 'Null: the account was deleted', public: 'hidden' },
  created_at: { type: instant, public: 'hidden' },
} as const satisfies Fields

/** An invitation as the invited user sees it. */
export const invitationFields = {
  ...common,
  project: { type: text, public: 'hidden' },
  project_name: { type: text, public: 'hidden' },
} as const satisfies Fields
export type Invitation = ViewOf<typeof invitationFields>

/** An invitation as administrators of the project see it. */
export const projectInvitationFields = {
  ...common,
  user_id: { type: uuid, public: 'hidden' },
  name: { type: text, public: 'hidden' },
  email: { type: text, public: 'hidden' },
} as const satisfies Fields
export type ProjectInvitation = ViewOf<typeof projectInvitationFields>

/** SQL over the inviter and the project as `p`: an invitation holds while its inviter may still let people in. */
const mayStillInvite = (db: Db, inviter: 'u' | 'b') =>
  inviter === 'u'
    ? db`u.disabled_at is null and (u.role = 'admin' or u.id = p.owner_id)`
    : db`b.disabled_at is null and (b.role = 'admin' or b.id = p.owner_id)`

/** The user's open invitations, newest first; only `id`, if given. One whose inviter lost the right to it is left out. */
export async function listInvitations(
  db: Db,
  userId: string,
  page: { limit: number; after: CreationPosition | undefined; id?: string },
): Promise<Invitation[]> {
  const { limit, after, id } = page
  return db<Invitation[]>`/* invitations.of_user */
    select i.id, p.slug project, p.display_name project_name, i.role,
      case when u.id is null then null else jsonb_build_object('id', u.id, 'name', u.name) end invited_by, i.created_at
    from project_invitations i
    join projects p on p.key = i.project_key
    left join users u on u.id = i.invited_by
    where i.user_id = ${userId} and ${mayStillInvite(db, 'u')} and ${id === undefined ? db`true` : db`i.id = ${id}::uuid`}
      and ${after === undefined ? db`true` : db`(i.created_at, i.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by i.created_at desc, i.id desc limit ${limit}`
}

/** The open invitations to a project, newest first. */
export async function listProjectInvitations(
  db: Db,
  projectKey: number,
  page: { limit: number; after: CreationPosition | undefined },
): Promise<ProjectInvitation[]> {
  const { limit, after } = page
  return db<ProjectInvitation[]>`/* invitations.of_project */
    select i.id, u.id user_id, u.name, u.email, i.role,
      case when b.id is null then null else jsonb_build_object('id', b.id, 'name', b.name) end invited_by, i.created_at
    from project_invitations i
    join users u on u.id = i.user_id
    left join users b on b.id = i.invited_by
    where i.project_key = ${projectKey}
      and ${after === undefined ? db`true` : db`(i.created_at, i.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by i.created_at desc, i.id desc limit ${limit}`
}

/** The data for the mail of an invitation. */
export interface PendingInvitation {
  address: string
  projectKey: number
  project: string
  role: 'member' | 'viewer'
  invitedBy: string | null
}

/** Undefined once it was answered or withdrawn, and for an account that is disabled or whose address is not verified. */
export async function pendingInvitation(db: Db, id: string): Promise<PendingInvitation | undefined> {
  const [row] = await db<PendingInvitation[]>`/* invitations.pending */
    select u.email address, p.key "projectKey", p.slug project, i.role, b.name "invitedBy"
    from project_invitations i
    join users u on u.id = i.user_id
    join projects p on p.key = i.project_key
    left join users b on b.id = i.invited_by
    where i.id = ${id} and u.email_verified_at is not null and u.disabled_at is null and ${mayStillInvite(db, 'b')}
      and not exists (select from mail_addresses x where x.address_key = u.email_key and x.stopped_at is not null)`
  return row
}

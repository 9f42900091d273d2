import type { Db } from '../../db/sql.ts'
import { callerMay, type Visibility, visibleProjectsFilter } from '../access.ts'
import type { Caller } from '../caller.ts'

/** A project as a caller sees it (specification §2.3). */
export interface Project {
  key: number
  slug: string
  displayName: string
  visibility: Visibility
  owner: { id: string; name: string }
  /** The caller's own role. */
  role: 'owner' | 'member' | 'viewer' | null
  /** Null for those who are not in it (contract §2: no recipients for visitors). */
  recipients: string[] | null
  createdAt: string
}

/** Where the next page of a list goes on: after this one. */
export interface CreatedPosition {
  createdAt: string
  key: number
}

/** The projects that the caller sees, newest first; `keys` only, when given. */
export async function listProjects(
  db: Db,
  caller: Caller,
  page: { limit: number; after: CreatedPosition | undefined; keys?: number[] },
): Promise<Project[]> {
  const { limit, after, keys } = page
  const userId = caller.kind === 'known' ? caller.user.id : null
  const rows = await db<Project[]>`/* projects.list */
    select p.key, p.slug, p.display_name "displayName", p.visibility,
      jsonb_build_object('id', u.id, 'name', u.name) owner, p.created_at "createdAt",
      case when p.owner_id = ${userId}::uuid then 'owner' else m.role end as role,
      p.recipients
    from projects p
    join users u on u.id = p.owner_id
    left join project_members m on m.project_key = p.key and m.user_id = ${userId}::uuid
    where ${visibleProjectsFilter(db, caller)}
      and ${keys === undefined ? db`true` : db`p.key = any (${keys}::bigint[])`}
      and ${after === undefined ? db`true` : db`(p.created_at, p.key) < (${after.createdAt}::timestamptz, ${after.key})`}
    order by p.created_at desc, p.key desc limit ${limit}`
  return rows.map((row) => ({ ...row, recipients: knowsMembers(caller, row) ? row.recipients : null }))
}

const knowsMembers = (caller: Caller, { visibility, owner, role }: Project): boolean =>
  callerMay('know_members', caller, { visibility, ownerId: owner.id, role: role === 'owner' ? null : role })

export interface Member {
  userId: string
  name: string
  email: string
  role: 'owner' | 'member' | 'viewer'
  createdAt: string
}

export interface MemberPosition {
  createdAt: string
  id: string
}

/** Who is in the project, newest first; its owner has been in it since it was made. */
export async function listMembers(
  db: Db,
  projectKey: number,
  page: { limit: number; after: MemberPosition | undefined },
): Promise<Member[]> {
  const { limit, after } = page
  return db<Member[]>`/* projects.members */
    with members as (
      select user_id, role, created_at from project_members where project_key = ${projectKey}
      union all
      select owner_id, 'owner', created_at from projects where key = ${projectKey})
    select m.user_id "userId", u.name, u.email, m.role, m.created_at "createdAt"
    from members m join users u on u.id = m.user_id
    where ${after === undefined ? db`true` : db`(m.created_at, m.user_id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by m.created_at desc, m.user_id desc limit ${limit}`
}

import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { callerMay, visibleProjectsFilter } from '../access.ts'
import type { Caller } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { columnsOf, viewsOf } from '../field.ts'
import { type MemberView, type ProjectView, projectFields } from './project-fields.ts'

/** A project as a caller sees it: `recipients` is null for callers that are not members (contract §2). */
export type ProjectRow = Omit<ProjectView, 'recipients'> & { key: number; recipients: string[] | null }

/** Makes the view of a row. */
export const projectView = viewsOf<typeof projectFields, [row: ProjectRow]>(projectFields, {
  owner: ({ owner }) => owner,
  role: ({ role }) => role,
  recipients: ({ recipients }) => recipients ?? undefined,
})

const COLUMNS = sqlWords(columnsOf(projectFields, 'p'))

/** The position in a list: after this project. */
export interface CreatedPosition {
  createdAt: string
  key: number
}

/** The projects that the caller may see, newest first; only `keys`, if given. */
export async function listProjects(
  db: Db,
  caller: Caller,
  page: { limit: number; after: CreatedPosition | undefined; keys?: number[] },
): Promise<ProjectRow[]> {
  const { limit, after, keys } = page
  const userId = caller.kind === 'known' ? caller.user.id : null
  const rows = await db<ProjectRow[]>`/* projects.list */
    select p.key, ${fragment(db, COLUMNS)}, jsonb_build_object('id', u.id, 'name', u.name) owner,
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

const knowsMembers = (caller: Caller, { visibility, owner, role }: ProjectRow): boolean =>
  callerMay('know_members', caller, { visibility, ownerId: owner.id, role: role === 'owner' ? null : role })

/** The members of the project, newest first; its owner has been one since it was created. */
export async function listMembers(
  db: Db,
  projectKey: number,
  page: { limit: number; after: CreationPosition | undefined },
): Promise<MemberView[]> {
  const { limit, after } = page
  return db<MemberView[]>`/* projects.members */
    with members as (
      select user_id, role, created_at from project_members where project_key = ${projectKey}
      union all
      select owner_id, 'owner', created_at from projects where key = ${projectKey})
    select 'member' state, m.user_id, u.name, u.email, m.role, m.created_at
    from members m join users u on u.id = m.user_id
    where ${after === undefined ? db`true` : db`(m.created_at, m.user_id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by m.created_at desc, m.user_id desc limit ${limit}`
}

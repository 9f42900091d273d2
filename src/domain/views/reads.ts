import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { callerMay, type Visibility, visibleProjectsFilter } from '../access.ts'
import { type Caller, isAdmin } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { columnsOf } from '../field.ts'
import { isUuid } from '../uuid.ts'
import { type SavedView, savedViewFields } from './view-fields.ts'

const COLUMNS = sqlWords(columnsOf(savedViewFields, 'v'))

/** A view with what the caller's permissions depend on. */
export interface SavedViewRow extends Omit<SavedView, 'owner' | 'can_edit'> {
  user_id: string
  user_name: string
  visibility: Visibility | null
  project_owner_id: string | null
  role: 'member' | 'viewer' | null
}

/**
 * The views that the caller sees, newest first: their own, and those for projects that they see. A view of a project
 * that its user no longer sees is left out.
 * @param options.projectKey of one project only
 * @param options.id the view of this id only
 */
export async function listSavedViews(
  db: Db,
  caller: Caller,
  page: { limit: number; after: CreationPosition | undefined },
  options: { projectKey?: number | undefined; id?: string } = {},
): Promise<SavedView[]> {
  const { limit, after } = page
  const { projectKey, id } = options
  const userId = caller.kind === 'known' ? caller.user.id : null
  const rows = await db<SavedViewRow[]>`/* views.list */
    select ${fragment(db, COLUMNS)}, p.slug project, v.user_id, u.name user_name,
      p.visibility, p.owner_id project_owner_id, m.role
    from saved_views v
    join users u on u.id = v.user_id
    left join projects p on p.key = v.project_key
    left join project_members m on m.project_key = p.key and m.user_id = ${userId}::uuid
    where (v.user_id = ${userId}::uuid or v.audience <> 'private')
      and (v.project_key is null or ${visibleProjectsFilter(db, caller)})
      and ${projectKey === undefined ? db`true` : db`v.project_key = ${projectKey}`}
      and ${id === undefined ? db`true` : db`v.id = ${id}::uuid`}
      and ${after === undefined ? db`true` : db`(v.created_at, v.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by v.created_at desc, v.id desc limit ${limit}`
  return rows.map((row) => viewOf(caller, row))
}

/** The view of this id; undefined if the caller does not see it, or there is none. */
export async function savedView(db: Db, caller: Caller, id: string): Promise<SavedView | undefined> {
  if (!isUuid(id)) return undefined
  const [view] = await listSavedViews(db, caller, { limit: 1, after: undefined }, { id })
  return view
}

/** Its user may change it; a view for a project also the project's owner. */
export function viewOf(caller: Caller, row: SavedViewRow): SavedView {
  const { user_id: id, user_name: name, visibility, project_owner_id: ownerId, role, ...view } = row
  const facts = visibility === null || ownerId === null ? null : { visibility, ownerId, role }
  const isOwn = caller.kind === 'known' && caller.user.id === id
  const knows = isOwn || isAdmin(caller) || (facts !== null && callerMay('know_members', caller, facts))
  const administers = view.audience !== 'private' && facts !== null && callerMay('administer', caller, facts)
  return { ...view, owner: knows ? { id, name } : null, can_edit: isOwn || administers }
}

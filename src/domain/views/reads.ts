import type { Prisma, PrismaClient } from '../../db/prisma.ts'
import { callerMay, type Visibility } from '../access.ts'
import { type Caller, isAdmin, NO_USER } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { olderThan, recordRows } from '../record-rows.ts'
import { isUuid } from '../uuid.ts'
import { type SavedView, savedViewFields } from './view-fields.ts'

/** A view with what the caller's permissions depend on. */
interface SavedViewRow extends Omit<SavedView, 'owner' | 'can_edit'> {
  user_id: string
  user_name: string
  visibility: Visibility | null
  project_owner_id: string | null
  role: 'member' | 'viewer' | null
}

const record = recordRows<SavedViewRow>(savedViewFields, {
  project: { from: 'project.slug' },
  user_id: { from: 'userId' },
  user_name: { from: 'user.name' },
  visibility: { from: 'project.visibility' },
  project_owner_id: { from: 'project.ownerId' },
  role: { from: 'project.members', of: (members: { role: string }[] | null) => members?.[0]?.role ?? null },
})

/** Which views: of the caller and of these projects, which the caller sees (null: all). */
export interface ViewScope {
  visible: readonly number[] | null
  project?: string | undefined
  id?: string | undefined
}

function whereOf(caller: Caller, { visible, project, id }: ViewScope): Prisma.SavedViewWhereInput {
  const shared: Prisma.SavedViewWhereInput = { audience: { not: 'private' } }
  return {
    AND: [
      caller.kind === 'known' ? { OR: [{ userId: caller.user.id }, shared] } : shared,
      visible === null ? {} : { OR: [{ projectKey: null }, { projectKey: { in: [...visible] } }] },
      project === undefined ? {} : { project: { slug: project } },
      id === undefined ? {} : { id },
    ],
  }
}

/**
 * The views that the caller sees, newest first: their own, and those for projects that they see. A view of a project
 * that its user no longer sees is left out.
 */
export async function listSavedViews(
  prisma: PrismaClient,
  caller: Caller,
  scope: ViewScope,
  { limit, after }: { limit: number; after: CreationPosition | undefined },
): Promise<SavedView[]> {
  const { project: _, ...select } = record.select
  const userId = caller.kind === 'known' ? caller.user.id : NO_USER
  const found = await prisma.savedView.findMany({
    where: { AND: [whereOf(caller, scope), after === undefined ? {} : olderThan('createdAt', after)] },
    relationLoadStrategy: 'join',
    select: {
      ...select,
      project: {
        select: {
          slug: true,
          visibility: true,
          ownerId: true,
          members: { where: { userId }, select: { role: true } },
        },
      },
    },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  })
  return found.map((one) => viewOf(caller, record.rowOf(one)))
}

export const countSavedViews = (prisma: PrismaClient, caller: Caller, scope: ViewScope): Promise<number> =>
  prisma.savedView.count({ where: whereOf(caller, scope) })

/** The view of this id; undefined if the caller does not see it, or there is none. */
export async function savedView(
  prisma: PrismaClient,
  caller: Caller,
  scope: ViewScope & { id: string },
): Promise<SavedView | undefined> {
  if (!isUuid(scope.id)) return undefined
  const [view] = await listSavedViews(prisma, caller, scope, { limit: 1, after: undefined })
  return view
}

/** Its user may change it; a view for a project also the project's owner. */
function viewOf(caller: Caller, row: SavedViewRow): SavedView {
  const { user_id: id, user_name: name, visibility, project_owner_id: ownerId, role, ...view } = row
  const facts = visibility === null || ownerId === null ? null : { visibility, ownerId, role }
  const isOwn = caller.kind === 'known' && caller.user.id === id
  const knows = isOwn || isAdmin(caller) || (facts !== null && callerMay('know_members', caller, facts))
  const administers = view.audience !== 'private' && facts !== null && callerMay('administer', caller, facts)
  return { ...view, owner: knows ? { id, name } : null, can_edit: isOwn || administers }
}

import type { Prisma, PrismaClient } from '../../db/prisma.ts'
import { type Caller, NO_USER } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { olderThan, recordRows } from '../record-rows.ts'
import { type SavedViewRow, viewOf } from './reads.ts'
import { type SavedView, savedViewFields } from './view-fields.ts'

/** Saved views as GraphQL reads them, through Prisma. A transaction that changes one reads it by SQL. */

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
}

function whereOf(caller: Caller, { visible, project }: ViewScope): Prisma.SavedViewWhereInput {
  const shared: Prisma.SavedViewWhereInput = { audience: { not: 'private' } }
  return {
    AND: [
      caller.kind === 'known' ? { OR: [{ userId: caller.user.id }, shared] } : shared,
      visible === null ? {} : { OR: [{ projectKey: null }, { projectKey: { in: [...visible] } }] },
      project === undefined ? {} : { project: { slug: project } },
    ],
  }
}

/** As `listSavedViews`. */
export async function savedViewRecords(
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

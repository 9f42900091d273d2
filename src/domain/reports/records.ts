import type { Prisma, PrismaClient } from '../../db/prisma.ts'
import { type Caller, NO_USER } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { olderThan, recordRows } from '../record-rows.ts'
import { type ReportRow, reportOf } from './reads.ts'
import { type Report, reportFields } from './report-fields.ts'

/** Reports as GraphQL reads them, through Prisma. A transaction that changes one reads it by SQL. */

const record = recordRows<ReportRow>(reportFields, {
  project: { from: 'project.slug' },
  user_id: { from: 'userId' },
  user_name: { from: 'user.name' },
  visibility: { from: 'project.visibility' },
  project_owner_id: { from: 'project.ownerId' },
  role: { from: 'project.members', of: (members: { role: string }[]) => members[0]?.role ?? null },
  shared: { from: 'links', of: (links: object[]) => links.length > 0 },
})

/** Which reports: of these projects, which the caller sees (null: all), and of the project with this slug. */
export interface ReportScope {
  visible: readonly number[] | null
  project?: string | undefined
  id?: string | undefined
}

const whereOf = ({ visible, project, id }: ReportScope): Prisma.ReportWhereInput => ({
  ...(visible !== null && { projectKey: { in: [...visible] } }),
  ...(project !== undefined && { project: { slug: project } }),
  ...(id !== undefined && { id }),
})

/** As `listReports`. The text of a report may be long: it is empty unless it is asked for. */
export async function reportRecords(
  prisma: PrismaClient,
  caller: Caller,
  scope: ReportScope,
  page: { limit: number; after: CreationPosition | undefined; withBody: boolean },
): Promise<Report[]> {
  const { limit, after, withBody } = page
  const { links: _links, project: _project, body: _body, ...select } = record.select
  const found = await prisma.report.findMany({
    where: { AND: [whereOf(scope), after === undefined ? {} : olderThan('createdAt', after)] },
    relationLoadStrategy: 'join',
    select: {
      ...select,
      ...(withBody && { body: true }),
      links: { select: { id: true }, take: 1 },
      project: { select: { slug: true, visibility: true, ownerId: true, members: membersOf(caller) } },
    },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  })
  return found.map((one) => reportOf(caller, record.rowOf(one)))
}

export const countReports = (prisma: PrismaClient, scope: ReportScope): Promise<number> =>
  prisma.report.count({ where: whereOf(scope) })

/** The membership of the caller. */
const membersOf = (caller: Caller) => ({
  where: { userId: caller.kind === 'known' ? caller.user.id : NO_USER },
  select: { role: true },
})

import type { Prisma, PrismaClient } from '../../db/prisma.ts'
import type { Db } from '../../db/sql.ts'
import { fragment } from '../../db/sql-fragment.ts'
import { Problem } from '../../problem.ts'
import {
  callerMay,
  creatorMay,
  LINK_CREATOR,
  type LinkCreator,
  notFoundAs,
  type Right,
  type Visibility,
  type VisibleProject,
  visibleProject,
} from '../access.ts'
import { type Caller, isAdmin, NO_USER } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { olderThan, recordRows } from '../record-rows.ts'
import { isShareToken, openShare, shareTokenHash } from '../shares/index.ts'
import { isUuid } from '../uuid.ts'
import { tokenOfBatch } from './link-token.ts'
import { embeddedBatches, type Report, reportFields } from './report-fields.ts'

/** A report with what the caller's permissions depend on. */
interface ReportRow extends Omit<Report, 'owner' | 'can_edit' | 'can_share'> {
  user_id: string
  user_name: string
  visibility: Visibility
  project_owner_id: string
  role: 'member' | 'viewer' | null
}

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

/** Newest first. The text of a report may be long: it is empty unless it is asked for. */
export async function listReports(
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

/** The report of this id; undefined if the caller does not see it, or there is none. */
export async function reportById(
  prisma: PrismaClient,
  caller: Caller,
  scope: ReportScope & { id: string },
): Promise<Report | undefined> {
  if (!isUuid(scope.id)) return undefined
  const [report] = await listReports(prisma, caller, scope, { limit: 1, after: undefined, withBody: true })
  return report
}

/** A report as a transaction reads it, because the client of Prisma cannot write. */
export interface StoredReport {
  id: string
  title: string
  body: string
  authorId: string
  project: VisibleProject
}

/** @throws Problem report_not_found, the same whether it does not exist or is not visible; forbidden */
export async function visibleReport(
  db: Db,
  caller: Caller,
  id: string,
  options: { lock?: boolean } = {},
): Promise<StoredReport> {
  const [row] = isUuid(id)
    ? await db<(Omit<StoredReport, 'project'> & { slug: string })[]>`/* reports.by_id */
        select r.id, r.title, r.body, r.user_id "authorId", p.slug
        from reports r join projects p on p.key = r.project_key
        where r.id = ${id}::uuid ${options.lock === true ? db`for no key update of r` : db``}`
    : []
  if (row === undefined) throw new Problem('report_not_found')
  const { slug, ...report } = row
  const project = await visibleProject(db, caller, slug).catch(notFoundAs('report_not_found'))
  return { ...report, project }
}

/**
 * Users that may edit the project's batches may write its reports; the author and the project's owner may share and
 * delete them.
 */
function reportOf(caller: Caller, row: ReportRow): Report {
  const { user_id: id, user_name: name, visibility, project_owner_id: ownerId, role, shared, ...report } = row
  const facts = { visibility, ownerId, role }
  const isOwn = caller.kind === 'known' && caller.user.id === id
  const knows = isOwn || isAdmin(caller) || callerMay('know_members', caller, facts)
  const canEdit = callerMay('edit', caller, facts)
  const canShare = mayShare((right) => callerMay(right, caller, facts), isOwn)
  return {
    ...report,
    owner: knows ? { id, name } : null,
    can_edit: canEdit,
    can_share: canShare,
    shared: canEdit && shared,
  }
}

/** Who may share and delete a report: its author while they may edit it, and who administers its project. */
export const mayShare = (may: (right: Right) => boolean, isAuthor: boolean): boolean =>
  may('administer') || (isAuthor && may('edit'))

/** The content of a public link to a report. */
export interface OpenReport {
  title: string
  body: string
  updated_at: string
  /** The embedded batches that the link opens, each by a share of its own. */
  batches: { id: string; token: string }[]
  /** Whether other sites may show it. */
  embed: boolean
}

export async function openReport(db: Db, token: string, now: Date): Promise<OpenReport | undefined> {
  if (!isShareToken(token)) return undefined
  const [link] = await db<
    (LinkCreator & { title: string; body: string; updated_at: string; author_id: string; embed: boolean })[]
  >`/* reports.open */
    select r.title, r.body, r.updated_at, r.user_id author_id, l.embed, ${fragment(db, LINK_CREATOR)}
    from report_links l
    join reports r on r.id = l.report_id
    join projects p on p.key = r.project_key
    join users u on u.id = l.created_by
    left join project_members m on m.project_key = p.key and m.user_id = u.id
    where l.token_hash = ${shareTokenHash(token)}`
  if (link === undefined || !mayShare((right) => creatorMay(right, link), link.author_id === link.creator_id))
    return undefined
  const { title, body, updated_at, embed } = link
  const report = { title, body, updated_at, embed }
  const wanted = embeddedBatches(report.body).map((id) => ({ id, token: tokenOfBatch(token, id) }))
  const shares = await Promise.all(wanted.map((one) => openShare(db, one.token, now)))
  return { ...report, batches: wanted.filter((_, i) => shares[i] !== undefined) }
}

import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import {
  callerMay,
  creatorMay,
  LINK_CREATOR,
  type LinkCreator,
  type Right,
  type Visibility,
  visibleProjectsFilter,
} from '../access.ts'
import { type Caller, isAdmin } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { columnsOf } from '../field.ts'
import { isShareToken, openShare, shareTokenHash } from '../shares/index.ts'
import { isUuid } from '../uuid.ts'
import { tokenOfBatch } from './link-token.ts'
import { embeddedBatches, type Report, reportFields } from './report-fields.ts'

const COLUMNS = sqlWords(columnsOf(reportFields, 'r'))

/** A report with what the caller's permissions depend on. */
export interface ReportRow extends Omit<Report, 'owner' | 'can_edit' | 'can_share'> {
  user_id: string
  user_name: string
  visibility: Visibility
  project_owner_id: string
  role: 'member' | 'viewer' | null
}

/** The reports of projects that the caller may see, newest first; those of one project, or the one with this id. */
export async function listReports(
  db: Db,
  caller: Caller,
  page: { limit: number; after: CreationPosition | undefined },
  options: { projectKey?: number | undefined; id?: string } = {},
): Promise<Report[]> {
  const { limit, after } = page
  const { projectKey, id } = options
  const userId = caller.kind === 'known' ? caller.user.id : null
  const rows = await db<ReportRow[]>`/* reports.list */
    select ${fragment(db, COLUMNS)}, p.slug project, r.user_id, u.name user_name,
      exists (select from report_links l where l.report_id = r.id) shared,
      p.visibility, p.owner_id project_owner_id, m.role
    from reports r
    join users u on u.id = r.user_id
    join projects p on p.key = r.project_key
    left join project_members m on m.project_key = p.key and m.user_id = ${userId}::uuid
    where ${visibleProjectsFilter(db, caller)}
      and ${projectKey === undefined ? db`true` : db`r.project_key = ${projectKey}`}
      and ${id === undefined ? db`true` : db`r.id = ${id}::uuid`}
      and ${after === undefined ? db`true` : db`(r.created_at, r.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by r.created_at desc, r.id desc limit ${limit}`
  return rows.map((row) => reportOf(caller, row))
}

/** The report of this id; undefined if the caller does not see it, or there is none. */
export async function reportById(db: Db, caller: Caller, id: string): Promise<Report | undefined> {
  if (!isUuid(id)) return undefined
  const [report] = await listReports(db, caller, { limit: 1, after: undefined }, { id })
  return report
}

/**
 * Users that may edit the project's batches may write its reports; the author and the project's owner may share and
 * delete them.
 */
export function reportOf(caller: Caller, row: ReportRow): Report {
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

import type { ProjectPartsQuery, ShareRowFragment } from '../../__generated__/graphql.ts'
import { batchAt, partOf } from './batch-parts.ts'
import { forbidden } from './graphql.ts'
import { projectPart } from './project-parts.ts'
import { revokeReportLink } from './reports.ts'
import { type Page, post, remove } from './request.ts'
import { type WireRow, wireRow } from './wire-row.ts'

export type Share = WireRow<ShareRowFragment>
/** A public link in the list of a project. */
export type ProjectLink = WireRow<
  NonNullable<NonNullable<NonNullable<ProjectPartsQuery['project']>['links']>[number]>
>

export async function fetchShares(id: string): Promise<Page<Share>> {
  const { shares } = await partOf(id, 'shares')
  if (shares == null) throw forbidden()
  return { items: shares.map((share) => wireRow(share)), next_cursor: null }
}
export const createShare = (
  id: string,
  body: { anonymous: boolean; files?: boolean; embed?: boolean; expires_at?: string },
): Promise<{ id: string; url: string; token: string }> => post(`${batchAt(id)}/shares`, body)
export const revokeShare = (id: string): Promise<void> => remove(`/api/shares/${encodeURIComponent(id)}`)

/** The public links to batches and reports of a project, newest first; for those who administer it. */
export async function fetchProjectLinks(slug: string): Promise<ProjectLink[]> {
  const { links } = await projectPart(slug, 'links')
  if (links == null) throw forbidden('Only the owner of this project sees its links')
  return links.map((link) => wireRow(link))
}
export const revokeProjectLink = ({ id, report_id }: ProjectLink): Promise<void> =>
  report_id === null ? revokeShare(id) : revokeReportLink(report_id, id)

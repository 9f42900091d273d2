import type { PrismaClient } from '../../db/prisma.ts'
import { creatorMay } from '../access.ts'
import { mayShare } from '../reports/index.ts'
import { type LinkRecord, linkRecords, linkRecordsOfProjects, type SharePosition } from '../shares/index.ts'
import type { ProjectLink } from './link-fields.ts'

/**
 * The links to batches and reports of a project that were not revoked, newest first, ended ones too. The shares that a
 * link to one of its reports brought are not listed apart: they are revoked with it.
 */
export async function listLinks(
  prisma: PrismaClient,
  projectKey: number,
  page: { limit: number; after: SharePosition | undefined },
  now: Date,
): Promise<ProjectLink[]> {
  return (await linkRecords(prisma, { projectKey, listed: true }, page, now)).map(projectLink)
}

/** The newest links of each of these projects, by key: one statement for all of them. */
export async function linksOfProjects(
  prisma: PrismaClient,
  projectKeys: readonly number[],
  limit: number,
  now: Date,
): Promise<Map<number, ProjectLink[]>> {
  const found = await linkRecordsOfProjects(prisma, projectKeys, limit, now)
  return new Map([...found].map(([key, rows]) => [key, rows.map(projectLink)]))
}

const projectLink = (row: LinkRecord): ProjectLink => ({
  id: row.id,
  opened: row.opened,
  batch_id: row.batch_id,
  report_id: row.report_id,
  title: row.title,
  anonymous: row.anonymous,
  embed: row.embed,
  created_by: { id: row.creator_id, name: row.creator_name },
  creator_disabled: row.creator_disabled,
  opens: row.standing && creatorMayShare(row),
  created_at: row.created_at,
  expires_at: row.expires_at,
})

const creatorMayShare = (link: LinkRecord): boolean =>
  link.opened === 'batch'
    ? creatorMay('share', link, link.owner_id)
    : mayShare((right) => creatorMay(right, link), link.owner_id === link.creator_id)

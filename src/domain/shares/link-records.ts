import { canonicalInstant, instantOf } from '../../db/instant.ts'
import type { Prisma, PrismaClient } from '../../db/prisma.ts'
import { creatorMay, type LinkCreator } from '../access.ts'
import { olderThan, recordRows } from '../record-rows.ts'
import type { OpenShare } from './reads.ts'
import { isShareToken, shareTokenHash } from './share.ts'
import { type ShareView, shareFields } from './share-fields.ts'

/** The public links to batches and reports that were not revoked, read through Prisma. */

export interface SharePosition {
  createdAt: string
  id: string
}

/** A link, with what its permission depends on. */
export type LinkRecord = Omit<ShareView, 'created_by' | 'opens'> &
  LinkCreator & {
    opened: 'batch' | 'report'
    batch_key: number | null
    batch_id: string | null
    report_id: string | null
    title: string
    /** The owner of the batch, or the author of the report. */
    owner_id: string
    /** Whether it has not ended, and what it opens exists. */
    standing: boolean
  }

const record = recordRows<Omit<LinkRecord, 'standing'> & { available: boolean }>(shareFields, {
  opened: { from: 'opened' },
  batch_key: { from: 'batchKey' },
  batch_id: { from: 'batchId' },
  report_id: { from: 'reportId' },
  title: { from: 'title' },
  owner_id: { from: 'ownerId' },
  available: { from: 'available' },
  member_role: { from: 'memberRole' },
  creator_id: { from: 'creator.id' },
  creator_name: { from: 'creator.name' },
  creator_role: { from: 'creator.role' },
  creator_disabled: { from: 'creator.disabledAt', of: (at: Date | null) => at !== null },
  visibility: { from: 'project.visibility' },
  project_owner_id: { from: 'project.ownerId' },
})

/** Links, newest first, ended ones too: `limit` after `after`. */
export async function linkRecords(
  prisma: PrismaClient,
  where: Prisma.LinkWhereInput,
  { limit, after }: { limit: number | null; after: SharePosition | undefined },
  now: Date,
): Promise<LinkRecord[]> {
  const found = await prisma.link.findMany({
    where: after === undefined ? where : { AND: [where, olderThan('createdAt', after)] },
    relationLoadStrategy: 'join',
    select: record.select,
    orderBy: [...NEWEST],
    ...(limit !== null && { take: limit }),
  })
  return found.map(linkAt(now))
}

/** The newest links of each of these projects that its list shows, by key: one statement for all of them. */
export async function linkRecordsOfProjects(
  prisma: PrismaClient,
  projectKeys: readonly number[],
  limit: number,
  now: Date,
): Promise<Map<number, LinkRecord[]>> {
  const found = await prisma.project.findMany({
    where: { key: { in: [...projectKeys] } },
    relationLoadStrategy: 'join',
    select: {
      key: true,
      links: { where: { listed: true }, select: record.select, orderBy: [...NEWEST], take: limit },
    },
  })
  return new Map(found.map(({ key, links }) => [key, links.map(linkAt(now))]))
}

const NEWEST = [{ createdAt: 'desc' }, { id: 'desc' }] as const

/** Makes the links of records, with what holds at a time. */
const linkAt = (now: Date) => {
  const time = canonicalInstant(instantOf(now))
  return (one: object): LinkRecord => {
    const { available, ...link } = record.rowOf(one)
    const ended = link.expires_at !== null && canonicalInstant(link.expires_at) <= time
    return { ...link, standing: available && !ended }
  }
}

/** The share behind a token as in `openShare`, read through Prisma. */
export async function openedShare(
  prisma: PrismaClient,
  token: string,
  now: Date,
): Promise<OpenShare | undefined> {
  if (!isShareToken(token)) return undefined
  const tokenHash = new Uint8Array(shareTokenHash(token))
  const share = await prisma.share.findFirst({ where: { tokenHash, revokedAt: null }, select: { id: true } })
  if (share === null) return undefined
  const page = { limit: 1, after: undefined }
  const [link] = await linkRecords(prisma, { id: share.id, opened: 'batch' }, page, now)
  if (!link?.standing || !creatorMay('share', link, link.owner_id)) return undefined
  const { id, anonymous, files, embed, expires_at: expiresAt, batch_key: batchKey } = link
  return { id, anonymous, files, embed, expiresAt, batchKey: Number(batchKey) }
}

/** The shares of batches that were not revoked, newest first, ended ones too; `batch_key` says whose each is. */
export async function listShares(
  prisma: PrismaClient,
  batchKeys: readonly number[],
  page: { limit: number | null; after: SharePosition | undefined },
  now: Date,
): Promise<(ShareView & { batch_key: number })[]> {
  const rows = await linkRecords(prisma, { batchKey: { in: [...batchKeys] } }, page, now)
  return rows.map((row) => ({
    id: row.id,
    batch_key: Number(row.batch_key),
    anonymous: row.anonymous,
    files: row.files,
    embed: row.embed,
    created_by: { id: row.creator_id, name: row.creator_name },
    creator_disabled: row.creator_disabled,
    opens: row.standing && creatorMay('share', row, row.owner_id),
    created_at: row.created_at,
    expires_at: row.expires_at,
  }))
}

import { required } from '../../checked.ts'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { visibleBatches, visibleProject } from '../access.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { holdQuota } from '../quotas.ts'
import { createShare, makeShareToken, revokeSharesOfLink, shareTokenHash } from '../shares/index.ts'
import { isUuid } from '../uuid.ts'
import { tokenOfBatch } from './link-token.ts'
import { mayShare, type StoredReport, visibleReport } from './reads.ts'
import { embeddedBatches } from './report-fields.ts'

/**
 * Writes a report into a project.
 * @returns its id
 * @throws Problem project_not_found, forbidden; quota_exceeded beyond `most` reports of the user
 */
export async function createReport(
  tx: Tx,
  actor: Known,
  wanted: { project: string; title: string; body: string },
  most: number,
  now: Date,
): Promise<string> {
  const project = await visibleProject(tx, actor, wanted.project)
  if (!project.may('edit')) throw new Problem('forbidden')
  await holdQuota(
    tx,
    actor.user.id,
    { what: 'reports', most, setting: 'SVC_MAX_REPORTS_PER_USER' },
    async () => {
      const [row] = await tx<{ n: number }[]>`/* reports.count */
        select count(*)::int n from reports where user_id = ${actor.user.id}`
      return row?.n ?? 0
    },
  )
  const at = instantOf(now)
  const [row] = await tx<{ id: string }[]>`/* reports.create */
    insert into reports (project_key, user_id, title, body, created_at, updated_at)
    values (${project.key}, ${actor.user.id}, ${wanted.title}, ${wanted.body}, ${at}, ${at}) returning id`
  return required(row).id
}

/** @throws Problem report_not_found, forbidden */
export async function changeReport(
  tx: Tx,
  actor: Known,
  id: string,
  change: { title?: string | undefined; body?: string | undefined },
  now: Date,
): Promise<void> {
  const report = await visibleReport(tx, actor, id, { lock: true })
  if (!report.project.may('edit')) throw new Problem('forbidden')
  const { title = report.title, body = report.body } = change
  await tx`/* reports.change */
    update reports set title = ${title}, body = ${body}, updated_at = ${instantOf(now)} where id = ${id}`
}

/** Deletes the report with its links. @throws Problem report_not_found, forbidden */
export async function deleteReport(tx: Tx, actor: Known, id: string, now: Date): Promise<Change[]> {
  const changes = await revokeLinks(tx, actor, id, now)
  await tx`/* reports.delete */ delete from reports where id = ${id}`
  return changes
}

/**
 * Makes a public link to the report, and with it a share of each embedded batch that the actor may share. The token is
 * shown this once.
 * @param options.embed whether other sites may show the report
 * @throws Problem report_not_found, forbidden; quota_exceeded beyond `most` open shares of the actor
 */
export async function linkReport(
  tx: Tx,
  actor: Known,
  id: string,
  { most, embed }: { most: number; embed: boolean },
  now: Date,
): Promise<{ result: { token: string; batches: string[] }; changes: Change[] }> {
  const report = await sharedReport(tx, actor, id)
  const token = makeShareToken()
  const embedded = await visibleBatches(tx, actor, embeddedBatches(report.body))
  const changes: Change[] = []
  const batches: string[] = []
  const shares: string[] = []
  for (const batch of embedded.filter((one) => one.may('share'))) {
    const wanted = { expiresAt: null, anonymous: false, token: tokenOfBatch(token, batch.id) }
    const share = await createShare(tx, actor, batch.id, wanted, most, now)
    changes.push(...share.changes)
    batches.push(batch.id)
    shares.push(share.result.id)
  }
  await tx`/* reports.link */
    insert into report_links (report_id, token_hash, share_ids, embed, created_by, created_at)
    values (${id}, ${shareTokenHash(token)}, ${shares}::uuid[], ${embed}, ${actor.user.id}, ${instantOf(now)})`
  await recordAudit(
    tx,
    actor,
    { action: 'report.shared', subject: `report:${id}`, detail: { batches, ...(embed && { embed }) } },
    now,
  )
  return { result: { token, batches }, changes }
}

/**
 * Ends every link to the report, or one of them, and the shares of batches that came with them.
 * @throws Problem report_not_found; forbidden; share_not_found for a link that it does not have
 */
export async function revokeLinks(
  tx: Tx,
  actor: Known,
  id: string,
  now: Date,
  linkId?: string,
): Promise<Change[]> {
  await sharedReport(tx, actor, id)
  if (linkId !== undefined && !isUuid(linkId)) throw new Problem('share_not_found')
  const links = await tx<{ share_ids: string[] }[]>`/* reports.revoke_links */
    delete from report_links where report_id = ${id} and ${linkId === undefined ? tx`true` : tx`id = ${linkId}`}
    returning share_ids`
  if (links.length === 0 && linkId !== undefined) throw new Problem('share_not_found')
  if (links.length === 0) return []
  const detail = linkId === undefined ? {} : { detail: { link: linkId } }
  await recordAudit(tx, actor, { action: 'report.unshared', subject: `report:${id}`, ...detail }, now)
  return revokeSharesOfLink(
    tx,
    links.flatMap((link) => link.share_ids),
    now,
  )
}

/** The report, locked, if the actor may share it. */
async function sharedReport(tx: Tx, actor: Known, id: string): Promise<StoredReport> {
  const report = await visibleReport(tx, actor, id, { lock: true })
  if (!mayShare(report.project.may, report.authorId === actor.user.id)) throw new Problem('forbidden')
  return report
}

import type { Db } from '../../db/sql.ts'
import { fragment } from '../../db/sql-fragment.ts'
import { creatorMay, LINK_CREATOR, type LinkCreator } from '../access.ts'
import { mayShare } from '../reports/index.ts'
import { type SharePosition, standing } from '../shares/index.ts'
import type { ProjectLink } from './link-fields.ts'

type LinkRow = Omit<ProjectLink, 'created_by' | 'opens'> &
  LinkCreator & {
    /** The owner of the batch, or the author of the report. */
    owner_id: string
    standing: boolean
  }

/**
 * The links to batches and reports of a project that were not revoked, newest first, ended ones too. The shares that a
 * link to one of its reports brought are not listed apart: they are revoked with it.
 */
export async function listLinks(
  db: Db,
  projectKey: number,
  page: { limit: number; after: SharePosition | undefined },
  now: Date,
): Promise<ProjectLink[]> {
  const { limit, after } = page
  const rows = await db<LinkRow[]>`/* links.list */
    with links as (
      select s.id, 'batch' opened, b.id batch_id, null report_id, coalesce(b.name, b.id) title, s.anonymous, s.created_by,
        s.created_at, s.expires_at, b.owner_id, ${standing(db, now)} standing
      from shares s join batches b on b.key = s.batch_key
      where b.project_key = ${projectKey} and s.revoked_at is null and b.purged_at is null
        and s.id not in (
          select unnest(l.share_ids) from report_links l join reports r on r.id = l.report_id
          where r.project_key = ${projectKey})
      union all
      select l.id, 'report', null, r.id::text, r.title, false, l.created_by, l.created_at, null, r.user_id, true
      from report_links l join reports r on r.id = l.report_id
      where r.project_key = ${projectKey})
    select l.*, ${fragment(db, LINK_CREATOR)}
    from links l
    join projects p on p.key = ${projectKey}
    join users u on u.id = l.created_by
    left join project_members m on m.project_key = p.key and m.user_id = u.id
    where ${after === undefined ? db`true` : db`(l.created_at, l.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)`}
    order by l.created_at desc, l.id desc limit ${limit}`
  return rows.map((row) => ({
    id: row.id,
    opened: row.opened,
    batch_id: row.batch_id,
    report_id: row.report_id,
    title: row.title,
    anonymous: row.anonymous,
    created_by: { id: row.creator_id, name: row.creator_name },
    creator_disabled: row.creator_disabled,
    opens: row.standing && creatorMayShare(row),
    created_at: row.created_at,
    expires_at: row.expires_at,
  }))
}

const creatorMayShare = (link: LinkRow): boolean =>
  link.opened === 'batch'
    ? creatorMay('share', link, link.owner_id)
    : mayShare((right) => creatorMay(right, link), link.owner_id === link.creator_id)

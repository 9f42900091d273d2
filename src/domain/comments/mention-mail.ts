import type { Db } from '../../db/sql.ts'
import { seesProjectSql } from '../notifications/index.ts'
import type { Mention } from '../outbox.ts'

/** The data of the mail about a mention, read when the mail is written. */
export interface MentionFacts {
  address: string
  projectKey: number
  project: string
  author: string
  body: string
  batch: { id: string; name: string | null } | null
  report: { id: string; title: string } | null
}

/**
 * Undefined if no mail should be sent: the comment or its subject was deleted, no longer mentions the person, or the person
 * does not want such mail or no longer sees the project.
 */
export async function readMention(db: Db, { comment, person }: Mention): Promise<MentionFacts | undefined> {
  const [row] = await db<MentionFacts[]>`/* comments.mention */
    select u.email address, p.key "projectKey", p.slug project, a.name author, c.body,
      case when b.key is not null then jsonb_build_object('id', b.id, 'name', b.name) end batch,
      case when r.id is not null then jsonb_build_object('id', r.id, 'title', r.title) end report
    from comments c
    join projects p on p.key = c.project_key
    join users u on u.id = ${person} and u.id = any (c.mentions) and u.disabled_at is null
    join users a on a.id = c.user_id
    left join batches b on b.key = c.batch_key
    left join reports r on r.id = c.report_id
    where c.id = ${comment} and c.deleted_at is null and b.deleted_at is null and b.purged_at is null
      and coalesce((u.notice_choices->>'mention_mail')::boolean, true) and ${seesProjectSql(db)}`
  return row
}

import type { Db, Fragment } from '../../db/sql.ts'
import { seesProjectSql } from '../notifications/index.ts'
import type { Notice } from './notice.ts'

/** The newest notices of a person that are kept. */
export const MAX_NOTICES = 500

/** SQL: notices as `n`, of persons as `u`, that their persons may still see: what is gone tells nothing any more. */
const visible = (db: Db): Fragment => db`
  from notices n
  join users u on u.id = n.user_id
  join projects p on p.key = n.project_key
  left join batches b on b.key = n.batch_key
  left join comments c on c.id = n.comment_id
  left join users a on a.id = c.user_id
  left join reports r on r.id = c.report_id
  left join notification_firings f on f.id = n.firing_id
  left join notification_rules t on t.id = f.rule_id
  left join jobs j on j.key = f.job_key and j.batch_key = f.batch_key
  where ${seesProjectSql(db)} and b.deleted_at is null and b.purged_at is null and c.deleted_at is null`

const columns = (db: Db): Fragment => db`
  n.id, n.kind, n.created_at, n.read_at is not null read, p.slug project,
  case when b.key is not null then jsonb_build_object('id', b.id, 'name', b.name) end batch,
  case when r.id is not null then jsonb_build_object('id', r.id, 'title', r.title) end report,
  case when c.id is not null then jsonb_build_object('id', c.id, 'author', a.name, 'text', left(c.body, 200)) end comment,
  case when f.id is not null then jsonb_build_object('name', nullif(t.name, t.trigger), 'trigger', f.trigger, 'job_id', j.id,
    'reason', left(coalesce(f.detail->>'alert', f.detail->>'reason'), 200)) end rule`

/** The person's notices, newest first. */
export const listNotices = (
  db: Db,
  userId: string,
  { limit, after }: { limit: number; after: number | undefined },
): Promise<Notice[]> =>
  db<Notice[]>`/* notices.list */
    select ${columns(db)} ${visible(db)} and n.user_id = ${userId}
      and ${after === undefined ? db`true` : db`n.id < ${after}`}
    order by n.id desc limit ${limit}`

/** How many of the newest the person has not read. */
export async function countUnread(db: Db, userId: string): Promise<number> {
  const [row] = await db<{ n: number }[]>`/* notices.unread */
    select count(*)::int n from (
      select 1 ${visible(db)} and n.user_id = ${userId} and n.read_at is null order by n.id desc limit ${MAX_NOTICES}) x`
  return row?.n ?? 0
}

/** For the stream: these notices, by id. */
export async function noticesById(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, { userId: string; notice: Notice }>> {
  if (ids.length === 0) return new Map()
  const rows = await db<(Notice & { user_id: string })[]>`/* notices.by_id */
    select n.user_id, ${columns(db)} ${visible(db)} and n.id = any (${[...new Set(ids)]}::bigint[])`
  return new Map(rows.map(({ user_id: userId, ...notice }) => [notice.id, { userId, notice }]))
}

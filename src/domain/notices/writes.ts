import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import type { Change } from '../../stream/change.ts'
import { type Facts, seesProjectSql } from '../notifications/index.ts'

/** What the stream says of new notices. */
export const noticesOf = (ids: readonly number[]): Change[] =>
  ids.length === 0 ? [] : [{ channel: 'notices', type: 'notices', keys: [...ids] }]

/**
 * Notices of a comment for these people: those who see its project and want such notices; one for each.
 * @returns their ids
 */
export async function noticeComment(
  tx: Tx,
  of: {
    kind: 'mention' | 'comment'
    people: readonly string[]
    subject: { projectKey: number; batchKey: number | null }
    comment: number
    at: string
  },
): Promise<number[]> {
  if (of.people.length === 0) return []
  const choice = of.kind === 'mention' ? 'mentions' : 'comments'
  const rows = await tx<{ id: number }[]>`/* notices.of_comment */
    insert into notices (user_id, kind, project_key, batch_key, comment_id, created_at)
    select u.id, ${of.kind}, p.key, ${of.subject.batchKey}::bigint, ${of.comment}, ${of.at}::timestamptz
    from users u join projects p on p.key = ${of.subject.projectKey}
    where u.id = any (${[...of.people]}::uuid[]) and u.disabled_at is null and ${seesProjectSql(tx)}
      and coalesce((u.notice_choices->>${choice})::boolean, true)
    order by u.id
    on conflict do nothing returning id`
  return rows.map(({ id }) => id)
}

/**
 * Notices of a firing for the people whom its rule's messages reach: the rule's own person, or the accounts of the
 * addresses that it mails. Who ended such mail gets no notice either.
 * @param mails whether the rule has mail among its channels
 * @returns their ids
 */
export async function noticeFiring(tx: Tx, facts: Facts, mails: boolean, now: Date): Promise<number[]> {
  // A test is sent to channels alone.
  if (facts.trigger === null) return []
  const batchKey = facts.batch?.key ?? null
  const rows = await tx<{ id: number }[]>`/* notices.of_firing */
    insert into notices (user_id, kind, project_key, batch_key, firing_id, created_at)
    select u.id, 'rule', p.key, ${batchKey}::bigint, ${facts.firing}, ${instantOf(now)}::timestamptz
    from notification_rules r
    join projects p on p.key = r.project_key
    join users o on o.id = p.owner_id
    join users u on u.id = r.person_id or (r.person_id is null and ${mails} and u.email_key = any (
      select lower(x) from unnest(case
        when cardinality(r.recipients) > 0 then r.recipients
        when cardinality(p.recipients) > 0 then p.recipients
        else array[o.email] end) x))
    where r.id = ${facts.rule.id} and u.disabled_at is null and ${seesProjectSql(tx)}
      and coalesce((u.notice_choices->>'rules')::boolean, true)
      and not exists (
        select from notification_recipients c join notification_mutes m on m.recipient_id = c.id
        where c.project_key = p.key and c.address_key = u.email_key
          and (m.rule_id = r.id or m.batch_key = ${batchKey} or (m.rule_id is null and m.batch_key is null)))
    order by u.id
    on conflict do nothing returning id`
  return rows.map(({ id }) => id)
}

/** Marks the person's notices as read: these, or all up to one. @returns the ids of those that were not */
export async function markRead(
  tx: Tx,
  userId: string,
  which: { ids: readonly number[] } | { upTo: number },
  now: Date,
): Promise<number[]> {
  const rows = await tx<{ id: number }[]>`/* notices.read */
    update notices set read_at = ${instantOf(now)}
    where user_id = ${userId} and read_at is null
      and ${'ids' in which ? tx`id = any (${[...which.ids]}::bigint[])` : tx`id <= ${which.upTo}`} returning id`
  return rows.map(({ id }) => id)
}

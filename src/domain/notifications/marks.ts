import { instantOf } from '../../db/instant.ts'
import type { Db } from '../../db/sql.ts'

/**
 * The outcome of a mail to one recipient. The mark `begun` is committed durably before the message is sent; a mail with
 * any mark is never sent again. So a mail is sent at most once, even if a process is killed at any moment;
 * docs/notifications.md describes the cost.
 */
export type MailState = 'begun' | 'sent' | 'unknown' | 'refused' | 'logged' | 'held'

/** The marks of a firing's mails by address (lower case); `held`: a digest reports it. */
export async function readMarks(db: Db, firing: number): Promise<Map<string, MailState>> {
  const rows = await db<{ address_key: string; state: MailState }[]>`/* notifications.marks */
    select address_key, state from notification_mails where firing_id = ${firing}
    union all
    select address_key, 'held' from mail_held where firing_id = ${firing}`
  return new Map(rows.map((row) => [row.address_key, row.state]))
}

/** @returns false if another server has marked it before, or its rule was deleted in the meantime */
export async function markStarted(
  db: Db,
  mail: { firing: number; address: string },
  state: 'begun' | 'logged',
  shown: { target: string; subject: string },
  now: Date,
): Promise<boolean> {
  const rows = await db`/* notifications.mark_begun */
    insert into notification_mails (firing_id, address_key, state, at, target, message, created_at)
    select f.id, lower(${mail.address}), ${state}, ${instantOf(now)}::timestamptz, ${shown.target},
      jsonb_build_object('subject', ${shown.subject}::text), ${instantOf(now)}::timestamptz
    from notification_firings f where f.id = ${mail.firing} for key share
    on conflict do nothing returning 1`
  return rows.length > 0
}

/** Records the outcome of the handover; without effect if the rule was deleted in the meantime. */
export async function markEnded(
  db: Db,
  mail: { firing: number; address: string },
  state: 'sent' | 'unknown' | 'refused',
  error: string | null,
  now: Date,
): Promise<void> {
  await db`/* notifications.mark_ended */
    insert into notification_mails as m (firing_id, address_key, state, at, error)
    select f.id, lower(${mail.address}), ${state}, ${instantOf(now)}::timestamptz, ${error}
    from notification_firings f where f.id = ${mail.firing} for key share
    on conflict (firing_id, address_key) do update set state = excluded.state, at = excluded.at, error = excluded.error
    where m.state in ('begun', 'unknown')`
}

/** The mail server did not accept the mail, so it may be sent again. */
export async function unmark(db: Db, mail: { firing: number; address: string }): Promise<void> {
  await db`/* notifications.unmark */
    delete from notification_mails
    where firing_id = ${mail.firing} and address_key = lower(${mail.address}) and state = 'begun'`
}

import { instantOf } from '../../db/instant.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { isQuiet, type Quiet } from './quiet.ts'

/** Mails that the hourly budgets or the quiet hours of a rule held back, until a digest reports them (specification §6.4). */

/** Stores a mail for the digest. No effect if it is stored already, or its rule was deleted. */
export async function holdMail(tx: Tx, mail: { firing: number; address: string }, now: Date): Promise<void> {
  await tx`/* notifications.hold_mail */
    insert into mail_held (firing_id, address_key, address, held_at)
    select f.id, lower(${mail.address}), ${mail.address}, ${instantOf(now)}::timestamptz
    from notification_firings f where f.id = ${mail.firing} for key share
    on conflict do nothing`
}

/** Recipients whose digest is due: a mail of theirs has waited since before that time. */
export async function digestsDue(db: Db, before: string): Promise<string[]> {
  const rows = await db<{ address_key: string }[]>`/* notifications.digests_due */
    select distinct address_key from mail_held
    where state = 'waiting' and held_at < ${before}::timestamptz order by address_key limit 1000`
  return rows.map((row) => row.address_key)
}

export interface HeldMail {
  firing: number
  address: string
  ruleId: string
  projectKey: number
  project: string
  quiet: Quiet | null
}

/** The held mails of a recipient, newest first, without those of rules whose quiet hours last. */
export async function heldMails(db: Db, addressKey: string, now: Date): Promise<HeldMail[]> {
  const held = await db<HeldMail[]>`/* notifications.held_mails */
    select h.firing_id firing, h.address, r.id "ruleId", r.quiet, p.key "projectKey", p.slug project
    from mail_held h
    join notification_firings f on f.id = h.firing_id
    join notification_rules r on r.id = f.rule_id
    join projects p on p.key = r.project_key
    where h.address_key = ${addressKey} and h.state = 'waiting'
    order by h.firing_id desc`
  return held.filter(({ quiet }) => !isQuiet(quiet, now))
}

/** Marks the mails of a digest as sent, before it is sent; false if another server did so first. */
export async function beginDigest(db: Db, addressKey: string, firings: number[]): Promise<boolean> {
  const marked = await db`/* notifications.begin_digest */
    update mail_held set state = 'begun'
    where address_key = ${addressKey} and firing_id = any (${firings}::bigint[]) and state = 'waiting' returning 1`
  return marked.length > 0
}

/** @param state waiting: the mail server did not accept it, so the next digest reports it */
export async function endDigest(
  db: Db,
  addressKey: string,
  firings: number[],
  state: 'waiting' | 'sent' | 'unknown' | 'refused',
): Promise<void> {
  await db`/* notifications.end_digest */
    update mail_held set state = ${state}
    where address_key = ${addressKey} and firing_id = any (${firings}::bigint[]) and state = 'begun'`
}

/** Deletes held mails that their recipient no longer wants. */
export async function dropHeld(db: Db, addressKey: string, firings: number[]): Promise<void> {
  await db`/* notifications.drop_held */
    delete from mail_held
    where address_key = ${addressKey} and firing_id = any (${firings}::bigint[]) and state = 'waiting'`
}

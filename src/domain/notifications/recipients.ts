import { instantOf } from '../../db/instant.ts'
import type { Db, Fragment, Tx } from '../../db/sql.ts'
import { makeSecret } from '../../secrets.ts'
import { mayBeMailed, resumeAllMail, stopAllMail } from '../addresses/index.ts'
import { isStorable } from '../storable-text.ts'
import { isUuid } from '../uuid.ts'

/** A recipient of mail, and the secret in the links of that mail. */
export interface Recipient {
  id: string
  address: string
  token: string
  /** Whether it may be mailed, because its owner confirmed it (domain/addresses). */
  confirmed: boolean
}

/** SQL: whether a user `u` sees a project `p`. */
export const seesProjectSql = (db: Db): Fragment => db`(
  u.role = 'admin' or u.id = p.owner_id or p.visibility = 'public'
  or exists (select from project_members m where m.project_key = p.key and m.user_id = u.id))`

/**
 * The recipients of a rule's mail: its person, or its own, else the project's, else the project's owner. Addresses that ended such
 * mail are left out, as are accounts that are disabled or may not see the project.
 * @param domains that need no confirmation
 */
export async function recipientsOf(
  tx: Tx,
  of: { ruleId: string; projectKey: number; batchKey: number | null },
  domains: readonly string[],
): Promise<Recipient[]> {
  const wanted = await tx<
    { address: string; key: string; confirmed: boolean }[]
  >`/* notifications.addresses */
    select distinct on (lower(a.address)) a.address, lower(a.address) as key,
      ${mayBeMailed(tx, tx`lower(a.address)`, domains)} as confirmed
    from notification_rules r
    join projects p on p.key = r.project_key
    join users o on o.id = p.owner_id
    left join users person on person.id = r.person_id
    cross join lateral unnest(case
      when person.id is not null then array[person.email]
      when cardinality(r.recipients) > 0 then r.recipients
      when cardinality(p.recipients) > 0 then p.recipients
      else array[o.email] end) with ordinality as a (address, n)
    left join users u on u.email_key = lower(a.address)
    where r.id = ${of.ruleId}
      and (u.id is null or (u.disabled_at is null and ${seesProjectSql(tx)}))
    order by lower(a.address), a.n`
  if (wanted.length === 0) return []
  const keys = wanted.map(({ key }) => key)
  await tx`/* notifications.know_recipients */
    insert into notification_recipients (project_key, address_key, token)
    select ${of.projectKey}, key, token
    from unnest(${keys}::text[], ${keys.map(newToken)}::text[]) as u (key, token)
    order by key
    on conflict (project_key, address_key) do nothing`
  const known = await tx<{ id: string; token: string; address_key: string }[]>`/* notifications.recipients */
    select c.id, c.token, c.address_key from notification_recipients c
    where c.project_key = ${of.projectKey} and c.address_key = any (${keys}::text[])
      and not exists (
        select from notification_mutes m
        where m.recipient_id = c.id and (m.rule_id = ${of.ruleId} or m.batch_key = ${of.batchKey}
          or (m.rule_id is null and m.batch_key is null)))
    order by c.address_key`
  const addresses = new Map(wanted.map((one) => [one.key, one]))
  return known.flatMap(({ id, token, address_key: key }) => {
    const { address, confirmed } = addresses.get(key) ?? {}
    return address === undefined ? [] : [{ id, token, address, confirmed: confirmed === true }]
  })
}

/** 192 random bits, stored unhashed because sent mail contains it. It only allows unsubscribing from that mail. */
const newToken = (): string => makeSecret(24)

/** The subject of a link in a mail, for its recipient. */
export interface MailSubscription {
  recipientId: string
  address: string
  projectKey: number
  project: string
  /** The rule, with its name if it has one, and the batch that the link names, if they belong to the project. */
  rule: { id: string; name: string | null } | null
  batch: { key: number; id: string } | null
  /** The mail that the recipient ended. */
  ended: { service: boolean; project: boolean; rule: boolean; batch: boolean }
}

/** The choices of a link; undefined for an unknown token. */
export async function findSubscription(
  db: Db,
  token: string,
  named: { rule?: string | undefined; batch?: string | undefined },
): Promise<MailSubscription | undefined> {
  if (!/^[A-Za-z0-9_-]{32}$/.test(token)) return undefined
  const ruleId = named.rule !== undefined && isUuid(named.rule) ? named.rule : null
  const batchId = named.batch !== undefined && isStorable(named.batch) ? named.batch : null
  const [row] = await db<MailSubscription[]>`/* notifications.choice */
    select c.id "recipientId", c.address_key address, c.project_key "projectKey", p.slug project,
      (select jsonb_build_object('id', r.id, 'name', nullif(r.name, r.trigger)) from notification_rules r
        where r.id = ${ruleId}::uuid and r.project_key = p.key) rule,
      (select jsonb_build_object('key', b.key, 'id', b.id) from batches b
        where b.id = ${batchId} and b.project_key = p.key and b.purged_at is null) batch,
      jsonb_build_object(
        'service', exists (select from mail_addresses x where x.address_key = c.address_key and x.stopped_at is not null),
        'project', exists (select from notification_mutes m
          where m.recipient_id = c.id and m.rule_id is null and m.batch_key is null),
        'rule', exists (select from notification_mutes m where m.recipient_id = c.id and m.rule_id = ${ruleId}::uuid),
        'batch', exists (select from notification_mutes m join batches b on b.key = m.batch_key
          where m.recipient_id = c.id and b.id = ${batchId})) ended
    from notification_recipients c join projects p on p.key = c.project_key
    where c.token = ${token}`
  return row
}

/** Ends mail of one rule, of one batch, of the project, or of the whole service, for one recipient. */
export async function unsubscribe(
  tx: Tx,
  choice: MailSubscription,
  of: 'rule' | 'batch' | 'project' | 'service',
  now: Date,
): Promise<void> {
  if (of === 'service') return stopAllMail(tx, choice.address, now)
  const ruleId = of === 'rule' ? (choice.rule?.id ?? null) : null
  const batchKey = of === 'batch' ? (choice.batch?.key ?? null) : null
  await tx`/* notifications.end_mail */
    insert into notification_mutes (project_key, recipient_id, rule_id, batch_key, created_at)
    values (${choice.projectKey}, ${choice.recipientId}, ${ruleId}, ${batchKey}, ${instantOf(now)})
    on conflict do nothing`
}

/** Subscribes the recipient again to everything in the project, and withdraws "no mail at all". */
export async function resubscribe(tx: Tx, choice: MailSubscription): Promise<void> {
  await resumeAllMail(tx, choice.address)
  await tx`/* notifications.resume_mail */
    delete from notification_mutes where recipient_id = ${choice.recipientId}`
}

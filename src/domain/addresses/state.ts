import { instantOf } from '../../db/instant.ts'
import type { Db, Fragment, Tx } from '../../db/sql.ts'

/**
 * SQL for whether an address in lower case may be mailed: its owner confirmed it, it is the verified address of an
 * account, or its whole domain is allowed; and its owner has not stopped all mail.
 * @param key an SQL expression, such as `lower(a.address)`
 * @param domains those of `SVC_MAIL_ALLOWED_DOMAINS`; subdomains are not included
 */
export const mayBeMailed = (db: Db, key: Fragment, domains: readonly string[]): Fragment => db`(
  not exists (select from mail_addresses x where x.address_key = ${key} and x.stopped_at is not null)
  and (split_part(${key}, '@', 2) = any (${[...domains]}::text[])
    or exists (select from mail_addresses x where x.address_key = ${key} and x.confirmed_at is not null)
    or exists (select from users x where x.email_key = ${key} and x.email_verified_at is not null)))`

/** Whether one address may be mailed. */
export async function isMailable(db: Db, address: string, domains: readonly string[]): Promise<boolean> {
  const key = address.toLowerCase()
  const [row] = await db<{ may: boolean }[]>`/* addresses.is_mailable */
    select ${mayBeMailed(db, db`${key}`, domains)} as may`
  return row?.may === true
}

/** An address that a project sends mail to, and whether it may be mailed. */
export interface AddressState {
  address: string
  state: 'confirmed' | 'unconfirmed' | 'stopped'
  /** When its owner was last asked to confirm it; null: never. */
  askedAt: string | null
}

/**
 * All addresses of a project and its rules, or its owner's where they have none.
 * @param of.ruleId only this rule
 */
export async function addressesOf(
  db: Db,
  of: { projectKey: number; ruleId?: string },
  domains: readonly string[],
): Promise<AddressState[]> {
  const { projectKey, ruleId = null } = of
  return db<AddressState[]>`/* addresses.of_project */
    with named as (
      select unnest(p.recipients) address from projects p where p.key = ${projectKey} and ${ruleId}::uuid is null
      union all
      select o.email from projects p join users o on o.id = p.owner_id
      where p.key = ${projectKey} and cardinality(p.recipients) = 0 and ${ruleId}::uuid is null
      union all
      select unnest(r.recipients) from notification_rules r
      where r.project_key = ${projectKey} and (${ruleId}::uuid is null or r.id = ${ruleId}::uuid)),
    keys as (select distinct on (lower(address)) address, lower(address) key from named order by lower(address))
    select k.address,
      case when exists (select from mail_addresses x where x.address_key = k.key and x.stopped_at is not null)
             then 'stopped'
           when ${mayBeMailed(db, db`k.key`, domains)} then 'confirmed' else 'unconfirmed' end as state,
      (select max(c.requested_at) from address_confirmations c where c.address_key = k.key) "askedAt"
    from keys k order by k.key`
}

/** Stops all rules of all projects from mailing the address, until its owner allows it again. */
export async function stopAllMail(tx: Tx, address: string, now: Date): Promise<void> {
  await tx`/* addresses.stop */
    insert into mail_addresses (address_key, stopped_at) values (${address.toLowerCase()}, ${instantOf(now)})
    on conflict (address_key) do update set stopped_at = excluded.stopped_at`
}

export async function resumeAllMail(tx: Tx, address: string): Promise<void> {
  await tx`/* addresses.resume */
    update mail_addresses set stopped_at = null where address_key = ${address.toLowerCase()}`
}

import { createHash } from 'node:crypto'
import { required } from '../../checked.ts'
import { instantOf } from '../../db/instant.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { makeSecret } from '../../secrets.ts'
import { recordAudit } from '../audit.ts'
import type { CallerUser, Known } from '../caller.ts'
import { enqueueMessage } from '../outbox.ts'
import { addressesOf } from './state.ts'

/** How long a link is valid, in days. */
export const LINK_DAYS = 7
/** The most confirmation mails to one address in a day, from all accounts together. */
export const PER_ADDRESS = { day: 3, gapS: 60 }
/** How many addresses one account may have asked in an hour, over all of its projects. */
const PER_REQUESTER_HOUR = 50

const ago = (now: Date, seconds: number): string => instantOf(new Date(now.getTime() - seconds * 1000))
const inDays = (now: Date, days: number): string => instantOf(new Date(now.getTime() + days * 86_400_000))

/** Serialises requests for one address or by one account, so that two at once cannot both pass the limits. */
const lock = (tx: Tx, name: string): Promise<unknown> =>
  tx`/* addresses.lock */ select pg_advisory_xact_lock(hashtextextended(${name}, 7041781))`

interface ConfirmationRequest {
  purpose: 'account' | 'mail'
  address: string
  userId: string | null
  requestedBy: string
  projectKey: number | null
}

/** Enqueues the mail. The task creates the token, so only the mail contains it. */
async function request(tx: Tx, wanted: ConfirmationRequest, now: Date): Promise<void> {
  const [asked] = await tx<{ id: string }[]>`/* addresses.request */
    insert into address_confirmations
      (purpose, address, address_key, user_id, requested_by, project_key, requested_at, expires_at)
    values (${wanted.purpose}, ${wanted.address}, ${wanted.address.toLowerCase()}, ${wanted.userId},
      ${wanted.requestedBy}, ${wanted.projectKey}, ${instantOf(now)}, ${inDays(now, LINK_DAYS)})
    returning id`
  await enqueueMessage(tx, { confirmation: required(asked).id })
}

/**
 * Seconds until the address may be asked again; 0: now. An address with a pending link is not asked again unless
 * `again` is set: one mail is enough.
 */
async function waitFor(tx: Tx, wanted: ConfirmationRequest, again: boolean, now: Date): Promise<number> {
  await lock(tx, `address ${wanted.address.toLowerCase()}`)
  const [row] = await tx<
    { n: number; last: string | null; oldest: string | null; waits: boolean }[]
  >`/* addresses.asked */
    select count(*)::int n, max(requested_at) as last, min(requested_at) oldest,
      coalesce(bool_or(purpose = ${wanted.purpose} and user_id is not distinct from ${wanted.userId}::uuid
        and used_at is null), false) waits
    from address_confirmations
    where address_key = ${wanted.address.toLowerCase()} and requested_at > ${ago(now, 86_400)}`
  if (row === undefined || row.last === null || row.oldest === null) {
    if (again) return 0
    const [earlier] = await tx<{ waits: boolean }[]>`/* addresses.waiting */
      select exists (select from address_confirmations
        where address_key = ${wanted.address.toLowerCase()} and purpose = ${wanted.purpose}
          and user_id is not distinct from ${wanted.userId}::uuid and used_at is null
          and expires_at > ${instantOf(now)}) waits`
    return earlier?.waits === true ? PER_ADDRESS.gapS : 0
  }
  if (!again && row.waits) return PER_ADDRESS.gapS
  const since = (at: string): number => (now.getTime() - Date.parse(at)) / 1000
  if (row.n >= PER_ADDRESS.day) return Math.max(1, 86_400 - since(row.oldest))
  return Math.max(0, PER_ADDRESS.gapS - since(row.last))
}

/**
 * Asks the owner of an account to confirm its address. `again`: the owner requests another mail.
 * @throws Problem address_already_verified, too_many_attempts; without `again` it does nothing instead
 */
export async function requestAccountConfirmation(
  tx: Tx,
  user: Pick<CallerUser, 'id' | 'email'>,
  options: { again: boolean },
  now: Date,
): Promise<void> {
  const wanted: ConfirmationRequest = {
    purpose: 'account',
    address: user.email,
    userId: user.id,
    requestedBy: user.id,
    projectKey: null,
  }
  const wait = await waitFor(tx, wanted, options.again, now)
  if ((await verificationOf(tx, user.id)).verifiedAt !== null) {
    if (options.again) throw new Problem('address_already_verified')
    return
  }
  if (wait === 0) return request(tx, wanted, now)
  if (options.again) throw new Problem('too_many_attempts', { retryAfterS: Math.ceil(wait) })
}

/**
 * Asks the owners of the project's addresses that may not be mailed yet. Skips an address that was asked before, and
 * addresses beyond the hourly limit of the account.
 * @param of.requestedBy the user that asks; null: the project's owner
 * @param of.address only this address, also if it was asked before
 * @throws Problem, only with `address`: address_not_found, address_already_verified, address_stopped, too_many_attempts
 */
export async function requestConfirmations(
  tx: Tx,
  of: { projectKey: number; requestedBy: string | null; address?: string },
  domains: readonly string[],
  now: Date,
): Promise<void> {
  const { projectKey, address } = of
  const requestedBy = of.requestedBy ?? (await ownerOf(tx, projectKey))
  await lock(tx, `requester ${requestedBy}`)
  const known = await addressesOf(tx, { projectKey }, domains)
  const again = address !== undefined
  const chosen = again ? known.filter((one) => one.address.toLowerCase() === address.toLowerCase()) : known
  const only = chosen[0]
  if (again) {
    if (only === undefined) throw new Problem('address_not_found')
    if (only.state === 'confirmed') throw new Problem('address_already_verified')
    if (only.state === 'stopped') throw new Problem('address_stopped')
  }
  const [used] = await tx<{ n: number }[]>`/* addresses.requested */
    select count(*)::int n from address_confirmations
    where requested_by = ${requestedBy} and purpose = 'mail' and requested_at > ${ago(now, 3600)}`
  let left = PER_REQUESTER_HOUR - (used?.n ?? 0)
  for (const one of chosen) {
    if (one.state !== 'unconfirmed' || (!again && one.askedAt !== null)) continue
    if (left <= 0) {
      if (again) throw new Problem('too_many_attempts', { retryAfterS: 3600 })
      return
    }
    const wanted: ConfirmationRequest = {
      purpose: 'mail',
      address: one.address,
      userId: null,
      requestedBy,
      projectKey,
    }
    const wait = await waitFor(tx, wanted, again, now)
    if (wait > 0) {
      if (again) throw new Problem('too_many_attempts', { retryAfterS: Math.ceil(wait) })
      continue
    }
    await request(tx, wanted, now)
    left--
  }
}

async function ownerOf(tx: Tx, projectKey: number): Promise<string> {
  const [row] = await tx<{ owner: string }[]>`/* addresses.project_owner */
    select owner_id as owner from projects where key = ${projectKey}`
  if (row === undefined) throw new Problem('project_not_found')
  return row.owner
}

/** The data for the mail of a request. */
export interface PendingMail {
  id: string
  purpose: 'account' | 'mail'
  address: string
  /** The name of the account. The person who registered it chose it. */
  account: { email: string } | null
  project: string | null
  expiresAt: string
}

/**
 * Undefined if no mail should be sent: the request was used or ended, or the account was deleted or has another
 * address.
 */
export async function pendingMail(db: Db, id: string, now: Date): Promise<PendingMail | undefined> {
  const [row] = await db<PendingMail[]>`/* addresses.pending */
    select c.id, c.purpose, c.address, p.slug project, c.expires_at "expiresAt",
      case when u.id is null then null else jsonb_build_object('email', u.email) end account
    from address_confirmations c
    left join users u on u.id = c.user_id
    left join projects p on p.key = c.project_key
    where c.id = ${id} and c.used_at is null and c.sent_at is null and c.expires_at > ${instantOf(now)}
      and (c.user_id is null or u.email_key = c.address_key)`
  return row
}

/** Creates the token for the mail, 256 random bits; the token of an earlier try becomes invalid. */
export async function issueToken(tx: Tx, id: string, now: Date): Promise<string> {
  const token = makeSecret(32)
  await tx`/* addresses.issue */
    update address_confirmations set token_hash = ${hashOf(token)}, sent_at = ${instantOf(now)} where id = ${id}`
  return token
}

/** The mail server did not accept the mail, so it is written again. */
export async function returnToken(db: Db, id: string): Promise<void> {
  await db`/* addresses.return */
    update address_confirmations set token_hash = null, sent_at = null where id = ${id} and used_at is null`
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The content of the page of a link. */
export interface Confirmation {
  id: string
  purpose: 'account' | 'mail'
  address: string
  userId: string | null
  accountSince: string | null
  project: string | null
  expiresAt: string
}

/** Undefined for a link that does not exist, was used or has expired, or whose account has another address now. */
export async function findConfirmation(db: Db, token: string, now: Date): Promise<Confirmation | undefined> {
  if (!/^[A-Za-z0-9_-]{43}$/.test(token)) return undefined
  const [row] = await db<Confirmation[]>`/* addresses.find */
    select c.id, c.purpose, c.address, c.user_id "userId", u.created_at "accountSince", p.slug project,
      c.expires_at "expiresAt"
    from address_confirmations c
    left join users u on u.id = c.user_id
    left join projects p on p.key = c.project_key
    where c.token_hash = ${hashOf(token)} and c.used_at is null and c.expires_at > ${instantOf(now)}
      and (c.user_id is null or u.email_key = c.address_key)`
  return row
}

/**
 * Confirms the address of a link, which can be used once.
 * @throws Problem confirmation_not_found
 */
export async function confirmAddress(tx: Tx, token: string, now: Date): Promise<Confirmation> {
  const found = await findConfirmation(tx, token, now)
  const used =
    found === undefined
      ? []
      : await tx`/* addresses.use */
          update address_confirmations set used_at = ${instantOf(now)} where id = ${found.id} and used_at is null
          returning 1`
  if (found === undefined || used.length === 0) throw new Problem('confirmation_not_found')
  if (found.userId === null) {
    await tx`/* addresses.confirm_mail */
      insert into mail_addresses (address_key, confirmed_at)
      values (${found.address.toLowerCase()}, ${instantOf(now)})
      on conflict (address_key) do update set confirmed_at = excluded.confirmed_at`
    return found
  }
  const verified = await tx<CallerUser[]>`/* addresses.verify_account */
    update users set email_verified_at = coalesce(email_verified_at, ${instantOf(now)})
    where id = ${found.userId} and email_key = ${found.address.toLowerCase()}
    returning id, email, name, role`
  const user = verified[0]
  if (user === undefined) throw new Problem('confirmation_not_found')
  const actor: Known = { kind: 'known', user, via: 'session', credentialId: '' }
  await recordAudit(tx, actor, { action: 'user.address_verified', subject: `user:${user.id}` }, now)
  return found
}

export interface Verification {
  email: string
  verifiedAt: string | null
  /** When a link was last requested. */
  askedAt: string | null
}

/** @throws Problem user_not_found */
export async function verificationOf(db: Db, userId: string): Promise<Verification> {
  const [row] = await db<Verification[]>`/* addresses.verification */
    select u.email, u.email_verified_at "verifiedAt",
      (select max(c.requested_at) from address_confirmations c where c.user_id = u.id and c.address_key = u.email_key) "askedAt"
    from users u where u.id = ${userId}`
  if (row === undefined) throw new Problem('user_not_found')
  return row
}

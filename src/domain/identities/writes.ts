import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import {
  createUser,
  findAccount,
  findUser,
  markVerified,
  nameFromEmail,
  releaseAddress,
  type User,
} from '../users/index.ts'
import { isUuid } from '../uuid.ts'
import type { Claimed } from './identity.ts'

interface Owned {
  id: string
  userId: string
}

/**
 * The account of the identity; at the first sign-in, a new one. An account is never found by its address: a user with
 * an account links the identity to it (`linkIdentity`). An unverified account loses its address to a user for whom the
 * provider has verified it, because anyone could have registered it. An administrator's account keeps it: it came
 * first, or an administrator confirmed it. Throws `account_disabled`; and for a new account `email_missing`,
 * `email_taken`, `registration_closed`.
 */
export async function signInWith(
  tx: Tx,
  claimed: Claimed,
  registration: 'open' | 'closed',
  now: Date,
): Promise<User> {
  const known = await find(tx, claimed)
  if (known !== undefined) {
    const user = await findUser(tx, known.userId)
    if (user === undefined || user.disabled) throw new Problem('account_disabled')
    await note(tx, known, claimed, now)
    return (await findUser(tx, known.userId)) ?? user
  }
  const { email } = claimed
  if (email === undefined) throw new Problem('email_missing')
  const { emailVerified } = claimed
  const holder = await findAccount(tx, email)
  if (holder !== undefined) {
    const yields = emailVerified && !holder.emailVerified && holder.role !== 'admin'
    if (!yields || (await releaseAddress(tx, holder.id)) === undefined) throw new Problem('email_taken')
  }
  const name = claimed.name ?? nameFromEmail(email)
  const user = await createUser(tx, { email, name, passwordHash: null, emailVerified }, registration, now)
  await insert(tx, user.id, claimed, now)
  if (holder !== undefined) {
    const actor: Known = { kind: 'known', user, via: 'session', credentialId: '' }
    const detail = { to: user.id, issuer: claimed.issuer }
    await recordAudit(
      tx,
      actor,
      { action: 'user.address_released', subject: `user:${holder.id}`, detail },
      now,
    )
  }
  return user
}

/**
 * Links the identity to the caller's account, and records it. Throws `identity_taken` if it belongs to another account.
 */
export async function linkIdentity(tx: Tx, caller: Known, claimed: Claimed, now: Date): Promise<void> {
  const known = await find(tx, claimed)
  if (known !== undefined) {
    if (known.userId !== caller.user.id) throw new Problem('identity_taken')
    return note(tx, known, claimed, now)
  }
  await insert(tx, caller.user.id, claimed, now)
  await trustAddress(tx, caller.user.id, claimed, now)
  const detail = { issuer: claimed.issuer, email: claimed.email ?? null }
  await recordAudit(tx, caller, { action: 'identity.linked', subject: `user:${caller.user.id}`, detail }, now)
}

/** Unlinks an identity from the caller's account. Throws `identity_not_found`, `last_sign_in`. */
export async function unlinkIdentity(tx: Tx, caller: Known, id: string, now: Date): Promise<void> {
  if (!isUuid(id)) throw new Problem('identity_not_found')
  // Locked: two requests that each unlink one must not unlink both.
  const [user] = await tx<{ password: boolean }[]>`/* identities.lock_user */
    select password_hash is not null as password from users where id = ${caller.user.id} for update`
  const [gone] = await tx<{ issuer: string; email: string | null }[]>`/* identities.unlink */
    delete from identities where id = ${id} and user_id = ${caller.user.id} returning issuer, email`
  if (gone === undefined) throw new Problem('identity_not_found')
  const [left] = await tx<{ some: boolean }[]>`/* identities.left */
    select exists (select from identities where user_id = ${caller.user.id}) as some`
  if (user?.password !== true && left?.some !== true) throw new Problem('last_sign_in')
  await recordAudit(
    tx,
    caller,
    { action: 'identity.unlinked', subject: `user:${caller.user.id}`, detail: { ...gone } },
    now,
  )
}

/** The identity, under a lock against others that would create it at the same time. */
async function find(tx: Tx, { issuer, subject }: Claimed): Promise<Owned | undefined> {
  // A statement of its own: the next one must see what the lock's last holder committed.
  await tx`/* identities.lock */ select pg_advisory_xact_lock(hashtextextended(${`${issuer}\n${subject}`}, 7041779))`
  const [known] = await tx<Owned[]>`/* identities.find */
    select id, user_id as "userId" from identities where issuer = ${issuer} and subject = ${subject}`
  return known
}

async function insert(tx: Tx, userId: string, claimed: Claimed, now: Date): Promise<void> {
  const at = now.toISOString()
  await tx`/* identities.insert */
    insert into identities (user_id, issuer, subject, email, created_at, last_used_at)
    values (${userId}, ${claimed.issuer}, ${claimed.subject}, ${claimed.email ?? null}, ${at}, ${at})`
}

/** Marks the account's address as verified if the provider has verified it. */
async function trustAddress(
  tx: Tx,
  userId: string,
  { email, emailVerified }: Claimed,
  now: Date,
): Promise<void> {
  if (email !== undefined && emailVerified) await markVerified(tx, userId, email, now)
}

async function note(tx: Tx, { id, userId }: Owned, claimed: Claimed, now: Date): Promise<void> {
  const { email } = claimed
  await trustAddress(tx, userId, claimed, now)
  await tx`/* identities.note */
    update identities set last_used_at = ${now.toISOString()}, email = coalesce(${email ?? null}, email)
    where id = ${id}`
}

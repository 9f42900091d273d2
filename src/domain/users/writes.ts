import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { recordAudit } from '../audit.ts'
import type { Actor } from '../caller.ts'
import { isUuid } from '../uuid.ts'
import { findUser, hasUsers } from './reads.ts'
import { emailKey, type User } from './user.ts'

/** A lock for registrations, so that exactly one of them is the first user. */
const REGISTRATION_LOCK = 7_041_778

export interface NewUser {
  email: string
  name: string
  passwordHash: string | null
  /** Whether a trusted party, such as an identity provider, has verified the address. */
  emailVerified?: boolean
}

/** Throws `registration_closed`, unless there is no account yet: the first one can always be created (contract §3). */
export async function requireRegistration(db: Db, registration: 'open' | 'closed'): Promise<void> {
  if (registration === 'closed' && (await hasUsers(db))) throw new Problem('registration_closed')
}

/**
 * Creates the account. The first one is an administrator (specification §1.10): exactly one, however many register at
 * once. Throws `registration_closed`, `email_taken`.
 */
export async function createUser(
  tx: Tx,
  user: NewUser,
  registration: 'open' | 'closed',
  now: Date,
): Promise<User> {
  // A statement of its own: the next one must see what the lock's last holder committed.
  await tx`/* users.registration_lock */ select pg_advisory_xact_lock(${REGISTRATION_LOCK})`
  await requireRegistration(tx, registration)
  const [created] = await tx<User[]>`/* users.create */
    insert into users (email, email_key, name, role, password_hash, created_at, email_verified_at)
    select ${user.email}, ${emailKey(user.email)}, ${user.name},
           case when exists (select from users) then 'user' else 'admin' end,
           ${user.passwordHash}, ${now.toISOString()}, ${user.emailVerified === true ? now.toISOString() : null}::timestamptz
    on conflict (email_key) do nothing
    returning id, email, name, role, created_at as "createdAt", false as disabled, email_verified_at is not null as "emailVerified"`
  if (created === undefined) throw new Problem('email_taken')
  return created
}

/** Marks the address as verified. Without effect once the account has another address. */
export async function markVerified(tx: Tx, id: string, email: string, now: Date): Promise<void> {
  await tx`/* users.mark_verified */
    update users set email_verified_at = ${now.toISOString()}
    where id = ${id} and email_key = ${emailKey(email)} and email_verified_at is null`
}

/**
 * Removes an unverified address from an account, because its real owner has signed in. The account keeps everything
 * else: data, password, sessions, roles. It gets a placeholder address, which receives no mail, and signs in with it.
 * Pending invitations are withdrawn: they were meant for the owner of the address.
 * @returns the placeholder; undefined if the account verified the address meanwhile
 */
export async function releaseAddress(tx: Tx, id: string): Promise<string | undefined> {
  const standIn = `${id}@address-released.invalid`
  const released = await tx`/* users.release_address */
    update users set email = ${standIn}, email_key = ${standIn} where id = ${id} and email_verified_at is null
    returning 1`
  if (released.length === 0) return undefined
  await tx`/* users.withdraw_invitations */ delete from project_invitations where user_id = ${id}`
  return standIn
}

/**
 * Requires that the account still has this password hash and is enabled, until the transaction ends: a sign-in whose
 * password was checked must not outlast a change of it meanwhile.
 * @throws Problem bad_credentials
 */
export async function holdPassword(tx: Tx, id: string, passwordHash: string | null): Promise<void> {
  const held = await tx`/* users.hold_password */
    select from users where id = ${id} and password_hash = ${passwordHash} and disabled_at is null for share`
  if (held.length === 0) throw new Problem('bad_credentials')
}

/** Changes the given fields and returns the updated user. Throws `user_not_found`. */
export async function updateProfile(
  tx: Tx,
  id: string,
  change: { name?: string | undefined; passwordHash?: string | undefined },
): Promise<User> {
  await tx`/* users.update_profile */
    update users set name = coalesce(${change.name ?? null}, name),
                     password_hash = coalesce(${change.passwordHash ?? null}, password_hash)
    where id = ${id}`
  const user = await findUser(tx, id)
  if (user === undefined) throw new Problem('user_not_found')
  return user
}

/**
 * Changes the role of another user, or disables or enables the account, and records it. Throws `user_not_found`, and
 * `last_admin` if no enabled administrator would be left. A disabled user's tokens are revoked permanently; the caller
 * closes the sessions.
 */
export async function administerUser(
  tx: Tx,
  actor: Actor,
  id: string,
  change: { role?: 'admin' | 'user' | undefined; disabled?: boolean | undefined },
  now: Date,
): Promise<User> {
  if (!isUuid(id)) throw new Problem('user_not_found')
  // Locks all administrators and the user in one order: two administrators who demote each other at the same
  // time cannot both succeed.
  await tx`/* users.lock_admins */
    select from users where (role = 'admin' and disabled_at is null) or id = ${id} order by id for update`
  const before = await findUser(tx, id)
  if (before === undefined) throw new Problem('user_not_found')
  const [after] = await tx<User[]>`/* users.administer */
    update users set role = coalesce(${change.role ?? null}, role),
                     disabled_at = case ${change.disabled ?? null}::boolean
                                     when true then coalesce(disabled_at, ${now.toISOString()})
                                     when false then null
                                     else disabled_at end
    where id = ${id}
    returning id, email, name, role, created_at as "createdAt", disabled_at is not null as disabled,
           email_verified_at is not null as "emailVerified"`
  const [left] = await tx<{ admins: boolean }[]>`/* users.admins_left */
    select exists (select from users where role = 'admin' and disabled_at is null) as admins`
  if (after === undefined || left?.admins !== true) throw new Problem('last_admin')
  if (after.role !== before.role) {
    const detail = { from: before.role, to: after.role }
    await recordAudit(tx, actor, { action: 'user.role_changed', subject: `user:${id}`, detail }, now)
  }
  if (after.disabled !== before.disabled) {
    const action = after.disabled ? 'user.disabled' : 'user.enabled'
    await recordAudit(tx, actor, { action, subject: `user:${id}` }, now)
    if (after.disabled) await revokeTokensOf(tx, id, now)
  }
  return after
}

/** Revokes every token permanently, those of agents too: enabling the account again restores none of them. */
async function revokeTokensOf(tx: Tx, userId: string, now: Date): Promise<void> {
  await tx`/* users.revoke_tokens */
    update tokens set revoked_at = ${now.toISOString()} where user_id = ${userId} and revoked_at is null`
  await tx`/* users.revoke_agent_tokens */
    update agents set token_hash = null, token_id = null where user_id = ${userId}`
}

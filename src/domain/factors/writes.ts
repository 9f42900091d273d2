import { createHash, randomBytes } from 'node:crypto'
import { Secret } from 'otpauth'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { recordAudit } from '../audit.ts'
import type { Actor, Known } from '../caller.ts'
import { seal, unseal } from '../seal.ts'
import { isUuid } from '../uuid.ts'
import { describeTotp, stepOf } from './totp.ts'

const SECRET_BYTES = 20
export const RECOVERY_CODES = 10
const RECOVERY_BYTES = 10

/**
 * Begins to set up an authenticator app, which becomes active when `confirmTotp` accepts a code of it. A repeated call
 * creates another secret. Throws `totp_enabled`.
 */
export async function beginTotp(
  tx: Tx,
  caller: Known,
  key: string | undefined,
  now: Date,
): Promise<{ secret: string; uri: string }> {
  const { id, email } = caller.user
  const secret = randomBytes(SECRET_BYTES)
  const begun = await tx`/* totp.begin */
    insert into totp_factors as t (user_id, secret, created_at)
    values (${id}, ${seal(secret, id, key, 'second factor secrets')}, ${now.toISOString()})
    on conflict (user_id) do update set secret = excluded.secret, created_at = excluded.created_at
    where t.confirmed_at is null
    returning user_id`
  if (begun.length === 0) throw new Problem('totp_enabled')
  return describeTotp(secret, email)
}

/**
 * Activates the authenticator app. @returns the recovery codes, which are shown only once. Throws `totp_not_enabled`,
 * `totp_enabled`, `wrong_code`.
 */
export async function confirmTotp(
  tx: Tx,
  caller: Known,
  code: string,
  key: string | undefined,
  now: Date,
): Promise<string[]> {
  const { id } = caller.user
  const factor = await lockTotp(tx, id)
  if (factor === undefined) throw new Problem('totp_not_enabled')
  if (factor.confirmed) throw new Problem('totp_enabled')
  if (!(await acceptCode(tx, id, factor.secret, code, key, now))) throw new Problem('wrong_code')
  await tx`/* totp.confirm */ update totp_factors set confirmed_at = ${now.toISOString()} where user_id = ${id}`
  await recordAudit(tx, caller, { action: 'user.totp_enabled', subject: `user:${id}` }, now)
  return makeRecoveryCodes(tx, caller, now)
}

/** Replaces all recovery codes by new ones. Throws `totp_not_enabled`. */
export async function renewRecoveryCodes(tx: Tx, caller: Known, now: Date): Promise<string[]> {
  const factor = await lockTotp(tx, caller.user.id)
  if (factor?.confirmed !== true) throw new Problem('totp_not_enabled')
  return makeRecoveryCodes(tx, caller, now)
}

/** Removes the authenticator app and its recovery codes. Throws `totp_not_enabled`. */
export async function disableTotp(tx: Tx, caller: Known, now: Date): Promise<void> {
  const { id } = caller.user
  const gone = await tx`/* totp.disable */
    delete from totp_factors where user_id = ${id} and confirmed_at is not null returning user_id`
  if (gone.length === 0) throw new Problem('totp_not_enabled')
  await tx`/* recovery_codes.forget */ delete from recovery_codes where user_id = ${id}`
  await recordAudit(tx, caller, { action: 'user.totp_disabled', subject: `user:${id}` }, now)
}

/**
 * Checks a code of the authenticator app or a recovery code. Each can be used once.
 * @returns which of them it was; undefined for a wrong code
 */
export async function useFactor(
  tx: Tx,
  userId: string,
  code: string,
  key: string | undefined,
  now: Date,
): Promise<'totp' | 'recovery_code' | undefined> {
  const factor = await lockTotp(tx, userId)
  if (factor?.confirmed !== true) return undefined
  if (await acceptCode(tx, userId, factor.secret, code.replace(/\s/g, ''), key, now)) return 'totp'
  const used = await tx`/* recovery_codes.use */
    update recovery_codes set used_at = ${now.toISOString()}
    where user_id = ${userId} and hash = ${recoveryHash(code)} and used_at is null returning user_id`
  return used.length === 1 ? 'recovery_code' : undefined
}

/**
 * Removes all second factors and passkeys of an account whose user lost them, and records it. The caller closes the
 * sessions. Throws `user_not_found`.
 */
export async function resetFactors(tx: Tx, actor: Actor, userId: string, now: Date): Promise<void> {
  const known = isUuid(userId)
    ? await tx`/* factors.owner */ select id from users where id = ${userId} for update`
    : []
  if (known.length === 0) throw new Problem('user_not_found')
  const [gone] = await tx<{ totp: boolean; passkeys: number }[]>`/* factors.reset */
    with t as (delete from totp_factors where user_id = ${userId} and confirmed_at is not null returning 1),
      r as (delete from recovery_codes where user_id = ${userId}),
      c as (delete from sign_in_challenges where user_id = ${userId}),
      p as (delete from passkeys where user_id = ${userId} returning 1)
    select (select count(*) from t) > 0 as totp, (select count(*)::int from p) as passkeys`
  await recordAudit(
    tx,
    actor,
    { action: 'user.factors_reset', subject: `user:${userId}`, detail: { ...gone } },
    now,
  )
}

/** The factor, locked, so that two codes at the same time are checked one after the other. */
async function lockTotp(tx: Tx, userId: string): Promise<{ secret: Buffer; confirmed: boolean } | undefined> {
  const [factor] = await tx<{ secret: Buffer; confirmed: boolean }[]>`/* totp.lock */
    select secret, confirmed_at is not null as confirmed from totp_factors where user_id = ${userId} for update`
  return factor
}

async function acceptCode(
  tx: Tx,
  userId: string,
  stored: Buffer,
  code: string,
  key: string | undefined,
  now: Date,
): Promise<boolean> {
  const secret = unseal(stored, userId, key, 'second factor secrets')
  const step = secret && stepOf(secret, code, now)
  if (step === undefined) return false
  const accepted = await tx`/* totp.accept */
    update totp_factors set last_step = ${step} where user_id = ${userId} and last_step < ${step} returning user_id`
  return accepted.length === 1
}

async function makeRecoveryCodes(tx: Tx, caller: Known, now: Date): Promise<string[]> {
  const { id } = caller.user
  const codes = Array.from({ length: RECOVERY_CODES }, () => {
    const text = new Secret({
      buffer: new Uint8Array(randomBytes(RECOVERY_BYTES)).buffer,
    }).base32.toLowerCase()
    return (text.match(/.{4}/g) ?? []).join('-')
  })
  await tx`/* recovery_codes.replace */ delete from recovery_codes where user_id = ${id}`
  await tx`/* recovery_codes.make */
    insert into recovery_codes (hash, user_id)
    select decode(hash, 'hex'), ${id} from unnest(${codes.map((code) => recoveryHash(code).toString('hex'))}::text[]) as c (hash)`
  await recordAudit(tx, caller, { action: 'user.recovery_codes_made', subject: `user:${id}` }, now)
  return codes
}

/** 80 random bits need neither a salt nor a slow hash. Upper case, spaces and dashes are ignored. */
const recoveryHash = (code: string): Buffer =>
  createHash('sha256')
    .update(code.toLowerCase().replace(/[^a-z2-7]/g, ''))
    .digest()

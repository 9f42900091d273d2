import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { type Fields, flag, instant, nullable, text, uuid, type ViewOf } from '../field.ts'
import { isUuid } from '../uuid.ts'

/** The most passkeys of one account. */
export const MAX_PASSKEYS = 20

/** A passkey in the API. */
export const passkeyFields = {
  id: { type: uuid, public: 'hidden' },
  name: { type: text, public: 'hidden' },
  host: { type: text, means: 'The host name that it is valid for', public: 'hidden' },
  backed_up: {
    type: flag,
    means: 'Whether the passkey is synchronised, for example in a cloud keychain',
    public: 'hidden',
  },
  created_at: { type: instant, public: 'hidden' },
  last_used_at: { type: nullable(instant), public: 'hidden' },
} as const satisfies Fields
export type Passkey = ViewOf<typeof passkeyFields>

/** What a device registered. */
export interface NewPasskey {
  credentialId: string
  publicKey: Buffer
  counter: number
  transports: string[]
  rpId: string
  backedUp: boolean
}

/** All passkeys of the user, oldest first; `MAX_PASSKEYS` at most. */
export const listPasskeys = (db: Db, userId: string): Promise<(Passkey & { credentialId: string })[]> => db<
  (Passkey & { credentialId: string })[]
>`/* passkeys.list */
  select id, name, rp_id as host, backed_up, created_at, last_used_at, credential_id as "credentialId"
  from passkeys where user_id = ${userId} order by created_at, id`

/** Throws `passkey_exists`, `too_many_passkeys`. */
export async function addPasskey(
  tx: Tx,
  caller: Known,
  { name, passkey }: { name: string; passkey: NewPasskey },
  now: Date,
): Promise<Passkey> {
  const { id: userId } = caller.user
  await tx`/* passkeys.lock_user */ select from users where id = ${userId} for update`
  const [count] = await tx<{ n: number }[]>`/* passkeys.count */
    select count(*)::int as n from passkeys where user_id = ${userId}`
  if ((count?.n ?? 0) >= MAX_PASSKEYS) throw new Problem('too_many_passkeys')
  const { credentialId, publicKey, counter, transports, rpId, backedUp } = passkey
  const [added] = await tx<Passkey[]>`/* passkeys.add */
    insert into passkeys (user_id, credential_id, public_key, counter, transports, rp_id, name, backed_up, created_at)
    values (${userId}, ${credentialId}, ${publicKey}, ${counter}, ${transports}, ${rpId}, ${name}, ${backedUp}, ${now.toISOString()})
    on conflict (credential_id) do nothing
    returning id, name, rp_id as host, backed_up, created_at, last_used_at`
  if (added === undefined) throw new Problem('passkey_exists')
  await recordAudit(
    tx,
    caller,
    { action: 'passkey.created', subject: `passkey:${added.id}`, detail: { name } },
    now,
  )
  return added
}

/** Throws `passkey_not_found`, also for another's. */
export async function renamePasskey(
  tx: Tx,
  caller: Known,
  id: string,
  name: string,
  now: Date,
): Promise<Passkey> {
  const [renamed] = isUuid(id)
    ? await tx<Passkey[]>`/* passkeys.rename */
        update passkeys set name = ${name} where id = ${id} and user_id = ${caller.user.id}
        returning id, name, rp_id as host, backed_up, created_at, last_used_at`
    : []
  if (renamed === undefined) throw new Problem('passkey_not_found')
  await recordAudit(
    tx,
    caller,
    { action: 'passkey.renamed', subject: `passkey:${id}`, detail: { name } },
    now,
  )
  return renamed
}

/**
 * Throws `passkey_not_found`, also for a passkey of another user. An account always keeps a password or a linked
 * identity.
 */
export async function deletePasskey(tx: Tx, caller: Known, id: string, now: Date): Promise<void> {
  const [gone] = isUuid(id)
    ? await tx<{ name: string }[]>`/* passkeys.delete */
        delete from passkeys where id = ${id} and user_id = ${caller.user.id} returning name`
    : []
  if (gone === undefined) throw new Problem('passkey_not_found')
  await recordAudit(
    tx,
    caller,
    { action: 'passkey.deleted', subject: `passkey:${id}`, detail: { ...gone } },
    now,
  )
}

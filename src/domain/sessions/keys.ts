import { randomBytes } from 'node:crypto'
import type { Db, Tx } from '../../db/sql.ts'
import { JWT_LIFE_S } from './session.ts'

/** How many retired keys still verify (contract §3). */
const KEPT = 2

export interface SigningKey {
  kid: string
  secret: Buffer
}

export interface Rotation {
  activeKid: string
  /** Previous keys that still verify, newest first. */
  verifyKids: string[]
}

/** The signing key. The first call creates it; a unique index keeps two servers from creating two. */
export async function activeKey(tx: Tx, now: Date): Promise<SigningKey> {
  const read = () => tx<SigningKey[]>`/* signing_keys.active */
    select kid, secret from signing_keys where retired_at is null`
  const [known] = await read()
  if (known !== undefined) return known
  await insertKey(tx, now)
  const [made] = await read()
  if (made === undefined) throw new Error('no active signing key')
  return made
}

/**
 * The secret that verifies tokens of this key: the active one, and the newest two retired ones until the last token
 * signed with them has expired. Asked for each time, so that a rotation counts at every server at once.
 */
export async function verifyingSecret(db: Db, kid: string, now: Date): Promise<Buffer | undefined> {
  const [key] = await db<{ secret: Buffer }[]>`/* signing_keys.verifying */
    select k.secret from signing_keys k where k.kid = ${kid} and ${verifies(db, now)}`
  return key?.secret
}

/** Creates a new active key, retires the previous one, and deletes those that no longer verify. */
export async function rotateSigningKey(tx: Tx, now: Date): Promise<Rotation> {
  await tx`/* signing_keys.lock */ lock table signing_keys in share row exclusive mode`
  await tx`/* signing_keys.retire */ update signing_keys set retired_at = ${now.toISOString()} where retired_at is null`
  await insertKey(tx, now)
  await tx`/* signing_keys.forget */ delete from signing_keys k where not (${verifies(tx, now)})`
  const keys = await tx<{ kid: string; active: boolean }[]>`/* signing_keys.list */
    select kid, retired_at is null as active from signing_keys order by number desc`
  const [active, ...retired] = keys
  if (active?.active !== true) throw new Error('no active signing key')
  return { activeKid: active.kid, verifyKids: retired.map((key) => key.kid) }
}

const verifies = (db: Db, now: Date) => db`
  (k.retired_at is null
   or k.retired_at > ${now.toISOString()}::timestamptz - ${JWT_LIFE_S}::integer * interval '1 second'
      and (select count(*) from signing_keys newer where newer.retired_at is not null and newer.number > k.number) < ${KEPT})`

const insertKey = (tx: Tx, now: Date) => tx`/* signing_keys.insert */
  insert into signing_keys (kid, secret, created_at)
  values (${randomBytes(9).toString('base64url')}, ${randomBytes(32)}, ${now.toISOString()})
  on conflict do nothing`

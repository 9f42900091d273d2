import { createHash, randomBytes } from 'node:crypto'
import type { Tx } from '../../db/sql.ts'

/** How long a client has to answer. */
export const CHALLENGE_LIFE_S = 300
/** How many wrong codes one challenge allows. */
export const MAX_TRIES = 5

export type ChallengeKind = 'second_factor' | 'passkey_registration' | 'passkey_sign_in'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Makes a challenge and deletes some expired ones. Only its hash is stored. */
export async function makeChallenge(
  tx: Tx,
  kind: ChallengeKind,
  userId: string | null,
  now: Date,
): Promise<{ challenge: string; expiresAt: Date }> {
  const at = now.toISOString()
  const expiresAt = new Date(now.getTime() + CHALLENGE_LIFE_S * 1000)
  const challenge = randomBytes(30).toString('base64url')
  await tx`/* challenges.forget */
    delete from sign_in_challenges where hash in (
      select hash from sign_in_challenges where expires_at <= ${at}
      order by expires_at limit 100 for update skip locked)`
  await tx`/* challenges.make */
    insert into sign_in_challenges (hash, kind, user_id, expires_at)
    values (${digest(challenge)}, ${kind}, ${userId}, ${expiresAt.toISOString()})`
  return { challenge, expiresAt }
}

/**
 * Counts an attempt at a challenge, which stays valid until the correct answer. @returns the id of its user; undefined
 * for one that is unknown, too old or was tried too often
 */
export async function tryChallenge(
  tx: Tx,
  kind: ChallengeKind,
  challenge: string,
  now: Date,
): Promise<string | undefined> {
  const [row] = await tx<{ userId: string }[]>`/* challenges.try */
    update sign_in_challenges set tries = tries + 1
    where hash = ${digest(challenge)} and kind = ${kind} and expires_at > ${now.toISOString()} and tries < ${MAX_TRIES}
    returning user_id as "userId"`
  return row?.userId
}

/** Ends the sign-ins of a user that wait for a code: their password is not the user's any more. */
export async function forgetChallenges(tx: Tx, userId: string): Promise<void> {
  await tx`/* challenges.forget_of */ delete from sign_in_challenges where user_id = ${userId} and kind = 'second_factor'`
}

/**
 * Deletes a challenge, because it can be answered only once. @returns the id of its user, or undefined for one that is
 * unknown or too old
 */
export async function takeChallenge(
  tx: Tx,
  kind: ChallengeKind,
  challenge: string,
  now: Date,
): Promise<{ userId: string | null } | undefined> {
  const [row] = await tx<{ userId: string | null; live: boolean }[]>`/* challenges.take */
    delete from sign_in_challenges where hash = ${digest(challenge)} and kind = ${kind}
    returning user_id as "userId", expires_at > ${now.toISOString()} as live`
  return row?.live === true ? { userId: row.userId } : undefined
}

import { createHash } from 'node:crypto'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'

/** How long a user may take at the provider. */
export const ATTEMPT_LIFE_S = 600

/** A sign-in in progress: what its callback is checked against. */
export interface Attempt {
  /** The id of the provider in this service: a callback of another provider does not match. */
  idp: string
  nonce: string
  codeVerifier: string
  redirectUri: string
  returnTo: string
  /** The user that the identity is linked to; null to sign in. */
  linkUserId: string | null
}

/** Proof that a callback belongs to the attempt and browser: `state` is in the address, `browser` is in a cookie. */
export interface AttemptSecrets {
  state: string
  browser: string
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Stores an attempt, and deletes some expired ones. */
export async function storeAttempt(
  tx: Tx,
  attempt: Attempt,
  { state, browser }: AttemptSecrets,
  now: Date,
): Promise<void> {
  await tx`/* oauth_attempts.forget */
    delete from oauth_attempts where state_hash in (
      select state_hash from oauth_attempts where expires_at <= ${now.toISOString()}
      order by expires_at limit 100 for update skip locked)`
  await tx`/* oauth_attempts.keep */
    insert into oauth_attempts
      (state_hash, browser_hash, idp, nonce, code_verifier, redirect_uri, return_to, link_user_id, expires_at)
    values (${digest(state)}, ${digest(browser)}, ${attempt.idp}, ${attempt.nonce}, ${attempt.codeVerifier},
            ${attempt.redirectUri}, ${attempt.returnTo}, ${attempt.linkUserId},
            ${now.toISOString()}::timestamptz + ${ATTEMPT_LIFE_S}::integer * interval '1 second')`
}

/**
 * Returns an attempt, which can be used once. Throws `sign_in_expired` for one that is unknown, too old, used already,
 * or of another browser or provider. The error does not say which, to give attackers no hints.
 */
export async function consumeAttempt(
  tx: Tx,
  idp: string,
  { state, browser }: AttemptSecrets,
  now: Date,
): Promise<Attempt> {
  const [attempt] = await tx<(Attempt & { live: boolean })[]>`/* oauth_attempts.take */
    delete from oauth_attempts
    where state_hash = ${digest(state)} and browser_hash = ${digest(browser)} and idp = ${idp}
    returning idp, nonce, code_verifier as "codeVerifier", redirect_uri as "redirectUri", return_to as "returnTo",
              link_user_id as "linkUserId", expires_at > ${now.toISOString()} as live`
  if (attempt?.live !== true) throw new Problem('sign_in_expired')
  return attempt
}

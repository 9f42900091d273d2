import { createHash } from 'node:crypto'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'

/** How long a person may take at the provider. */
export const ATTEMPT_LIFE_S = 600

/** A sign-in that was begun: what the way back is checked against. */
export interface Attempt {
  /** The provider's name here: what one provider sends back opens nothing that was begun with another. */
  idp: string
  nonce: string
  codeVerifier: string
  redirectUri: string
  returnTo: string
  /** Whose account the identity is to be added to; null to sign in. */
  linkUserId: string | null
}

/** What proves that it is the same attempt, in the same browser: the one travels, the other is in a cookie. */
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
 * Hands an attempt out, once. Throws `sign_in_expired` for one that is unknown, too old, used up, of another browser
 * or of another provider. The error does not say which, to give attackers no hints.
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

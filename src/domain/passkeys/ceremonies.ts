import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { isRecord } from '../../checked.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Known } from '../caller.ts'
import { CHALLENGE_LIFE_S, makeChallenge, takeChallenge } from '../factors/index.ts'
import { findUser, type User } from '../users/index.ts'
import { listPasskeys, type NewPasskey } from './passkeys.ts'

/** The site that asks for a passkey: a browser keeps each for one host, and reports the page that asked. */
export interface RelyingParty {
  id: string
  origin: string
}

/** Loaded with the first passkey: it would take a fifth of the time that loading the code takes at start. */
const library = () => import('@simplewebauthn/server')

const NAME = 'Experiment monitor'
const TIMEOUT_MS = CHALLENGE_LIFE_S * 1000
const bytes = (challenge: string) => new Uint8Array(Buffer.from(challenge, 'base64url'))

/** The options for creating a passkey of the caller. The challenge can be answered once, within minutes. */
export async function registrationOptions(
  tx: Tx,
  caller: Known,
  party: RelyingParty,
  now: Date,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { id, email, name } = caller.user
  const { challenge } = await makeChallenge(tx, 'passkey_registration', id, now)
  const existing = await listPasskeys(tx, id)
  const { generateRegistrationOptions } = await library()
  return generateRegistrationOptions({
    rpName: NAME,
    rpID: party.id,
    userID: new Uint8Array(Buffer.from(id)),
    userName: email,
    userDisplayName: name,
    challenge: bytes(challenge),
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: existing.map(({ credentialId }) => ({ id: credentialId })),
    // The device requires a fingerprint or a PIN, so a passkey replaces both factors.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
}

/** Verifies the answer of a device. Throws `challenge_expired`, `passkey_refused`. */
export async function verifyRegistration(
  tx: Tx,
  caller: Known,
  party: RelyingParty,
  response: RegistrationResponseJSON,
  now: Date,
): Promise<NewPasskey> {
  const challenge = challengeIn(response.response.clientDataJSON)
  const taken = await takeChallenge(tx, 'passkey_registration', challenge, now)
  if (taken === undefined || taken.userId !== caller.user.id) throw new Problem('challenge_expired')
  const { verifyRegistrationResponse } = await library()
  const checked = await verifyRegistrationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
  }).catch(refuse)
  if (!checked.verified) throw new Problem('passkey_refused')
  const { credential, credentialBackedUp } = checked.registrationInfo
  return {
    credentialId: credential.id,
    publicKey: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: credential.transports ?? [],
    rpId: party.id,
    backedUp: credentialBackedUp,
  }
}

/** The options for signing in with any passkey for this host. */
export async function signInOptions(
  tx: Tx,
  party: RelyingParty,
  now: Date,
): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const { challenge } = await makeChallenge(tx, 'passkey_sign_in', null, now)
  const { generateAuthenticationOptions } = await library()
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge: bytes(challenge),
    timeout: TIMEOUT_MS,
    userVerification: 'required',
  })
}

/** Uses the challenge up, even if the sign-in then fails. Throws `challenge_expired`. */
export async function takeSignIn(tx: Tx, response: AuthenticationResponseJSON, now: Date): Promise<string> {
  const challenge = challengeIn(response.response.clientDataJSON)
  if ((await takeChallenge(tx, 'passkey_sign_in', challenge, now)) === undefined)
    throw new Problem('challenge_expired')
  return challenge
}

interface Stored {
  id: string
  userId: string
  publicKey: Buffer
  counter: string
  transports: string[]
}

/** The user whose passkey signed the challenge. Throws `passkey_refused`, `account_disabled`. */
export async function signInWithPasskey(
  tx: Tx,
  party: RelyingParty,
  response: AuthenticationResponseJSON,
  challenge: string,
  now: Date,
): Promise<User> {
  const stored = await find(tx, response.id)
  const { userHandle } = response.response
  const owner = userHandle === undefined ? undefined : Buffer.from(userHandle, 'base64url').toString()
  if (stored === undefined || owner !== stored.userId) throw new Problem('passkey_refused')
  const { verifyAuthenticationResponse } = await library()
  const checked = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    credential: {
      id: response.id,
      publicKey: new Uint8Array(stored.publicKey),
      counter: Number(stored.counter),
      transports: stored.transports,
    },
  }).catch(refuse)
  if (!checked.verified) throw new Problem('passkey_refused')
  const { newCounter, credentialBackedUp } = checked.authenticationInfo
  await tx`/* passkeys.use */
    update passkeys set counter = ${newCounter}, backed_up = ${credentialBackedUp}, last_used_at = ${now.toISOString()}
    where id = ${stored.id}`
  const user = await findUser(tx, stored.userId)
  if (user === undefined || user.disabled) throw new Problem('account_disabled')
  return user
}

/** Locked, so that a counter is compared with the newest one. */
async function find(db: Db, credentialId: string): Promise<Stored | undefined> {
  const [stored] = await db<Stored[]>`/* passkeys.find */
    select id, user_id as "userId", public_key as "publicKey", counter::text as counter, transports
    from passkeys where credential_id = ${credentialId} for update`
  return stored
}

/** The challenge according to the browser. It is compared with the stored one, so it need not be trusted. */
function challengeIn(clientDataJSON: string): string {
  try {
    const data: unknown = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString('utf8'))
    if (isRecord(data) && typeof data.challenge === 'string') return data.challenge
  } catch {
    // Not JSON, so not one of our challenges.
  }
  throw new Problem('passkey_refused')
}

/** The library's reason for refusing an answer goes to the log, not to the client. */
function refuse(cause: unknown): never {
  throw new Problem('passkey_refused', { cause })
}

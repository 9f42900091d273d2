import type { FastifyReply, FastifyRequest } from 'fastify'
import { isPerson } from '../../domain/caller.ts'
import { levelOf } from '../../domain/fault-level.ts'
import {
  type Attempt,
  type Claimed,
  consumeAttempt,
  linkIdentity,
  signInWith,
  storeAttempt,
} from '../../domain/identities/index.ts'
import { Problem, type ProblemCode } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import type { AttemptLimits } from '../request/attempts.ts'
import { publicAddress } from '../request/public-address.ts'
import { IN_ADDRESSES } from '../server/refusals.ts'
import { toProblem } from '../server/respond.ts'
import type { Identification } from './guess.ts'
import type { IdentityProvider } from './identity-provider.ts'
import { setSessionCookie } from './session-cookie.ts'
import { giveSignInCookie, readSignInCookie } from './sign-in-cookie.ts'
import { openBrowserSession } from './signed-in.ts'

/**
 * The codes of a failed sign-in in the page's address. Only these fixed codes appear there, never text from elsewhere.
 */
export const SIGN_IN_FAULTS: readonly ProblemCode[] = [
  ...IN_ADDRESSES,
  'provider_unavailable',
  'email_taken',
  'registration_closed',
  'account_disabled',
  'too_many_attempts',
  'unavailable',
  'overloaded',
  'internal',
]

export interface ProviderContext extends Identification {
  providers: readonly IdentityProvider[]
  /** Limits how many sign-ins a network may begin. */
  starts: AttemptLimits
}

/** @throws Problem provider_not_found */
export function providerOf(providers: readonly IdentityProvider[], id: string): IdentityProvider {
  const found = providers.find((one) => one.id === id)
  if (found === undefined) throw new Problem('provider_not_found')
  return found
}

/** Begins a sign-in and stores what its callback is checked against. @returns where to send the browser */
export async function begin(
  { services: { config, writer, now }, starts }: ProviderContext,
  request: FastifyRequest,
  reply: FastifyReply,
  provider: IdentityProvider,
  wanted: Pick<Attempt, 'returnTo' | 'linkUserId'>,
): Promise<string> {
  starts.take({ address: request.ip }, now())
  const redirectUri = `${publicAddress(config, request)}/api/oauth/${provider.id}/callback`
  const { url, checks } = await provider.begin(redirectUri)
  const browser = giveSignInCookie(request, reply, config)
  const { state, nonce, codeVerifier } = checks
  const attempt: Attempt = { idp: provider.id, nonce, codeVerifier, redirectUri, ...wanted }
  await write(writer, (tx) => storeAttempt(tx, attempt, { state, browser }, now()))
  return url.href
}

/** Sends the browser back to the page, with the code of the error in the address; faults are logged. */
export function redirectWithError(
  { config, log }: Services,
  reply: FastifyReply,
  error: unknown,
  { id }: IdentityProvider,
  attempt: Pick<Attempt, 'returnTo' | 'linkUserId'> | undefined,
): FastifyReply {
  const problem = toProblem(error)
  const code = SIGN_IN_FAULTS.includes(problem.code) ? problem.code : 'internal'
  const context = { idp: id, code, request_id: reply.request.id }
  if (problem.status >= 500)
    log[levelOf(problem)]({ ...context, err: problem.cause ?? problem }, problem.title)
  else if (code === 'sign_in_unverified')
    log.warn({ ...context, err: problem.cause ?? problem }, problem.title)
  const linking = attempt !== undefined && attempt.linkUserId !== null
  const query = new URLSearchParams({ error: code, idp: id })
  if (attempt !== undefined && !linking && attempt.returnTo !== '/') query.set('return_to', attempt.returnTo)
  return reply.redirect(`${config.basePath}${linking ? '/account' : '/sign-in'}?${query}`)
}

/**
 * The sign-in that this browser began with this provider. It can be used once.
 * @throws Problem sign_in_expired
 */
export async function consume(
  { config, writer, now }: Services,
  request: FastifyRequest,
  provider: IdentityProvider,
) {
  const query = request.url.slice(request.url.indexOf('?'))
  const [state, ...more] = new URLSearchParams(query).getAll('state')
  const browser = readSignInCookie(request, config)
  if (!state || more.length > 0 || browser === undefined) throw new Problem('sign_in_expired')
  const attempt = await write(writer, (tx) => consumeAttempt(tx, provider.id, { state, browser }, now()))
  return { attempt, state, query }
}

export async function signIn(
  { config, writer, now }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  provider: IdentityProvider,
  claimed: Claimed,
): Promise<void> {
  // A provider that is limited to domains may make accounts even where registration is closed.
  const registration = provider.allow.length > 0 ? 'open' : config.registration
  const at = now()
  const session = await write(writer, async (tx) => {
    const user = await signInWith(tx, claimed, registration, at)
    return await openBrowserSession(tx, request, user, 'provider', at, { provider: provider.id })
  })
  setSessionCookie(reply, config, session.cookie, at.toISOString(), at)
}

/** Links to the signed-in account, if the same account started the sign-in. */
export async function link(
  { writer, now }: Services,
  request: FastifyRequest,
  claimed: Claimed,
  userId: string,
): Promise<void> {
  const caller = await request.caller()
  if (!isPerson(caller) || caller.user.id !== userId) throw new Problem('sign_in_not_linked')
  await write(writer, (tx) => linkIdentity(tx, caller, claimed, now()))
}
